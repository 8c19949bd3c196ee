"""Implicit blocks: one compute set run five times and selected by name, after Graphcore's lightweight profiling
tutorial.

The vertex does more work each time, and counts the code that it executes: 3,630 cycles from line to line, where the
published times grow by 3,650 (docs/blocks.md).

    python examples/lightweight_profiling/example_2.py
"""

from __future__ import annotations

from pathlib import Path

from simulator.poplar import UNSIGNED_INT, DeviceManager, Engine, Graph, TargetType
from simulator.poplar.program import Execute, Repeat

CODELETS = Path(__file__).with_name("growing_vertex.cpp")


def main() -> None:
    devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)
    device = next(device for device in devices if device.attach())
    graph = Graph(device.getTarget())
    graph.addCodelets(str(CODELETS))

    iterations = graph.addVariable(UNSIGNED_INT, [])
    graph.setTileMapping(iterations, 0)
    cs = graph.addComputeSet("operation")
    vertex = graph.addVertex(cs, "DummyVertex")
    graph.setTileMapping(vertex, 0)
    graph.connect(vertex["iterations"], iterations)
    graph.setInitialValue(iterations, 1)
    loop = Repeat(5, Execute(cs))

    engine = Engine(graph, loop, {"profiler.programs.filter": "operation"})
    engine.load(device)
    engine.run()

    report = engine.getReport()
    for block in report.execution.blocks(0):
        print(f"{block.program.name}: {block.cyclesTo - block.cyclesFrom}")


if __name__ == "__main__":
    main()
