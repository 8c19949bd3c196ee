"""Names of version 1 do what their successors do."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.codelets.vertex import Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    Device,
    Engine,
    Graph,
    IPUModel,
    VertexPerfEstimate,
    VertexRef,
    missing_graph_profile,
    poplar_error,
    unknown_vertex_type,
)
from simulator.poplar.program import Execute
from simulator.poplibs import popnn


class Ones(Vertex):
    out = Output(Vector(FLOAT))

    def compute(self) -> None:
        self.out[:] = 1

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return 10 + sizes["out"]


def small_device() -> Device:
    model = IPUModel()
    model.tilesPerIPU = 4
    return model.createDevice()


def small_graph(device: Device) -> tuple[Graph, VertexRef, Execute]:
    graph = Graph(device)
    graph.addCodelets(Ones)
    x = graph.addVariable(FLOAT, [8], "x")
    graph.setTileMapping(x, 0)
    cs = graph.addComputeSet("ones")
    vertex = graph.addVertex(cs, "Ones", {"out": x})
    graph.setTileMapping(vertex, 0)
    return graph, vertex, Execute(cs)


def test_estimates_of_cycles() -> None:
    graph, vertex, _ = small_graph(small_device())
    assert graph.getCycleEstimate(vertex) == 18
    graph.registerCycleEstimator("Ones", lambda vertex, target: 30)
    assert graph.getCycleEstimate(vertex) == 30
    graph.setCycleEstimate(vertex, 50)
    assert graph.getPerfEstimate(vertex) == VertexPerfEstimate(50, 0)
    with pytest.raises(poplar_error):
        graph.setCycleEstimate(vertex, -1)
    with pytest.raises(unknown_vertex_type, match="'Others'"):
        graph.registerCycleEstimator("Others", lambda vertex, target: 30)


def test_profiles_are_reports_without_and_with_runs() -> None:
    device = small_device()
    graph, _, program = small_graph(device)
    options = {"debug.retainDebugInformation": "true"}
    with Engine(graph, program, options) as engine:
        engine.load(device)
        engine.run()
        shapes, runs = engine.getGraphProfile(), engine.getExecutionProfile()
        assert len(runs.execution.runs) == len(engine.getReport().execution.runs) == 1
        assert [p.name for p in shapes.compilation.programs] == [p.name for p in runs.compilation.programs]
        assert list(shapes.execution.runs) == []
    with Engine(graph, program) as engine, pytest.raises(missing_graph_profile):
        engine.getGraphProfile()


def test_losses_have_their_names_in_the_library() -> None:
    assert popnn.CROSS_ENTROPY_LOSS is popnn.LossType.CROSS_ENTROPY_LOSS
    assert popnn.SUM_SQUARED_LOSS is popnn.LossType.SUM_SQUARED_LOSS
