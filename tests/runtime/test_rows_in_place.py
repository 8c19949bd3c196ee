"""Kernels that slice and update rows of scattered matrices touch these rows only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, UNSIGNED_INT, Graph, Tensor, concat
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops
from simulator.runtime.values.arena import Arena, Rows
from simulator.runtime.values.kernels import register, traits_of
from tests.poplibs.programs import linear, run_engine

STEPS, COLUMNS = 40, 37


def scattered(graph: Graph, type_: Any, rows: int, name: str) -> Tensor:
    """A matrix of three variables whose columns are interleaved, so that it is no strided window."""
    parts = [linear(graph, type_, [rows, width], name) for width in (20, 1, 16)]
    return concat(parts, 1)


@pytest.fixture
def copied_sizes(monkeypatch):
    """The numbers of elements of all copies out of the arena."""
    sizes = []
    read = Arena.read

    def watched(self: Arena, place: Any) -> Any:
        if place.items is not None:
            sizes.append(place.items.size)
        return read(self, place)

    monkeypatch.setattr(Arena, "read", watched)
    return sizes


@pytest.mark.parametrize("type_", [FLOAT, HALF])
def test_loops_over_a_sequence_never_copy_it(type_, copied_sizes):
    """out[i] = given[i] + 1 for each step: a read and a write of one row."""
    values = np.arange(STEPS * COLUMNS).reshape(STEPS, COLUMNS) % 512

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        given, out = (scattered(graph, type_, STEPS, name) for name in ("given", "out"))
        source = linear(graph, type_, [STEPS, COLUMNS])

        def body(counter: Tensor) -> Sequence:
            step = Sequence()
            first = popops.dynamicSlice(graph, source, counter, [0], [1], step)
            popops.dynamicUpdate(graph, given, first, counter, [0], [1], step)
            row = popops.dynamicSlice(graph, given, counter, [0], [1], step)
            popops.addInPlace(graph, row, 1.0, step)
            popops.dynamicUpdate(graph, out, row, counter, [0], [1], step)
            return step

        prog.add(popops.countedLoop(graph, STEPS, body))
        return {"source": (source, values)}, out

    result = run_engine(build)
    assert np.array_equal(result, values + 1)
    assert sum(copied_sizes) <= 3 * STEPS * COLUMNS  # rows of two slices, and the result for the host


@pytest.mark.parametrize("op", ["multiUpdate", "multiUpdateAdd", "multiUpdateMax"])
def test_updates_of_some_rows_leave_the_others(op):
    rng = np.random.default_rng(2)
    values, updates = rng.normal(size=(STEPS, COLUMNS)), rng.normal(size=(5, 1, COLUMNS))
    values, updates = values.astype(np.float32), updates.astype(np.float32)
    offsets = np.array([3, 17, 3, STEPS - 1, STEPS + 4])  # one twice, one out of range

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        matrix, rows = scattered(graph, FLOAT, STEPS, "matrix"), linear(graph, FLOAT, [5, 1, COLUMNS])
        at = linear(graph, UNSIGNED_INT, [5, 1])
        given = linear(graph, FLOAT, [STEPS, COLUMNS])
        prog.add(Copy(given, matrix))
        scale = graph.addConstant(FLOAT, [], 0.5)
        graph.setTileMapping(scale, 0)
        arguments = [scale] if op == "multiUpdateAdd" else []
        getattr(popops, op)(graph, matrix, rows, at, *arguments, [0], [1], prog)
        return {"given": (given, values), "rows": (rows, updates), "at": (at, offsets.reshape(5, 1))}, matrix

    expected = values.astype(np.float64)
    for at, row in zip(offsets[:4], updates[:, 0].astype(np.float64), strict=False):
        if op == "multiUpdate":
            expected[at] = row
        elif op == "multiUpdateAdd":
            expected[at] += 0.5 * row
        else:
            expected[at] = np.maximum(expected[at], row)
    np.testing.assert_allclose(run_engine(build), expected, rtol=1e-6, atol=1e-6)


def test_rows_read_and_write_as_an_array_does():
    layout_items = np.array([[5, 3, 9], [0, 1, 2], [8, 7, 6]])
    flat = np.arange(10.0, dtype=np.float32)
    rows, array = Rows(flat, layout_items), flat[layout_items].copy()
    for which in (np.array([2, 0]), np.array([1, 1])):
        assert np.array_equal(rows[which], array[which])
    rows[np.array([2, 0])] = array[np.array([2, 0])] = -np.ones((2, 3))
    assert np.array_equal(flat[layout_items], array)
    assert (rows.shape, rows.dtype) == (array.shape, array.dtype)
    assert flat[4] == 4


def test_kernels_name_their_operands_by_row_once():
    assert traits_of("popops.dynamicUpdate").by_row == (frozenset({2}), frozenset({0}))
    assert traits_of("popops.addInPlace").by_row == (frozenset(), frozenset())
    with pytest.raises(ValueError, match=r"Another kernel is registered as 'popops.dynamicUpdate'"):
        register("popops.dynamicUpdate", outputs_by_row=[1])(lambda outputs, inputs, attributes: None)
