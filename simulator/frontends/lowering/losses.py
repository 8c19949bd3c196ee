"""Losses, lowered whole with their own gradients."""

from __future__ import annotations

from typing import Any

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popops

#: of aten's reductions
NONE, MEAN, SUM = 0, 1, 2


@lowers("aten.mse_loss.default", kind="MseLoss", call="popops.map, reduce", own_backward=True)
def mse_loss(at: Building, input: Tensor, target: Tensor, reduction: int) -> Any:
    difference = popops.sub(at.graph, input, target, at.program, at.name("sub"))
    squares = popops.square(at.graph, difference, at.program, at.name("square"))
    count = max(1, input.numElements())
    out, scale = squares, 1.0
    if reduction != NONE:
        scale = 1.0 / count if reduction == MEAN else 1.0
        how = popops.ReduceParams(popops.Operation.ADD)
        out = popops.reduce(at.graph, squares.flatten(), [0], how, at.program, at.name("reduce"))
        if reduction == MEAN:
            out = popops.mul(at.graph, out, scale, at.program, at.name("mean"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        twice = popops.mul(at.graph, difference, 2 * scale, at.program, at.name("scale"))
        back = popops.mul(at.graph, twice, slopes[0], at.program, at.name("slope"))
        gradients = {"input": back}
        if "target" in wanted:
            gradients["target"] = popops.neg(at.graph, back, at.program, at.name("neg"))
        return gradients

    return out, backward
