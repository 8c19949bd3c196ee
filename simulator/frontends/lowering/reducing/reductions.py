"""Reductions: popops.reduce over the given dimensions, with its own scale for means."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import COMPUTED, is_floating
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, FLOAT, INT, Tensor, Type
from simulator.poplibs import popnn, popops
from simulator.poplibs.popops import expr as e

Dims = Sequence[int] | int | None
_OP = popops.Operation
#: the result of no elements
_NEUTRAL: dict[popops.Operation, float] = {
    _OP.ADD: 0,
    _OP.SQUARE_ADD: 0,
    _OP.MUL: 1,
    _OP.LOGICAL_AND: True,
    _OP.LOGICAL_OR: False,
    _OP.LOG_ADD: float("-inf"),
}


def dims_of(input: Tensor, dims: Dims) -> list[int]:
    """The dimensions to reduce: all of them for none."""
    given = [dims] if isinstance(dims, int) else list(dims or range(input.rank()))
    return sorted({dim % input.rank() for dim in given}) if input.rank() else []


def reduced(
    at: Building,
    input: Tensor,
    dims: Dims,
    keepdim: bool,
    operation: popops.Operation,
    scale: float = 1.0,
    type: Type | None = None,
) -> Tensor:
    """The reduction of some dimensions (all of them for none), kept with size 1 if `keepdim`, times `scale`. `type` is
    that of the result: FLOAT of halves or the type of the input. Nothing runs where each result is one element."""
    chosen = dims_of(input, dims)
    type_ = input.elementType() if type is None else type
    shape = [1 if dim in chosen else size for dim, size in enumerate(input.shape())]
    terms = prod(input.dim(dim) for dim in chosen)
    if input.numElements() == 0:
        out = at.constant(type_, shape, _NEUTRAL[operation] if prod(shape) else 0, "none")
    elif terms == 1 and operation is not _OP.SQUARE_ADD and scale == 1.0:
        out = at.cast(input, type_)
    else:
        if type_ not in COMPUTED:
            input = at.cast(input, INT)
        factor = None
        if scale != 1.0:
            factor = at.graph.addConstant(FLOAT, [1], scale, at.name("scale"))
            at.graph.setTileMapping(factor, 0)
        params = popops.ReduceParams(operation, False, factor)
        inner = type_ if type_ in COMPUTED else INT
        out = popops.reduce(at.graph, input, inner, chosen, params, at.program, at.name("reduce"))
        out = at.cast(out, type_).reshape(shape)
    return out if keepdim else out.squeeze(chosen)


def summed_to(at: Building, input: Tensor, shape: Sequence[int]) -> Tensor:
    """The sum over all dimensions along which a tensor of `shape` was broadcast to that of `input`."""
    missing = input.rank() - len(shape)
    dims = [axis for axis, size in enumerate(input.shape()) if axis < missing or shape[axis - missing] != size]
    return reduced(at, input, dims, True, _OP.ADD).reshape(list(shape)) if dims else input


def summed(at: Building, input: Tensor, dtype: str | None) -> Tensor:
    """The operand of a sum or product: integers and bool are added in 32 bits."""
    if dtype is not None:
        return at.cast(input, dtype)
    return input if is_floating(input.elementType()) else at.cast(input, INT)


@lowers("aten.sum.dim_IntList", "aten.sum.default", kind="ReduceSum", call="popops.reduce")
def sum_(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: str | None = None) -> Tensor:
    return reduced(at, summed(at, input, dtype), dim, keepdim, _OP.ADD)


@lowers("aten.mean.dim", "aten.mean.default", kind="ReduceMean", call="popops.reduce")
def mean(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: str | None = None) -> Tensor:
    cast = summed(at, input, dtype)
    count = prod(cast.dim(one) for one in dims_of(cast, dim))
    if count == 0:
        shape = reduced(at, cast, dim, keepdim, _OP.ADD).shape()
        return at.constant(cast.elementType(), shape, float("nan"), "mean")
    return reduced(at, cast, dim, keepdim, _OP.ADD, 1.0 / count)


@lowers("aten.amax.default", kind="ReduceMax", call="popops.reduce")
def amax(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return reduced(at, input, dim, keepdim, _OP.LOGICAL_OR if input.elementType() is BOOL else _OP.MAX)


@lowers("aten.amin.default", kind="ReduceMin", call="popops.reduce")
def amin(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return reduced(at, input, dim, keepdim, _OP.LOGICAL_AND if input.elementType() is BOOL else _OP.MIN)


@lowers("aten.max.default", kind="ReduceMax", call="popops.reduce")
def max_(at: Building, input: Tensor) -> Tensor:
    return amax(at, input)


@lowers("aten.min.default", kind="ReduceMin", call="popops.reduce")
def min_(at: Building, input: Tensor) -> Tensor:
    return amin(at, input)


@lowers("aten.any.default", "aten.any.dim", "aten.any.dims", kind="ReduceOr", call="popops.reduce")
def any_(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return reduced(at, at.cast(input, BOOL), dim, keepdim, _OP.LOGICAL_OR)


@lowers("aten.all.default", "aten.all.dim", "aten.all.dims", kind="ReduceAnd", call="popops.reduce")
def all_(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return reduced(at, at.cast(input, BOOL), dim, keepdim, _OP.LOGICAL_AND)


@lowers("aten.logsumexp.default", kind="ReduceLogSumExp", call="popops.reduce")
def logsumexp(at: Building, input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    floats = input if is_floating(input.elementType()) else at.cast(input, FLOAT)
    return reduced(at, floats, dim, keepdim, _OP.LOG_ADD)


def _extreme(at: Building, input: Tensor, dim: int, keepdim: bool, build: Any) -> tuple[Tensor, Tensor]:
    """(extreme elements along a dimension, their places), `build` of popnn on rows."""
    if input.rank() == 0:
        return input, at.constant(INT, [], 0, "index")
    axis, type_ = dim % input.rank(), input.elementType()
    rolled = (input if type_ in COMPUTED and type_ is not BOOL else at.cast(input, INT)).dimRoll(axis, input.rank() - 1)
    shape = [size for one, size in enumerate(input.shape()) if one != axis]
    shape = [*shape[:axis], 1, *shape[axis:]] if keepdim else shape
    if not prod(shape):
        return at.constant(type_, shape, 0, "values"), at.constant(INT, shape, 0, "indices")
    rows = rolled.reshape([prod(shape), input.dim(axis)])
    values, places = build(at.graph, rows, at.program, at.name())
    return at.cast(values.reshape(shape), type_), places.reinterpret(INT).reshape(shape)


def _extreme_with_gradient(at: Building, input: Tensor, dim: int, keepdim: bool, build: Any) -> Any:
    """`_extreme`; the gradient goes to the element that was taken."""
    values, places = _extreme(at, input, dim, keepdim, build)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        if input.rank() == 0:
            return {"input": slopes[0]}
        axis = dim % input.rank()
        slope, chosen = (one if keepdim else one.expand([axis]) for one in (slopes[0], places))
        numbers = at.constant(INT, [input.dim(axis)], np.arange(input.dim(axis), dtype=np.int32), "places")
        column = numbers.reshape(_along(input, axis))
        is_chosen = mapped(at, e.Equal, chosen, column, name="isChosen", result=BOOL)
        return {"input": mapped(at, e.Select, slope, 0, name="where", flags=(is_chosen,))}

    return (values, places), backward


def _along(input: Tensor, axis: int) -> list[int]:
    """The shape of a vector along one dimension of a tensor."""
    return [size if one == axis else 1 for one, size in enumerate(input.shape())]


@lowers("aten.max.dim", kind="ReduceMax", call="popnn.maxAndArgMax; popops.map", own_backward=True)
def max_dim(at: Building, input: Tensor, dim: int, keepdim: bool = False) -> Any:
    return _extreme_with_gradient(at, input, dim, keepdim, popnn.maxAndArgMax)


@lowers("aten.min.dim", kind="ReduceMin", call="popnn.minAndArgMin; popops.map", own_backward=True)
def min_dim(at: Building, input: Tensor, dim: int, keepdim: bool = False) -> Any:
    return _extreme_with_gradient(at, input, dim, keepdim, popnn.minAndArgMin)


def _place(at: Building, input: Tensor, dim: int | None, keepdim: bool, build: Any) -> Tensor:
    """The place of the extreme element of a dimension, or of the whole tensor."""
    if dim is not None:
        return _extreme(at, input, dim, keepdim, build)[1]
    place = _extreme(at, input.flatten(), 0, False, build)[1]
    return place.reshape([1] * input.rank()) if keepdim else place


@lowers("aten.argmax.default", kind="ArgMax", call="popnn.maxAndArgMax")
def argmax(at: Building, input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _place(at, input, dim, keepdim, popnn.maxAndArgMax)


@lowers("aten.argmin.default", kind="ArgMin", call="popnn.minAndArgMin")
def argmin(at: Building, input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _place(at, input, dim, keepdim, popnn.minAndArgMin)
