"""Elements and rows by indices that data give: dynamic slices, scatters, one-hot encodings."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.reducing.reductions import reduced
from simulator.frontends.lowering.rules import lowers
from simulator.frontends.lowering.shaping.indexing import rows_at, write_rows
from simulator.poplar import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popops import expr as e

_WHOLE = (INT, UNSIGNED_INT)


@lowers("tf.DynamicSlice", kind="DynamicSlice", call="popops.dynamicSlice")
def dynamic_slice(at: Building, input: Tensor, begin: Tensor, axes: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """`begin` has an index for each dimension; those of `axes` count, the others are taken whole. `sizes` are those of
    the slice along `axes`."""
    places = concat([begin.slice(axis, axis + 1, 0) for axis in axes])
    offsets = at.cast(places, INT).reinterpret(UNSIGNED_INT)
    return popops.dynamicSlice(at.graph, input, offsets, list(axes), list(sizes), at.program, at.name("dynamicSlice"))


@lowers("tf.UnsortedSegmentSum", kind="ScatterReduce", call="popops.multiUpdateAdd")
def unsorted_segment_sum(at: Building, input: Tensor, index: Tensor, segments: int) -> Tensor:
    """Rows are added to the segment that their index names; a negative index adds to none."""
    count = index.numElements()
    rest = input.shape()[index.rank() :]
    return _rows_added(at, index.flatten(), input.reshape([count, prod(rest)]), segments).reshape([segments, *rest])


def _rows_added(at: Building, index: Tensor, rows: Tensor, count: int) -> Tensor:
    zeros = filled(at, rows.elementType(), [count, rows.dim(1)], 0, "zeros")
    return write_rows(at, zeros, at.cast(index, INT), rows, add=True)


def _joint_rows(at: Building, index: Tensor, shape: Sequence[int]) -> tuple[Tensor, list[int]]:
    """The place of each row that the last dimension of the indices names, and the shape of a row."""
    depth = index.dim(index.rank() - 1)
    rows = index.reshape([index.numElements() // max(1, depth), depth])
    places = at.cast(rows, INT)
    strides = [prod(shape[axis + 1 : depth]) for axis in range(depth)]
    columns = [places.slice(axis, axis + 1, 1).flatten() for axis in range(depth)]

    def joined(*each: Any) -> Any:
        terms = [one * stride for one, stride in zip(each, strides, strict=True)]
        return sum(terms[1:], terms[0])

    flat = columns[0] if depth == 1 else mapped(at, joined, *columns, name="index")
    return flat, list(shape[depth:])


@lowers("tf.GatherNd", kind="GatherND", call="popops.map, multiSlice")
def gather_nd(at: Building, input: Tensor, index: Tensor) -> Tensor:
    flat, rest = _joint_rows(at, index, input.shape())
    rows = input.reshape([input.numElements() // max(1, prod(rest)), prod(rest)])
    return rows_at(at, rows, flat).reshape([*index.shape()[:-1], *rest])


@lowers("tf.ScatterNd", kind="ScatterND", call="popops.map, multiUpdateAdd")
def scatter_nd(at: Building, index: Tensor, updates: Tensor, shape: Sequence[int]) -> Tensor:
    flat, rest = _joint_rows(at, index, shape)
    rows = updates.reshape([flat.numElements(), prod(rest)])
    return _rows_added(at, flat, rows, prod(shape) // max(1, prod(rest))).reshape(list(shape))


@lowers("tf.TensorScatter", kind="ScatterND", call="popops.map, multiUpdate, multiUpdateAdd")
def tensor_scatter(at: Building, input: Tensor, index: Tensor, updates: Tensor, add: bool) -> Tensor:
    flat, rest = _joint_rows(at, index, input.shape())
    size = prod(rest)
    rows = input.reshape([input.numElements() // max(1, size), size])
    return write_rows(at, rows, flat, updates.reshape([flat.numElements(), size]), add).reshape(input.shape())


@lowers("tf.OneHot", kind="OneHot", call="popops.encodeOneHot, map")
def one_hot(at: Building, input: Tensor, depth: int, on: float, off: float, axis: int, dtype: str) -> Tensor:
    """An index outside the range gives a row of `off`."""
    type_ = element_type(dtype)
    inner = type_ if type_ in (FLOAT, HALF, INT, UNSIGNED_INT) else INT
    flat = input.flatten() if input.elementType() in _WHOLE else at.cast(input.flatten(), INT)
    encoded = at.variable(inner, [flat.numElements(), depth], "oneHot")
    popops.encodeOneHot(at.graph, flat, encoded, at.program, at.name("oneHot"))
    if (on, off) != (1, 0):
        encoded = mapped(at, lambda x: e.Select(on, off, e.NotEqual(x, 0)), encoded, name="values")
    out = at.cast(encoded, type_).reshape([*input.shape(), depth])
    return out.dimRoll(out.rank() - 1, axis % out.rank())


@lowers("tf.InTopK", kind="InTopK", call="popops.map, reduce")
def in_top_k(at: Building, input: Tensor, targets: Tensor, k: int) -> Tensor:
    """Whether fewer than k classes have a score above that of the target."""
    rows, classes = input.shape()
    encoded = at.variable(input.elementType(), [rows, classes], "oneHot")
    popops.encodeOneHot(at.graph, targets, encoded, at.program, at.name("oneHot"))
    picked = popops.mul(at.graph, input, encoded, at.program, at.name("pick"))
    own = reduced(at, picked, [1], True, popops.Operation.ADD)
    higher = mapped(at, e.Gt, input, broadcast_to(own, (rows, classes)), name="isHigher", result=BOOL)
    count = reduced(at, at.cast(higher, INT), [1], False, popops.Operation.ADD)
    return mapped(at, lambda x: e.Lt(x, k), count, name="isIn", result=BOOL)
