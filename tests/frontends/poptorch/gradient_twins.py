"""Small networks that train on the device beside eager torch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simulator.frontends import poptorch

Forward = Callable[[Any, Any], Any]


class Net(nn.Module):
    """Three layers and a buffer. `function` is the forward, up to the loss."""

    def __init__(self, function: Forward) -> None:
        super().__init__()
        self.a, self.b, self.c, self.function = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(4, 4), function
        self.register_buffer("average", torch.zeros(4))

    def forward(self, x: Any, y: Any) -> Any:
        return F.mse_loss(self.function(self, x), y)


def training(net: Any) -> poptorch.PoplarExecutor:
    options = poptorch.Options().showCompilationProgressBar(False)
    return poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.1))


def twin_losses(twin: Any, x: Any, y: Any, steps: int) -> list[float]:
    optimizer, losses = torch.optim.SGD(twin.parameters(), lr=0.1), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = twin(x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def check_equal(net: Any, twin: Any = None) -> None:
    """Two steps have the losses and give the weights of eager torch. The twin is a copy unless one is given."""
    twin, x, y = twin or copy.deepcopy(net), torch.randn(5, 3), torch.randn(5, 4)
    expected = twin_losses(twin, x, y, 2)
    model = training(net)
    assert [float(model(x, y)) for _ in range(2)] == pytest.approx(expected, rel=1e-4)
    for name, weight in twin.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], weight, rtol=1e-4, atol=1e-5, msg=name)
    model.destroy()
