"""Products of matrices, vectors and stacks of matrices through poplin.matMul and matMulGrouped.

A stack times one matrix is a single product of all its rows, as torch folds it; two stacks are a grouped product. The
gradients are products too: of the slope with the other operand, summed over the dimensions that were broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simulator.frontends.captured import Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.reducing.reductions import summed_to
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import poplin, popops
from simulator.poplibs.memory_order import broadcast_to

_CALL = "poplin.matMul, matMulGrouped; popops.reduce"
_SUM_CALL = "poplin.matMul, matMulGrouped; popops.map, reduce"


def _rows(tensor: Tensor) -> Tensor:
    """[..., n] as [rows, n]."""
    last = tensor.dim(tensor.rank() - 1)
    return tensor.reshape([prod(tensor.shape()[:-1]), last])


def _transposed(tensor: Tensor) -> Tensor:
    """[..., m, n] as [..., n, m]."""
    rank = tensor.rank()
    return tensor.dimRoll(rank - 1, rank - 2)


def matrix_product(at: Building, left: Tensor, right: Tensor, name: str) -> Tensor:
    """[..., m, k] x [..., k, n]: [..., m, n], with the leading dimensions broadcast."""
    batch = [int(size) for size in np.broadcast_shapes(tuple(left.shape()[:-2]), tuple(right.shape()[:-2]))]
    (m, k), n = left.shape()[-2:], right.dim(right.rank() - 1)
    options = at.product_options()
    if prod(right.shape()[:-2]) == 1:
        product = poplin.matMul(at.graph, _rows(left), right.reshape([k, n]), at.program, at.name(name), options)
    elif prod(left.shape()[:-2]) == 1:
        turned = _rows(_transposed(right)), left.reshape([m, k]).transpose()
        product = poplin.matMul(at.graph, *turned, at.program, at.name(name), options)
        return _transposed(product.reshape([*batch, n, m]))
    else:
        groups = prod(batch)
        stacks = (
            broadcast_to(left, (*batch, m, k)).reshape([groups, m, k]),
            broadcast_to(right, (*batch, k, n)).reshape([groups, k, n]),
        )
        product = poplin.matMulGrouped(at.graph, *stacks, at.program, at.name(name), options)
    return product.reshape([*batch, m, n])


def _left_gradient(at: Building, slope: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The gradient of the left operand. That of one matrix times a stack is a single product over stack and columns."""
    name = "MatMulLhsGrad"
    if prod(left.shape()[:-2]) == 1 and slope.shape()[:-2] == right.shape()[:-2]:
        columns = _rows(_transposed(slope)).transpose()
        rows = _rows(_transposed(right))
        return matrix_product(at, columns, rows, name).reshape(left.shape())
    return summed_to(at, matrix_product(at, slope, _transposed(right), name), left.shape())


