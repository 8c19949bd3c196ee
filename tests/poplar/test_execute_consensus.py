"""Execute(cs, t): whether compute() of every vertex returned true."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from simulator.codelets.vertex import Input, MultiVertex, Vector, Vertex
from simulator.poplar import (
    BOOL,
    FLOAT,
    INT,
    Engine,
    Graph,
    IPUModel,
    compileGraph,
    control_program_error,
    graph_connection_error,
    graph_replication_error,
    replication_factor,
)
from simulator.poplar.program import Execute, RepeatWhileTrue, Sequence
from simulator.poplibs import popops

CPP = """#include <poplar/Vertex.hpp>
using namespace poplar;
class CppPositive : public Vertex {
public:
  Input<Vector<int>> x;
  bool compute() { bool all = true; for (auto v : x) all &= v > 0; return all; }
};
class CppSilent : public Vertex { public: Input<Vector<int>> x; void compute() {} };
class CppMulti : public MultiVertex {
public:
  Input<Vector<int>> x;
  bool compute(unsigned worker) { return worker >= x.size() || x[worker] > 0; }
};"""


class Positive(Vertex):
    x = Input(Vector(INT))

    def compute(self) -> bool:
        return (self.x > 0).all()


class Silent(Vertex):
    x = Input(Vector(INT))

    def compute(self) -> None:
        pass


class Together(Vertex):
    x = Input(Vector(INT))

    def compute(self) -> bool:
        raise AssertionError

    def compute_batch(self) -> Any:
        return (self.x > 0).all(axis=-1)

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10


class Multi(MultiVertex):
    x = Input(Vector(INT))

    def compute(self, workerId: int) -> bool:
        return workerId >= len(self.x) or self.x[workerId] > 0


def agreement(
    codelet: str, values: list[list[int]], options: dict[str, str] | None = None, ipus: int = 1, r: int = 1
) -> tuple[Any, Engine]:
    """What the tensor holds after a vertex per row, on tiles 1, 2, ..., with these values."""
    model = IPUModel("ipu2")
    model.tilesPerIPU, model.numIPUs = 8, ipus
    device = model.createDevice()
    graph = Graph(device, replication_factor(r))
    graph.addCodelets([Positive, Silent, Together, Multi])
    if codelet.startswith("Cpp"):
        graph.addCodelets(io.StringIO(CPP))
    cs = graph.addComputeSet("all")
    last = graph.getTarget().getNumTiles() - 1
    for i, row in enumerate(values):
        x = graph.addVariable(INT, [len(row)])
        graph.setTileMapping(x, min(i + 1, last))
        graph.setInitialValue(x, row)
        graph.setTileMapping(graph.addVertex(cs, codelet, {"x": x}), last if i == len(values) - 1 else i + 1)
    t = graph.addVariable(BOOL, [])
    graph.setTileMapping(t, 0)
    graph.setInitialValue(t, False)
    graph.createHostRead("t", t)
    engine = Engine(graph, Execute(cs, t, "name"), {"debug.retainDebugInformation": "true", **(options or {})})
    engine.load(device)
    engine.run(0)
    out = np.zeros(r, np.bool_)
    engine.readTensor("t", out)
    return out.tolist(), engine


@pytest.mark.parametrize("options", [{}, {"popvision.addressAccurate": "true"}, {"debug.runtimeVerify": "true"}])
@pytest.mark.parametrize("codelet", ["Positive", "Multi", "CppPositive", "CppMulti"])
def test_all_vertices_must_return_true(codelet: str, options: dict[str, str]) -> None:
    assert agreement(codelet, [[1, 2], [3, 4], [5, 6]], options)[0] == [True]
    assert agreement(codelet, [[1, 2], [3, 0], [5, 6]], options)[0] == [False]


def test_vertices_that_return_nothing_agree_and_so_does_a_set_without_vertices() -> None:
    for codelet in ("Silent", "CppSilent"):
        assert agreement(codelet, [[0], [0]])[0] == [True]
    assert agreement("Positive", [])[0] == [True]
    assert agreement("Positive", [], {"popvision.addressAccurate": "true"})[0] == [True]


def test_compute_batch_says_it_for_each_vertex() -> None:
    assert agreement("Together", [[1, 2], [3, 4]])[0] == [True]
    assert agreement("Together", [[1, 2], [3, -4]])[0] == [False]


def test_what_it_is_lowered_to() -> None:
    for ipus, sync in ((1, "Internal"), (2, "External")):
        _, engine = agreement("Positive", [[1], [1]], ipus=ipus)
        report = engine.getReport()
        programs = [(p.type.name, p.name) for p in report.compilation.programs]
        at = programs.index(("SetLocalConsensus", ""))
        assert programs[at - 1][1] == "all"
        assert programs[at : at + 3] == [("SetLocalConsensus", ""), ("Sync", sync), ("GetGlobalConsensus", "")]
        assert report.execution.steps


def test_each_replica_agrees_for_itself() -> None:
    for options in ({}, {"popvision.addressAccurate": "true"}):
        model = IPUModel("ipu2")
        model.tilesPerIPU, model.numIPUs = 4, 2
        device = model.createDevice()
        graph = Graph(device, replication_factor(2))
        graph.addCodelets(Positive)
        graph.setTileMapping(number := graph.addReplicationIndexConstant(), 0)
        index = popops.cast(graph, number, INT, before := Sequence())
        cs, t = graph.addComputeSet(), graph.addVariable(BOOL, [])
        graph.setTileMapping(t, 1)
        graph.setTileMapping(graph.addVertex(cs, "Positive", {"x": index.expand([0])}), 2)
        graph.createHostRead("t", t)
        with Engine(graph, Sequence(before, Execute(cs, t=t)), options) as engine:
            engine.load(device)
            engine.run(0)
            out = np.zeros(2, np.bool_)
            engine.readTensor("t", out)
        assert out.tolist() == [False, True]


def test_a_loop_goes_on_while_all_agree() -> None:
    model = IPUModel("ipu2")
    model.tilesPerIPU = 4
    device = model.createDevice()
    for options in ({}, {"popvision.addressAccurate": "true"}):
        graph = Graph(device)
        graph.addCodelets(Positive)
        n, t, one = graph.addVariable(INT, [2]), graph.addVariable(BOOL, []), graph.addConstant(INT, [2], 1)
        for tensor, tile in ((n, 1), (t, 0), (one, 1)):
            graph.setTileMapping(tensor, tile)
        graph.setInitialValue(n, [5, 3])
        cs, body = graph.addComputeSet("test"), Sequence()
        graph.setTileMapping(graph.addVertex(cs, "Positive", {"x": n}), 1)
        popops.subInPlace(graph, n, one, body)
        graph.createHostRead("n", n)
        with Engine(graph, RepeatWhileTrue(Execute(cs, t), t, body), options) as engine:
            engine.load(device)
            engine.run(0)
            out = np.zeros(2, np.int32)
            engine.readTensor("n", out)
        assert out.tolist() == [2, 0]


def test_tensors_that_cannot_take_it_are_refused() -> None:
    graph = Graph(IPUModel().createDevice())
    cs = graph.addComputeSet()
    with pytest.raises(control_program_error, match=r"what compute\(\) returns has type float; .* one of bool"):
        Execute(cs, graph.addVariable(FLOAT, []))
    with pytest.raises(control_program_error, match=r"must be a scalar, but the tensor has shape \[1\]"):
        Execute(cs, graph.addVariable(BOOL, [1]))
    with pytest.raises(graph_connection_error, match="Execute: the destination holds a constant"):
        Execute(cs, graph.addConstant(BOOL, [], True))
    with pytest.raises(control_program_error, match="'more' is one argument too many"):
        Execute(cs, graph.addVariable(BOOL, []), "name", "more")  # type: ignore[call-overload]


def test_a_value_that_may_differ_between_replicas_cannot_decide() -> None:
    model = IPUModel("ipu2")
    model.tilesPerIPU, model.numIPUs = 4, 2
    graph = Graph(model.createDevice(), replication_factor(2))
    graph.addCodelets(Positive)
    number = graph.addReplicationIndexConstant()
    index = popops.cast(graph, number, INT, before := Sequence())
    cs, t = graph.addComputeSet(), graph.addVariable(BOOL, [], "agreed")
    for tensor in (number, t):
        graph.setTileMapping(tensor, 1)
    graph.setTileMapping(graph.addVertex(cs, "Positive", {"x": index.expand([0])}), 2)
    with pytest.raises(graph_replication_error, match="'agreed' decides, but it may differ between the 2 replicas"):
        compileGraph(graph, Sequence(before, RepeatWhileTrue(Execute(cs, t), t, Sequence())))
