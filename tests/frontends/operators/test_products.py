"""Products of matrices on the device beside float64 torch."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("shape", "out"), [((4, 5), 7), ((2, 3, 5), 1), ((5,), 3), ((1, 1), 1), ((13, 17), 11)])
def test_linear(shape: tuple[int, ...], out: int, bias: bool) -> None:
    operands = [torch.randn(*shape), torch.randn(out, shape[-1])] + [torch.randn(out)] * bias
    check_operator(F.linear, *operands, length=shape[-1])


@pytest.mark.parametrize(("shape", "biases"), [((5,), 1), ((4, 5), 0), ((2, 3, 5), 1)])
def test_linear_with_a_vector_as_weight(shape: tuple[int, ...], biases: int) -> None:
    check_operator(F.linear, torch.randn(*shape), torch.randn(5), *[torch.randn(())] * biases, length=5)


def test_linear_infers() -> None:
    check_operator(F.linear, torch.randn(3, 4), torch.randn(2, 4), training=False)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((4,), (4,)),
        ((4,), (4, 3)),
        ((3, 4), (4,)),
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 3)),
        ((2, 5, 3, 4), (4, 2)),
        ((3, 4), (2, 4, 5)),
        ((1, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((5, 3, 4), (2, 1, 4, 1)),
        ((1, 1), (1, 1)),
    ],
)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check_operator(torch.matmul, torch.randn(*left), torch.randn(*right), length=20)


def test_products_without_elements() -> None:
    check_operator(lambda a, b: (a[:0] @ b).sum(0), torch.randn(2, 3), torch.randn(3, 2))
    check_operator(lambda a, b: a[:, :, :0] @ b[:, :0], torch.randn(2, 3, 1), torch.randn(2, 2, 4))


def test_products_of_views() -> None:
    check_operator(lambda a, b: a.transpose(1, 2) @ b[:, ::2], torch.randn(2, 3, 4), torch.randn(2, 6, 5), length=6)


def test_products_of_halves() -> None:
    operands = (torch.randn(3, 4).half(), torch.randn(4, 6).half())
    check_operator(torch.mm, *operands, rtol=2e-2, length=4)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (torch.mm, ((3, 4), (4, 5))),
        (torch.bmm, ((2, 3, 4), (2, 4, 5))),
        (torch.bmm, ((1, 3, 4), (1, 4, 5))),
        (torch.mv, ((3, 4), (4,))),
        (torch.dot, ((7,), (7,))),
        (torch.vdot, ((7,), (7,))),
        (torch.outer, ((3,), (5,))),
        (torch.inner, ((2, 3), (4, 3))),
        (torch.kron, ((2, 3), (4, 1))),
        (lambda a, b: torch.tensordot(a, b, dims=([1, 2], [2, 0])), ((2, 3, 4), (4, 5, 3))),
        (torch.linalg.multi_dot, None),
    ],
)
def test_forms_of_products(function: Callable[..., Any], shapes: Any) -> None:
    if shapes is None:
        check_operator(lambda a, b, c: function([a, b, c]), torch.randn(2, 3), torch.randn(3, 4), torch.randn(4, 2))
        return
    check_operator(function, *(torch.randn(*shape) for shape in shapes), length=20)


@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0.5, 2), (0, 3), (2, 1)])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (torch.addmm, ((5,), (3, 4), (4, 5))),
        (torch.addmv, ((3,), (3, 4), (4,))),
        (torch.baddbmm, ((2, 1, 5), (2, 3, 4), (2, 4, 5))),
        (torch.addbmm, ((3, 5), (2, 3, 4), (2, 4, 5))),
        (torch.addr, ((3, 1), (3,), (5,))),
    ],
)
def test_product_and_sum(function: Callable[..., Any], shapes: Any, beta: float, alpha: float) -> None:
    operands = [torch.randn(*shape) for shape in shapes]
    check_operator(lambda c, a, b: function(c, a, b, beta=beta, alpha=alpha), *operands, length=10)


@pytest.mark.parametrize("inner", [3, 0])
@pytest.mark.parametrize("alpha", [1, 2])
@pytest.mark.parametrize(
    ("function", "addend", "left", "right"),
    [
        (torch.addmm, (2, 2), (2, -1), (-1, 2)),
        (torch.addmv, (2,), (2, -1), (-1,)),
        (torch.baddbmm, (3, 2, 2), (3, 2, -1), (3, -1, 2)),
        (torch.addbmm, (2, 2), (3, 2, -1), (3, -1, 2)),
        (torch.addr, (2, 4), (2,), (4,)),
    ],
)
def test_an_addend_with_factor_zero_is_not_read(
    function: Callable[..., Any], addend: Any, left: Any, right: Any, alpha: int, inner: int
) -> None:
    """Of an inner dimension without elements, too: the product is zero there. -1 stands for that dimension."""
    operands = [torch.randn([inner if size < 0 else size for size in shape]) for shape in (left, right)]
    check_operator(
        lambda c, a, b: function(c, a, b, beta=0, alpha=alpha),
        torch.full(addend, float("nan")),
        *operands,
        length=10,
        training=False,
    )


@pytest.mark.parametrize("beta", [1, 2, 0])
@pytest.mark.parametrize(
    ("function", "addend", "left", "right"),
    [
        (torch.addmm, (2, 5), (2, 3), (3, 5)),
        (torch.addmv, (2,), (2, 3), (3,)),
        (torch.baddbmm, (3, 2, 5), (3, 2, 4), (3, 4, 5)),
        (torch.addbmm, (5,), (3, 2, 4), (3, 4, 5)),
    ],
)
def test_a_product_with_factor_zero_is_read_where_torch_reads_it(
    function: Callable[..., Any], addend: Any, left: Any, right: Any, beta: float
) -> None:
    """Only that of stacks: NaN in a matrix comes back there and nowhere else."""
    first = torch.randn(left)
    first.view(-1)[0] = float("nan")
    operands = torch.randn(addend), first, torch.randn(right)
    check_operator(lambda c, a, b: function(c, a, b, beta=beta, alpha=0), *operands, length=10, training=False)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
        ("i,j->ij", ((3,), (4,))),
        ("ii->i", ((3, 3),)),
        ("ijk->kj", ((2, 3, 4),)),
        ("bi,ijk,bk->bj", ((2, 3), (3, 4, 5), (2, 5))),
        ("...i,ji->...j", ((2, 3, 4), (5, 4))),
    ],
)
def test_einsum(equation: str, shapes: Any) -> None:
    operands = [torch.randn(*shape) for shape in shapes]
    check_operator(lambda *given: torch.einsum(equation, *given), *operands, length=15)


def test_bilinear() -> None:
    check_operator(F.bilinear, torch.randn(2, 3), torch.randn(2, 4), torch.randn(5, 3, 4), torch.randn(5), length=12)
