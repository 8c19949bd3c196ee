"""Train in half precision: weights, activations and gradients in float16, the loss scaled so that small gradients stay.

python examples/pytorch/half_precision.py
"""

from __future__ import annotations

from typing import Any

import poptorch
import torch
from torch import nn

SCALING = 128.0


class Regression(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
        self.loss = nn.MSELoss()

    def forward(self, x: Any, y: Any) -> Any:
        return self.loss(self.layers(x), y)


def main() -> None:
    torch.manual_seed(0)
    model = Regression().half()
    options = poptorch.Options()
    options.Precision.setPartialsType(torch.float32)
    optimizer = poptorch.optim.AdamW(model.parameters(), lr=0.01, loss_scaling=SCALING)
    training = poptorch.trainingModel(model, options, optimizer)
    x = torch.randn(32, 8).half()
    y = x[:, :4].sum(1, keepdim=True)
    losses = [float(training(x, y)) for _ in range(60)]
    print(
        f"Loss {losses[0]:.3f} at first, {losses[-1]:.3f} after {len(losses)} steps, in {model.layers[0].weight.dtype}"
    )


if __name__ == "__main__":
    main()
