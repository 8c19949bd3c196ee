"""Running sums and products along a dimension, and products of a dimension with their gradients.

Sums of floats are a product with a triangular matrix, as in PopART; all else is a scan by doubling (Hillis and Steele):
log2 n element-wise steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import is_floating
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.reducing.reductions import dims_of, reduced, summed
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, concat
from simulator.poplibs import poplin, popops
from simulator.poplibs.popops import expr as e


@lowers("aten.cumsum.default", kind="CumSum", call="poplin.matMul; popops.map for integers")
def cumsum(at: Building, input: Tensor, dim: int, dtype: str | None = None) -> Tensor:
    values = summed(at, input, dtype)
    if values.rank() == 0 or values.numElements() == 0:
        return values
    axis, last = dim % values.rank(), values.rank() - 1
    rows = values.dimRoll(axis, last)
    n = rows.dim(last)
    if is_floating(values.elementType()):
        triangle = at.constant(values.elementType(), [n, n], np.triu(np.ones((n, n), np.float32)), "triangle")
        flat = rows.reshape([rows.numElements() // n, n])
        out = poplin.matMul(at.graph, flat, triangle, at.program, at.name("matmul"), at.product_options())
        return out.reshape(rows.shape()).dimRoll(last, axis)
    distance = 1
    while distance < n:
        later = mapped(at, e.Add, rows.slice(distance, n, last), rows.slice(0, n - distance, last), name="add")
        rows = concat([rows.slice(0, distance, last), later], last)
        distance *= 2
    return rows.dimRoll(last, axis)


def running_products(at: Building, rows: Tensor) -> Tensor:
    """The product of all elements up to each one, along the last dimension."""
    last, n, distance = rows.rank() - 1, rows.dim(rows.rank() - 1), 1
    while distance < n:
        later = mapped(at, e.Mul, rows.slice(distance, n, last), rows.slice(0, n - distance, last), name="mul")
        rows = concat([rows.slice(0, distance, last), later], last)
        distance *= 2
    return rows


def _gradient_of_products(at: Building, rows: Tensor, slopes: Tensor) -> Tensor:
    """The gradient of `running_products`: P_i R_i, with P_i the product before i and R_i = slope_i + x_(i+1) R_(i+1).
    Without divisions, so that it is right for zeros."""
    last, n = rows.rank() - 1, rows.dim(rows.rank() - 1)
    shape = [*rows.shape()[:-1], 1]
    one = filled(at, rows.elementType(), shape, 1, "one")
    before = concat([one, running_products(at, rows).slice(0, n - 1, last)], last)
    factors, sums, distance = concat([rows.slice(1, n, last), one], last), slopes, 1
    while distance < n:
        here, later = (0, n - distance, last), (distance, n, last)
        more = mapped(
            at, lambda s, f, t: f * t + s, sums.slice(*here), factors.slice(*here), sums.slice(*later), name="scan"
        )
        sums = concat([more, sums.slice(n - distance, n, last)], last)
        product = mapped(at, e.Mul, factors.slice(*here), factors.slice(*later), name="mul")
        factors = concat([product, factors.slice(n - distance, n, last)], last)
        distance *= 2
    return mapped(at, e.Mul, before, sums, name="mul")


@lowers("aten.cumprod.default", kind="CumProd", call="popops.map", own_backward=True)
def cumprod(at: Building, input: Tensor, dim: int, dtype: str | None = None) -> Any:
    values = summed(at, input, dtype)
    if values.rank() == 0 or values.numElements() == 0:
        return values, lambda at, slopes, wanted: {"input": at.cast(slopes[0], input.elementType())}
    axis, last = dim % values.rank(), values.rank() - 1
    rows = values.dimRoll(axis, last)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = _gradient_of_products(at, rows, slopes[0].dimRoll(axis, last)).dimRoll(last, axis)
        return {"input": at.cast(back, input.elementType())}

    return running_products(at, rows).dimRoll(last, axis), backward


@lowers(
    "aten.prod.dim_int", "aten.prod.default", kind="ReduceProd", call="popops.reduce; popops.map", own_backward=True
)
def prod(at: Building, input: Tensor, dim: int | None = None, keepdim: bool = False, dtype: str | None = None) -> Any:
    values = summed(at, input, dtype)
    chosen = dims_of(values, dim)
    out = reduced(at, values, dim, keepdim, popops.Operation.MUL)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        if values.numElements() == 0:
            return {"input": at.constant(input.elementType(), input.shape(), 0, "zeros")}
        if not chosen:
            return {"input": at.cast(slopes[0], input.elementType())}
        others = [axis for axis in range(values.rank()) if axis not in chosen]
        shuffled = values.dimShuffle([*others, *chosen])
        kept = shuffled.shape()[: len(others)]
        rows = shuffled.flatten(len(others), values.rank())
        slope = slopes[0].reshape([*kept, 1])
        zeros = filled(at, values.elementType(), [*kept, rows.dim(rows.rank() - 1) - 1], 0, "zeros")
        back = _gradient_of_products(at, rows, concat([zeros, slope], rows.rank() - 1)).reshape(shuffled.shape())
        order = [[*others, *chosen].index(axis) for axis in range(values.rank())]
        return {"input": at.cast(back.dimShuffle(order), input.elementType())}

    return out, backward
