"""Watch weights and gradients of a model while it trains: anchored tensors come back with each step.

python examples/pytorch/observing_tensors.py
"""

from __future__ import annotations

from typing import Any

import poptorch
import torch
from torch import nn


class Regression(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 1)
        self.loss = nn.MSELoss()

    def forward(self, x: Any, y: Any) -> Any:
        return self.loss(self.second(torch.relu(self.first(x))), y)


def main() -> None:
    torch.manual_seed(0)
    model = Regression()
    options = poptorch.Options()
    options.anchorTensor("weight", "second.weight")
    options.anchorTensor("gradient", "Gradient___second.weight")
    training = poptorch.trainingModel(model, options, torch.optim.SGD(model.parameters(), lr=0.1))
    x = torch.randn(16, 4)
    for step in range(1, 4):
        loss = training(x, x.sum(1, keepdim=True))
        weight, gradient = training.getAnchoredTensor("weight"), training.getAnchoredTensor("gradient")
        print(f"Step {step}: loss {float(loss):.4f}, |gradient| {float(gradient.norm()):.4f}, {weight.numel()} weights")
    print("Tensors:", ", ".join(training.getTensorNames()))


if __name__ == "__main__":
    main()