def _right_gradient(at: Building, slope: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The gradient of the right operand. That of a stack times one matrix is a single product over all rows."""
    name = "MatMulRhsGrad"
    if prod(right.shape()[:-2]) == 1 and slope.shape()[:-2] == left.shape()[:-2]:
        return matrix_product(at, _rows(left).transpose(), _rows(slope), name).reshape(right.shape())
    return summed_to(at, matrix_product(at, _transposed(left), slope, name), right.shape())


def _matrix_shapes(left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
    """Shapes of the operands of a product as stacks of matrices: a vector on the left is a row, on the right a
    column."""
    return (
        list(left) if len(left) > 1 else [1, *left],
        list(right) if len(right) > 1 else [*right, 1],
    )


# Layouts of weights and inputs


def _create_left(at: Building, left: Value, right_shape: Sequence[int]) -> Tensor:
    shape, other = _matrix_shapes(left.shape, right_shape)
    sizes = [prod(shape[:-1]), shape[-1]], [shape[-1], other[-1]]
    made = poplin.createMatMulInputLHS(at.graph, element_type(left.dtype), *sizes, at.name("lhs"), at.product_options())
    return made.reshape(list(left.shape))


def create_right_operand(at: Building, left_shape: Sequence[int], right: Value) -> Tensor | None:
    """A tensor for the right operand as the product reads it best; None where it is broadcast over stacks."""
    other, shape = _matrix_shapes(left_shape, right.shape)
    type_, name, options = element_type(right.dtype), at.name("weight"), at.product_options()
    if prod(shape[:-2]) == 1:
        sizes = [prod(other[:-1]), other[-1]], shape[-2:]
        made = poplin.createMatMulInputRHS(at.graph, type_, *sizes, name, options)
    elif prod(other[:-2]) == 1:
        sizes = [prod(shape[:-2]) * shape[-1], shape[-2]], [shape[-2], other[-2]]
        turned = poplin.createMatMulInputLHS(at.graph, type_, *sizes, name, options)
        made = _transposed(turned.reshape([*shape[:-2], shape[-1], shape[-2]]))
    elif other[:-2] == shape[:-2]:
        groups = prod(shape[:-2])
        sizes = [groups, *other[-2:]], [groups, *shape[-2:]]
        made = poplin.createMatMulGroupedInputRHS(at.graph, type_, *sizes, name, options)
    else:
        return None
    return made.reshape(list(right.shape))


def _create_linear_weight(at: Building, *, input: Value, weight: Value, **_: Any) -> Tensor:
    """[out, in] or [in], laid out as the right operand of the product reads its transpose."""
    rows, out, size = prod(input.shape[:-1]), prod(weight.shape[:-1]), weight.shape[-1]
    name = at.name("weight")
    right = poplin.createMatMulInputRHS(
        at.graph, element_type(weight.dtype), [rows, size], [size, out], name, at.product_options()
    )
    return right.transpose().reshape(list(weight.shape))


def _create_linear_input(at: Building, *, input: Value, weight: Value, **_: Any) -> Tensor:
    return _create_left(at, input, weight.shape[::-1])


def _create_other(at: Building, *, input: Value, other: Value) -> Tensor | None:
    return create_right_operand(at, input.shape, other)


def _create_mat2(at: Building, *, input: Value, mat2: Value) -> Tensor | None:
    return create_right_operand(at, input.shape, mat2)


def _create_second(at: Building, *, input: Value, mat1: Value, mat2: Value, **_: Any) -> Tensor | None:
    return create_right_operand(at, mat1.shape, mat2)


# Rules


@lowers(
    "aten.linear.default",
    kind="MatMul",
    call="poplin.matMul; popops.addInPlace, reduce",
    own_backward=True,
    weight=_create_linear_weight,
    input=_create_linear_input,
)
def linear(at: Building, input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    rows, matrix, options = _rows(input), _rows(weight), at.product_options()
    out = poplin.matMul(at.graph, rows, matrix.transpose(), at.program, at.name("matmulGrouped"), options)
    if bias is not None:
        row = bias.reshape([1, bias.numElements()])
        popops.addInPlace(at.graph, out, row.broadcast(out.dim(0), 0), at.program, at.name("addBias"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = slopes[0].reshape(out.shape()), {}
        if "input" in wanted:
            back = poplin.matMul(at.graph, slope, matrix, at.program, at.name("MatMulLhsGrad"), options)
            gradients["input"] = back.reshape(input.shape())
        if "weight" in wanted:
            product = poplin.matMul(at.graph, slope.transpose(), rows, at.program, at.name("MatMulRhsGrad"), options)
            gradients["weight"] = product.reshape(weight.shape())
        if bias is not None and "bias" in wanted:
            add = popops.ReduceParams(popops.Operation.ADD)
            total = popops.reduce(at.graph, slope, [0], add, at.program, at.name("ReduceSum"))
            gradients["bias"] = total.reshape(bias.shape())
        return gradients

    return out.reshape([*input.shape()[:-1], *weight.shape()[:-1]]), backward


def _product(at: Building, left: Tensor, right: Tensor, names: tuple[str, str]) -> Any:
    """The product of two tensors as torch.matmul defines it, and its gradients under the operands' names."""
    shapes = _matrix_shapes(left.shape(), right.shape())
    first, second = left.reshape(shapes[0]), right.reshape(shapes[1])
    product = matrix_product(at, first, second, "matmulGrouped")
    vectors = [product.rank() - 2] * (left.rank() == 1) + [product.rank() - 1] * (right.rank() == 1)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = slopes[0].reshape(product.shape()), {}
        if names[0] in wanted:
            gradients[names[0]] = _left_gradient(at, slope, first, second).reshape(left.shape())
        if names[1] in wanted:
            gradients[names[1]] = _right_gradient(at, slope, first, second).reshape(right.shape())
        return gradients

    return product.squeeze(vectors), backward


@lowers("aten.matmul.default", kind="MatMul", call=_CALL, own_backward=True, other=_create_other)
def matmul(at: Building, input: Tensor, other: Tensor) -> Any:
    return _product(at, input, other, ("input", "other"))


@lowers("aten.mm.default", "aten.bmm.default", kind="MatMul", call=_CALL, own_backward=True, mat2=_create_mat2)
def mm(at: Building, input: Tensor, mat2: Tensor) -> Any:
    return _product(at, input, mat2, ("input", "mat2"))


@lowers("aten.mv.default", kind="MatMul", call=_CALL, own_backward=True)
def mv(at: Building, input: Tensor, vec: Tensor) -> Any:
    return _product(at, input, vec, ("input", "vec"))


@lowers("aten.dot.default", kind="MatMul", call=_CALL, own_backward=True)
def dot(at: Building, input: Tensor, tensor: Tensor) -> Any:
    return _product(at, input, tensor, ("input", "tensor"))


@lowers("aten.vdot.default", kind="MatMul", call=_CALL, own_backward=True)
def vdot(at: Building, input: Tensor, other: Tensor) -> Any:
    return _product(at, input, other, ("input", "other"))


def _with_addend(
    at: Building, addend: Tensor, left: Tensor, right: Tensor, names: tuple[str, str], factors: tuple[float, float]
) -> Any:
    """beta * addend + alpha * left x right, with the addend broadcast to the product. With beta 0 the addend is not
    read, with alpha 0 the product is not, except that of a stack: torch's rule for NaN in them."""
    beta, alpha = factors
    product, product_backward = _product(at, left, right, names)
    if alpha == 0 and names != ("batch1", "batch2"):
        out = mapped(at, lambda c, b: c * b, broadcast_to(addend, tuple(product.shape())), beta, name="add")
        if beta == 0:
            popops.zero(at.graph, out, at.program, at.name("zero"))
    elif beta == 0:
        out = product if alpha == 1 else popops.mul(at.graph, product, alpha, at.program, at.name("scale"))
    elif alpha == 1 and beta == 1:
        out = product
        popops.addInPlace(at.graph, out, broadcast_to(addend, tuple(out.shape())), at.program, at.name("add"))
    else:
        out = mapped(at, lambda p, c, a, b: p * a + c * b, product, addend, alpha, beta, name="add")

    def scaled(at: Building, tensor: Tensor, factor: float) -> Tensor:
        return tensor if factor == 1 else popops.mul(at.graph, tensor, factor, at.program, at.name("scale"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        gradients = {}
        if wanted & set(names):
            gradients = product_backward(at, [scaled(at, slopes[0], alpha)], wanted)
        if "input" in wanted:
            gradients["input"] = scaled(at, summed_to(at, slopes[0], addend.shape()), beta)
        return gradients

    return out, backward


@lowers("aten.addmm.default", kind="Gemm", call=_SUM_CALL, own_backward=True, mat2=_create_second)
def addmm(at: Building, input: Tensor, mat1: Tensor, mat2: Tensor, beta: float, alpha: float) -> Any:
    return _with_addend(at, input, mat1, mat2, ("mat1", "mat2"), (beta, alpha))


@lowers("aten.addmv.default", kind="Gemm", call=_SUM_CALL, own_backward=True)
def addmv(at: Building, input: Tensor, mat: Tensor, vec: Tensor, beta: float, alpha: float) -> Any:
    return _with_addend(at, input, mat, vec, ("mat", "vec"), (beta, alpha))


@lowers("aten.baddbmm.default", kind="Gemm", call=_SUM_CALL, own_backward=True)
def baddbmm(at: Building, input: Tensor, batch1: Tensor, batch2: Tensor, beta: float, alpha: float) -> Any:
    return _with_addend(at, input, batch1, batch2, ("batch1", "batch2"), (beta, alpha))


#: the matrices that the stacks of addbmm are laid out as
_ROWS_OF = {"batch1": "rows1", "batch2": "rows2"}


@lowers("aten.addbmm.default", kind="Gemm", call=_SUM_CALL, own_backward=True)
def addbmm(at: Building, input: Tensor, batch1: Tensor, batch2: Tensor, beta: float, alpha: float) -> Any:
    """The sum over a stack of products is one product over stack and inner dimension."""
    left, right = _rows(_transposed(batch1)).transpose(), _rows(batch2)
    out, sum_backward = _with_addend(at, input, left, right, ("rows1", "rows2"), (beta, alpha))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        gradients: dict[str, Tensor] = sum_backward(at, slopes, frozenset(_ROWS_OF.get(one, one) for one in wanted))
        if "batch1" in wanted:
            stack, rows, inner = batch1.shape()
            gradients["batch1"] = _transposed(gradients.pop("rows1").transpose().reshape([stack, inner, rows]))
        if "batch2" in wanted:
            gradients["batch2"] = gradients.pop("rows2").reshape(batch2.shape())
        return gradients

    return out, backward


@lowers("aten.bilinear.default", kind="Bilinear", call=_SUM_CALL, own_backward=True)
def bilinear(at: Building, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """Each row's own matrices [out, in2], a product of the first input with the weight, times the second input."""
    outputs, first_size, second_size = weight.shape()
    matrix = weight.dimShuffle([1, 0, 2]).reshape([first_size, outputs * second_size])
    first, second = _rows(input1), _rows(input2).expand([2])
    own = matrix_product(at, first, matrix, "first").reshape([first.dim(0), outputs, second_size])
    out = matrix_product(at, own, second, "second").squeeze([2])
    if bias is not None:
        popops.addInPlace(at.graph, out, broadcast_to(bias, tuple(out.shape())), at.program, at.name("addBias"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = _rows(slopes[0]), {}
        if "input2" in wanted:
            gradients["input2"] = _right_gradient(at, slope.expand([2]), own, second).reshape(input2.shape())
        if wanted & {"input1", "weight"}:
            back = _left_gradient(at, slope.expand([2]), own, second).reshape([first.dim(0), outputs * second_size])
            if "input1" in wanted:
                gradients["input1"] = _left_gradient(at, back, first, matrix).reshape(input1.shape())
            if "weight" in wanted:
                made = _right_gradient(at, back, first, matrix).reshape([first_size, outputs, second_size])
                gradients["weight"] = made.dimShuffle([1, 0, 2])
        if "bias" in wanted and bias is not None:
            gradients["bias"] = summed_to(at, slope, bias.shape())
        return gradients

    return out.reshape([*input1.shape()[:-1], outputs]), backward
