"""Variances and norms: one reduction of squares or powers, with the division in its scale."""

from __future__ import annotations

import math
from math import prod

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import is_floating
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.reducing.reductions import Dims, dims_of, reduced
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, FLOAT, INT, Tensor
from simulator.poplibs import popops
from simulator.poplibs.popops import expr as e

_OP = popops.Operation
_VARIANCE = "popops.map, reduce"


def _moments(at: Building, input: Tensor, dim: Dims, correction: float | None, keepdim: bool) -> tuple[Tensor, Tensor]:
    """(variance, mean) over some dimensions: the mean of squared distances to the mean, n - correction of them."""
    chosen = dims_of(input, dim)
    n = prod(input.dim(axis) for axis in chosen)
    mean = reduced(at, input, chosen, True, _OP.ADD, 1.0 / max(n, 1)) if chosen else input
    shape = mean.shape() if keepdim else mean.squeeze(chosen).shape()
    freedom = n - (1 if correction is None else correction)
    if n == 0 or freedom <= 0:
        return at.constant(input.elementType(), shape, math.nan, "var"), mean.reshape(shape)
    distances = mapped(at, e.Sub, input, mean, name="sub")
    if not chosen:
        return mapped(at, lambda x: e.Square(x) * (1 / freedom), distances, name="var"), mean
    return reduced(at, distances, chosen, keepdim, _OP.SQUARE_ADD, 1.0 / freedom), mean.reshape(shape)


@lowers("aten.var.correction", kind="ReduceVariance", call=_VARIANCE)
def var(
    at: Building, input: Tensor, dim: Dims = None, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    return _moments(at, input, dim, correction, keepdim)[0]


@lowers("aten.std.correction", kind="ReduceStd", call=_VARIANCE)
def std(
    at: Building, input: Tensor, dim: Dims = None, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    return mapped(at, e.Sqrt, var(at, input, dim, correction, keepdim), name="sqrt")


@lowers("aten.var_mean.correction", kind="ReduceVariance", call=_VARIANCE)
def var_mean(
    at: Building, input: Tensor, dim: Dims = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    return _moments(at, input, dim, correction, keepdim)


@lowers("aten.std_mean.correction", kind="ReduceStd", call=_VARIANCE)
def std_mean(
    at: Building, input: Tensor, dim: Dims = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    variance, mean = _moments(at, input, dim, correction, keepdim)
    return mapped(at, e.Sqrt, variance, name="sqrt"), mean


@lowers(
    "aten.linalg_vector_norm.default",
    "aten.norm.Scalar",
    "aten.norm.ScalarOpt_dim",
    "aten.norm.ScalarOpt_dtype",
    "aten.norm.ScalarOpt_dim_dtype",
    kind="ReduceNorm",
    call="popops.map, reduce",
)
def vector_norm(
    at: Building,
    input: Tensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: str | None = None,
    p: float | None = None,
) -> Tensor:
    """(sum of |x|^p)^(1/p); the largest of |x| for infinity, the smallest for minus infinity, the number of non-zeros
    for 0."""
    power = float(ord if p is None else p)
    x = input if dtype is None else at.cast(input, dtype)
    if math.isinf(power):
        operation = _OP.MAX if power > 0 else _OP.MIN
        return reduced(at, mapped(at, e.Abs, x, name="abs"), dim, keepdim, operation)
    if power == 0:
        is_set = mapped(at, lambda a: e.Cast(e.NotEqual(a, 0), x.elementType()), x, name="notEqual")
        return reduced(at, is_set, dim, keepdim, _OP.ADD)
    if power == 1:
        return reduced(at, mapped(at, e.Abs, x, name="abs"), dim, keepdim, _OP.ADD)
    # Squares and powers leave the range of half early: their sums are FLOAT.
    if power == 2 and dims_of(x, dim):
        total = reduced(at, x, dim, keepdim, _OP.SQUARE_ADD, type=FLOAT)
        return mapped(at, e.Sqrt, total, name="sqrt", result=x.elementType())
    raised = mapped(at, lambda a: e.Pow(e.Abs(a), power), x, name="pow", type=FLOAT)
    total = reduced(at, raised, dim, keepdim, _OP.ADD)
    return mapped(at, lambda a: e.Pow(a, 1 / power), total, name="pow", result=x.elementType())


@lowers("aten.dist.default", kind="ReduceNorm", call="popops.map, reduce")
def dist(at: Building, input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    return vector_norm(at, mapped(at, e.Sub, input, other, name="sub"), p)


@lowers("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList", kind="ReduceSum", call="popops.reduce")
def count_nonzero(at: Building, input: Tensor, dim: Dims = None) -> Tensor:
    type_ = FLOAT if is_floating(input.elementType()) else INT
    is_set = mapped(at, lambda a: e.NotEqual(a, 0), at.cast(input, type_), name="notEqual", result=BOOL)
    return reduced(at, at.cast(is_set, INT), dim, False, _OP.ADD)
