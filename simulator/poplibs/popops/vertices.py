"""Vertex types of the element-wise operations, named as PopLibs names its codelets.

Three forms (`unary`, `binary`, `scalar` = a tensor with one scalar), each in place or not, each for one run per tile
(1D: a MultiVertex on six workers) or for several rows (2D: a worker vertex). Cycles come from
`simulator.machine.cycles.elementwise` and `broadcast`; floating-point operations from
`simulator.machine.flops`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from simulator.arrays import Int64Array
from simulator.graph.vertices import BlockCosts, FieldEdges, FieldSpec, VertexBlock, VertexType, segment_sums
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import broadcast
from simulator.machine.cycles import elementwise as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.popops.operators import evaluate

Form = Literal["unary", "binary", "scalar"]

_CLASS = {"unary": "UnaryOp", "binary": "BinaryOp", "scalar": "BroadcastScalar"}
#: (formula of a vertex, formula of its loop), of one run and of rows
_FORMULAS: dict[tuple[Form, bool], tuple[Callable[..., Any], ...]] = {
    ("unary", True): (cycles.unary_1d, cycles.unary_loop),
    ("unary", False): (cycles.unary_2d_base, cycles.unary_loop),
    ("binary", True): (cycles.binary_1d, cycles.binary_loop),
    ("binary", False): (cycles.binary_2d_base, cycles.binary_loop),
    ("scalar", True): (broadcast.scalar_1d, broadcast.scalar_loop),
    ("scalar", False): (broadcast.scalar_2d_row, broadcast.scalar_loop),
}


def row_lengths(edges: FieldEdges) -> Int64Array:
    """The number of elements of each inner vector of a field of vectors."""
    if edges.row_offsets is None:
        return edges.lengths
    return segment_sums(edges.lengths, edges.row_offsets)


def sum_rows(values: Int64Array, edges: FieldEdges) -> Int64Array:
    """Sum a figure of the inner vectors over each vertex."""
    if edges.offsets is None:
        return values
    return segment_sums(values, edges.offsets)


def _cycles_1d(form: Form, op: str, dtype: str, n: Int64Array, in_place: bool) -> Int64Array:
    if form == "unary":
        return cycles.unary_1d(op, dtype, n, in_place)
    if form == "binary":
        return cycles.binary_1d(op, dtype, n, in_place)
    return broadcast.scalar_1d(op, dtype, n, in_place=in_place)


def _cycles_2d(form: Form, op: str, dtype: str, edges: FieldEdges, in_place: bool) -> Int64Array:
    rows = row_lengths(edges)
    if form == "unary":
        return cycles.unary_2d_base() + sum_rows(cycles.unary_loop(op, dtype, rows, in_place), edges)
    if form == "binary":
        return cycles.binary_2d_base(in_place) + sum_rows(cycles.binary_2d(op, dtype, rows, in_place), edges)
    return broadcast.SCALAR_2D_BASE + sum_rows(broadcast.scalar_2d_row(op, dtype, rows, in_place=in_place), edges)


def _fields(form: Form, in_place: bool, flat: bool) -> tuple[FieldSpec, ...]:
    """The fields: the output is a span, which gives the length of all; operands are pointers, as in
    PopLibs' codelets."""
    kind: Literal["vector", "vectors"] = "vector" if flat else "vectors"
    out = FieldSpec("out", kind, "inout" if in_place else "out", None, "span", 8)
    first = () if in_place else (FieldSpec("in1", kind, "in", None, "one_ptr", 8, outer="one_ptr"),)
    if form == "unary":
        return (*first, out)
    second = FieldSpec("in2", "scalar" if form == "scalar" else kind, "in", None, "one_ptr", 8, outer="one_ptr")
    return (*first, second, out)


@lru_cache(maxsize=1024)
def elementwise_vertex(form: Form, op: str, dtype: str, in_place: bool, flat: bool) -> VertexType:
    """The vertex type of an operator. `flat`: one run per vertex (1D), else rows (2D).

    Raises KeyError when PopLibs has no such operator on the type."""
    _cycles_1d(form, op, dtype, np.zeros(1, np.int64), in_place)  # refuse unknown pairs now, not at compile time

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        count = elements["out"]
        spent = (
            _cycles_1d(form, op, dtype, count, in_place)
            if flat
            else _cycles_2d(form, op, dtype, block.edges["out"], in_place)
        )
        each = flop_counts.unary(op) if form == "unary" else flop_counts.binary(op)
        source = described("7.1", *_FORMULAS[form, flat])
        return BlockCosts(spent, "exact", source, flop_counts.typed(count if each == 1 else each * count, dtype))

    def compute(vertex: Any) -> None:
        outs = [vertex.out] if flat else vertex.out
        for i, out in enumerate(outs):
            first = out if in_place else (vertex.in1 if flat else vertex.in1[i])
            operands = [np.asarray(first)]
            if form == "scalar":
                operands.append(np.asarray(vertex.in2).reshape(()))
            elif form == "binary":
                operands.append(vertex.in2 if flat else vertex.in2[i])
            evaluate(op, operands, out)

    kind = "UnaryOpType" if form == "unary" else "BinaryOpType"
    rows = "2DData" if form == "scalar" else "2D"
    name = f"popops::{_CLASS[form]}{'1D' if flat else rows}{'InPlace' if in_place else ''}"
    return VertexType(
        name=f"{name}<popops::expr::{kind}::{op},{dtype}>",
        kind="multi" if flat else "worker",
        fields=_fields(form, in_place, flat),
        costs=costs,
        compute=compute,
        doc=f"{op} element by element",
    )
