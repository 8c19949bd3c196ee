"""Softmax and its logarithm over any dimension, with their gradients: popnn's steps along the last dimension."""

from __future__ import annotations

import math
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popnn, popops

_STABLE = popnn.NonLinearityType.SOFTMAX_STABLE


def to_last(tensor: Tensor, dim: int) -> Tensor:
    """A view with one dimension moved to the end."""
    return tensor.dimRoll(dim % tensor.rank(), tensor.rank() - 1)


def from_last(tensor: Tensor, dim: int) -> Tensor:
    """The reverse of `to_last`."""
    return tensor.dimRoll(tensor.rank() - 1, dim % tensor.rank())


@lowers("aten.softmax.int", "aten._softmax.default", kind="Softmax", call="popnn.nonLinearity", own_backward=True)
def softmax(at: Building, input: Tensor, dim: int, dtype: str | None = None, half_to_float: bool = False) -> Any:
    given = _widened(at, input, dtype, half_to_float)
    if given.rank() == 0:
        one = at.constant(given.elementType(), [], 1.0)
        return one, lambda at, slopes, wanted: {"input": at.constant(input.elementType(), [], 0.0)}
    out = popnn.nonLinearity(at.graph, _STABLE, to_last(given, dim), at.program, at.name("softmax"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = to_last(slopes[0], dim)
        back = popnn.nonLinearityInputGradient(at.graph, _STABLE, out, slope, at.program, at.name("softmaxGrad"))
        return {"input": at.cast(from_last(back, dim), input.elementType())}

    return from_last(out, dim), backward


@lowers("aten._safe_softmax.default", kind="Softmax", call="popnn.nonLinearity; popops.reduce, map", own_backward=True)
def safe_softmax(at: Building, input: Tensor, dim: int, dtype: str | None = None) -> Any:
    """Softmax; zeros for a row of negative infinities."""
    given = _widened(at, input, dtype, False)
    if given.rank() == 0:
        return softmax(at, input, dim, dtype)
    rows, e, last = to_last(given, dim), popops.expr, given.rank() - 1
    how = popops.ReduceParams(popops.Operation.MAX)
    most = popops.reduce(at.graph, rows, [last], how, at.program, at.name("max")).expand([last])
    shares = popnn.nonLinearity(at.graph, _STABLE, rows, at.program, at.name("softmax"))
    safe = e.Select(0.0, e._1, e.Equal(e._2, -math.inf))
    out = popops.map(at.graph, safe, [shares, most], at.program, at.name("safe"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = to_last(slopes[0], dim)
        back = popnn.nonLinearityInputGradient(at.graph, _STABLE, out, slope, at.program, at.name("softmaxGrad"))
        return {"input": at.cast(from_last(back, dim), input.elementType())}

    return from_last(out, dim), backward


@lowers(
    "aten.log_softmax.int",
    "aten._log_softmax.default",
    kind="LogSoftmax",
    call="popnn.logSoftmax, popops.map",
    own_backward=True,
)
def log_softmax(at: Building, input: Tensor, dim: int, dtype: str | None = None, half_to_float: bool = False) -> Any:
    given = _widened(at, input, dtype, half_to_float)
    if given.rank() == 0:
        zero = at.constant(given.elementType(), [], 0.0)
        return zero, lambda at, slopes, wanted: {"input": at.constant(input.elementType(), [], 0.0)}
    out = popnn.logSoftmax(at.graph, to_last(given, dim), at.program, at.name("logSoftmax"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, last = to_last(slopes[0], dim), out.rank() - 1
        how = popops.ReduceParams(popops.Operation.ADD)
        total = popops.reduce(at.graph, slope, [last], how, at.program, at.name("reduce")).expand([last])
        e = popops.expr
        back = popops.map(
            at.graph, e._2 - e.Exp(e._1) * e._3, [out, slope, total], at.program, at.name("logSoftmaxGrad")
        )
        return {"input": at.cast(from_last(back, dim), input.elementType())}

    return from_last(out, dim), backward


def _widened(at: Building, input: Tensor, dtype: str | None, half_to_float: bool) -> Tensor:
    wanted = "float32" if half_to_float else dtype
    return input if wanted is None else at.cast(input, wanted)
