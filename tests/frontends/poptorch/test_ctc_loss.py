"""CTC loss beside eager torch: values, gradients and training, lengths given as data or as numbers."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simulator.frontends import poptorch
from tests.frontends.operators.operator_twin import check_operator

pytestmark = pytest.mark.usefixtures("few_tiles")

STEPS, CLASSES = 5, 4
LABELS = torch.tensor([[1, 1, 3], [2, 3, 0], [1, 2, 3]])
TIMES, COUNTS = torch.tensor([5, 3, 2]), torch.tensor([3, 2, 0])
JOINED = torch.tensor([1, 1, 3, 2, 3])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_values_and_gradients(reduction: str) -> None:
    """The last example has no labels."""
    check_operator(
        lambda x, y, t, n: F.ctc_loss(x.log_softmax(2), y, t, n, reduction=reduction),
        torch.randn(STEPS, 3, CLASSES),
        LABELS,
        TIMES,
        COUNTS,
        rtol=1e-3,
    )


def test_labels_one_after_the_other() -> None:
    scores = torch.randn(STEPS, 3, CLASSES)
    check_operator(lambda x, y, t, n: F.ctc_loss(x, y, t, n), scores, JOINED, TIMES, COUNTS, training=False)


def test_lengths_that_are_numbers() -> None:
    scores, given = torch.randn(STEPS, 3, CLASSES), [tuple(one.tolist()) for one in (TIMES, COUNTS)]
    check_operator(lambda x, y: F.ctc_loss(x, y, *given), scores, JOINED, rtol=1e-3)


def test_labels_that_do_not_fit() -> None:
    """Three labels, two of them equal, need four steps."""
    times = torch.tensor([3, 3, 3])
    for zero in (False, True):
        check_operator(
            lambda x, y, t, n, zero=zero: F.ctc_loss(x, y, t, n, reduction="none", zero_infinity=zero),
            torch.randn(STEPS, 3, CLASSES),
            LABELS,
            times,
            COUNTS,
            training=False,
        )


class Speech(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line, self.loss = nn.Linear(6, CLASSES), nn.CTCLoss()

    def forward(self, x: Any, labels: Any, times: Any, counts: Any) -> Any:
        scores = self.line(x).log_softmax(2).transpose(0, 1)
        return scores, self.loss(scores, labels, times, counts)


def test_training() -> None:
    net = Speech()
    twin, x = copy.deepcopy(net), torch.randn(3, STEPS, 6)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.5)
    options = poptorch.Options().showCompilationProgressBar(False)
    model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.5))
    for _ in range(3):
        optimizer.zero_grad()
        loss = twin(x, LABELS, TIMES, COUNTS)[1]
        loss.backward()
        optimizer.step()
        assert float(model(x, LABELS, TIMES, COUNTS)[1]) == pytest.approx(loss.item(), rel=1e-3)
    torch.testing.assert_close(net.line.weight.detach(), twin.line.weight.detach(), rtol=1e-3, atol=1e-4)
