"""Graphcore's tutorial 2: library operations on tensors mapped element by element.

python examples/tut2_operations.py
"""

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, PrintTensor, Sequence
from simulator.poplibs import popops


def main() -> None:
    device = IPUModel().createDevice()
    graph = Graph(device.getTarget())
    popops.addCodelets(graph)

    # Two 2 x 2 variables on four tiles, each with another order of tiles; the program fills them from constants.
    v1 = graph.addVariable(FLOAT, [2, 2], "v1")
    v2 = graph.addVariable(FLOAT, [2, 2], "v2")
    for row in range(2):
        for column in range(2):
            graph.setTileMapping(v1[row, column], 2 * row + column)
            graph.setTileMapping(v2[row, column], 2 * column + row)
    c1 = graph.addConstant(FLOAT, [4], [1.0, 1.5, 2.0, 2.5], "c1")
    c2 = graph.addConstant(FLOAT, [4], [4.0, 3.0, 2.0, 1.0], "c2")
    for constant in (c1, c2):
        graph.setTileMapping(constant, 0)
    program = Sequence(Copy(c1, v1.flatten()), Copy(c2, v2.flatten()))

    # add() returns a new tensor; transpose() is a view and costs nothing.
    v3 = popops.add(graph, v1, v2, program, "Add")
    program.add(PrintTensor("v3", v3))
    v4 = popops.add(graph, v3, v2, program, "Add")
    program.add(PrintTensor("v4", v4))
    v5 = popops.add(graph, v1, v2.transpose(), program, "Add")
    program.add(PrintTensor("v5", v5))

    with Engine(graph, program) as engine:
        engine.load(device)
        print("Running program")
        engine.run(0)
        print("Program complete")


if __name__ == "__main__":
    main()
