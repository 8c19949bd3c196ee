"""Train one network on two replicas: each has half of the batch, gradients are averaged over links between IPUs.

python examples/pytorch/data_parallel.py
python examples/pytorch/data_parallel.py --replicas 1      one replica with the whole batch: the same losses
"""

from __future__ import annotations

import argparse
from typing import Any

import poptorch
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: Any, labels: Any) -> Any:
        scores = self.layers(x)
        return scores, self.loss(scores, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = Classifier()
    options = poptorch.Options().replicationFactor(arguments.replicas).outputMode(poptorch.OutputMode.All)
    training = poptorch.trainingModel(model, options, torch.optim.SGD(model.parameters(), lr=0.5))
    x = torch.randn(16, 8)
    labels = x[:, :3].argmax(1)
    for step in range(1, 6):
        _, losses = training(x, labels)
        print(f"Step {step}: loss {float(losses.mean()):.5f}")


if __name__ == "__main__":
    main()
