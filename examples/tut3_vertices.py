"""A custom vertex with a C++ codelet: Graphcore's third Poplar tutorial on the simulated IPU.

python examples/tut3_vertices.py
"""

from __future__ import annotations

from pathlib import Path

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Execute, PrintTensor, Sequence

CODELETS = Path(__file__).with_name("tut3_codelets.cpp")


def main() -> None:
    device = IPUModel().createDevice()
    graph = Graph(device.getTarget())
    graph.addCodelets(str(CODELETS))

    v1 = graph.addVariable(FLOAT, [4], "v1")
    v2 = graph.addVariable(FLOAT, [4], "v2")
    for i in range(4):
        graph.setTileMapping(v1[i], i)
        graph.setTileMapping(v2[i], i)

    prog = Sequence()
    c1 = graph.addConstant(FLOAT, [4], [1.0, 1.5, 2.0, 2.5])
    graph.setTileMapping(c1, 0)
    prog.add(Copy(c1, v1))

    # Vertex i sums elements i to 3 of v1, which are on other tiles, into element i of v2 on its own tile.
    compute_set = graph.addComputeSet("computeSet")
    for i in range(4):
        vertex = graph.addVertex(compute_set, "SumVertex")
        graph.connect(vertex["in"], v1.slice(i, 4))
        graph.connect(vertex["out"], v2[i])
        graph.setTileMapping(vertex, i)
        graph.setPerfEstimate(vertex, 20)
    prog.add(Execute(compute_set))
    prog.add(PrintTensor("v2", v2))

    engine = Engine(graph, prog)
    engine.load(device)
    print("Running program")
    engine.run(0)
    print("Program complete")


if __name__ == "__main__":
    main()
