"""What is killed at a drawn moment loses nothing that it announced: a handful in a commit, all before a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills import kill_runs
from tests.kills.kill_runs import COUNTS, KILLS, kept_progress, kill_all


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_program(seed: int, tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    KILLS["programs"](tmp_path / "report", seed)


@pytest.mark.parametrize("seed", range(2))
def test_a_killed_compiler(seed: int, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    KILLS["compilers"](tmp_path / "cache", seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", COUNTS)
def test_all_kills(kind: str) -> None:
    kill_all(kind, kept_progress())


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each seed once, and the kinds apart."""
    seeds: list[int] = []

    def stopping(_: Path, seed: int) -> str:
        if len(seeds) == 3 and seed == 3:
            seeds.append(-1)
            raise KeyboardInterrupt
        seeds.append(seed)
        return ""

    monkeypatch.setattr(kill_runs, "KILLS", dict.fromkeys(KILLS, stopping))
    monkeypatch.setattr(kill_runs, "COUNTS", {"programs": (5, 1), "sweeps": (20, 10)})
    path = tmp_path / "progress.json"
    with pytest.raises(KeyboardInterrupt):
        kill_all("programs", path)
    kill_all("sweeps", path)
    kill_all("programs", path)
    assert seeds == [0, 1, 2, -1, 0, 1, 3, 4]


def test_counts() -> None:
    assert {kind: count for kind, (count, _) in COUNTS.items()} == {"programs": 500, "compilers": 200, "sweeps": 50}
