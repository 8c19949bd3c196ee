"""Mutated files of every format, read in child processes: no crash, no hang, no other number without a warning."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.profile.checksum import columns_crc
from tests.formats import mutation_runs, mutations
from tests.formats.mutated_formats import FORMATS
from tests.formats.mutation_runs import COUNTS, complaints, kept_progress, try_the_million
from tests.pvti.trace_answers import untrue


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mutations") / "profile.pop"
    mutations.make_report(path)
    return path


@pytest.mark.parametrize(
    ("name", "first"), [(name, first) for name in COUNTS for first in range(0, COUNTS[name][0], 100)]
)
def test_a_thousand_mutations(name: str, first: int, tmp_path: Path) -> None:
    assert complaints(name, tmp_path, first, 100) == []


@pytest.mark.long
@pytest.mark.parametrize("name", COUNTS)
def test_four_thousand_mutations(name: str, tmp_path: Path) -> None:
    assert complaints(name, tmp_path, 1_000, COUNTS[name][1]) == []


@pytest.mark.fuzz
def test_a_million_mutations() -> None:
    assert try_the_million(kept_progress()) == []


def test_a_stopped_run_goes_on_with_the_next_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every format has its share in each turn; what was wrong is tried again, everything else once."""
    tried: list[tuple[str, int]] = []

    def stopping(name: str, folder: Path, first: int, count: int) -> list[str]:
        tried.append((name, (first - mutation_runs.FIRST) // count))
        if len(tried) == 10:
            raise KeyboardInterrupt
        return ["WRONG"] * (len(tried) == 3)

    monkeypatch.setattr(mutation_runs, "SHARES", 2)
    monkeypatch.setattr(mutation_runs, "complaints", stopping)
    path = tmp_path / "progress.json"
    with pytest.raises(KeyboardInterrupt):
        try_the_million(path)
    assert try_the_million(path) == []
    names = list(COUNTS)
    turns = [(name, share) for share in range(2) for name in names]
    assert tried == [*turns[:10], (names[2], 0), *turns[9:]]
    assert "1,000,000 in all" in capsys.readouterr().out


def test_a_child_that_ends_is_started_again_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash is one complaint, and the mutations after it are tried; a child that tries none ends the share."""
    answers = [(3, ["ended at 3"]), (5, []), (None, ["ended at the start"])]
    asked = []

    def child(words: list[str]) -> tuple[int | None, list[str]]:
        asked.append(words[-2:])
        return answers.pop(0)

    monkeypatch.setattr(mutation_runs, "_child", child)
    assert complaints("archive", tmp_path, 0, 6) == ["ended at 3"]
    assert complaints("archive", tmp_path, 6, 6) == ["ended at the start"]
    assert asked == [["0", "6"], ["4", "2"], ["6", "6"]]


def test_a_later_share_reads_the_sound_file_of_the_first(tmp_path: Path) -> None:
    """In a process that has not written it."""
    FORMATS["executable"].make(tmp_path / FORMATS["executable"].file)
    assert complaints("executable", tmp_path, 0, 2) == []


def test_counts_add_up() -> None:
    """1,000 for each commit, 4,000 in a long test, a million before a release, and none fewer than 50,000."""
    assert [sum(counts) for counts in zip(*COUNTS.values(), strict=True)] == [1_000, 4_000, 1_000_000]
    assert min(most for *_, most in COUNTS.values()) >= 50_000
    assert COUNTS.keys() == {"report", *FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_another_answer_would_be_found(name: str, tmp_path: Path) -> None:
    """The comparison notices each thing that is said."""
    format_ = FORMATS[name]
    sound = tmp_path / format_.file
    format_.make(sound)
    ((truth, is_flagged), *_) = format_.ask(sound)
    assert not is_flagged
    for key, value in truth.items():
        other = {**truth, key: "another"}
        assert untrue(other, truth, is_flagged=False) == [key]
        assert untrue(other, truth, is_flagged=True) == [key]
        assert untrue({each: truth[each] for each in truth if each != key}, truth, is_flagged=False) == [key], value


def test_another_number_would_be_found(report: Path, tmp_path: Path) -> None:
    """One run took a cycle more, under a checksum that is right: neither reader can know, and both are found out."""
    truths = [mutations.summary_figures(report)] * (mutations.RUNS + 1)
    path = mutations.first_runs(report, tmp_path / "profile.pop", mutations.RUNS)
    assert mutations.wrong_in_summary(path, truths) == []
    with sqlite3.connect(path) as db:
        db.execute("UPDATE runs SET cycles = cycles + 1 WHERE id = 1")
        row = db.execute("SELECT * FROM runs WHERE id = 1").fetchone()
        crc = columns_crc([[value] if isinstance(value, str) else np.array([value]) for value in row])
        db.execute("UPDATE parts SET crc32 = ? WHERE name = 'runs' AND part = 1", (crc,))
    db.close()
    assert "total_cycles" in mutations.wrong_in_summary(path, truths)
    assert mutations.wrong_through_pva(path, [mutations.pva_figures(report)]) == ["total"]
    with sqlite3.connect(path) as db:
        db.execute("UPDATE parts SET crc32 = crc32 + 1 WHERE name = 'runs' AND part = 1")
    db.close()
    assert mutations.wrong_in_summary(path, truths) == ["total_cycles", "device_seconds", "runs", "shares", "longest"]
