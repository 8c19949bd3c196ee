"""Numbers that an integer type cannot hold are refused, not wrapped; values of replicas go to single elements."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    SHORT,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
    Device,
    Engine,
    Graph,
    IPUModel,
    Type,
    TypeTraits,
    graph_connection_error,
    graph_object_creation_error,
    invalid_tile_mapping,
    overflow_error,
    replication_factor,
    tensor_creation_error,
    type_error,
)
from simulator.poplar.program import Sequence


class Ends(Vertex):
    n = UNSIGNED_SHORT
    y = Output(FLOAT)

    def compute(self) -> None:
        self.y = self.n


def device(ipus: int) -> Device:
    model = IPUModel("ipu2")
    model.tilesPerIPU, model.numIPUs = 4, ipus
    return model.createDevice()


def new_graph(ipus: int = 1, replicas: int = 1) -> Graph:
    graph = Graph(device(ipus), replication_factor(replicas))
    graph.addCodelets(Ends)
    return graph


@pytest.mark.parametrize(
    ("type_", "value", "limits"),
    [
        (UNSIGNED_CHAR, 256, "0 to 255"),
        (UNSIGNED_INT, -1, "0 to 4294967295"),
        (SHORT, -(2**15) - 1, "-32768 to 32767"),
        (INT, 2.0**31, "-2147483648 to 2147483647"),
        (UNSIGNED_LONGLONG, 2**64, "0 to 18446744073709551615"),
        (CHAR, np.uint8(200), "-128 to 127"),
    ],
)
def test_numbers_that_a_type_cannot_hold(type_: Type, value: float, limits: str) -> None:
    graph = new_graph()
    message = rf"does not fit the type: {type_} holds {limits}\."
    with pytest.raises(overflow_error, match=message):
        graph.addConstant(type_, [3], [1, value, 2])
    with pytest.raises(overflow_error, match=message):
        graph.setInitialValue(graph.addVariable(type_, []), value)


def test_numbers_at_the_limits_and_of_other_types() -> None:
    graph = new_graph()
    for type_, values in ((UNSIGNED_CHAR, [0, 255]), (INT, [-(2**31), 2**31 - 1]), (UNSIGNED_LONGLONG, [0, 2**64 - 1])):
        graph.addConstant(type_, [2], values)
        assert graph.store.variables.constant[-1].tolist() == values
    graph.addConstant(BOOL, [2], [0, 7])
    assert graph.store.variables.constant[-1].tolist() == [False, True]
    with pytest.raises(overflow_error, match=r"65536 does not fit field 'n' of Ends: unsigned short holds 0 to 65535"):
        graph.setInitialValue(graph.addVertex(graph.addComputeSet(), "Ends")["n"], 65536)


def test_values_by_replica_of_one_element_and_a_later_value_for_all() -> None:
    for options in ({}, {"popvision.addressAccurate": "true"}):
        graph = new_graph(ipus=2, replicas=2)
        t = graph.addVariable(UNSIGNED_INT, [4])
        graph.setTileMapping(t[:2], 1)
        graph.setTileMapping(t[2:], 2)
        graph.setInitialValue(t, [1, 2, 3, 4])
        graph.setInitialValue(t[2], {0: 10, 1: 20})
        graph.setInitialValue(t[0], {0: 5, 1: 6})
        graph.setInitialValue(t[0], 7)
        graph.createHostRead("t", t)
        out = np.zeros(8, np.uint32)
        with Engine(graph, Sequence(), options) as engine:
            engine.load(device(2))
            engine.readTensor("t", out)
        assert out.tolist() == [7, 2, 10, 4, 7, 2, 20, 4]
    with pytest.raises(overflow_error, match="-1 does not fit"):
        graph.setInitialValue(t[1], {0: -1, 1: 0})


def test_vertices_of_another_graph_are_refused() -> None:
    graph, other = new_graph(), new_graph()
    v = other.addVertex(other.addComputeSet(), "Ends")
    t = graph.addVariable(FLOAT, [])
    for what, use in {
        "setTileMapping": lambda: graph.setTileMapping(v, 0),
        "connect": lambda: graph.connect(v["y"], t),
        "setInitialValue": lambda: graph.setInitialValue(v["n"], 1),
        "setInitCallback": lambda: graph.setInitCallback(v["n"], lambda: 1),
        "setFieldSize": lambda: graph.setFieldSize(v["y"], 1),
        "getFieldSize": lambda: graph.getFieldSize(v["y"]),
        "setPerfEstimate": lambda: graph.setPerfEstimate(v, 1),
        "getPerfEstimate": lambda: graph.getPerfEstimate(v),
    }.items():
        with pytest.raises(graph_object_creation_error, match=rf"{what}: VertexRef\(Ends, 0\) is not a vertex of this"):
            use()


def test_raw_values_behind_pointers() -> None:
    graph = Graph(IPUModel().createDevice())
    values = np.array([1.5, 2.5], np.float32)
    traits = TypeTraits.make(np.float32)
    for pointer in (ctypes.c_void_p(values.ctypes.data), values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))):
        graph.addConstant(FLOAT, [2], pointer, traits, False)
        assert graph.store.variables.constant[-1].tolist() == [1.5, 2.5]
        graph.addConstant(FLOAT, [3], pointer, traits, True)
        assert np.unique(graph.store.variables.constant[-1]).tolist() == [1.5]
    with pytest.raises(tensor_creation_error, match="the pointer is null"):
        graph.addConstant(FLOAT, [2], ctypes.c_void_p(0), traits, False)


def test_iterators_count_as_their_lists() -> None:
    graph = Graph(IPUModel().createDevice())
    tensor = graph.addVariable(FLOAT, [1, 4, 1])
    assert tensor.squeeze(i for i in [0, 2]).shape() == [4]
    a, b = graph.addVariable(FLOAT, [4]), graph.addVariable(FLOAT, [4])
    assert len(graph.reorderToSimplify(a, (t for t in [b]))[1]) == 1


def test_more_tiles_than_there_are_make_no_array_first() -> None:
    with pytest.raises(invalid_tile_mapping, match="4294967296 does not choose different tiles of an IPU with 1472"):
        Graph(IPUModel().createDevice()).createVirtualGraph(2**32)


def test_a_list_of_tensors_and_numbers_is_no_connection() -> None:
    graph = Graph(IPUModel().createDevice())
    graph.addCodelets(type("Reads", (Vertex,), {"x": Input(Vector(FLOAT)), "compute": lambda self: None}))
    vertex = graph.addVertex(graph.addComputeSet("reads"), "Reads")
    with pytest.raises(graph_connection_error, match=r"Field 'x' cannot be connected to .*concat\(\) joins tensors"):
        graph.connect(vertex["x"], [graph.addVariable(FLOAT, [4], "t"), 3])


@pytest.mark.parametrize("type_", [BOOL, INT, FLOAT, UNSIGNED_LONGLONG, HALF])
@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("3", "'3'"),
        (b"3", "b'3'"),
        (np.array("3"), "'3'"),
        (np.datetime64("2020-01-01"), "2020-01-01"),
        (np.timedelta64(3, "s"), "3 seconds"),
        ({3}, "{3}"),
        (print, "<built-in function print>"),
    ],
    ids=["text", "bytes", "array of text", "date", "duration", "set", "function"],
)
def test_what_numpy_would_convert_is_no_number(type_: Type, value: object, named: str) -> None:
    """A text that spells a number is a mistake of the program; it became the number, and one of a date its days."""
    graph = new_graph()
    message = rf"{re.escape(named)} is not a value of type {type_}; give numbers\."
    with pytest.raises(tensor_creation_error, match=message):
        graph.addConstant(type_, [], value)
    with pytest.raises(type_error, match=message):
        graph.setInitialValue(graph.addVariable(type_, []), value)
    with pytest.raises(type_error, match=message):
        graph.setInitialValue(graph.addVariable(type_, [2]), np.array([1, value], object))
