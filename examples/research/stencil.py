"""Heat in a plate, a strip of rows on each tile: before each step a tile gets the border rows of its neighbours.

python -m examples.research.stencil --rows 4 --columns 64 --steps 20
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from examples.research.device import COUNTED, attached, cycles_of_last_run
from simulator.poplar import FLOAT, Engine, Graph, Tensor
from simulator.poplar.program import Copy, Execute, Program, Repeat, Sequence

HOT = 100.0  #: of the upper edge


class Plate:
    """The plate at one time: a strip for each tile, with a row above and a row below."""

    def __init__(self, graph: Graph, name: str, rows: int, columns: int) -> None:
        self.rows = rows
        tiles = graph.getTarget().getNumTiles()
        self.strips = [graph.addVariable(FLOAT, [rows + 2, columns], f"{name}{tile}") for tile in range(tiles)]
        for tile, strip in enumerate(self.strips):
            graph.setTileMapping(strip, tile)
            graph.setInitialValue(strip, 0.0)
        graph.setInitialValue(self.strips[0][0], HOT)

    def inside(self, tile: int) -> Tensor:
        return self.strips[tile].slice(1, self.rows + 1)

    def exchanged(self) -> Sequence:
        """A program that copies border rows to the neighbours."""
        copies = Sequence()
        for upper, lower in zip(self.strips, self.strips[1:], strict=False):
            copies.add(Copy(upper[self.rows], lower[0]))
            copies.add(Copy(lower[1], upper[self.rows + 1]))
        return copies


def step(graph: Graph, before: Plate, after: Plate) -> Program:
    """One step of time."""
    cs = graph.addComputeSet("step")
    for tile, strip in enumerate(before.strips):
        graph.setTileMapping(graph.addVertex(cs, "Step", {"in": strip, "out": after.inside(tile)}), tile)
    return Sequence(before.exchanged(), Execute(cs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4, help="of a tile")
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20, help="an even number")
    arguments = parser.parse_args()
    device = attached()
    graph = Graph(device.getTarget())
    graph.addCodelets(str(Path(__file__).with_name("stencil_codelets.cpp")))
    even, odd = (Plate(graph, name, arguments.rows, arguments.columns) for name in ("even", "odd"))
    graph.createHostRead("first", even.inside(0))
    program = Repeat(arguments.steps // 2, Sequence(step(graph, even, odd), step(graph, odd, even)))
    engine = Engine(graph, program, COUNTED)
    engine.load(device)
    engine.run()
    plate = np.empty([arguments.rows, arguments.columns], np.float32)
    engine.readTensor("first", plate)
    below = " ".join(f"{row[arguments.columns // 2]:.4f}" for row in plate)
    print(f"below the hot edge: {below}; {cycles_of_last_run(engine)} cycles")


if __name__ == "__main__":
    main()
