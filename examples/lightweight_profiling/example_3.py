"""Copies from the host while the IPU computes, as blocks, after Graphcore's lightweight profiling tutorial.

python examples/lightweight_profiling/example_3.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.poplar import INT, DeviceManager, Engine, Graph, LegacyStreamCallback, TargetType
from simulator.poplar.program import Copy, Execute, Repeat, Sequence

CODELETS = Path(__file__).with_name("reading_vertex.cpp")
COMPUTE_TILE, IO_TILE = 0, 100


class HostToDeviceCallback(LegacyStreamCallback):
    """Sends the same values each time."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def fetch(self, p: np.ndarray) -> None:
        p[:] = self.values


def main() -> None:
    devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)
    device = next(device for device in devices if device.attach())
    graph = Graph(device.getTarget())
    graph.addCodelets(str(CODELETS))

    op = graph.addComputeSet("operation")
    vertex = graph.addVertex(op, "DummyVertex")
    graph.setTileMapping(vertex, COMPUTE_TILE)

    in1 = graph.addVariable(INT, [])  # target of the host copy
    in2 = graph.addVariable(INT, [])  # operand of the computation
    graph.setTileMapping(in1, IO_TILE)
    graph.setTileMapping(in2, COMPUTE_TILE)
    graph.connect(vertex["input"], in2)
    in_stream = graph.addHostToDeviceFIFO("in", INT, 1)

    program = Sequence(
        Copy(in_stream, in1),
        Repeat(4, Sequence(Copy(in1, in2), Copy(in_stream, in1), Execute(op))),
        Copy(in1, in2),
        Execute(op),
    )
    options = {
        "profiler.programs.filter": "operation",
        "debug.instrumentExternalExchange": "true",
        "profiler.blocks.implicitFlush": "false",
    }
    engine = Engine(graph, program, options)
    engine.connectStreamToCallback("in", 0, HostToDeviceCallback(np.zeros(1, np.int32)))
    engine.load(device)
    engine.run()

    report = engine.getReport()
    for tile in (COMPUTE_TILE, IO_TILE):
        for block in report.execution.blocks(tile):
            begin, end = block.cyclesFrom, block.cyclesTo
            name = block.program.type.name if block.isStreamCopy else block.program.name
            print(f"{name:>20} in tile {block.tile:>4}: {end - begin:>8} ({begin} - {end})")


if __name__ == "__main__":
    main()
