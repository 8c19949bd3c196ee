"""Thousands of mutated reports, each read in a child process: no crash, no hang, no other number without a warning."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.profile.checksum import columns_crc
from tests.formats import mutations

ROOT = Path(__file__).resolve().parents[2]
BATCH = 500


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mutations") / "profile.pop"
    mutations.make_report(path)
    return path


def try_batch(report: Path, first: int) -> None:
    """A child ends by itself after ten seconds of work on one mutation, by us when it sleeps."""
    command = [sys.executable, "-m", "tests.formats.mutations", str(report), str(first), str(BATCH)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG")]
    last = lines[-1] if lines else "the start"
    assert done.returncode == 0, "\n".join([*wrong, f"exit code {done.returncode} at {last}", done.stderr[-2_000:]])
    assert len(lines) == BATCH


@pytest.mark.parametrize("first", range(0, 1_000, BATCH))
def test_a_thousand_mutations(report: Path, first: int) -> None:
    try_batch(report, first)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 2_000, BATCH))
def test_a_thousand_more(report: Path, first: int) -> None:
    try_batch(report, first)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(2_000, 20_000, BATCH))
def test_twenty_thousand_mutations(report: Path, first: int) -> None:
    try_batch(report, first)


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
