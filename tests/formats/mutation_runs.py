"""Runs of mutated files in child processes, and the million of them before a release.

`python -m tests.formats.mutation_runs` tries all that are left of the million, 75,000 of a format at least: a share of
each format in turn, so that a run that is stopped has tried all of them alike. It goes on where the last one ended, as
long as no reader has changed, and tries again what failed then; what it finds is printed with the number that makes it
again, and does not end it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.formats import mutations
from tests.kept_progress import ROOT, progress_path, read_progress, write_progress

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

FIRST = 10_000

#: Shares of the million: in each turn a child process for each format.
SHARES = 200

#: Seconds for a child process: one that sleeps is ended by us, one that works ten seconds on a mutation by itself.
PATIENCE = 1_800


def complaints(name: str, folder: Path, first: int, count: int) -> list[str]:
    """Tries `count` mutations of a format from number `first`; a line for each that ended the child, which is started
    again behind it, or was answered wrongly."""
    folder.mkdir(exist_ok=True)
    module = ["tests.formats.mutated_formats", name, str(folder)]
    if name == "report":
        if not (folder / "profile.pop").exists():
            mutations.make_report(folder / "profile.pop")
        module = ["tests.formats.mutations", str(folder / "profile.pop")]
    lines: list[str] = []
    last = first + count
    while first < last:
        ended, wrong = _child([*module, str(first), str(last - first)])
        lines += wrong
        first = last if ended is None else ended + 1
    return lines


def _child(words: list[str]) -> tuple[int | None, list[str]]:
    """The number of the last mutation that a child process tried, None where it tried none, and what was wrong."""
    command = [sys.executable, "-m", *words]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
        printed, code, problem = done.stdout, str(done.returncode), done.stderr[-2_000:]
    except subprocess.TimeoutExpired as late:
        printed = late.stdout.decode() if isinstance(late.stdout, bytes) else ""
        code, problem = "none", f"no answer in {PATIENCE} s"
    lines = printed.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG")]
    numbers = [int(line.split()[1]) for line in lines if line.startswith("mutation")]
    first, count = map(int, words[-2:])
    if code == "0" and numbers != [*range(first, first + count)]:
        wrong.append(f"{len(numbers)} of {count} tried")
    elif code != "0" and not (code == "1" and wrong):
        wrong.append(f"ended with exit code {code} at {lines[-1] if lines else 'the start'}: {problem}")
    return numbers[-1] if numbers else None, wrong


class Progress:
    """How many shares of each format were tried with the sources as they are, and in which of them something was
    wrong: a JSON file in the user's cache."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = read_progress(path)
        self.shares: dict[str, int] = {name: known.get("shares", {}).get(name, 0) for name in COUNTS}
        self.wrong: list[tuple[str, int]] = [(name, share) for name, share in known.get("wrong", [])]

    def save(self) -> None:
        """Writes the file anew."""
        write_progress(self.path, {"shares": self.shares, "wrong": self.wrong})

    def left(self) -> list[tuple[str, int]]:
        """Formats and shares that are left: those that were wrong, then one of each format in turn."""
        turns = ((name, share) for share in range(SHARES) for name in COUNTS)
        return [*self.wrong, *((name, share) for name, share in turns if share >= self.shares[name])]

    def tried(self, name: str, share: int, is_wrong: bool) -> None:
        """Notes a share, and saves."""
        self.shares[name] = max(self.shares[name], share + 1)
        self.wrong = [known for known in self.wrong if known != (name, share)] + [(name, share)] * is_wrong
        self.save()


def kept_progress() -> Path:
    """The file of the sources as they are."""
    readers = [f"popvision/{room}/**/*.py" for room in ("formats", "analysis", "pva")]
    tests = ["tests/formats/mutat*.py", "tests/pvti/trace_answers.py"]
    return progress_path("mutations", *readers, "simulator/engine/**/*.py", *tests)


def try_the_million(path: Path, seconds: float = float("inf")) -> list[str]:
    """Tries what is left, for some time; all that was wrong."""
    progress, lines, end = Progress(path), [], time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for name, share in progress.left():
            if time.monotonic() >= end:
                break
            count = COUNTS[name][2] // SHARES
            share_lines = complaints(name, Path(folder) / name, FIRST + share * count, count)
            progress.tried(name, share, bool(share_lines))
            tried = sum(COUNTS[name][2] // SHARES * shares for name, shares in progress.shares.items())
            for line in (*share_lines, f"{name}: share {share + 1} of {SHARES}; {tried:,} in all"):
                print(line, flush=True)
            lines += [f"{name}: {line}" for line in share_lines]
    return lines


if __name__ == "__main__":
    print(f"progress: {kept_progress()}", flush=True)
    sys.exit(1 if try_the_million(kept_progress()) else 0)
