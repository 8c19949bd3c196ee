"""Labels of what Python codelets print when a tile has vertices of several types."""

from __future__ import annotations

import io
from typing import Any

import pytest

from simulator.codelets.vertex import InOut, Vertex
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Execute


class First(Vertex):
    x = InOut(FLOAT)

    def compute(self) -> None:
        print("first")

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return 100


class Second(Vertex):
    x = InOut(FLOAT)

    def compute(self) -> None:
        print("second")

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return 100


def device() -> Any:
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}])
def test_workers_are_counted_over_the_types_of_a_tile(options: dict[str, str]) -> None:
    graph = Graph(device().getTarget())
    graph.addCodelets([First, Second])
    x = graph.addVariable(FLOAT, [5], "x")
    cs = graph.addComputeSet("both")
    for number, (kind, tile) in enumerate([("First", 1), ("First", 0), ("Second", 1), ("Second", 1), ("First", 1)]):
        graph.setTileMapping(x[number], tile)
        graph.setTileMapping(graph.addVertex(cs, kind, {"x": x[number]}), tile)
    engine = Engine(graph, Execute(cs), options)
    printed = io.StringIO()
    engine.setPrintStream(printed)
    engine.load(device())
    engine.run(0)
    assert sorted(printed.getvalue().splitlines()) == [
        "[tile 0, worker 0] first",
        "[tile 1, worker 0] first",
        "[tile 1, worker 1] first",
        "[tile 1, worker 2] second",
        "[tile 1, worker 3] second",
    ]
