"""Losses and softmax on the device beside float64 torch."""

from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (2, 4, 3), (7,)])
def test_cross_entropy(shape: Any, reduction: str) -> None:
    classes = shape[1] if len(shape) > 1 else shape[0]
    labels = torch.randint(0, classes, (shape[0], *shape[2:]) if len(shape) > 1 else ())
    check_operator(lambda x, y: F.cross_entropy(x, y, reduction=reduction), 3 * torch.randn(*shape), labels)


@pytest.mark.parametrize("ignored", [-100, 1])
def test_cross_entropy_ignores_and_weighs(ignored: int) -> None:
    labels = torch.tensor([0, 1, 2, ignored])
    weight = torch.tensor([0.5, 2.0, 1.5])
    check_operator(
        lambda x, y: F.cross_entropy(x, y, weight=weight.to(x.dtype), ignore_index=ignored), torch.randn(4, 3), labels
    )
    check_operator(lambda x, y: F.nll_loss(x, y, ignore_index=ignored), torch.randn(4, 3), labels)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim: int) -> None:
    check_operator(lambda x: F.softmax(x, dim), 4 * torch.randn(3, 5, 2))
    check_operator(lambda x: F.log_softmax(x, dim), 4 * torch.randn(3, 5, 2))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mean_squares(reduction: str) -> None:
    check_operator(lambda x, y: F.mse_loss(x, y, reduction=reduction), torch.randn(3, 5), torch.randn(3, 5))
