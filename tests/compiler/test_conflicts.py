"""Conflicts between the vertices of a compute set, against looking at every pair of vertices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.regions import elements
from simulator.codelets.vertex import InOut, Input, Output, Vector, Vertex
from simulator.compiler.checks.conflicts import check_conflicts
from simulator.poplar import INT, Graph, Target, TargetType, graph_cycle_error


class Touch(Vertex):
    read = Input(Vector(INT))
    write = Output(Vector(INT))
    both = InOut(Vector(INT))

    def compute(self):
        self.write[:] = 1


@st.composite
def vertices(draw: st.DrawFn) -> list[tuple[slice, slice, slice]]:
    def part() -> slice:
        begin = draw(st.integers(0, 29))
        return slice(begin, draw(st.integers(begin, min(begin + 4, 30))), draw(st.sampled_from([1, 1, 2])))

    return [(part(), part(), part()) for _ in range(draw(st.integers(0, 5)))]


@given(vertices())
def test_a_conflict_is_found_exactly_where_two_vertices_have_one(parts: list[tuple[slice, slice, slice]]) -> None:
    graph = Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=2))
    graph.addCodelets(Touch)
    first, second = graph.addVariable(INT, [13], "a"), graph.addVariable(INT, [17], "b")
    from simulator.poplar import concat

    both = concat(first, second)
    cs = graph.addComputeSet("touching")
    reads, writes = [], []
    for read, write, inout in parts:
        v = graph.addVertex(cs, "Touch", {"read": both[read], "write": both[write], "both": both[inout]})
        graph.setTileMapping(v, 1)
        reads.append(set(range(30)[read]))
        writes.append(set(range(30)[write]) | set(range(30)[inout]))
    pairs = [(i, j) for i in range(len(parts)) for j in range(len(parts)) if i != j]
    guilty = set().union(*((writes[i] & (writes[j] | reads[j])) for i, j in pairs))
    if not guilty:
        check_conflicts(graph.store)
        return
    with pytest.raises(graph_cycle_error, match="Compute set 'touching': a vertex of type Touch on tile 1") as refusal:
        check_conflicts(graph.store)
    words = str(refusal.value).split()
    at = words.index("element")
    element = int(words[at + 1]) + (13 if "'b'" in words[at + 4] else 0)
    assert element in guilty


def test_bulk_blocks_and_single_vertices_are_checked_together() -> None:
    graph = Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=4))
    graph.addCodelets(Touch)
    a, b, c = (graph.addVariable(INT, [4, 2], name) for name in "abc")
    cs, other = graph.addComputeSet("one"), graph.addComputeSet("two")
    graph.addVertices(cs, "Touch", np.arange(4), {"read": a, "write": b, "both": c})
    check_conflicts(graph.store)
    spare = graph.addVariable(INT, [2])
    for where in (other, cs):
        v = graph.addVertex(where, "Touch", {"read": b[2], "write": spare, "both": spare})
        graph.setTileMapping(v, 3)
        if where is other:
            check_conflicts(graph.store)
    message = "'one'.* on tile 3 reads element 4 of variable 'b'.*put the two into different compute sets"
    with pytest.raises(graph_cycle_error, match=message):
        check_conflicts(graph.store)
    assert len(elements(*b.regions())) == 8
