"""Vertex types of a tensor with a broadcast vector, and of rows with a scalar each, under PopLibs' names.

Cycles: `simulator.machine.cycles.broadcast` (published-numbers 7.1). Inner vectors apply `in2` to each block of its
length; outer vectors apply element r modulo the length to row r of `columns` elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.types import UNSIGNED_SHORT
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import broadcast
from simulator.machine.cycles.described import described
from simulator.machine.cycles.rounding import vector_width
from simulator.poplibs.popops.operators import evaluate
from simulator.poplibs.popops.vertices import row_lengths, sum_rows

Compute = Callable[[Any], None]


def _type(
    name: str,
    op: str,
    dtype: str,
    in_place: bool,
    flat: bool,
    others: tuple[FieldSpec, ...],
    spent: Callable[[VertexBlock, Mapping[str, Int64Array]], Int64Array],
    formula: Callable[..., Any],
    compute: Callable[[Any, int, Any, Any], None],
    more: str = "",
) -> VertexType:
    """`compute(vertex, row, data, out)` works on one run."""
    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    out = FieldSpec("out", kind, "inout" if in_place else "out", None, "one_ptr" if flat else "span", 8)
    data = () if in_place else (FieldSpec("in1", kind, "in", None, "one_ptr", 8, outer="one_ptr"),)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        count = flop_counts.typed(flop_counts.binary(op) * elements["out"], dtype)
        return BlockCosts(spent(block, elements), "exact", described("7.1", formula), count)

    def run(vertex: Any) -> None:
        outs = [vertex.out] if flat else vertex.out
        for row, target in enumerate(outs):
            first = target if in_place else (vertex.in1 if flat else vertex.in1[row])
            compute(vertex, row, np.asarray(first), target)

    place = "InPlace" if in_place else ""
    full = f"popops::{name}{place}<popops::expr::BinaryOpType::{op},{dtype}{more}>"
    fields = (*data, *others, out)
    return VertexType(full, "multi" if flat else "worker", fields, costs, run, doc=f"{op} with a broadcast operand")


@lru_cache(maxsize=256)
def inner_vertex(op: str, dtype: str, in_place: bool, flat: bool) -> VertexType:
    """BroadcastVectorInner1D (six workers share the blocks), or 2D: rows with a vector and a number of blocks each."""

    def spent(block: VertexBlock, elements: Mapping[str, Int64Array]) -> Int64Array:
        if flat:
            length = elements["in2"]
            return broadcast.inner_1d(op, dtype, length, elements["out"] // length, in_place)
        rows, length = row_lengths(block.edges["out"]), row_lengths(block.edges["in2"])
        body = broadcast.inner_2d_row(op, dtype, length, rows // length)
        return broadcast.inner_2d_base(op, in_place) + sum_rows(body, block.edges["out"])

    def compute(vertex: Any, row: int, data: Any, out: Any) -> None:
        vector = np.asarray(vertex.in2 if flat else vertex.in2[row])
        result = np.empty_like(np.asarray(out))
        evaluate(op, [data, np.tile(vector, len(data) // len(vector))], result)
        out[:] = result

    if flat:
        others = (FieldSpec("in2", "vector", "in", None, "span", 8), _count("dataBlockCountPacked"))
    else:
        work = FieldSpec("workList", "vector", "in", UNSIGNED_SHORT, "one_ptr", 2)
        others = (FieldSpec("in2", "vectors", "in", None, "one_ptr", 8, outer="one_ptr"), work)
    formula = broadcast.inner_1d if flat else broadcast.inner_2d_row
    name = f"BroadcastVectorInner{'1D' if flat else '2D'}"
    return _type(name, op, dtype, in_place, flat, others, spent, formula, compute)


@lru_cache(maxsize=256)
def outer_vertex(op: str, dtype: str, in_place: bool, by_row: bool, misaligned: bool) -> VertexType:
    """BroadcastVectorOuterByRow1D and ByColumn1D. `misaligned`: rows are not whole 64-bit vectors."""

    def spent(block: VertexBlock, elements: Mapping[str, Int64Array]) -> Int64Array:
        rows = np.asarray(block.values["rows"], np.int64)
        columns = np.asarray(block.values["columns"], np.int64)
        return broadcast.outer(op, dtype, rows, columns, by_row=by_row, in_place=in_place)

    def compute(vertex: Any, row: int, data: Any, out: Any) -> None:
        rows, columns = int(vertex.rows), int(vertex.columns)
        vector = np.asarray(vertex.in2)
        result = np.empty_like(np.asarray(out))
        evaluate(op, [data, np.repeat(vector[np.arange(rows) % len(vector)], columns)], result)
        out[:] = result

    others = (FieldSpec("in2", "vector", "in", None, "span", 2), _count("columns"), _count("rows"))
    name = f"BroadcastVectorOuterBy{'Row' if by_row else 'Column'}1D"
    more = f",{str(misaligned).lower()}"
    return _type(name, op, dtype, in_place, True, others, spent, broadcast.outer, compute, more)


@lru_cache(maxsize=256)
def scalar_rows_vertex(op: str, dtype: str, in_place: bool) -> VertexType:
    """BroadcastScalar2D: rows with a scalar each."""

    def spent(block: VertexBlock, elements: Mapping[str, Int64Array]) -> Int64Array:
        edges = block.edges["out"]
        body = broadcast.scalar_2d_row(op, dtype, row_lengths(edges), in_place=in_place)
        return broadcast.SCALAR_2D_BASE + sum_rows(body, edges)

    def compute(vertex: Any, row: int, data: Any, out: Any) -> None:
        evaluate(op, [data, np.asarray(vertex.in2[row]).reshape(())], out)

    others = (FieldSpec("in2", "vectors", "in", None, "one_ptr", 2, outer="one_ptr"),)
    return _type("BroadcastScalar2D", op, dtype, in_place, False, others, spent, broadcast.scalar_2d_row, compute)


def misaligned(dtype: str, columns: Int64Array) -> BoolArray:
    """Whether rows of this many elements are not whole 64-bit vectors."""
    return np.asarray(columns % vector_width(dtype) != 0)


def _count(name: str) -> FieldSpec:
    return FieldSpec(name, "value", "", UNSIGNED_SHORT)
