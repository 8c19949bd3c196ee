"""Block programs: a pipeline of two stages on two IPUs, run five times, after Graphcore's lightweight profiling
tutorial.

    python examples/lightweight_profiling/example_1.py
"""

from __future__ import annotations

from pathlib import Path

from simulator.poplar import DeviceManager, Engine, Graph, TargetType
from simulator.poplar.program import Block, Execute, Repeat, Sequence

CODELETS = Path(__file__).with_name("dummy_vertex.cpp")
NUM_IPUS = 2


def main() -> None:
    devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, NUM_IPUS)
    device = next(device for device in devices if device.attach())
    graph = Graph(device.getTarget())
    graph.addCodelets(str(CODELETS))
    tiles_per_ipu = device.getTarget().getTilesPerIPU()

    def create_operation(name: str, ipu: int) -> Block:
        op = graph.addComputeSet(name)
        vertex = graph.addVertex(op, "DummyVertex")
        graph.setTileMapping(vertex, tiles_per_ipu * ipu)
        return Block(Execute(op), name)

    stage1 = Block(Sequence(create_operation("op1", 0), create_operation("op2", 0)), "stage1")
    stage2 = Block(Sequence(create_operation("op1", 1), create_operation("op2", 1)), "stage2")
    main_loop = Repeat(5, Sequence(stage1, stage2))

    engine = Engine(graph, main_loop, {"profiler.blocks.filter": "stage.|op2"})
    engine.load(device)
    engine.run()

    report = engine.getReport()
    for ipu in range(NUM_IPUS):
        for block in report.execution.blocks(ipu * tiles_per_ipu):
            begin, end = block.cyclesFrom, block.cyclesTo
            print(f"{block.program.name:>10}: {end - begin} ({begin} - {end})")


if __name__ == "__main__":
    main()
