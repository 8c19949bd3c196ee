"""Element-wise arithmetic: popops' operators, one compute set each."""

from __future__ import annotations

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popops

Operand = Tensor | float


def _as_tensor(at: Building, value: Operand, like: Tensor) -> Operand:
    return value


@lowers("aten.mul.Tensor", "aten.mul.Scalar", kind="Mul", call="popops.mul")
def mul(at: Building, input: Tensor, other: Operand) -> Tensor:
    return popops.mul(at.graph, input, other, at.program, at.name("mul"))


@lowers("aten.add.Tensor", "aten.add.Scalar", kind="Add", call="popops.add, scaledAddTo")
def add(at: Building, input: Tensor, other: Operand, alpha: float = 1) -> Tensor:
    if alpha != 1:
        other = (
            popops.mul(at.graph, other, alpha, at.program, at.name("alpha"))
            if isinstance(other, Tensor)
            else other * alpha
        )
    return popops.add(at.graph, input, other, at.program, at.name("add"))
