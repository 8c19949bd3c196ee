"""Elements combined by index: sums, means and extremes through popops.multiUpdateAdd and multiUpdateMax, products
through a mask of all pairs of element and index, for which PopLibs has no update."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import is_floating
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.reducing.reductions import reduced
from simulator.frontends.lowering.rules import lowers
from simulator.frontends.lowering.shaping.indexing import cut, flat_index, write_rows
from simulator.poplar import BOOL, INT, Tensor
from simulator.poplar import program as programs
from simulator.poplibs import popops
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popops import expr as e

_CALL = "popops.map, multiUpdate, multiUpdateAdd, multiUpdateMax; popops.reduce"


@lowers("aten.scatter_reduce.two", kind="ScatterReduce", call=_CALL)
def scatter_reduce(
    at: Building, input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    if input.rank() == 0:
        whole = scatter_reduce(at, input.expand([0]), 0, index.flatten(), src.flatten(), reduce, include_self)
        return whole.reshape([])
    if index.rank() == 0:
        index, src = index.expand([0]), src.reshape([1])
    axis, index = dim % input.rank(), at.cast(index, INT)
    src = at.cast(cut(src, index.shape()), input.elementType())
    if index.numElements() == 0:
        return input
    if reduce == "prod":
        return _multiplied(at, input, axis, index, src, include_self)
    rows, written = input.flatten().expand([1]), src.flatten().expand([1])
    places = flat_index(at, index, axis, input.shape())
    return _COMBINED[reduce](at, rows, places, written, include_self).reshape(input.shape())


def _summed(at: Building, rows: Tensor, places: Tensor, written: Tensor, include_self: bool) -> Tensor:
    if not include_self:
        rows = write_rows(at, rows, places, filled(at, rows.elementType(), written.shape(), 0, "zeros"))
    return write_rows(at, rows, places, written, add=True)


def _averaged(at: Building, rows: Tensor, places: Tensor, written: Tensor, include_self: bool) -> Tensor:
    kind = rows.elementType() if is_floating(rows.elementType()) else INT
    total = _summed(at, rows, places, written, include_self)
    start = filled(at, kind, rows.shape(), float(include_self), "counted")
    ones = filled(at, kind, written.shape(), 1, "ones")
    terms = write_rows(at, start, places, ones, add=True)
    if not include_self:
        terms = mapped(at, lambda n: e.Max(n, 1), terms, name="terms")
    if kind is not INT:
        return mapped(at, e.Divide, total, terms, name="mean")

    def floored(a: Any, b: Any) -> Any:
        """Of whole numbers, as torch has it: towards minus infinity."""
        quotient = a / b
        return e.Select(quotient - 1, quotient, e.And(e.Lt(a, 0), e.NotEqual(quotient * b, a)))

    return mapped(at, floored, total, terms, name="mean", result=rows.elementType())


def _extreme(at: Building, rows: Tensor, places: Tensor, written: Tensor, include_self: bool, largest: bool) -> Tensor:
    kind = rows.elementType()
    whole = not is_floating(kind)
    if not largest:
        rows, written = _turned(at, rows), _turned(at, written)
    if not include_self:
        lowest = np.iinfo(np.int32).min if whole else -np.inf
        held = at.cast(rows, INT) if whole else rows
        rows = write_rows(at, held, places, filled(at, held.elementType(), written.shape(), lowest, "lowest"))
    out = write_rows(at, rows, places, written, largest=True)
    return at.cast(out if largest else _turned(at, out), kind)


def _turned(at: Building, tensor: Tensor) -> Tensor:
    """The elements in the opposite order; -1 - x of whole numbers, which have no negative of the least."""
    if is_floating(tensor.elementType()):
        return mapped(at, e.Neg, tensor, name="negated")
    return mapped(at, lambda x: -1 - x, tensor, name="negated", type=INT)


_COMBINED: dict[str, Callable[..., Tensor]] = {
    "sum": _summed,
    "mean": _averaged,
    "amax": partial(_extreme, largest=True),
    "amin": partial(_extreme, largest=False),
}


def _multiplied(at: Building, input: Tensor, axis: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """Each element times those that its index names, [..., element, index] along the last dimensions."""
    held = cut(input, index.shape(), axis)
    last = input.rank() - 1
    held, index, src = (one.dimRoll(axis, last) for one in (held, index, src))
    size, names = held.dim(last), index.dim(last)
    pairs = (*index.shape()[:last], size, names)
    numbers = at.constant(INT, [size, 1], np.arange(size, dtype=np.int32).reshape(size, 1), "elements")
    spread = [broadcast_to(one, pairs) for one in (index.expand([last]), numbers)]
    mask = mapped(at, e.Equal, *spread, name="mask", result=BOOL)
    factors = broadcast_to(src.expand([last]), pairs)
    chosen = mapped(at, lambda f, m: e.Select(f, 1, m), factors, name="factors", flags=(mask,))
    product = at.cast(reduced(at, chosen, [last + 1], False, popops.Operation.MUL), input.elementType())
    if include_self:
        product = mapped(at, e.Mul, product, held, name="product")
    else:
        named = reduced(at, mask, [last + 1], False, popops.Operation.LOGICAL_OR)
        product = mapped(at, e.Select, product, held, name="product", flags=(named,))
    out = at.copy(input)
    at.program.add(programs.Copy(product.dimRoll(last, axis), cut(out, product.dimRoll(last, axis).shape()), False))
    return out


@lowers("aten.index_reduce.default", kind="ScatterReduce", call=_CALL)
def index_reduce(
    at: Building, input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """Rows along a dimension, which the index names; "prod", "mean", "amax" or "amin"."""
    axis = dim % max(1, input.rank())
    shape = [1] * source.rank()
    if shape:
        shape[axis] = index.numElements()
    spread = broadcast_to(index.reshape(shape), tuple(source.shape()))
    return scatter_reduce(at, input, dim, spread, source, reduce, include_self)


_LEGACY = {"add": "sum", "multiply": "prod"}


@lowers("aten.scatter.reduce", kind="ScatterReduce", call=_CALL)
def scatter_with_reduction(at: Building, input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    return scatter_reduce(at, input, dim, index, src, _LEGACY[reduce])


@lowers("aten.scatter.value_reduce", kind="ScatterReduce", call=_CALL)
def scatter_value_with_reduction(
    at: Building, input: Tensor, dim: int, index: Tensor, value: float, reduce: str
) -> Tensor:
    written = filled(at, input.elementType(), index.shape(), value, "value")
    return scatter_reduce(at, input, dim, index, written, _LEGACY[reduce])
