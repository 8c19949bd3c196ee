"""Kills at drawn moments: programs with a report and a trace, compilers on a shared cache, sweeps.

`python -m tests.kills.kill_runs programs|compilers|sweeps` kills 500, 200 and 50 of them. Kill number n is drawn with
n as its seed and prints a line; a run that was stopped goes on where it ended, as long as the sources stay.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from popvision.answers.verification import files_to_verify, verify_file
from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader
from popvision.opened.trace import OpenedTrace
from tests.kept_progress import ROOT, progress_path, read_progress, write_progress
from tests.sweep.sweep_kills import kill_and_resume

#: Kind -> how many kills, and how many of them one number stands for.
COUNTS = {"programs": (500, 1), "compilers": (200, 1), "sweeps": (50, 10)}

#: What the kills are about.
_SOURCES = (
    *(f"popvision/{room}/**/*.py" for room in ("formats", "pvti", "sweep")),
    *(f"simulator/{room}/**/*.py" for room in ("engine", "runtime", "frontends/session")),
    "tests/kills/*.py",
)


def start(kind: str, folder: Path, *words: str) -> subprocess.Popen[str]:
    """A child that is to be killed."""
    options = {"PVTI_OPTIONS": json.dumps({"directory": str(folder)})} if kind == "program" else {}
    command = [sys.executable, "-m", "tests.kills.killed_children", kind, str(folder), *words]
    environment = {**os.environ, **options, "POPVISION_LOCKS": str(folder.with_name("locks"))}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def pause(seconds: float) -> None:
    """The moment of a kill is drawn."""
    time.sleep(seconds)


def kill_program(folder: Path, seed: int) -> str:
    """Kills a program at any moment, most after its first run: every run that it announced is in the report, and in
    the trace but for those of the last tenth of a second; no file is damaged."""
    draw = random.Random(seed)
    with start("program", folder) as child:
        assert child.stdout is not None
        if draw.random() < 0.8:
            first = child.stdout.readline()
            pause(draw.uniform(0, 0.5))
        else:
            first = ""
            pause(draw.uniform(0.2, 1.5))
        child.kill()
        said = (first + child.stdout.read()).split("\n")[:-1]
    damaged = [path for path in _files(folder) if verify_file(path)["integrity"] != "sound"]
    assert [path for path in damaged if said or path.suffix != ".pvti"] == []  # it was killed while it made the trace
    report, ends = folder / "profile.pop", [float(line) for line in said]
    recorded = len(ProfileReader(report).runs().cycles) if report.exists() else 0
    assert len(ends) <= recorded <= len(ends) + 1
    due, traced = sum(end < ends[-1] - 0.1 for end in ends), _traced_runs(folder)
    assert traced >= due
    return f"{len(ends)} runs announced, {recorded} in the report, {traced} in the trace ({due} had to be)"


def _files(folder: Path) -> list[Path]:
    try:
        return files_to_verify(folder)
    except FormatError:  # it was killed before there was one
        return []


def _traced_runs(folder: Path) -> int:
    count = 0
    for path in folder.glob("*.pvti"):
        if verify_file(path)["integrity"] != "sound":
            continue
        statistics = OpenedTrace(path).statistics()
        count += int(statistics[statistics["label"] == "poplar::core::Engine::run"]["count"].sum())
    return count


def kill_compiler(folder: Path, seed: int) -> str:
    """Two compilers want a key of a cache that all kills share, and one is killed: the other ends well, the entry is
    there and sound, and nothing of the killed one is left."""
    draw, key = random.Random(seed), f"{seed:016x}"
    with start("compiler", folder, key) as victim, start("compiler", folder, key) as other:
        assert victim.stdout is not None
        if draw.random() < 0.7:
            victim.stdout.readline()  # compiling, or loaded
            pause(draw.uniform(0, 0.1))
        else:
            pause(draw.uniform(0.2, 1.5))
        victim.kill()
        said, _ = other.communicate(timeout=120)
    assert other.returncode == 0
    assert said.splitlines()[-1] in ("stored", "loaded")
    assert "warning" not in said
    (entry,) = (path for path in folder.glob(f"{key}*") if path.suffix != ".compile_lock")
    assert (entry.name, verify_file(entry)["integrity"]) == (f"{key}.popef", "sound")
    return f"exit code {victim.returncode}; the other said {', '.join(said.split())}"


def kill_sweeps(folder: Path, seed: int) -> str:
    """Ten kills of one sweep: in the end every point has ended once."""
    kill_and_resume(folder, COUNTS["sweeps"][1], seed)
    return "ten kills, every point ended once"


KILLS: dict[str, Callable[[Path, int], str]] = {
    "programs": kill_program,
    "compilers": kill_compiler,
    "sweeps": kill_sweeps,
}


def kill_all(kind: str, path: Path) -> None:
    """Kills what is left of a kind, by the progress in a file."""
    count, at_once = COUNTS[kind]
    done = read_progress(path)
    with tempfile.TemporaryDirectory() as top:
        for seed in range(done.get(kind, 0) // at_once, count // at_once):
            folder = Path(top) / ("cache" if kind == "compilers" else str(seed))
            folder.mkdir(exist_ok=True)
            print(f"{kind}: kill {seed}: ", end="", flush=True)
            print(KILLS[kind](folder, seed), flush=True)
            if kind != "compilers":
                shutil.rmtree(folder)
            write_progress(path, {**done, kind: (seed + 1) * at_once})
    print(f"{kind}: {count} kills, none lost anything", flush=True)


def kept_progress() -> Path:
    """The file of the sources as they are."""
    return progress_path("kills", *_SOURCES)


if __name__ == "__main__":
    for name in sys.argv[1:] or COUNTS:
        kill_all(name, kept_progress())
