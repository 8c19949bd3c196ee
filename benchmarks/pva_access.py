"""Scripts that read a large report through libpva's names: `python -m benchmarks.pva_access`.

1,472 tiles, 31,000 liveness indices, 2,000 compute sets, 5 M lowered variables, 100,000 execution steps, 50,000
programs, written by `popvision.formats.generate`. Each query is a loop as a client writes it. A fresh process runs all
queries with limits in turn, so the first query that needs a column pays for reading it. Times are processor time, the
least of three processes, because other programs may use the machine. The second table runs other loops on that report
and on one half as long in everything but tiles: a loop whose time more than doubles would be quadratic. Writes
docs/measured/benchmarks.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.document import write_section
from popvision import pva
from popvision.formats.generate import Size, generate

ATTEMPTS = 3
MEMORY = 500  # MB, decimal
TILE = 700

WHOLE = Size(147.2e6, "repeat", layers=1_613, liveness_indices=31_000, lowered_variables=5_000_000, compute_sets=2_000)
HALF = Size(73.6e6, "repeat", layers=806, liveness_indices=15_500, lowered_variables=2_500_000, compute_sets=1_000)


class Counter(pva.ProgramVisitor):
    """Names of compute sets and exchanges, as a visitor collects them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def visitOnTileExecute(self, program: Any) -> None:
        self.names.append(program.name)

    def visitDoExchange(self, program: Any) -> None:
        self.names.append(program.name)


def tile_memory(report: pva.Report) -> object:
    return [tile.memory.total.includingGaps for tile in report.compilation.tiles]


def step_cycles(report: pva.Report) -> object:
    return sum(step.ipus[0].cycles for step in report.execution.steps)


def visited(report: pva.Report) -> object:
    visitor = Counter()
    for program in report.compilation.programs:
        program.accept(visitor)
    return visitor.names


def lowered_of_tile(report: pva.Report) -> object:
    found = report.compilation.loweredVariables.forTile(TILE)
    return [(v._id, v.name, v.bytes, v.unloweredVar.name if v.hasUnloweredVar else "") for v in found]


def peak_variables(report: pva.Report) -> object:
    peak = max(report.compilation.livenessProgramSteps, key=lambda step: step.notAlwaysLiveMemory.bytes)
    return [(variable.name, variable.size) for variable in peak.notAlwaysLiveMemory.variables]


#: query -> (its function, limit in seconds)
LIMITED: dict[str, tuple[Callable[[pva.Report], object], float]] = {
    "the list of every tile's memory": (tile_memory, 0.050),
    "the sum of `step.ipus[0].cycles` over all steps": (step_cycles, 1.0),
    "a visitor over every program": (visited, 1.0),
    "one tile's lowered variables: id, name, bytes, variable": (lowered_of_tile, 0.050),
    "the highest liveness step and its variables": (peak_variables, 0.100),
}

#: other loops: name -> (items, function of each); long loops take every n-th item
LOOPS: dict[str, tuple[Callable[[pva.Report], Any], Callable[[Any], object]]] = {
    "children of every program": (lambda r: r.compilation.programs, lambda p: [c._id for c in p.children]),
    "exchange code of every 50th program": (
        lambda r: r.compilation.programs[::50],
        lambda p: getattr(p, "codeBytesByTile", None),
    ),
    "control code of every 50th program, its children's included": (
        lambda r: r.compilation.programs[::50],
        lambda p: p.controlCodeByTile,
    ),
    "program and compute sets of every step": (
        lambda r: r.execution.steps,
        lambda s: (s.program.name, s.ipus[0].dataIn, s.ipus[0].allCycles.cyclesTo.max),
    ),
    "cycles by tile of every 200th step": (lambda r: r.execution.steps[::200], lambda s: max(s.cyclesByTile)),
    "vertices of every compute set by tile": (
        lambda r: r.compilation.computeSets,
        lambda c: [(v.type.name, sum(v.countByTile)) for v in c.vertices],
    ),
    "vertex types and code bytes of every 10th tile": (
        lambda r: r.compilation.tiles[::10],
        lambda t: [(v.type.name, v.codeBytes) for v in t.memory.vertices],
    ),
    "bytes live at every step": (lambda r: r.compilation.livenessProgramSteps, lambda s: s.notAlwaysLiveMemory.bytes),
    "variables live at every 500th step": (
        lambda r: r.compilation.livenessProgramSteps[::500],
        lambda s: [(v.name, v.size) for v in s.notAlwaysLiveMemory.variables],
    ),
    "bytes live on one tile at every 500th step": (
        lambda r: r.compilation.livenessProgramSteps[::500],
        lambda s: s.notAlwaysLiveMemoryForTile(TILE).bytes,
    ),
}


