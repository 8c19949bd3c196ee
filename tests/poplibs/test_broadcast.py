"""Operators with a broadcast operand: the vertices that PopLibs' rules place, and their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF, INT, Graph, Tensor, Type
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from tests.poplibs.programs import both_ways, linear, small_graph

NUMPY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum}


def on_tile(graph: Graph, type_: Type, shape: list[int], tile: int, name: str) -> Tensor:
    tensor = graph.addVariable(type_, shape, name)
    graph.setTileMapping(tensor, tile)
    return tensor


def placed(type_: Type, shape: list[int], other: list[int], name: str = "add", in_place: bool = False) -> list[str]:
    """Names of the vertices of a tensor on one tile and an operand on another, without "popops::" and operator."""
    graph, program = small_graph(2), Sequence()
    a, b = on_tile(graph, type_, shape, 0, "a"), on_tile(graph, type_, other, 1, "b")
    getattr(popops, name + ("InPlace" if in_place else ""))(graph, a, b, program)
    return [b.type.name.removeprefix("popops::").split("<")[0] for b in graph.store.blocks for _ in range(len(b))]


@pytest.mark.parametrize(
    ("type_", "shape", "other", "op", "expected"),
    [
        (HALF, [12, 16], [16], "add", "BroadcastVectorInner1D"),
        (HALF, [12, 16], [16], "div", "BroadcastVectorInner1D"),
        (HALF, [12, 6], [6], "add", "BinaryOp1D"),  # no whole vectors of halves
        (HALF, [12, 6], [6], "div", "BroadcastVectorInner1D"),
        (HALF, [12, 16], [16], "max", "BinaryOp1D"),  # there is no such vertex
        (FLOAT, [12, 16], [16], "add", "BinaryOp1D"),  # BinaryOp is vectorised
        (FLOAT, [12, 16], [16], "div", "BroadcastVectorInner1D"),
        (FLOAT, [12, 11], [12, 1], "add", "BroadcastVectorOuterByRow1D"),  # 11 < 6 * 2
        (FLOAT, [12, 12], [12, 1], "sub", "BroadcastVectorOuterByColumn1D"),
        (HALF, [12, 23], [12, 1], "mul", "BroadcastVectorOuterByRow1D"),  # 23 < 6 * 4
        (HALF, [12, 24], [12, 1], "mul", "BroadcastVectorOuterByColumn1D"),
        (FLOAT, [12, 12], [12, 1], "div", "BinaryOp1D"),
        (FLOAT, [3, 4, 24], [4, 1], "add", "BroadcastVectorOuterByColumn1D"),  # rows repeat the vector
        (FLOAT, [12, 16], [1, 1], "add", "BroadcastScalar1D"),
        (FLOAT, [1, 16], [1, 1], "add", "BroadcastScalar1D"),
        (INT, [12, 16], [16], "add", "BinaryOp1D"),
        (INT, [12, 16], [12, 1], "add", "BinaryOp1D"),
    ],
)
def test_kinds(type_: Type, shape: list[int], other: list[int], op: str, expected: str) -> None:
    assert placed(type_, shape, other, op) == [expected]
    assert placed(type_, shape, other, op, in_place=True) == [expected + "InPlace"]


def test_a_broadcast_first_operand_changes_places_where_that_is_the_same() -> None:
    assert placed(HALF, [16], [12, 16], "mul") == ["BroadcastVectorInner1D"]
    assert placed(HALF, [16], [12, 16], "sub") == ["BinaryOp1D"]
    assert placed(HALF, [], [12, 16], "add") == ["BroadcastScalar1D"]


def test_rows_cut_by_the_mapping_take_a_scalar_each() -> None:
    """A tile has 32 floats of rows of 10: 10, 10, 10 and 2 elements with four elements of the vector. It takes worker
    vertices over rows, because four MultiVertices take about 6 * (20 + 2) + 11 each."""
    graph, program = small_graph(2), Sequence()
    a, b = on_tile(graph, FLOAT, [64, 10], 1, "a"), on_tile(graph, FLOAT, [64, 1], 1, "b")
    graph.setTileMapping(a.flatten().slice(0, 32, 0), 0)
    popops.subInPlace(graph, a, b, program)
    first = [b for b in graph.store.blocks if 0 in b.tiles]
    assert [b.type.name.split("<")[0] for b in first] == ["popops::BroadcastScalar2DInPlace"]
    # shares of 6 floats: three whole vectors for each worker
    rows = [b for b in first for _ in range(int((b.tiles == 0).sum()))]
    assert len(rows) == 6


def test_the_vector_comes_once_and_every_worker_reads_it() -> None:
    """Two column blocks in one run: each block's part of the vector has its own MultiVertex; three become rows."""
    for blocks, kind in ((2, "BroadcastVectorInner1DInPlace"), (3, "BroadcastVectorInner2DInPlace")):
        graph, program = small_graph(2), Sequence()
        stored = on_tile(graph, HALF, [blocks, 9, 8], 0, "stored")
        matrix = stored.dimShuffle([1, 0, 2]).reshape([9, 8 * blocks])
        bias = on_tile(graph, HALF, [8 * blocks], 1, "bias")
        popops.addInPlace(graph, matrix, bias, program)
        (block,) = graph.store.blocks
        assert block.type.name.startswith(f"popops::{kind}<")
        if blocks == 2:
            assert block.edges["in2"].lengths.tolist() == [8, 8]
            assert block.values["dataBlockCountPacked"].tolist() == [(9 // 6) << 3 | 3] * 2
        else:
            # 27 rows of 8: five per worker, so 5, (4, 1), 5, (3, 2), 5, 2
            assert block.edges["out"].lengths.tolist() == [40, 32, 8, 40, 24, 16, 40, 16]
            offsets = block.edges["out"].offsets
            assert offsets is not None
            assert np.diff(offsets).tolist() == [1, 2, 1, 2, 1, 1]
            assert set(block.edges["in2"].lengths.tolist()) == {8}
            lists = graph.store.variables.constant[-1]
            assert np.asarray(lists).tolist()[:8] == [0, 8, 5, 1, 8, 4, 8, 1]


@given(
    st.sampled_from(sorted(NUMPY)),
    st.sampled_from([FLOAT, HALF]),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.booleans(),
    st.booleans(),
    st.integers(1, 8),
)
def test_same_by_vertex_by_kernel_and_in_numpy(
    name: str, type_: Any, shape: list[int], kept: list[bool], in_place: bool, turned: bool, tiles: int
) -> None:
    rng = np.random.default_rng(6)
    other = [n if keep else 1 for n, keep in zip(shape, kept, strict=False)]
    a_values = rng.uniform(0.5, 3, shape).astype(type_.dtype)
    b_values = rng.uniform(0.5, 3, other).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        order = list(range(len(shape)))[::-1] if turned else list(range(len(shape)))
        a = linear(graph, type_, [shape[i] for i in order], "a").dimShuffle(order)
        b = linear(graph, type_, other, "b")
        inputs = {"a": (a, a_values), "b": (b, b_values)}
        if in_place:
            getattr(popops, f"{name}InPlace")(graph, a, b, program)
            return inputs, a
        return inputs, getattr(popops, name)(graph, a, b, program)

    by_vertex, by_kernel = both_ways(build, tiles)
    assert np.array_equal(by_vertex, by_kernel)
    expected = NUMPY[name](a_values.astype(np.float64), b_values.astype(np.float64))
    bound = 5e-7 if type_ is FLOAT else 1e-3
    assert (np.abs(by_vertex - expected) <= bound * (1 + np.abs(expected))).all()
