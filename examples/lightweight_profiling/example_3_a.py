"""The copies that lightweight profiling itself adds, after Graphcore's lightweight profiling tutorial.

python examples/lightweight_profiling/example_3_a.py [OPTION=VALUE ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from simulator.poplar import DeviceManager, Engine, Graph, TargetType
from simulator.poplar.program import Execute, Repeat, Sequence

CODELETS = Path(__file__).with_name("dummy_vertex.cpp")
COMPUTE_TILE = 0


def main() -> None:
    devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)
    device = next(device for device in devices if device.attach())
    graph = Graph(device.getTarget())
    graph.addCodelets(str(CODELETS))

    op = graph.addComputeSet("operation")
    vertex = graph.addVertex(op, "DummyVertex")
    graph.setTileMapping(vertex, COMPUTE_TILE)
    program = Sequence(Repeat(100, Sequence(Execute(op))))

    options = {
        "profiler.programs.filter": "operation",
        "debug.instrumentExternalExchange": "true",
        "profiler.blocks.implicitFlush": "true",
    }
    options |= dict(argument.split("=", 1) for argument in sys.argv[1:])
    with Engine(graph, program, options) as engine:
        engine.load(device)
        engine.run()
        report = engine.getReport()

    blocks = report.execution.blocks(COMPUTE_TILE)
    print(f"numBlocks: {len(blocks)}")
    print(f"numCommonBlocks: {sum(block.isCommon for block in blocks)}")
    print(f"numFlushes: {sum(block.isBlockFlush for block in blocks)}")
    print(f"numStreamCopies: {sum(block.isStreamCopy for block in blocks)}")
    print(f"numOverflows: {sum(block.isOverflow for block in blocks)}")


if __name__ == "__main__":
    main()