def main() -> int:
    """Measure, print and write the tables. Returns exit code 1 beyond a limit. A child process is `one REPORT` or
    `loops REPORT`."""
    if len(sys.argv) > 2:
        print(json.dumps({"one": limited, "loops": loops}[sys.argv[1]](Path(sys.argv[2]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "whole.pop", Path(folder) / "half.pop"]
        for path, size in zip(paths, (WHOLE, HALF), strict=True):
            generate(path, size)
        counted, lines, met = _limits(paths[0])
        lines = [f"{counted} {paths[0].stat().st_size / 1e6:.0f} MB.", "", *lines, "", *_scaling(*paths)]
    text = "\n".join(["## Scripts on large reports", "", *lines])
    print(text)
    write_section("pva access", text)
    return 0 if met else 1


def limited(path: Path) -> dict[str, Any]:
    """Seconds of each limited query of a freshly opened report, and the sizes of the report."""
    times, began = {}, time.process_time()
    report = pva.openReport(path)
    times["open"] = time.process_time() - began
    for name, (ask, _) in LIMITED.items():
        began = time.process_time()
        ask(report)
        times[name] = time.process_time() - began
    memory = _peak_memory()
    compilation = report.compilation
    lengths = {
        "tiles": compilation.tiles,
        "liveness indices": compilation.livenessProgramSteps,
        "compute sets": compilation.computeSets,
        "programs": compilation.programs,
        "execution steps": report.execution.steps,
        "lowered variables": compilation.loweredVariables.allBriefVars,
    }
    return {"times": times, "memory": memory, "counts": {name: len(items) for name, items in lengths.items()}}


def loops(path: Path) -> dict[str, tuple[int, float]]:
    """(items, seconds) of each other loop, without the one-off costs of its first item."""
    report, found = pva.openReport(path), {}
    for name, (items, ask) in LOOPS.items():
        listed = items(report)
        ask(listed[0])
        began = time.process_time()
        for item in listed:
            ask(item)
        found[name] = len(listed), time.process_time() - began
    return found


def _limits(path: Path) -> tuple[str, list[str], bool]:
    """The sizes of the report, the table of limits, and whether all were met."""
    found = [_child("one", path) for _ in range(ATTEMPTS)]
    limits = {"open": 0.100, **{name: limit for name, (_, limit) in LIMITED.items()}}
    lines = ["| question | ms | limit | within the limit |", "| --- | ---: | ---: | --- |"]
    met = True
    for name, limit in limits.items():
        least = min(each["times"][name] for each in found)
        met &= least <= limit
        lines.append(f"| {name} | {1e3 * least:.1f} | {1e3 * limit:.0f} | {'yes' if least <= limit else 'no'} |")
    memory = min(each["memory"] for each in found)
    met &= memory <= MEMORY
    lines += ["", f"Peak memory of the process after all of these: {memory:.0f} MB (limit {MEMORY} MB)."]
    counts = ", ".join(f"{count:,} {name}" for name, count in found[0]["counts"].items())
    heading = f"`python -m benchmarks.pva_access`. {counts}. Processor time, the least of {ATTEMPTS} fresh processes;"
    return f"{heading} the first question that needs a column pays for reading it. profile.pop", lines, met


def _scaling(whole: Path, half: Path) -> list[str]:
    large, small = _child("loops", whole), _child("loops", half)
    lines = [
        "Other loops, and their time on the report over that on one half as long in everything but tiles: about 2 is "
        "linear, 4 quadratic.",
        "",
        "| loop | items | ms | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, (count, seconds) in large.items():
        lines.append(f"| {name} | {count:,} | {1e3 * seconds:,.0f} | {seconds / max(small[name][1], 1e-6):.1f} |")
    return lines


def _peak_memory() -> float:
    """MB. ru_maxrss would start at the peak of the parent, which wrote the reports."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) * 1024 / 1e6


def _child(mode: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.pva_access", mode, str(path)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert isinstance(found, dict)
    return found


if __name__ == "__main__":
    sys.exit(main())
