"""Mutated files of every format, read in child processes: no crash, no hang, no other number without a warning."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.profile.checksum import columns_crc
from tests.formats import mutations
from tests.formats.mutated_formats import FORMATS
from tests.pvti.trace_answers import untrue

ROOT = Path(__file__).resolve().parents[2]

#: Mutations of each format in `make test` (numbers from 0), `make test-long` (from 1,000), `make full` (from 10,000).
COUNTS = {
    "report": (200, 1_500, 400_000),
    "trace": (200, 600, 150_000),
    "journal": (200, 600, 150_000),
    "debug information": (100, 325, 75_000),
    "graph": (100, 325, 75_000),
    "archive": (100, 325, 75_000),
    "executable": (100, 325, 75_000),
}

#: Mutations of one child process in `make full`.
BATCH = 500


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mutations") / "profile.pop"
    mutations.make_report(path)
    return path


def try_batch(name: str, folder: Path, first: int, count: int) -> None:
    """A child ends by itself after ten seconds of work on one mutation, by us when it sleeps."""
    folder.mkdir(exist_ok=True)
    what = ["tests.formats.mutated_formats", name, str(folder)]
    if name == "report":
        if not (folder / "profile.pop").exists():
            mutations.make_report(folder / "profile.pop")
        what = ["tests.formats.mutations", str(folder / "profile.pop")]
    command = [sys.executable, "-m", *what, str(first), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG")]
    last = lines[-1] if lines else "the start"
    assert done.returncode == 0, "\n".join([*wrong, f"exit code {done.returncode} at {last}", done.stderr[-2_000:]])
    assert len(lines) == count


@pytest.mark.parametrize(
    ("name", "first"), [(name, first) for name in COUNTS for first in range(0, COUNTS[name][0], 100)]
)
def test_a_thousand_mutations(name: str, first: int, tmp_path: Path) -> None:
    try_batch(name, tmp_path, first, 100)


@pytest.mark.long
@pytest.mark.parametrize("name", COUNTS)
def test_four_thousand_mutations(name: str, tmp_path: Path) -> None:
    try_batch(name, tmp_path, 1_000, COUNTS[name][1])


@pytest.mark.fuzz
@pytest.mark.parametrize("name", COUNTS)
def test_a_million_mutations(name: str, tmp_path: Path) -> None:
    """Resumed where the last one ended, as long as no reader has changed."""
    done = progress_file(name)
    first, last = 10_000, 10_000 + COUNTS[name][2]
    for begin in range(first + (int(done.read_text()) if done.exists() else 0), last, BATCH):
        try_batch(name, tmp_path, begin, BATCH)
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(str(begin + BATCH - first))


def progress_file(name: str) -> Path:
    """Holds how many mutations of a format were tried with the sources as they are."""
    sources = hashlib.sha256()
    for folder in ("popvision/formats", "popvision/analysis", "popvision/pva", "tests/formats", "simulator/engine"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            sources.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "popvision" / "mutations" / sources.hexdigest()[:16] / name.replace(" ", "-")


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
