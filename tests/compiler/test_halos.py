"""A five-point stencil over a grid in blocks: the exchange brings the perimeter of the blocks, no byte more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision import pva
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor, Type
from simulator.poplar.program import Execute, Sequence

BLOCKS = 4


class FivePoints(Vertex):
    """The mean of four neighbours, each given as a vector in the order of the outputs."""

    up = Input(Vector(FLOAT))
    down = Input(Vector(FLOAT))
    left = Input(Vector(FLOAT))
    right = Input(Vector(FLOAT))
    out = Output(Vector(FLOAT))

    def compute(self) -> None:
        self.out[:] = (self.up + self.down + self.left + self.right) * 0.25


def blocks(side: int) -> list[tuple[int, list[int], list[int]]]:
    """(tile, first row and column, last ones) of the inner elements of each block."""
    step = side // BLOCKS
    corners = [(y * step, x * step) for y in range(BLOCKS) for x in range(BLOCKS)]
    return [
        (tile, [max(y, 1), max(x, 1)], [min(y + step, side - 1), min(x + step, side - 1)])
        for tile, (y, x) in enumerate(corners)
    ]


def grid(graph: Graph, type_: Type, side: int, name: str) -> Tensor:
    tensor = graph.addVariable(type_, [side, side], name)
    step = side // BLOCKS
    for tile in range(BLOCKS**2):
        y, x = divmod(tile, BLOCKS)
        graph.setTileMapping(tensor.slice([y * step, x * step], [(y + 1) * step, (x + 1) * step]), tile)
    return tensor


def stencil(graph: Graph, before: Tensor, after: Tensor, side: int) -> Sequence:
    graph.addCodelets(FivePoints)
    cs = graph.addComputeSet("stencil")
    for tile, (y, x), (below, beyond) in blocks(side):
        vertex = graph.addVertex(cs, "FivePoints")
        for field, (dy, dx) in {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}.items():
            graph.connect(vertex[field], before.slice([y + dy, x + dx], [below + dy, beyond + dx]).flatten())
        graph.connect(vertex["out"], after.slice([y, x], [below, beyond]).flatten())
        graph.setTileMapping(vertex, tile)
    return Sequence(Execute(cs))


@pytest.mark.parametrize("side", [16, 48])
def test_a_tile_receives_its_perimeter_at_four_bytes_a_cycle(side: int, tmp_path: Path) -> None:
    """Each of the borders between blocks is crossed both ways by the elements beside it; a block in the middle receives
    4 * side / blocks elements, which is what the step takes, beside its start."""
    model = IPUModel()
    model.tilesPerIPU = BLOCKS**2
    device = model.createDevice()
    graph = Graph(device)
    before, after = grid(graph, FLOAT, side, "before"), grid(graph, FLOAT, side, "after")
    program = stencil(graph, before, after, side)
    graph.createHostWrite("before", before)
    graph.createHostRead("after", after)
    values = np.random.default_rng(1).normal(size=(side, side)).astype(np.float32)
    out = np.zeros((side, side), np.float32)
    with Engine(graph, program, {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}) as engine:
        engine.load(device)
        engine.writeTensor("before", values)
        engine.run(0)
        engine.readTensor("after", out)
    exact = (values[:-2, 1:-1] + values[2:, 1:-1] + values[1:-1, :-2] + values[1:-1, 2:]) / 4
    np.testing.assert_allclose(out[1:-1, 1:-1], exact, atol=1e-6)
    (step,) = [
        s.ipus[0]
        for s in pva.openReport(str(tmp_path / "profile.pop")).execution.steps
        if s.program.name.startswith("cs") and "stencil/ExchangePre" in s.program.name
    ]
    crossed = 2 * (BLOCKS - 1) * 2 * (side - 2)
    corners = 4 * (BLOCKS - 1) ** 2  # four at each point where blocks meet go to two neighbours: sent once
    assert (step.dataIn, step.dataOut) == (4 * crossed, 4 * (crossed - corners))
    fullest = 4 * side // BLOCKS
    assert fullest <= step.cycles <= fullest + 120
