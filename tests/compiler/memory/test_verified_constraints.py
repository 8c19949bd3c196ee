"""debug.verify after layout: planted addresses that break each constraint of a variable."""

from __future__ import annotations

import io

import numpy as np
import pytest

from simulator.compiler.memory import columns
from simulator.compiler.memory.layout import ELEMENT, LayoutConstraints
from simulator.compiler.memory.verify_constraints import verify_constraints
from simulator.poplar import FLOAT, Engine, Graph, memory_elem_constraints_error, poplar_error
from simulator.poplar.program import Execute
from tests.compiler.memory.test_layout import allocations, classes
from tests.compiler.tiny_graphs import model

BORDER = 4 * ELEMENT
NAMES = ["a", "b", "c"]


def check(rows, address, ranges=(), *, wide=(), fixed=None, apart=()):
    a = allocations(rows)
    pairs = [(np.array([one]), np.array([other])) for one, other in apart]
    zeros = np.zeros(len(rows), np.int64)
    constraints = LayoutConstraints(zeros, np.isin(np.arange(len(rows)), list(wide)), fixed or {}, pairs)
    verify_constraints(a, np.array(address), classes(list(ranges)), constraints, BORDER, NAMES)


def test_each_broken_constraint_is_named():
    two = [(0, 16, "variable", -1, False), (3, 16, "variable", -1, False)]
    check(two, [0, 16], wide=[1], fixed={(0, 0): 0})
    with pytest.raises(poplar_error, match=r"'b' on tile 3 begins at byte 8, not a multiple of 16; this"):
        check(two, [0, 8], wide=[1])
    with pytest.raises(poplar_error, match=r"'a' on tile 0 begins at byte 8, which is not the address"):
        check(two, [8, 0], fixed={(0, 0): 0})
    with pytest.raises(poplar_error, match=rf"begins at byte 64, below interleaved memory, which begins at {BORDER}"):
        check([(0, 16, "variable", -1, True)], [64])
    check([(0, 16, "variable", -1, True)], [BORDER])


@pytest.mark.parametrize(
    ("ranges", "address", "sound"),
    [
        ([(0, 4), (3, 9)], [0, 16], False),  # live together, one element
        ([(0, 4), (4, 9)], [0, 16], True),  # one after the other
        ([(0, 4), (3, 9)], [0, ELEMENT], True),  # next element
        ([(0, 4), (3, 9)], [ELEMENT - 8, ELEMENT + 64], False),  # the first reaches into the element of the second
        ([(0, 4), (3, 9)], [BORDER, BORDER + 16], True),  # interleaved memory serves two accesses a cycle
    ],
)
def test_variables_accessed_in_one_cycle_lie_apart(ranges, address, sound):
    rows = [(0, 16, "variable", 0, False), (0, 16, "variable", 1, False), (1, 16, "variable", 1, False)]
    places = [*address, address[0]]  # on another tile the same address is no conflict
    if sound:
        check(rows, places, ranges, apart=[(0, 1), (0, 2)])
        return
    with pytest.raises(
        memory_elem_constraints_error, match=r"'a' \(byte \d+\) and 'b' \(byte \d+\) share .* of tile 0"
    ):
        check(rows, places, ranges, apart=[(0, 1), (0, 2)])
    check(rows, places, ranges, apart=[(0, 2)])


SOURCE = """#include <poplar/Vertex.hpp>
using namespace poplar;
class [[poplar::constraint("elem(*a) != elem(*b)")]] Both : public Vertex {
 public: Input<Vector<float>> a; Input<Vector<float>> b; bool compute() { return true; } };"""


def test_a_planted_layout_ends_verified_compilation_only(monkeypatch):
    graph = Graph(model(tiles=2))
    graph.addCodelets(io.StringIO(SOURCE))
    cs = graph.addComputeSet("both")
    fields = {name: graph.addVariable(FLOAT, [8], name) for name in "ab"}
    for name, tensor in fields.items():
        graph.setTileMapping(tensor, 0)
        graph.createHostWrite(name, tensor)
    vertex = graph.addVertex(cs, "Both", fields)
    graph.setTileMapping(vertex, 0)
    graph.setPerfEstimate(vertex, 1)
    Engine(graph, Execute(cs), {"debug.verify": "true"}).close()
    lay_out = columns.lay_out

    def together(a, *args, **names):
        address = lay_out(a, *args, **names)
        address[a.bytes == 32] = address.max() + 64 + 32 * np.arange(np.count_nonzero(a.bytes == 32))
        return address

    monkeypatch.setattr(columns, "lay_out", together)
    Engine(graph, Execute(cs)).close()
    with pytest.raises(memory_elem_constraints_error, match=r"'a' .* and 'b' .* share a memory element of tile 0"):
        Engine(graph, Execute(cs), {"debug.verify": "true"})
