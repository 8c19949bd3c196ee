"""Values and sizes at the limits of a vertex: refused where they are given, the same one by one and in bulk."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import (
    FLOAT,
    HALF,
    UNSIGNED_CHAR,
    Engine,
    Graph,
    Interval,
    IPUModel,
    graph_connection_error,
    graph_object_creation_error,
    missing_perf_estimate,
    overflow_error,
    poplar_error,
    type_error,
)
from simulator.poplar.program import Execute


class Holds(Vertex):
    x = Input(Vector(FLOAT, "short_span"))
    h = HALF
    n = UNSIGNED_CHAR
    out = Output(FLOAT)

    def compute(self) -> None:
        self.out = float(self.h)


class Rows(Vertex):
    rows = Vector(Input(Vector(FLOAT, "short_span")))

    def compute(self) -> None: ...


class Sums(Vertex):
    x = Input(Vector(FLOAT, "one_ptr"))

    def compute(self) -> None: ...


class Negative(Vertex):
    out = Output(FLOAT)

    def compute(self) -> None:
        self.out = 0.0

    def estimate(*_: Any) -> int:
        return -3


def graph() -> Graph:
    g = Graph(IPUModel("ipu2").createDevice())
    for codelet in (Holds, Rows, Sums, Negative):
        g.addCodelets(codelet)
    return g


def bulk(g: Graph, values: dict[str, Any], size: int = 4) -> None:
    x, out = g.addVariable(FLOAT, [2, size]), g.addVariable(FLOAT, [2])
    g.addVertices(g.addComputeSet(), "Holds", [0, 1], {"x": x, "out": out}, {"h": 1.0, "n": 1} | values)


def one(g: Graph, values: dict[str, Any], size: int = 4) -> None:
    x, out = g.addVariable(FLOAT, [size]), g.addVariable(FLOAT, [])
    g.addVertex(g.addComputeSet(), "Holds", {"x": x, "out": out, "h": 1.0, "n": 1} | values)


@pytest.mark.parametrize("add", [one, bulk])
@pytest.mark.parametrize(
    ("values", "size", "error", "sentence"),
    [
        ({"n": 300}, 4, overflow_error, "300 does not fit field 'n' of Holds: unsigned char holds 0 to 255."),
        ({"n": 1.5}, 4, type_error, "which holds whole numbers (unsigned char)."),
        ({"h": "text"}, 4, type_error, "field 'h' of Holds"),
        ({"h": 1j}, 4, type_error, "field 'h' of Holds"),
        ({}, 4096, graph_connection_error, "Field 'x' of Holds takes at most 4095 elements (getMaxFieldDim), not 4096"),
    ],
)
def test_a_value_beyond_its_field_is_refused(
    add: Callable[..., None], values: dict[str, Any], size: int, error: type[poplar_error], sentence: str
) -> None:
    with pytest.raises(error) as refused:
        add(graph(), values, size)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("values", [{"n": [1, 2, 3]}, {"h": [[1.0, 2.0]]}, {"n": [300, 2]}, {"n": ["a", "b"]}])
def test_bulk_values_are_one_number_for_all_or_one_for_each(values: dict[str, Any]) -> None:
    g = graph()
    with pytest.raises(poplar_error):
        bulk(g, values)
    bulk(g, {"n": [1, 255], "h": np.array([0.5, 2.0])})


def test_inner_vectors_in_bulk_are_counted() -> None:
    g = graph()
    assert g.getMaxFieldDim("Rows", "rows", 1) == 4095
    rows = g.addVariable(FLOAT, [1, 2, 4096])
    with pytest.raises(graph_connection_error, match="at most 4095 elements"):
        g.addVertices(g.addComputeSet(), "Rows", [0], {"rows": rows})


def test_bulk_vertices_may_exceed_the_memory_of_a_tile() -> None:
    """A library adds them, and the report of the memory says how much does not fit."""
    g = graph()
    x = g.addVariable(FLOAT, [1, 10**6])
    with pytest.raises(graph_connection_error, match="getMaxFieldDim"):
        g.addVertex(g.addComputeSet(), "Sums", {"x": x[0]})
    g.addVertices(g.addComputeSet(), "Sums", [0], {"x": x})


@pytest.mark.parametrize("add", [one, bulk])
def test_a_number_beyond_half_warns_nobody(add: Callable[..., None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        add(graph(), {"h": 1e6})


def test_a_half_field_and_a_half_tensor_hold_the_same() -> None:
    g = graph()
    t = g.addVariable(HALF, [1], "t")
    x, out = g.addVariable(FLOAT, [1]), g.addVariable(FLOAT, [], "out")
    for each in (t, x, out):
        g.setTileMapping(each, 0)
    cs = g.addComputeSet()
    g.setTileMapping(g.addVertex(cs, "Holds", {"x": x, "out": out, "h": 1e6, "n": 1}), 0)
    g.setInitialValue(t, 1e6)
    for name, each in (("t", t), ("out", out)):
        g.createHostRead(name, each)
    engine = Engine(g, Execute(cs))
    engine.load(IPUModel("ipu2").createDevice())
    engine.run(0)
    of_tensor, of_field = np.zeros(1, np.float16), np.zeros(1, np.float32)
    engine.readTensor("t", of_tensor)
    engine.readTensor("out", of_field)
    assert of_tensor.tolist() == of_field.tolist() == [65504]


@pytest.mark.parametrize(
    ("count", "east", "sends", "error"),
    [
        (2**32, True, True, graph_object_creation_error),
        (-1, True, True, graph_object_creation_error),
        (1, 1, True, type_error),
        (1, True, 0, type_error),
    ],
)
def test_arguments_of_an_external_exchange_vertex(count: int, east: Any, sends: Any, error: type[poplar_error]) -> None:
    g = graph()
    with pytest.raises(error, match="addExternalExchangeVertex: "):
        g.addExternalExchangeVertex(g.addComputeSet(), "Rows", count, east, sends)
    g.addExternalExchangeVertex(g.addComputeSet(), "Rows", 2**32 - 1, True, False)


def test_a_negative_estimate_is_one_error_wherever_it_is_asked_for() -> None:
    g = graph()
    cs, out = g.addComputeSet(), g.addVariable(FLOAT, [])
    vertex = g.addVertex(cs, "Negative", {"out": out})
    g.setTileMapping(vertex, 0)
    g.setTileMapping(out, 0)
    for ask in (lambda: g.getPerfEstimate(vertex), lambda: Engine(g, Execute(cs))):
        with pytest.raises(missing_perf_estimate, match=r"Negative.estimate must give one number from 0"):
            ask()


def test_a_function_that_sets_a_field_and_raises_is_named() -> None:
    g = graph()
    cs, x, out = g.addComputeSet(), g.addVariable(FLOAT, [4]), g.addVariable(FLOAT, [])
    vertex = g.addVertex(cs, "Holds", {"x": x, "out": out, "n": 1})
    for each in (vertex, x, out):
        g.setTileMapping(each, 0)

    def raises() -> None:
        raise KeyError("mine")

    g.setInitCallback(vertex["h"], raises)
    with pytest.raises(graph_object_creation_error, match="field 'h' of Holds raised KeyError: 'mine'"):
        Engine(g, Execute(cs))


def test_an_argument_of_a_host_function_is_checked_where_it_is_made() -> None:
    with pytest.raises(type_error, match="takes a type and a number of elements"):
        Graph.HostFunctionArgument(3, FLOAT)  # type: ignore[arg-type]
    assert Graph.HostFunctionArgument(FLOAT, 3) == (FLOAT, 3)


@pytest.mark.parametrize("column", [np.array(0), np.zeros((2, 2), np.int64), np.zeros(3, np.int64)])
def test_columns_of_a_mapping_have_one_length(column: Any) -> None:
    g = graph()
    t = g.addVariable(FLOAT, [4])
    columns = [np.array([0]), np.array([4]), np.array([1])]
    for place in range(3):
        wrong = [column if i == place else each for i, each in enumerate(columns)]
        with pytest.raises(poplar_error, match="must be lists of one length"):
            g.setTileMappingIntervals(t, *wrong)
    g.setTileMappingIntervals(t, *columns)
    assert g.getTileMapping(t)[1] == [Interval(0, 4)]
