"""Bytes of vertices' states by the layout of their fields, written out by hand from published declarations."""

import numpy as np
import pytest

from simulator.compiler.memory.vertex_memory import state_bytes, vertex_memory
from simulator.graph.vertices import BlockCosts, FieldEdges, FieldSpec, VertexBlock, VertexType
from simulator.poplar import FLOAT, UNSIGNED_INT, UNSIGNED_SHORT


def costs(block, elements, target):
    return BlockCosts(np.ones(len(block), np.int64), "guess", "test")


def of(*fields):
    return VertexType("V", "worker", fields, costs)


def edge(kind, layout="span", outer="span"):
    return FieldSpec(f"{kind}_{layout}_{outer}", kind, "in", FLOAT, layout, outer=outer)


def value(name, type_):
    return FieldSpec(name, "value", "", type_)


@pytest.mark.parametrize(
    ("fields", "bytes_"),
    [
        # poprand::SetSeedSupervisor: seed pointer, two words; published 12 (published-numbers 6.2: 12 * 1216)
        ((edge("vector", "one_ptr"), value("user", UNSIGNED_INT), value("hw", UNSIGNED_INT)), 12),
        # ScaledAddSupervisor<float, float, true>: a span, a pointer, the scale; published 48 bytes for two and an add
        ((edge("vector"), edge("vector", "one_ptr"), value("scaleB", FLOAT)), 16),
        ((edge("vector", "one_ptr"), FieldSpec("in2", "vector", "in", FLOAT, "one_ptr"), edge("vector")), 16),
        # a scalar edge is a pointer; a short span packs pointer and size
        ((edge("scalar"), edge("vector", "short_span")), 8),
        # two shorts share a word; a pointer behind one short begins at the next word
        ((value("a", UNSIGNED_SHORT), value("b", UNSIGNED_SHORT), edge("scalar")), 8),
        ((value("a", UNSIGNED_SHORT), edge("scalar"), value("b", UNSIGNED_SHORT)), 12),
        # lists: a span of pointers, or one pointer to them
        ((edge("vectors", "one_ptr"),), 8),
        ((edge("vectors", "one_ptr", outer="one_ptr"),), 4),
    ],
)
def test_state_of_a_vertex(fields, bytes_):
    assert state_bytes(of(*fields), "Ipu2") == bytes_


def test_compressed_pointers_take_two_bytes_on_mk1_only():
    type_ = of(edge("vector", "scaled_ptr64"), FieldSpec("out", "vector", "out", FLOAT, "scaled_ptr32"))
    assert state_bytes(type_, "Ipu1") == 4
    assert state_bytes(type_, "Ipu2") == state_bytes(type_, "Ipu21") == 8


def test_lists_keep_their_pointers_outside():
    spec = edge("vectors", "one_ptr", outer="one_ptr")
    rows = FieldEdges(np.arange(5) * 4, np.full(5, 4), np.array([0, 2, 5]))  # two rows, then three
    block = VertexBlock(0, of(spec), 0, np.array([0, 1], np.uint32), {spec.name: rows})
    memory = vertex_memory(block, 3, "Ipu2")
    assert memory.state.tolist() == [4, 4, 0]
    assert memory.field_data.tolist() == [8, 12, 0]
    delta = edge("vectors", "deltanelements")
    block = VertexBlock(0, of(delta), 0, np.array([0, 1], np.uint32), {delta.name: rows})
    memory = vertex_memory(block, 3, "Ipu2")
    assert memory.list_descriptors.tolist() == [8, 12, 0]
    assert not memory.field_data.any()
