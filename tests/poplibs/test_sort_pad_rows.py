"""Sorting, topK, padding, one element of each row: vertices, kernels and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.machine.cycles import sorting as cycles
from simulator.poplar import FLOAT, HALF, INT, SHORT, UNSIGNED_INT, Graph, Tensor, concat
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import SortOrder, TopKParams
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, run_engine, small_graph

Given = tuple[dict[str, tuple[Tensor, Any]], Tensor]


@pytest.mark.parametrize(("n", "k"), [(7, 3), (16, 16), (40, 1), (33, 5), (3, 2), (1, 1)])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("type_", [FLOAT, HALF, INT, UNSIGNED_INT], ids=str)
def test_top_k(type_: Any, largest: bool, n: int, k: int) -> None:
    values = np.random.default_rng(n).permutation(3 * n).reshape(3, n).astype(type_.dtype)
    order = SortOrder.DESCENDING if largest else SortOrder.ASCENDING

    def build(graph: Graph, program: Sequence) -> Given:
        params = TopKParams(k, largest, order)
        t = popops.createTopKInput(graph, type_, [3, n], params)
        return {"t": (t, values)}, popops.topK(graph, program, t, params, "top")

    by_vertex, by_kernel = both_ways(build, 4)
    expected = np.sort(values, axis=1)
    expected = expected[:, ::-1][:, :k] if largest else expected[:, :k]
    assert np.array_equal(by_vertex, expected)
    assert np.array_equal(by_kernel, expected)


@pytest.mark.parametrize("order", list(SortOrder))
def test_top_k_with_values_and_places(order: SortOrder) -> None:
    keys = np.random.default_rng(3).permutation(60).reshape(2, 30).astype(np.float32)

    def places(graph: Graph, program: Sequence) -> Given:
        t = linear(graph, FLOAT, [2, 30])
        return {"t": (t, keys)}, popops.topKWithPermutation(graph, program, t, TopKParams(4, True, order))[1]

    def values(graph: Graph, program: Sequence) -> Given:
        t, v = linear(graph, FLOAT, [2, 30], "t"), linear(graph, INT, [2, 30], "v")
        found = popops.topKKeyValue(graph, program, t, v, TopKParams(4, False, order))[1]
        return {"t": (t, keys), "v": (v, (2 * keys).astype(np.int32))}, found

    by_vertex, by_kernel = both_ways(places, 4)
    expected = np.argsort(-keys, axis=1)[:, :4]
    expected = expected[:, ::-1] if order is SortOrder.ASCENDING else expected
    assert np.array_equal(by_vertex, by_kernel)
    assert np.array_equal(
        np.sort(by_vertex) if order is SortOrder.NONE else by_vertex,
        np.sort(expected) if order is SortOrder.NONE else expected,
    )
    by_vertex, by_kernel = both_ways(values, 4)
    smallest = 2 * np.sort(keys, axis=1)[:, :4]
    smallest = smallest[:, ::-1] if order is SortOrder.DESCENDING else smallest
    assert np.array_equal(by_vertex, by_kernel)
    assert np.array_equal(np.sort(by_vertex), np.sort(smallest))
    assert order is SortOrder.NONE or np.array_equal(by_vertex, smallest)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("order", list(SortOrder))
def test_equal_elements_stay_in_their_order(order: SortOrder, largest: bool) -> None:
    """Like a stable sort of whole rows in the given order, of which the first or the last elements are taken."""
    keys = np.random.default_rng(5).integers(0, 4, (3, 13)).astype(np.float32)
    params = TopKParams(6, largest, order, stableSort=True)
    turned = order is (SortOrder.ASCENDING if largest else SortOrder.DESCENDING)
    ascending = largest == turned
    places = np.argsort(keys if ascending else -keys, axis=1, kind="stable")
    places = places[:, -6:] if turned else places[:, :6]

    def build(graph: Graph, program: Sequence) -> Given:
        t, v = linear(graph, FLOAT, [3, 13], "t"), linear(graph, INT, [3, 13], "v")
        best = popops.topK(graph, program, t, params)
        found, at = popops.topKWithPermutation(graph, program, t, params)
        again, values = popops.topKKeyValue(graph, program, t, v, params)
        parts = [best, found, again, popops.cast(graph, at, FLOAT, program), popops.cast(graph, values, FLOAT, program)]
        given = {"t": (t, keys), "v": (v, np.arange(39).reshape(3, 13))}
        return given, concat([part.flatten() for part in parts])

    for result in both_ways(build, 4):
        best, found, again, at, values = result.reshape(5, 3, 6)
        for one in (best, found, again):
            assert np.array_equal(one, np.take_along_axis(keys, places, 1))
        assert np.array_equal(at, places)
        assert np.array_equal(values, places + 13 * np.arange(3)[:, None])


def test_steps_and_costs_of_top_k_depend_on_shapes_only() -> None:
    graph, program = small_graph(4), Sequence()
    popops.topK(graph, program, linear(graph, FLOAT, [1, 32]), TopKParams(4, True, SortOrder.NONE), "top")
    names = [b.type.name for b in graph.store.blocks]
    # blocks of 4: 3 steps sort them; 8, 4 and 2 of them are merged in 1 + 2 steps
    assert len(names) == 3 + 3 * 3
    block = graph.store.blocks[0]
    spent = block.type.costs(block, {"keys": np.array([8])}, None).cycles.tolist()
    assert spent == [int(cycles.compare_and_swap("float", "no", 4, 1))] * len(spent)
    assert int(cycles.compare_and_swap("float", "no", 12, 4)) == 19 + 6 * (40 + 17 + 13 + 13 + 3 + 2)
    assert int(cycles.heap_sort(16)) == 8 * (19 * 16 * 4 + 6 * 16 + 2)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("type_", [FLOAT, INT], ids=str)
def test_sort(type_: Any, dim: int) -> None:
    values = np.random.default_rng(4).integers(-50, 50, (9, 11)).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> Given:
        t = linear(graph, type_, [9, 11])
        return {"t": (t, values)}, popops.sort(graph, t, dim, program, "sort")

    assert np.array_equal(run_engine(build), np.sort(values, axis=dim))


def test_sort_by_keys_and_in_place() -> None:
    keys = np.random.default_rng(5).permutation(24).astype(np.float32).reshape(2, 12)
    values = (keys * 3).astype(np.int32)

    def by_keys(graph: Graph, program: Sequence) -> Given:
        k, v = linear(graph, FLOAT, [2, 12], "k"), linear(graph, INT, [2, 12], "v")
        out = popops.sortKeyValue(graph, k, v, 1, program)
        popops.sortKeyValueInPlace(graph, k, v, 1, program)
        popops.sortInPlace(graph, k, 0, program)
        popops.subInPlace(graph, out, v, program)
        return {"k": (k, keys), "v": (v, values)}, out

    assert not run_engine(by_keys).any()

    def one_tile(graph: Graph, program: Sequence) -> Given:
        k = graph.addVariable(FLOAT, [2, 12], "k")
        graph.setTileMapping(k, 1)
        popops.sortInPlace(graph, k, 1, program)
        return {"k": (k, keys)}, k

    for found in both_ways(one_tile):
        assert np.array_equal(found, np.sort(keys, axis=1))


@pytest.mark.parametrize(("lower", "upper"), [([1, 0], [2, 3]), ([-1, 2], [1, -2]), ([0, 0], [0, 0])])
@pytest.mark.parametrize("method", list(popops.padding.MappingMethod))
def test_constant_padding(lower: list[int], upper: list[int], method: Any) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)

    def build(graph: Graph, program: Sequence, value: Any = 7.5) -> Given:
        t, out = linear(graph, FLOAT, [3, 4]), None
        given = {"t": (t, values)}
        if method is popops.padding.MappingMethod.NONE:
            value = linear(graph, FLOAT, [1], "value")
            given["value"] = (value, [7.5])
        padded = popops.pad(graph, t, lower, upper, value, method)
        out = popops.add(graph, padded, 1.0, program)
        return given, out

    kept = values[max(-lower[0], 0) :, : 4 + min(upper[1], 0)]
    amounts = [(max(a, 0), max(b, 0)) for a, b in zip(lower, upper, strict=True)]
    expected = np.pad(kept, amounts, constant_values=7.5)
    for found in both_ways(build):
        assert np.array_equal(found, expected + 1)


def test_padding_of_its_own_and_where_it_lies() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    for kind, mode in ((popops.padding.Type.EDGE, "edge"), (popops.padding.Type.REFLECT, "reflect")):

        def build(graph: Graph, program: Sequence, kind: Any = kind) -> Given:
            t = linear(graph, FLOAT, [3, 4])
            return {"t": (t, values)}, popops.neg(graph, popops.pad(t, [2, 1], [1, 3], kind), program)

        for found in both_ways(build):
            assert np.array_equal(-found, np.pad(values, [(2, 1), (1, 3)], mode=mode))
    graph = small_graph(4)
    t = linear(graph, FLOAT, [8])
    padded = popops.pad(graph, t, 2, 3, 0, 1, popops.padding.MappingMethod.EDGE)
    assert graph.getTileMapping(padded)[0][0] == (0, 4)
    assert graph.getTileMapping(padded)[3][-1][1] == 13
    assert popops.pad(t, -1, 2, 0, popops.padding.Type.EDGE).shape() == [9]
    assert popops.pad(graph, t, 1, 1, 0).elementType() is FLOAT


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=str)
def test_one_element_of_each_row(type_: Any) -> None:
    values = np.arange(35).reshape(7, 5).astype(type_.dtype)
    indices = np.array([0, 4, 5, popops.MASKED_LABEL_CODE, 2, 3, 1])

    def select(graph: Graph, program: Sequence) -> Given:
        t, i = linear(graph, type_, [7, 5], "t"), linear(graph, UNSIGNED_INT, [7], "i")
        return {"t": (t, values), "i": (i, indices)}, popops.selectScalarFromRows(graph, t, i, program)

    def update(graph: Graph, program: Sequence) -> Given:
        t, i = linear(graph, type_, [5, 7], "t").transpose(), linear(graph, UNSIGNED_INT, [7], "i")
        popops.updateScalarInRows(graph, t, i, program)
        return {"t": (t, values), "i": (i, indices)}, t

    for found in both_ways(select, 2):
        assert np.array_equal(found, np.array([0, 9, np.nan, 0, 22, 28, 31]), equal_nan=True)
    expected = values.astype(np.float64)
    for row in (0, 1, 4, 5, 6):
        expected[row, indices[row]] -= 1
    expected[2] = np.nan
    for found in both_ways(update, 2):
        assert np.array_equal(found.astype(np.float64), expected, equal_nan=True)


def test_numbers_that_are_none_are_found() -> None:
    for bad, nan, any_ in ((1.0, False, False), (np.nan, True, True), (np.inf, False, True)):
        for function, expected in ((popops.hasNaN, nan), (popops.hasNaNOrInf, any_)):

            def build(graph: Graph, program: Sequence, bad: float = bad, function: Any = function) -> Given:
                t = linear(graph, HALF, [4, 5])
                return {"t": (t, np.where(np.arange(20) == 13, bad, 0))}, function(graph, t, program)

            assert [bool(f) for f in both_ways(build)] == [expected] * 2
    graph = small_graph()
    assert popops.hasNaN(graph, linear(graph, FLOAT, [0]), Sequence()).shape() == []


def test_wrong_arguments_are_named() -> None:
    graph, program = small_graph(), Sequence()
    t, i, s = linear(graph, FLOAT, [4, 6]), linear(graph, UNSIGNED_INT, [4]), linear(graph, SHORT, [4])
    params, edge = TopKParams(7, True, SortOrder.NONE), popops.padding.Type.EDGE
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("k is 7, rows have 6", lambda: popops.topK(graph, program, t, params)),
        ("short of shape", lambda: popops.topK(graph, program, s, params)),
        ("must have one shape", lambda: popops.topKKeyValue(graph, program, t, i, params)),
        ("has no dimension 2", lambda: popops.sort(graph, t, 2, program)),
        ("must have one shape", lambda: popops.sortKeyValue(graph, t, i, 0, program)),
        ("one number for each", lambda: popops.pad(graph, t, [1], [1])),
        ("cut more than", lambda: popops.pad(graph, t, [-5, 0], [0, 0])),
        ("has no dimension 3", lambda: popops.pad(graph, t, 1, 1, 3)),
        ("the value holds", lambda: popops.pad(graph, t, 1, 1, 0, t)),
        ("cannot be padded", lambda: popops.pad(t, 4, 0, 0, popops.padding.Type.REFLECT)),
        ("cannot be padded", lambda: popops.pad(t[0:0], 1, 0, 0, edge)),
        ("an UNSIGNED_INT for each row", lambda: popops.selectScalarFromRows(graph, t, i[:2], program)),
        ("only finite numbers", lambda: popops.hasNaN(graph, i, program)),
    ]
    for text, call in wrong:
        with pytest.raises(poplibs_error, match=text):
            call()
