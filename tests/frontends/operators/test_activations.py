"""Activations of torch.nn on the device beside float64 torch."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional
ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "elu": partial(F.elu, alpha=0.7),
    "selu": F.selu,
    "celu": partial(F.celu, alpha=1.3),
    "leaky_relu": partial(F.leaky_relu, negative_slope=0.2),
    "hardtanh": partial(F.hardtanh, min_val=-0.5, max_val=1.5),
    "relu6": F.relu6,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "softplus": partial(F.softplus, beta=2, threshold=3),
    "logsigmoid": F.logsigmoid,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "tanhshrink": F.tanhshrink,
    "softsign": F.softsign,
    "threshold": partial(F.threshold, threshold=0.1, value=-2.0),
    "glu": F.glu,
    "softmin": partial(F.softmin, dim=1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name: str) -> None:
    torch.manual_seed(5)
    check_operator(ACTIVATIONS[name], 4 * torch.randn(5, 6))


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "elu", "mish", "softplus", "sigmoid"])
def test_activation_of_halves(name: str) -> None:
    torch.manual_seed(5)
    check_operator(ACTIVATIONS[name], torch.randn(3, 7).half(), rtol=2e-2)


@pytest.mark.parametrize("shape", [(1,), (0, 3), (), (2, 1, 3)])
def test_shapes(shape: Any) -> None:
    check_operator(lambda x: F.elu(F.silu(x)), torch.randn(shape))


def test_prelu() -> None:
    check_operator(F.prelu, torch.randn(2, 3, 4), torch.rand(3))


def test_an_operand_without_an_order() -> None:
    check_operator(lambda x: F.gelu(x.t()), torch.randn(3, 5))
    check_operator(lambda x: F.gelu(x.expand(4, 5)), torch.randn(1, 5))
