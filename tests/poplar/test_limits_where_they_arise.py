"""Sizes, values and estimates that do not fit are refused by the call that brings them; mappings without intervals are
mappings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.codelets.vertex import Input, Output, Vector, VectorList, Vertex
from simulator.compiler.memory.vertex_memory import state_fields
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    QUARTER,
    UNSIGNED_CHAR,
    Graph,
    IPUModel,
    Tensor,
    VertexPerfEstimate,
    VertexRef,
    compileGraph,
    concat,
    graph_connection_error,
    index_error,
    invalid_tile_mapping,
    missing_perf_estimate,
    overflow_error,
    poplar_error,
    type_error,
)
from simulator.poplar.program import Execute

LARGEST = 2**48 - 1


class Limited(Vertex):
    short = Input(Vector(FLOAT, "short_span"))
    plain = Input(Vector(FLOAT))
    one = Input(Vector(FLOAT, "one_ptr"))
    rows = Vector(Input(Vector(FLOAT, "short_span")))
    lists = Input(VectorList(HALF, "deltan"))

    def compute(self) -> None: ...


class Quarters(Vertex):
    q = Input(Vector(QUARTER, "short_span"))

    def compute(self) -> None: ...


class Values(Vertex):
    number = INT
    byte = UNSIGNED_CHAR
    real = FLOAT
    table = Vector(INT)
    out = Output(FLOAT)

    def compute(self) -> None:
        self.out = self.real

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return RETURNED["now"]() if callable(RETURNED["now"]) else RETURNED["now"]


RETURNED: dict[str, Any] = {"now": 10}


@pytest.fixture
def graph() -> Graph:
    model = IPUModel("ipu2")
    model.tilesPerIPU = 4
    graph = Graph(model.createDevice())
    graph.addCodelets([Limited, Quarters, Values])
    return graph


def vertex(graph: Graph, name: str, **fields: Any) -> VertexRef:
    v = graph.addVertex(graph.addComputeSet("cs"), name, fields)
    graph.setTileMapping(v, 0)
    return v


# ---- sizes -----------------------------------------------------------------------------------------------------------


def of(graph: Graph, n: int, type_: Any = FLOAT) -> Tensor:
    t = graph.addVariable(type_, [n])
    graph.setTileMapping(t, 0)
    return t


@pytest.mark.parametrize("field", ["short", "one"])
def test_connect_takes_what_getMaxFieldDim_says_and_no_more(graph: Graph, field: str) -> None:
    most = graph.getMaxFieldDim("Limited", field, 0)
    assert most == (4095 if field == "short" else 624 * 1024 // 4)
    fits, apart = of(graph, most), concat(of(graph, most), of(graph, 1))
    graph.connect(vertex(graph, "Limited")[field], fits)
    message = f"'{field}' of Limited takes at most {most} elements .*not {most + 1}"
    for t in (of(graph, most + 1), apart, np.zeros(most + 1)):
        with pytest.raises(graph_connection_error, match=message):
            graph.connect(vertex(graph, "Limited")[field], t)
        with pytest.raises(graph_connection_error, match=message):
            vertex(graph, "Limited", **{field: t})


def test_inner_vectors_are_limited_too(graph: Graph) -> None:
    assert graph.getMaxFieldDim("Limited", "rows", 0) == 2**32 - 1
    assert graph.getMaxFieldDim("Limited", "rows", 1) == 4095
    rows = of(graph, 2 * 4096)
    v = vertex(graph, "Limited")
    for what in (rows.reshape([2, 4096]), [rows[:4], rows[:4096]]):
        with pytest.raises(graph_connection_error, match=r"at most 4095 elements .*not 4096"):
            graph.connect(v["rows"], what)
    with pytest.raises(graph_connection_error, match=r"at most 4095 elements .*not 4096"):
        graph.connect(v["rows"][1], rows[:4096])
    graph.connect(v["rows"], [rows[:4095], rows[4096:8191]])


class Lists(Vertex):
    parts = Vector(Input(FLOAT), "short_span")
    rows = Vector(Input(Vector(FLOAT)), "short_span")

    def compute(self) -> None: ...


def test_a_list_of_edges_has_the_layout_that_it_is_declared_with(graph: Graph) -> None:
    graph.addCodelets(Lists)
    assert graph.getMaxFieldDim("Lists", "parts", 0) == 4095
    assert graph.getMaxFieldDim("Lists", "rows", 0) == 4095
    assert graph.getMaxFieldDim("Lists", "rows", 1) == 2**32 - 1
    assert [f.bytes for f in state_fields(graph.store.vertex_types["Lists"], "ipu2")] == [4, 4]
    x = of(graph, 4096)
    for what in (x, [x[i] for i in range(4096)]):
        with pytest.raises(graph_connection_error, match="'parts' of Lists takes at most 4095"):
            graph.connect(vertex(graph, "Lists")["parts"], what)
    with pytest.raises(graph_connection_error, match="'rows' of Lists takes at most 4095"):
        graph.connect(vertex(graph, "Lists")["rows"], x.reshape([4096, 1]))


def test_elements_one_by_one_stop_at_the_limit(graph: Graph) -> None:
    v = vertex(graph, "Limited")
    with pytest.raises(graph_connection_error, match="not 4096"):
        graph.connect(v["short"][4095], of(graph, 1)[0])
    with pytest.raises(index_error, match="holds at most 4095 elements, not 4096"):
        graph.setFieldSize(v["short"], 4096)
    graph.setFieldSize(v["short"], 4095)


def test_quarter_fields_are_limited_before_their_metadata_is_connected(graph: Graph) -> None:
    v = vertex(graph, "Quarters")
    with pytest.raises(graph_connection_error, match="at most 4095 elements"):
        graph.connect(v["q"], of(graph, 4096, QUARTER))
    graph.connect(v["q"], of(graph, 8, QUARTER))


# ---- initial values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("number", [1, 2], type_error, "'number' of Values is one number, not \\[1, 2\\]"),
        ("number", [1], type_error, "is one number"),
        ("number", 1.5, type_error, "1.5 is not a value for field 'number' .*whole numbers \\(int\\)"),
        ("number", "3", type_error, "'3' is not a value for field 'number'"),
        ("number", None, type_error, "None is not a value"),
        ("number", 1j, type_error, "1j is not a value"),
        ("number", float("nan"), overflow_error, "nan does not fit"),
        ("byte", 256, overflow_error, "256 does not fit field 'byte'"),
        ("real", [1.0], type_error, "'real' of Values is one number"),
        ("real", object(), type_error, "is not a value for field 'real'"),
        ("table", 1, type_error, "'table' of Values is a vector: give a list of numbers, not 1"),
        ("table", [[1, 2], [3, 4]], type_error, "'table' of Values is a vector"),
        ("table", [1, 2.5], type_error, "whole numbers"),
        ("table", [[1], [2, 3]], type_error, "is not a value for field 'table'"),
        ("table", ["1", "2"], type_error, "is not a value for field 'table'"),
    ],
)
def test_values_of_fields_are_checked_at_the_call(
    graph: Graph, field: str, value: Any, error: type[poplar_error], message: str
) -> None:
    v = vertex(graph, "Values")
    for call in (
        lambda: graph.setInitialValue(v[field], value),
        lambda: graph.connect(v[field], value),
        lambda: vertex(graph, "Values", **{field: value}),
    ):
        with pytest.raises(error, match=message):
            call()
    assert v.builder.fields.values[field] == {}


def test_one_element_of_a_vector_is_one_number(graph: Graph) -> None:
    v = vertex(graph, "Values")
    with pytest.raises(type_error, match="'table' of Values is one number"):
        graph.setInitialValue(v["table"][0], [1])
    graph.setInitialValue(v["table"][0], 1.0)
    graph.setFieldSize(v["table"], 2)
    graph.setInitialValue(v["table"][1], np.int64(7))
    assert v.builder.fields.values["table"][0].tolist() == [1, 7]
    for value in (np.array(3), 2**31 - 1, True, 4.0):
        graph.setInitialValue(v["number"], value)
        assert v.builder.fields.values["number"][0] == value


# ---- estimates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "figures", [(LARGEST + 1,), (1, LARGEST + 1), (2**64,), (1.5,), ("3",), (-1,), (None,), (1, -1)]
)
def test_estimates_that_cycles_cannot_hold_are_refused(graph: Graph, figures: tuple[Any, ...]) -> None:
    v = vertex(graph, "Values")
    with pytest.raises(poplar_error, match=f"setPerfEstimate: .* are not whole numbers from 0 to {LARGEST}"):
        graph.setPerfEstimate(v, *figures)
    with pytest.raises(poplar_error, match="setPerfEstimate"):
        graph.setPerfEstimate(v, VertexPerfEstimate(*figures))
    graph.setPerfEstimate(v, LARGEST, LARGEST)
    assert graph.getPerfEstimate(v) == VertexPerfEstimate(LARGEST, LARGEST)


def complete(graph: Graph) -> VertexRef:
    return vertex(graph, "Values", number=1, byte=1, real=1, table=[1], out=of(graph, 1)[0])


def nonsense(value: Any) -> Any:
    def my_estimator(vertex: object, target: object) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return my_estimator


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("abc", "gave 'abc' for vertex 0"),
        (-5, "gave -5 for vertex 0"),
        (None, "gave None for vertex 0"),
        (float("nan"), "gave nan for vertex 0"),
        (10.5, "gave 10.5 for vertex 0"),
        (2**60, f"gave {2**60} for vertex 0"),
        (VertexPerfEstimate(1, -1), "gave VertexPerfEstimate"),
        (
            ZeroDivisionError("by nothing"),
            "raised ZeroDivisionError for vertex 0: by nothing; mend it, or give cycles with",
        ),
    ],
)
def test_a_registered_estimator_that_fails_is_named(graph: Graph, value: Any, message: str) -> None:
    v = complete(graph)
    graph.registerPerfEstimator("Values", nonsense(value))
    message = f"Values cannot estimate its vertices: .*my_estimator, registered for it, {message}"
    with pytest.raises(missing_perf_estimate, match=message):
        graph.getPerfEstimate(v)
    with pytest.raises(missing_perf_estimate, match=message):
        compileGraph(graph, [Execute(_set_of(graph))])


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("abc", missing_perf_estimate, "Values.estimate must give one number .*not 'abc'"),
        (-1, missing_perf_estimate, "not -1"),
        (float("nan"), missing_perf_estimate, "not nan"),
        (2.0**60, missing_perf_estimate, "from 0 to 281474976710655"),
        ([1, 2], missing_perf_estimate, r"each of the 1 vertices, not \[1, 2\]"),
        (
            lambda: 1 // 0,
            missing_perf_estimate,
            "Values cannot .*its estimate raised ZeroDivisionError: .*; mend it, or give",
        ),
    ],
)
def test_an_estimate_of_a_codelet_that_fails_is_named(
    graph: Graph, value: Any, error: type[poplar_error], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete(graph)
    monkeypatch.setitem(RETURNED, "now", value)
    with pytest.raises(error, match=message):
        compileGraph(graph, [Execute(_set_of(graph))])


def _set_of(graph: Graph) -> Any:
    from simulator.graph.objects import ComputeSet  # handles have no public constructor

    return ComputeSet(0, "cs", graph.store)


# ---- mappings without intervals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [[0], [3, 0], [4], []])
def test_a_tensor_takes_the_mapping_that_it_has(graph: Graph, shape: list[int]) -> None:
    t = graph.addVariable(FLOAT, shape)
    mapping = graph.getTileMapping(t, False)
    assert mapping == [[], [], [], []]
    graph.setTileMapping(t, mapping)
    graph.setTileMapping(t, [])
    graph.setTileMapping(t, [[], [(0, 0)]])
    graph.setTileMappingIntervals(t, np.array([], int), np.array([], int), np.array([], int))
    assert graph.getTileMapping(t, isComplete=True) == (mapping, t.numElements() == 0)


def test_a_mapping_without_intervals_leaves_tiles_as_they_are(graph: Graph) -> None:
    t = of(graph, 6)
    graph.setTileMapping(t[2:], 3)
    graph.setTileMapping(t, [[], [], [], []])
    graph.setTileMapping(t, [[(3, 3)], [(4, 6), (5, 5)], []])
    graph.setTileMapping(t[5], 3)
    assert graph.getTileMapping(t) == [[(0, 2)], [(4, 5)], [], [(2, 4), (5, 6)]]
    nothing = concat(t[:0], graph.addVariable(FLOAT, [0]))
    graph.setTileMapping(nothing, graph.getTileMapping(nothing))
    graph.setTileMapping(nothing, 2)
    assert graph.getTileMapping(nothing) == [[], [], [], []]


def test_a_tile_beyond_the_graph_is_refused_where_it_holds_nothing_too(graph: Graph) -> None:
    t = graph.addVariable(FLOAT, [4])
    graph.setTileMapping(t, [[], [], [], [], [], []])
    with pytest.raises(invalid_tile_mapping, match="Tile 4 is out of range"):
        graph.setTileMapping(t, [[], [], [], [], [(0, 0)]])
