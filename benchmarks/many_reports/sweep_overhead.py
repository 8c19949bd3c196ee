"""What a sweep adds to its programs: `python -m benchmarks.many_reports.sweep_overhead [--points 1000]`.

A program of one addition on a few tiles, at many points. Two shares are printed: processor time of the sweep's own
process over that of its programs, and time in which a place for a program stood empty over all time of all places.
Both come from one run, so other work on the machine changes them little. A second start, which skips all points, is
timed too. Writes its section of docs/measured/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.document import write_section
from popvision.sweep import Sweep, run_sweep

PROGRAM = """
import sys
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil

device = IPUModel().createDevice()
graph, program = Graph(device), Sequence()
a = graph.addVariable(FLOAT, [int(sys.argv[1])], "a")
poputil.mapTensorLinearly(graph, a)
popops.add(graph, a, a, program, "sum")
with Engine(graph, program) as engine:
    engine.load(device)
    engine.run(0)
"""


def main() -> None:
    """Run the sweep twice, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, help="keep the reports here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text = measure(arguments.folder or Path(scratch), arguments.points, arguments.at_once)
    print(text)
    if arguments.points == 1000:
        write_section("sweep", text)


def measure(folder: Path, points: int, at_once: int) -> str:
    """The section of docs/measured/benchmarks.md."""
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    sizes = [16 * (each + 1) for each in range(points // 2)]
    sweep = Sweep("program.py", ["{n}"], {"tiles": [4, 8], "arguments.n": sizes}, runs=1, folder=folder)
    before = (_processor(resource.RUSAGE_SELF), _processor(resource.RUSAGE_CHILDREN), time.perf_counter())
    outcome = run_sweep(sweep, folder / "points", at_once=at_once)
    own, programs = _processor(resource.RUSAGE_SELF) - before[0], _processor(resource.RUSAGE_CHILDREN) - before[1]
    wall = time.perf_counter() - before[2]
    if outcome.failures:
        raise SystemExit(f"{len(outcome.failures)} points failed, the first: {outcome.failures[0]}")
    occupied = sum(
        json.loads(path.read_text())["seconds"] for path in (folder / "points" / "points").glob("*/point.json")
    )
    begun = time.perf_counter()
    run_sweep(sweep, folder / "points", at_once=at_once)
    again = time.perf_counter() - begun
    return (
        "## Sweeps\n\n"
        f"`python -m benchmarks.many_reports.sweep_overhead`: {outcome.done:,} points of one addition, {at_once} at "
        "once.\n\n"
        "| measure | value |\n| --- | --- |\n"
        f"| wall time | {wall:.0f} s, {wall / points:.2f} s a point |\n"
        f"| processor time of the programs | {programs:.0f} s |\n"
        f"| processor time of the sweep itself | {own:.1f} s, {own / programs:.2%} of theirs |\n"
        f"| places for programs that stood empty | {1 - occupied / (at_once * wall):.2%} of the time |\n"
        f"| a second start, which skips all points | {again:.2f} s |\n"
    )


def _processor(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
