"""Halves among floats become floats, as PopTorch documents: operators of which torch wants one type, beside torch on
operands that are floats already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.frontends.operators.operator_twin import in_torch, on_ipu

ROWS = torch.tensor([1, 0])
FIRST = torch.zeros(1, 3, dtype=torch.int64)


def half(*shape: int) -> Any:
    return torch.rand(*shape).half()


#: function, shape of the halves, shapes of the floats
CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...], list[tuple[int, ...]]]] = {
    "linear": (F.linear, (2, 3), [(4, 3), (4,)]),
    "bilinear": (F.bilinear, (2, 3), [(2, 3), (2, 3, 3)]),
    "@": (lambda a, b: a @ b, (2, 3), [(3, 4)]),
    "@, floats first": (lambda a, b: b @ a, (3, 4), [(2, 3)]),
    "bmm": (torch.bmm, (2, 2, 3), [(2, 3, 2)]),
    "addmm": (lambda a, b, c: torch.addmm(b, a, c), (2, 3), [(4,), (3, 4)]),
    "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), (2, 3), [(3, 4)]),
    "conv2d": (F.conv2d, (1, 3, 4, 4), [(2, 3, 2, 2)]),
    "conv_transpose1d": (F.conv_transpose1d, (1, 3, 4), [(3, 2, 2)]),
    "attention": (F.scaled_dot_product_attention, (1, 2, 3), [(1, 2, 3), (1, 2, 3)]),
    "prelu": (lambda a, b: F.prelu(-a, b), (2, 3), [(1,)]),
    "lerp": (torch.lerp, (2, 3), [(2, 3), (2, 3)]),
    "cross": (torch.linalg.cross, (2, 3), [(2, 3)]),
    "scatter": (lambda a, b: a.scatter(0, FIRST, b), (2, 3), [(1, 3)]),
    "scatter_add": (lambda a, b: a.scatter_add(0, FIRST, b), (2, 3), [(1, 3)]),
    "mse_loss": (F.mse_loss, (2, 3), [(2, 3)]),
    "huber_loss": (F.huber_loss, (2, 3), [(2, 3)]),
    "cross_entropy, probabilities": (F.cross_entropy, (2, 3), [(2, 3)]),
    "cross_entropy, weights": (lambda a, b: F.cross_entropy(a, ROWS, b.detach()), (2, 3), [(3,)]),
    "nll_loss": (lambda a, b: F.nll_loss(a, ROWS, b.detach()), (2, 3), [(3,)]),
    "sum": (torch.add, (2, 3), [(2, 3)]),
    "product": (lambda a, b: a * b, (2, 3), [(2, 3)]),
    "cat": (lambda a, b: torch.cat([a, b]), (2, 3), [(1, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_halves_among_floats_become_floats(name: str) -> None:
    function, shape, others = CASES[name]
    operands = [half(*shape), *(torch.rand(other) for other in others)]
    wide = [one.float() for one in operands]
    factors = [torch.rand_like(function(*wide))]
    (got,), gradients = on_ipu(function, operands, factors)
    (expected,), wanted = in_torch(function, wide, factors)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    for operand, gradient in wanted.items():
        tolerance = 4e-3 if operand == "operand0" else 1e-4
        np.testing.assert_allclose(gradients[operand], gradient, rtol=tolerance, atol=tolerance, err_msg=operand)


def test_norms_keep_the_type_of_their_input() -> None:
    def norm(a: Any, b: Any) -> Any:
        return F.rms_norm(a, (3,), b)

    operands = [half(2, 3), torch.rand(3)]
    (got,), _ = on_ipu(norm, operands, None)
    assert got.dtype == np.float16
    (expected,), _ = in_torch(norm, operands, None)
    np.testing.assert_allclose(got, expected, rtol=2e-3)
