"""Compiled codelets on simulated hardware, which count what they execute: `python -m benchmarks.cpp.counted_runs`.

Two things on one IPU of 1,472 tiles:

- the triads of `benchmarks.cpp.codelets` on hardware, in turns with the IPU Model, where nothing is counted: processor
  time per element. The limit is twice as long;
- a vertex a tile whose trips depend on its data, run alone: the same data in each run, and other data in each. Time of
  a run, and the bytes of arrays that its record adds to those of earlier runs.

Writes its tables into docs/measured/benchmarks.md; the exit code is 1 above the limit.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np

from benchmarks.cpp.codelets import CASES, FLAGS, LIMIT, REPEATS, processor_seconds, triads
from benchmarks.document import write_section
from simulator.poplar import INT, CodeletFileType, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Execute, Repeat

ROUNDS, STEPS, RUNS = 5, 100, 6
TRIPS = """
#include <poplar/Vertex.hpp>
class Trips : public poplar::Vertex {
 public:
  poplar::InOut<int> n;
  const int grows;
  bool compute() {
    volatile int sum = 0;
    unsigned trips = (*n * 2654435761u >> 16) % 50;  // no period
    for (unsigned i = 0; i < trips; ++i) sum = sum + 3;
    *n = *n + grows;
    return true;
  }
};
"""


def main() -> int:
    """Measure, print and write the tables."""
    device = next(d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1) if d.attach())
    lines = [
        "## C++ codelets that count on simulated hardware",
        "",
        f"`python -m benchmarks.cpp.counted_runs`. The triads above, `{FLAGS}`; processor time per element, best of "
        f"{ROUNDS}. The limit is {LIMIT:g}.",
        "",
        "| vertices | elements of each | hardware, counted, ns | IPU Model, ns | ratio |",
        "|---:|---:|---:|---:|---:|",
    ]
    ratios = []
    for vertices, size in CASES:
        counted, plain = (_best(triads(vertices, size, d)) for d in (device, IPUModel().createDevice()))
        scale = 1e9 / (vertices * size * REPEATS)
        ratios.append(counted / plain)
        lines.append(f"| {vertices:,} | {size:,} | {counted * scale:.3f} | {plain * scale:.3f} | {ratios[-1]:.2f} |")
    lines += [
        "",
        f"A vertex on each of 1,472 tiles, {STEPS} compute sets a run, trips by its data: what a run takes, and what "
        "its record keeps beyond that of earlier runs.",
        "",
        "| data | processor time of a compute set, µs | bytes that a run adds |",
        "|---|---:|---:|",
    ]
    for name, grows in (("the same in each step", 0), ("others in each step", 7)):
        seconds, added = _recorded(device, grows)
        lines.append(f"| {name} | {seconds / STEPS * 1e6:,.0f} | {added:,} |")
    text = "\n".join(lines)
    print(text)
    write_section("counted_runs", text)
    device.detach()
    return int(max(ratios) > LIMIT)


def _best(engine: Engine) -> float:
    """Processor seconds of a run, the best of several."""
    with engine:
        times = []
        for _ in range(ROUNDS):
            before = processor_seconds(engine)
            engine.run(0)
            times.append(processor_seconds(engine) - before)
    return min(times)


def _recorded(device: Any, grows: int) -> tuple[float, int]:
    """(processor seconds of the last run, bytes of arrays that it alone has) of recorded runs."""
    graph = Graph(device.getTarget())
    graph.addCodelets(io.StringIO(TRIPS), CodeletFileType.CppSource)
    tiles = np.arange(graph.getTarget().getNumTiles())
    n = graph.addVariable(INT, [len(tiles)], "n")
    graph.setTileMappingIntervals(n, tiles, tiles + 1, tiles)
    graph.setInitialValue(n, (tiles * 13 % 50).astype(np.int32))
    cs = graph.addComputeSet("trips")
    graph.addVertices(cs, "Trips", tiles, {"n": n}, {"grows": grows})
    options = {"debug.instrument": "true", "autoReport.executionProfileProgramRunCount": str(RUNS)}
    with Engine(graph, Repeat(STEPS, Execute(cs)), options) as engine:
        engine.load(device)
        known: set[int] = set()
        for _ in range(RUNS):
            before = processor_seconds(engine)
            engine.run(0)
            seconds = processor_seconds(engine) - before
            arrays = {id(a): a.nbytes for p in engine.core.recorder.records[-1].patterns for a in (p.start, p.cycles)}
            added = sum(size for key, size in arrays.items() if key not in known)
            known |= set(arrays)
    return seconds, added


if __name__ == "__main__":
    sys.exit(main())
