"""Save a model in the middle of its training, go on, return to the saved state: weights and optimiser alike.

python examples/pytorch/checkpoints.py
"""

from __future__ import annotations

import io
from typing import Any

import poptorch
import torch
from torch import nn


class Tied(nn.Module):
    """Two layers that share one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Linear(6, 6)
        self.up = nn.Linear(6, 6)
        self.up.weight = self.down.weight
        self.loss = nn.MSELoss()

    def forward(self, x: Any) -> Any:
        return self.loss(self.up(torch.tanh(self.down(x))), x)


def main() -> None:
    torch.manual_seed(0)
    model = Tied()
    training = poptorch.trainingModel(model, poptorch.Options(), torch.optim.SGD(model.parameters(), lr=0.1))
    x = torch.randn(16, 6)
    for _ in range(5):
        training(x)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    first = [float(training(x)) for _ in range(3)]
    file.seek(0)
    model.load_state_dict(torch.load(file))
    second = [float(training(x)) for _ in range(3)]
    print("Losses after saving: ", *(f"{loss:.5f}" for loss in first))
    print("Losses after loading:", *(f"{loss:.5f}" for loss in second))
    print("The layers share one weight:", model.up.weight is model.down.weight)


if __name__ == "__main__":
    main()
