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


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_shares_and_smoothed_labels(reduction: str) -> None:
    weight = torch.tensor([0.5, 2.0, 1.5])
    labels = torch.tensor([0, 2, -100, 1])

    def smoothed(x: Any, y: Any) -> Any:
        return F.cross_entropy(x, y, weight.to(x.dtype), label_smoothing=0.1, reduction=reduction)

    check_operator(smoothed, torch.randn(4, 3), labels)
    check_operator(smoothed, torch.randn(4, 3), torch.rand(4, 3))
    check_operator(lambda x, y: F.cross_entropy(x, y, reduction=reduction), torch.randn(2, 3, 2), torch.rand(2, 3, 2))


LOSSES = {
    "l1": F.l1_loss,
    "smooth l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.5),
    "huber": lambda x, y: F.huber_loss(x, y, delta=0.7),
    "binary with logits": lambda x, y: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),
    "binary": lambda x, y: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y)),
    "kl": lambda x, y: F.kl_div(x, torch.sigmoid(y), reduction="batchmean"),
    "kl of logs": lambda x, y: F.kl_div(x, y, log_target=True, reduction="sum"),
    "hinge": lambda x, y: F.hinge_embedding_loss(x, torch.sign(y)),
    "soft margin": lambda x, y: F.soft_margin_loss(x, torch.sign(y.detach())),
    "cosine": lambda x, y: F.cosine_embedding_loss(x, y, torch.ones(4)),
    "poisson": F.poisson_nll_loss,
    "margin": lambda x, y: F.margin_ranking_loss(x, y, torch.ones(4, 3), margin=0.1),
}


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str) -> None:
    torch.manual_seed(4)
    check_operator(LOSSES[name], torch.randn(4, 3), torch.randn(4, 3))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gaussian_negative_log_likelihood(reduction: str) -> None:
    """One variance for each element, for each row, and one below the least."""
    x, y, v = torch.randn(3, 4), torch.randn(3, 4), torch.rand(3, 4)
    v[0, 0] = 1e-9
    check_operator(
        lambda x, y, v: (
            torch.nn.functional.gaussian_nll_loss(x, y, v, reduction=reduction),
            torch.nn.functional.gaussian_nll_loss(x, y, v[:, 1:2], full=True, reduction=reduction),
        ),
        x,
        y,
        v,
        rtol=1e-3,
    )
