"""Products of matrices with TensorFlow's shapes; einsum is one product of stacks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from simulator.frontends.captured import Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.products import create_right_operand, matrix_product
from simulator.frontends.lowering.reducing.reductions import reduced
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popops


def _create_other(at: Building, *, input: Value, other: Value) -> Tensor | None:
    return create_right_operand(at, input.shape, other)


@lowers("tf.MatMul", kind="MatMul", call="poplin.matMul, matMulGrouped", other=_create_other)
def mat_mul(at: Building, input: Tensor, other: Tensor) -> Tensor:
    return matrix_product(at, input, other, "matmulGrouped")


@lowers("tf.Einsum", kind="Einsum", call="poplin.matMulGrouped, popops.reduce")
def einsum(at: Building, tensors: Sequence[Tensor], names: Sequence[str], result: str) -> Tensor:
    """Operands are multiplied one after the other; a dimension is summed as soon as no later operand has it."""
    left, letters = tensors[0], names[0]
    for place in range(1, len(tensors)):
        later = set(result).union(*names[place + 1 :])
        left, letters = _contracted(at, (left, letters), (tensors[place], names[place]), later)
    left, letters = _summed(at, left, letters, set(result))
    return left.dimShuffle([letters.index(one) for one in result])


def _summed(at: Building, tensor: Tensor, letters: str, needed: set[str]) -> tuple[Tensor, str]:
    dims = [axis for axis, one in enumerate(letters) if one not in needed]
    if not dims:
        return tensor, letters
    rest = "".join(one for one in letters if one in needed)
    return reduced(at, tensor, dims, False, popops.Operation.ADD), rest


def _contracted(
    at: Building, first: tuple[Tensor, str], second: tuple[Tensor, str], later: set[str]
) -> tuple[Tensor, str]:
    """The product of two operands, [stack, rows, inner] x [stack, inner, columns]."""
    left, a = _summed(at, *first, later | set(second[1]))
    right, b = _summed(at, *second, later | set(a))
    shared = [one for one in a if one in b]
    stack = "".join(one for one in shared if one in later)
    inner = "".join(one for one in shared if one not in later)
    rows, columns = ("".join(one for one in letters if one not in shared) for letters in (a, b))
    sizes = {**dict(zip(a, left.shape(), strict=True)), **dict(zip(b, right.shape(), strict=True))}

    def matrix(tensor: Tensor, letters: str, groups: Sequence[str]) -> Tensor:
        order = [letters.index(one) for one in "".join(groups)]
        return tensor.dimShuffle(order).reshape([prod(sizes[one] for one in group) for group in groups])

    product = matrix_product(
        at, matrix(left, a, [stack, rows, inner]), matrix(right, b, [stack, inner, columns]), "einsum"
    )
    names = stack + rows + columns
    return product.reshape([sizes[one] for one in names]), names
