"""Elements by index: rows of a matrix through popops.multiSlice, multiUpdate and multiUpdateAdd, cut as
popops.embedding.plan says so that no tile holds all of them.

Indices are data: those beyond the tensor read 0 and write nothing, where torch raises an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simulator.base.errors import poplar_error
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Tensor
from simulator.poplibs import popops
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popops import expr as e

_SLICED = (FLOAT, HALF, INT, UNSIGNED_INT)
_READ = "popops.map, multiSlice"
_WRITE = "popops.map, multiUpdate"
_ADD = "popops.map, multiUpdateAdd"


def rows_at(at: Building, rows: Tensor, index: Tensor) -> Tensor:
    """[m, columns]: the rows of a matrix at the indices, [m] INT."""
    type_, count = rows.elementType(), index.numElements()
    if count * rows.numElements() == 0:
        return filled(at, type_, [count, rows.dim(1)], 0, "rows")
    source = rows if type_ in _SLICED else at.cast(rows, INT)
    options = {"usedForUpdate": "false", **at.precision.library_options.get("slice", {})}
    plan = popops.embedding.plan(at.graph, source.elementType(), rows.dim(0), rows.dim(1), [count], options)
    offsets = index.flatten().reinterpret(UNSIGNED_INT).expand([1])
    taken = popops.multiSlice(at.graph, source, offsets, [0], [1], at.program, plan, None, at.name("gather"))
    return at.cast(taken.squeeze([1]), type_)


def write_rows(
    at: Building,
    rows: Tensor,
    index: Tensor,
    written: Tensor,
    add: bool = False,
    scale: float = 1,
    largest: bool = False,
) -> Tensor:
    """A copy of a matrix in which the rows at the indices are replaced (of equal indices the last wins), added to, or
    have the `largest` of old and new elements."""
    type_, count = rows.elementType(), index.numElements()
    if count * rows.numElements() == 0:
        return rows
    out = at.copy(rows) if type_ in _SLICED else at.cast(rows, INT)
    sub = at.cast(at.cast(written, type_), out.elementType()).reshape([count, 1, rows.dim(1)])
    options = {
        "usedForSlice": "false",
        "operationForUpdate": "add" if add else "max" if largest else "none",
        **at.precision.library_options.get("slice", {}),
    }
    plan = popops.embedding.plan(at.graph, out.elementType(), rows.dim(0), rows.dim(1), [count], options)
    offsets = index.flatten().reinterpret(UNSIGNED_INT).expand([1])
    name = at.name("scatter")
    if add:
        factor = at.graph.addConstant(out.elementType(), [], scale, at.name("scale"))
        at.graph.setTileMapping(factor, 0)
        popops.multiUpdateAdd(at.graph, out, sub, offsets, factor, [0], [1], at.program, plan, None, name)
    else:
        update = popops.multiUpdateMax if largest else popops.multiUpdate
        update(at.graph, out, sub, offsets, [0], [1], at.program, plan, None, name)
    return at.cast(out, type_)


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def flat_index(at: Building, index: Tensor, axis: int, shape: Sequence[int]) -> Tensor:
    """The place in a flattened tensor of `shape` of the element that `index` names along `axis`, [elements] INT."""
    strides = _strides(shape)
    sizes = [1 if one == axis else size for one, size in enumerate(index.shape())]
    others = np.zeros(sizes, np.int32)
    for one, size in enumerate(sizes):
        steps = np.arange(size, dtype=np.int32) * strides[one]
        others = others + steps.reshape([size if each == one else 1 for each in range(len(sizes))])
    if strides[axis] == 1 and others.size <= 1:
        return index.flatten()
    begins = broadcast_to(at.constant(INT, sizes, others.astype(np.int32), "begins"), tuple(index.shape()))
    return mapped(at, lambda i, b: i * strides[axis] + b, index, begins, name="index").flatten()


def cut(tensor: Tensor, shape: Sequence[int], axis: int | None = None) -> Tensor:
    """The first elements of each dimension (but `axis`), as many as `shape` has."""
    for one, size in enumerate(shape):
        if one != axis and tensor.dim(one) != size:
            tensor = tensor.slice(0, size, one)
    return tensor


@lowers("aten.gather.default", kind="GatherElements", call=_READ)
def gather(at: Building, input: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    if input.rank() == 0 or index.rank() == 0:
        return rows_at(at, input.reshape([input.numElements(), 1]), at.cast(index, INT)).reshape(index.shape())
    axis = dim % input.rank()
    source = cut(input, index.shape(), axis)
    places = flat_index(at, at.cast(index, INT), axis, source.shape())
    return rows_at(at, source.flatten().expand([1]), places).reshape(index.shape())


def _scattered(at: Building, input: Tensor, dim: int, index: Tensor, src: Tensor, add: bool) -> Tensor:
    if input.rank() == 0:
        return write_rows(at, input.reshape([1, 1]), index.flatten(), src.reshape([1, 1]), add).reshape([])
    axis, whole = dim % input.rank(), at.cast(index, INT)
    if index.rank() == 0:
        whole, src = whole.expand([0]), src.reshape([1])
    places = flat_index(at, whole, axis, input.shape())
    written = cut(src, whole.shape()).flatten().expand([1])
    return write_rows(at, input.flatten().expand([1]), places, written, add).reshape(input.shape())


@lowers("aten.scatter.src", kind="ScatterElements", call=_WRITE)
def scatter(at: Building, input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return _scattered(at, input, dim, index, src, False)


@lowers("aten.scatter.value", kind="ScatterElements", call=_WRITE)
def scatter_value(at: Building, input: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    return _scattered(at, input, dim, index, filled(at, input.elementType(), index.shape(), value, "value"), False)


@lowers("aten.scatter_add.default", kind="ScatterReduce", call=_ADD)
def scatter_add(at: Building, input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return _scattered(at, input, dim, index, src, True)


def _as_rows(tensor: Tensor, dims: Sequence[int]) -> tuple[Tensor, list[int]]:
    """The tensor as a matrix with some dimensions joined into its rows, and the order of its dimensions in it."""
    order = [*dims, *[axis for axis in range(tensor.rank()) if axis not in dims]]
    shuffled = tensor.dimShuffle(order)
    count = prod(shuffled.shape()[: len(dims)])
    return shuffled.reshape([count, prod(shuffled.shape()[len(dims) :])]), order


def _from_rows(rows: Tensor, shape: Sequence[int], order: Sequence[int]) -> Tensor:
    """The inverse of `_as_rows`."""
    return rows.reshape([shape[axis] for axis in order]).dimShuffle(
        [list(order).index(axis) for axis in range(len(order))]
    )


@lowers("aten.index_select.default", kind="Gather", call=_READ)
def index_select(at: Building, input: Tensor, dim: int, index: Tensor) -> Tensor:
    if input.rank() == 0:
        return rows_at(at, input.reshape([1, 1]), at.cast(index, INT)).reshape([])
    axis = dim % input.rank()
    rows, order = _as_rows(input, [axis])
    shape = [index.numElements() if one == axis else size for one, size in enumerate(input.shape())]
    return _from_rows(rows_at(at, rows, at.cast(index, INT)), shape, order)


def _write_along(
    at: Building, input: Tensor, dim: int, index: Tensor, source: Tensor, add: bool, scale: float = 1
) -> Tensor:
    if input.rank() == 0:
        return write_rows(at, input.reshape([1, 1]), index, source.reshape([1, 1]), add, scale).reshape([])
    axis = dim % input.rank()
    rows, order = _as_rows(input, [axis])
    written = _as_rows(source, [axis])[0]
    return _from_rows(write_rows(at, rows, at.cast(index, INT), written, add, scale), input.shape(), order)


@lowers("aten.index_add.default", kind="ScatterReduce", call=_ADD)
def index_add(at: Building, input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1) -> Tensor:
    return _write_along(at, input, dim, index, source, True, alpha)


@lowers("aten.index_copy.default", kind="Scatter", call=_WRITE)
def index_copy(at: Building, input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _write_along(at, input, dim, index, source, False)


@lowers("aten.index_fill.int_Scalar", kind="Scatter", call=_WRITE)
def index_fill(at: Building, input: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    axis = dim % max(1, input.rank())
    shape = [index.numElements() if one == axis else size for one, size in enumerate(input.shape())]
    return _write_along(at, input, dim, index, filled(at, input.elementType(), shape, value, "value"), False)


def _joint_index(
    at: Building, input: Tensor, indices: Sequence[Tensor | None], operator: str
) -> tuple[list[int], Tensor, list[int]]:
    """(indexed dimensions, the row that the index tensors name together, its shape). Negative indices count from the
    end."""
    dims = [axis for axis, one in enumerate(indices) if one is not None]
    given = [one for one in indices if one is not None]
    if any(one.elementType() is BOOL for one in given):
        raise poplar_error(
            f"{operator} with a mask of truth values cannot be lowered to the IPU, since its shape depends on the "
            "data; use torch.where."
        )
    shape = list(np.broadcast_shapes(*[tuple(one.shape()) for one in given]))
    sizes = [input.dim(axis) for axis in dims]

    def joined(*places: Any) -> Any:
        total: Any = None
        for place, size, stride in zip(places, sizes, _strides(sizes), strict=True):
            counted = e.Select(place + size, place, e.Lt(place, 0))
            counted = counted * stride if stride != 1 else counted
            total = counted if total is None else total + counted
        return total

    spread = [broadcast_to(at.cast(one, INT), tuple(shape)) for one in given]
    return dims, mapped(at, joined, *spread, name="index").flatten(), shape


def _place_of(dims: Sequence[int]) -> int:
    """Where the dimensions of the index tensors stand in the result: those of neighbours in their place, else first."""
    return dims[0] if list(dims) == list(range(dims[0], dims[-1] + 1)) else 0


@lowers("aten.index.Tensor", kind="Gather", call=_READ)
def index(at: Building, input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    dims, places, shape = _joint_index(at, input, indices, "index")
    rows, _ = _as_rows(input, dims)
    rest = [size for axis, size in enumerate(input.shape()) if axis not in dims]
    out = rows_at(at, rows, places).reshape([*shape, *rest])
    first, n = _place_of(dims), len(shape)
    return out.dimShuffle([*range(n, n + first), *range(n), *range(n + first, out.rank())])


@lowers("aten.index_put.default", kind="ScatterND", call="popops.map, multiUpdate, multiUpdateAdd")
def index_put(
    at: Building, input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    mask = indices[0]
    if mask is not None and len(indices) == 1 and mask.elementType() is BOOL and values.numElements() == 1:
        flags = broadcast_to(mask.reshape([*mask.shape(), *[1] * (input.rank() - mask.rank())]), tuple(input.shape()))
        value = at.cast(values, input.elementType()).reshape([])
        if accumulate:
            value = mapped(at, e.Add, input, value, name="add")
        return mapped(at, e.Select, value, input, name="where", flags=(flags,))
    dims, places, shape = _joint_index(at, input, indices, "index_put")
    rows, order = _as_rows(input, dims)
    rest = [size for axis, size in enumerate(input.shape()) if axis not in dims]
    first, n = _place_of(dims), len(shape)
    written = broadcast_to(values, (*rest[:first], *shape, *rest[first:]))
    written = written.dimShuffle([*range(first, first + n), *range(first), *range(first + n, written.rank())])
    updates = written.reshape([prod(shape), prod(rest)])
    return _from_rows(write_rows(at, rows, places, updates, accumulate), input.shape(), order)


@lowers("aten.take.default", kind="Gather", call=_READ)
def take(at: Building, input: Tensor, index: Tensor) -> Tensor:
    places = mapped(at, lambda i: e.Select(i + input.numElements(), i, e.Lt(i, 0)), at.cast(index, INT), name="index")
    return rows_at(at, input.flatten().expand([1]), places).reshape(index.shape())


@lowers("aten.put.default", kind="ScatterND", call="popops.map, multiUpdate, multiUpdateAdd")
def put(at: Building, input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    places = mapped(at, lambda i: e.Select(i + input.numElements(), i, e.Lt(i, 0)), at.cast(index, INT), name="index")
    rows = input.flatten().expand([1])
    return write_rows(at, rows, places, source.flatten().expand([1]), accumulate).reshape(input.shape())


@lowers("aten.one_hot.default", kind="OneHot", call="popops.encodeOneHot")
def one_hot(at: Building, input: Tensor, num_classes: int = -1) -> Tensor:
    out = at.variable(INT, [input.numElements(), num_classes], "oneHot")
    labels = at.cast(input, INT).flatten().reinterpret(UNSIGNED_INT)
    popops.encodeOneHot(at.graph, labels, out, at.program, at.name("oneHot"))
    return out.reshape([*input.shape(), num_classes])
