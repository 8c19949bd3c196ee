"""Products of matrices: linear, mm, bmm, matmul, addmm through poplin.matMul and matMulGrouped."""

from __future__ import annotations

from typing import Any

from simulator.frontends.captured import Value
from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import poplin, popops


def _rows(tensor: Tensor) -> Tensor:
    """[..., n] as [rows, n]."""
    return tensor.reshape(
        [tensor.numElements() // max(1, tensor.dim(tensor.rank() - 1)), tensor.dim(tensor.rank() - 1)]
    )


def _create_weight(at: Building, *, input: Value, weight: Value, **_: Any) -> Tensor:
    """[out, in], laid out as the right operand of the product reads its transpose."""
    rows = input.elements // max(1, input.shape[-1])
    out, size = weight.shape
    name = at.name("weight")
    right = poplin.createMatMulInputRHS(
        at.graph, element_type(weight.dtype), [rows, size], [size, out], name, at.product_options()
    )
    return right.transpose()


@lowers(
    "aten.linear.default",
    kind="MatMul",
    call="poplin.matMul, popops.addInPlace",
    own_backward=True,
    weight=_create_weight,
)
def linear(at: Building, input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    rows, options = _rows(input), at.product_options()
    out = poplin.matMul(at.graph, rows, weight.transpose(), at.program, at.name("matmul"), options)
    if bias is not None:
        popops.addInPlace(at.graph, out, bias.expand([0]).broadcast(out.dim(0), 0), at.program, at.name("addBias"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = _rows(slopes[0]), {}
        if "input" in wanted:
            back = poplin.matMul(at.graph, slope, weight, at.program, at.name("MatMulLhsGrad"), options)
            gradients["input"] = back.reshape(input.shape())
        if "weight" in wanted:
            gradients["weight"] = poplin.matMul(
                at.graph, slope.transpose(), rows, at.program, at.name("MatMulRhsGrad"), options
            )
        if "bias" in wanted:
            gradients["bias"] = popops.reduce(
                at.graph, slope, [0], popops.ReduceParams(popops.Operation.ADD), at.program, at.name("ReduceSum")
            )
        return gradients

    return out.reshape([*input.shape()[:-1], weight.dim(0)]), backward
