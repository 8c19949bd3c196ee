"""Mutated copies of a report, and whether anybody is told another number than the truth.

`python -m tests.formats.mutations REPORT FIRST COUNT` is the child process of tests/formats/test_mutations.py: mutation
number n is drawn with n as its seed, so any of them can be made again. Even numbers are read through pva, odd ones
through the figures of the summary page, which show what is left of a damaged report.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from popvision import pva
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.headline import headline
from popvision.formats.errors import FormatError
from popvision.formats.generate import Size, generate
from popvision.formats.profile.schema import TABLES

PAGE = 512
SECONDS = 10  #: of processor time for one mutation
MEMORY = 2 << 30  #: bytes of address space that reading may take

REFUSED = "refused"
RUNS = 3


def make_report(path: Path) -> None:
    """Three runs on eight tiles, packed into small pages so that nearly every byte of the file means something."""
    generate(
        path, Size(1_500, "distinct", 8, layers=1, liveness_indices=40, lowered_variables=160, intervals_per_run=500)
    )
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA page_size={PAGE}")
        db.execute("VACUUM")
    db.close()


def first_runs(report: Path, path: Path, runs: int) -> Path:
    """A copy that holds the first runs alone."""
    shutil.copyfile(report, path)
    with sqlite3.connect(path) as db:
        (steps,) = db.execute("SELECT count(*) FROM steps WHERE run < ?", (runs,)).fetchone()
        for table in (table.name for table in TABLES.values() if table.per_run):
            column, least = {"runs": ("id", runs), "steps_by_ipu": ("step_id", steps)}.get(table, ("run", runs))
            db.execute(f"DELETE FROM {table} WHERE {column} >= ?", (least,))
            db.execute("DELETE FROM parts WHERE name = ? AND part >= ?", (table, runs))
    db.close()
    return path


def mutated(data: bytes, seed: int) -> tuple[str, bytes]:
    """What was done, and the outcome. Places are uniform over the file."""
    rng = random.Random(seed)
    kind = rng.choice(list(_KINDS))
    changed = bytearray(data)
    _KINDS[kind](changed, rng)
    return kind, bytes(changed)


def _flip(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _flips(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randrange(2, 17)):
        _flip(data, rng)


def _write(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at : at + rng.randrange(1, 65)] = rng.randbytes(64)[: min(64, len(data) - at)]


def _cut(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at - at % PAGE if rng.random() < 0.5 else at :]


def _remove(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 8, PAGE))]


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at:at] = rng.randbytes(rng.choice((1, 8, PAGE)))


def _swap_pages(data: bytearray, rng: random.Random) -> None:
    one, other = (_page(data, rng) for _ in range(2))
    data[one], data[other] = data[other], data[one]


def _copy_page(data: bytearray, rng: random.Random) -> None:
    data[_page(data, rng)] = data[_page(data, rng)]


def _clear_page(data: bytearray, rng: random.Random) -> None:
    data[_page(data, rng)] = bytes(PAGE)


def _page(data: bytearray, rng: random.Random) -> slice:
    number = rng.randrange(len(data) // PAGE)
    return slice(number * PAGE, (number + 1) * PAGE)


_KINDS: dict[str, Callable[[bytearray, random.Random], None]] = {
    "one bit": _flip,
    "several bits": _flips,
    "bytes written": _write,
    "cut": _cut,
    "bytes removed": _remove,
    "bytes inserted": _insert,
    "pages swapped": _swap_pages,
    "page copied over another": _copy_page,
    "page cleared": _clear_page,
}


def pva_figures(path: Path) -> dict[str, str]:
    """What a script sums up, REFUSED where it is told so."""
    try:
        report = pva.openReport(path)
    except FormatError:
        return dict.fromkeys(_ASKED, REFUSED)
    return {name: _told(lambda ask=ask: ask(report)) for name, ask in _ASKED.items()}  # type: ignore[misc]


def _told(ask: Callable[[], object]) -> str:
    try:
        return repr(ask())
    except FormatError:
        return REFUSED


def _of_tiles(report: Any) -> object:
    memory = [tile.memory for tile in report.compilation.tiles]
    return [(m.total.includingGaps, m.alwaysLiveBytes, m.notAlwaysLiveBytes, m.category.variable.total) for m in memory]


def _of_steps(report: Any) -> object:
    return [(step.ipus[0].cycles, step.ipus[0].dataIn, step.program.name) for step in report.execution.steps]


_ASKED: dict[str, Callable[[Any], object]] = {
    "versions": lambda r: (r.poplarVersion.string, r.version.major, r.version.minor),
    "total": lambda r: r.execution.totalCycles.total,
    "runs": lambda r: [(run.name, len(run.steps)) for run in r.execution.runs],
    "steps": _of_steps,
    "last step": lambda r: r.execution.steps[-1].cyclesByTile if r.execution.steps else None,
    "tiles": _of_tiles,
    "graph": lambda r: (r.compilation.graph, r.compilation.target.numTiles, r.compilation.target.clockFrequency),
    "programs": lambda r: [(p.name, p.type.name, len(p.children)) for p in r.compilation.programs],
    "liveness": lambda r: [step.notAlwaysLiveMemory.bytes for step in r.compilation.livenessProgramSteps],
    "always live": lambda r: [(v.name, v.size) for v in r.compilation.alwaysLiveVariables],
    "lowered": lambda r: [(v.name, v.bytes) for v in r.compilation.loweredVariables.forTile(3)],
    "vertices": lambda r: [[v.countByTile for v in c.vertices] for c in r.compilation.computeSets[:2]],
}


def summary_figures(path: Path) -> dict[str, str]:
    """The first figures of the viewer, and under "warning" what it says about damage."""
    try:
        source = ReportSource(path, salvage=True)
        found = headline(source)
    except FormatError as refusal:
        return {"warning": str(refusal)}
    figures = {field.name: repr(getattr(found, field.name)) for field in fields(found) if field.name != "lost"}
    return {**figures, "warning": " ".join([*found.lost.values(), *source.reader.noticed])}


def wrong_through_pva(path: Path, truths: list[dict[str, str]]) -> list[str]:
    """Figures that a script is told and that are not those of the report."""
    return [name for name, figure in pva_figures(path).items() if figure not in (truths[-1][name], REFUSED)]


def wrong_in_summary(path: Path, truths: list[dict[str, str]]) -> list[str]:
    """Figures of the summary that are neither the truth nor, with a warning, left out or those of the first runs."""
    figures = summary_figures(path)
    warning = figures.pop("warning")
    allowed = {name: {truths[-1][name]} for name in figures}
    if warning:
        of_runs = next((truth for runs, truth in enumerate(truths) if _whole_runs(warning) == runs), truths[-1])
        allowed = {name: {truth, of_runs[name], "None", "0", "False"} for name, (truth,) in allowed.items()}
    return [name for name, figure in figures.items() if figure not in allowed[name]]


def _whole_runs(warning: str) -> int:
    """How many runs the figures are of, by the warning about lost runs."""
    found = re.search(r"figures are of run(?:s 0 to)? (\d+)", warning)
    return int(found[1]) + 1 if found else RUNS


def child(report: Path, first: int, count: int) -> int:
    """Tries mutations `first` ... and says what is wrong with them; the number at hand stands in the file `at`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data, wrong = report.read_bytes(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.pop"
        cut = [first_runs(report, path.with_name(f"{runs}.pop"), runs) for runs in range(RUNS)]
        readers = (
            (wrong_through_pva, [pva_figures(report)]),
            (wrong_in_summary, [*map(summary_figures, [*cut, report])]),
        )
        for number in range(first, first + count):
            kind, changed = mutated(data, number)
            print(f"mutation {number} ({kind})", flush=True)
            path.write_bytes(changed)
            os.utime(path, ns=(10**18 + number * 10**9,) * 2)  # of long ago, so that columns are kept between questions
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # ends this process
            look, truths = readers[number % 2]
            if names := look(path, truths):
                print(f"WRONG after mutation {number} ({kind}): {', '.join(names)}", flush=True)
                wrong += 1
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(child(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
