"""Sorting: popops.topK along the last dimension, of all elements for a sort."""

from __future__ import annotations

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import is_floating
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import INT, UNSIGNED_INT, Tensor
from simulator.poplibs import popops

_CALL = "popops.topKWithPermutation"


def _top(
    at: Building, input: Tensor, k: int, dim: int, largest: bool, order: popops.SortOrder, stable: bool = False
) -> tuple[Tensor, Tensor]:
    """(the first `k` elements along a dimension in order, their places)."""
    if input.rank() == 0:
        return input, at.constant(INT, [], 0, "indices")
    axis, last, type_ = dim % input.rank(), input.rank() - 1, input.elementType()
    rows = input if is_floating(type_) or type_ is UNSIGNED_INT else at.cast(input, INT)
    rows = rows.dimRoll(axis, last)
    if rows.numElements() == 0 or k == 0:
        shape = [k if one == axis else size for one, size in enumerate(input.shape())]
        return at.constant(type_, shape, 0, "values"), at.constant(INT, shape, 0, "indices")
    params = popops.TopKParams(k, largest, order, stable)
    values, places = popops.topKWithPermutation(at.graph, at.program, rows, params, at.name("topK"))
    return at.cast(values, type_).dimRoll(last, axis), places.reinterpret(INT).dimRoll(last, axis)


@lowers("aten.topk.default", kind="TopK", call=_CALL)
def topk(
    at: Building, input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    order = popops.SortOrder.DESCENDING if largest else popops.SortOrder.ASCENDING
    return _top(at, input, k, dim, largest, order if sorted else popops.SortOrder.NONE)


@lowers("aten.sort.default", "aten.sort.stable", kind="Sort", call=_CALL)
def sort(
    at: Building, input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False
) -> tuple[Tensor, Tensor]:
    order = popops.SortOrder.DESCENDING if descending else popops.SortOrder.ASCENDING
    k = input.dim(dim % input.rank()) if input.rank() else 1
    return _top(at, input, k, dim, descending, order, bool(stable))


@lowers("aten.argsort.default", "aten.argsort.stable", kind="Sort", call=_CALL)
def argsort(at: Building, input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    return sort(at, input, dim, descending, stable)[1]


@lowers("aten.kthvalue.default", kind="TopK", call=_CALL)
def kthvalue(at: Building, input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The element number `k`, from 1, in ascending order, and its place."""
    values, places = _top(at, input, k, dim, False, popops.SortOrder.ASCENDING)
    if input.rank() == 0:
        return values, places
    axis = dim % input.rank()
    last = values.slice(k - 1, k, axis), places.slice(k - 1, k, axis)
    return last if keepdim else (last[0].squeeze([axis]), last[1].squeeze([axis]))


@lowers("aten.median.dim", kind="TopK", call=_CALL)
def median_dim(at: Building, input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower of two middle elements, as in torch; without its rule for NaN."""
    size = input.dim(dim % input.rank()) if input.rank() else 1
    return kthvalue(at, input, (size + 1) // 2, dim, keepdim)


@lowers("aten.median.default", kind="TopK", call=_CALL)
def median(at: Building, input: Tensor) -> Tensor:
    return median_dim(at, input.flatten(), 0)[0]
