"""`GraphStore.copy`: a copy shares no container with the graph, and later calls do not reach it."""

from dataclasses import fields

import pytest

from simulator.codelets.vertex import Input, Vector, Vertex
from simulator.poplar import FLOAT, Graph, Target


class Reads(Vertex):
    x = Input(Vector(FLOAT))

    def compute(self) -> None:
        """Does nothing."""


@pytest.fixture
def graph():
    graph = Graph(Target.createIPUTarget(1, 4, "ipu2"))
    graph.addCodelets(Reads)
    t = graph.addVariable(FLOAT, [4], "t")
    graph.setTileMapping(t, 0)
    graph.setTileMapping(t[2:], 1)
    graph.setInitialValue(t, [1, 2, 3, 4])
    graph.connect(graph.addVertex(graph.addComputeSet("cs"), "Reads")["x"], t)
    return graph


@pytest.mark.parametrize("part", ["", "variables", "streams"])
def test_a_copy_has_containers_of_its_own(graph, part):
    columns, copied = graph.store, graph.store.copy()
    if part:
        columns, copied = getattr(columns, part), getattr(copied, part)
    for field in fields(columns):
        value = getattr(columns, field.name)
        if isinstance(value, list | dict | set):
            assert getattr(copied, field.name) is not value, field.name


def test_later_calls_do_not_reach_a_copy(graph):
    copied = graph.store.copy()
    t = graph.getVariable(graph.addVariable(FLOAT, [2], "later").getVarRegions()[0].var)
    graph.addVertex(graph.addComputeSet("more"), "Reads", {"x": t})
    old = graph.getVariable(type(t.getVarRegions()[0].var)(0))
    graph.setTileMapping(old, 3)
    graph.setInitialValue(old, [5, 6, 7, 8])
    assert copied.variables.name == ["t"]
    assert copied.num_vertices == 1
    assert copied.compute_set_names == ["cs"]
    ends, tiles = copied.mapping_of(0)
    assert (ends.tolist(), tiles.tolist()) == ([2, 4], [0, 1])
    assert [values.tolist() for _, values in copied.variables.initial[0]] == [[1, 2, 3, 4]]
