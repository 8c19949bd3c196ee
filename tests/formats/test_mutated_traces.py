"""Mutated traces of other tools: none is quietly wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats import mutated_traces
from tests.formats.mutated_traces import MOST, kept_progress, mutation, read, truth, try_all, wrong


@pytest.mark.parametrize("first", range(0, 1_000, 100))
def test_a_thousand_mutations(first: int, tmp_path: Path) -> None:
    assert [(number, found) for number in range(first, first + 100) if (found := wrong(number, tmp_path))] == []


@pytest.mark.fuzz
def test_a_hundred_thousand_mutations() -> None:
    assert try_all(kept_progress(), MOST) == []


def test_another_answer_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another time, another argument and a missing event are noticed."""
    untouched = next(f"a{at}" for at in range(30) if at not in mutation(1).touched)
    for change in ("time", "argument", "missing"):

        def other(path: Path, change: str = change) -> tuple[mutated_traces.Told, bool]:
            told, _ = read(path)
            ((begin, duration, argument), *_) = told.pop(untouched)
            if change != "missing":
                told[untouched] = [(begin + (change == "time"), duration, argument if change == "time" else "{}")]
            return told, change != "missing"

        monkeypatch.setattr(mutated_traces, "read", other)
        assert [line.split()[0] for line in wrong(1, tmp_path)] == [untouched]


def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def stopping(number: int, folder: Path) -> list[str]:
        tried.append(number)
        if len(tried) == 700:
            raise KeyboardInterrupt
        return ["quiet"] * (number == 3)

    monkeypatch.setattr(mutated_traces, "wrong", stopping)
    with pytest.raises(KeyboardInterrupt):
        try_all(tmp_path / "traces.json", 1_000)
    assert try_all(tmp_path / "traces.json", 1_000) == ["mutation 3: quiet"]
    assert tried == [*range(700), *range(500, 1_000)]
    assert truth(1).keys() == {f"a{at}" for at in range(30)}
