"""The network of the MNIST examples, and its loss."""

from __future__ import annotations

from typing import Any

from torch import nn


class Block(nn.Module):
    """Convolution, pooling, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int, pool: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel)
        self.pool = nn.MaxPool2d(pool)
        self.relu = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.relu(self.pool(self.conv(x)))


class Network(nn.Module):
    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        self.layer1 = Block(1, 32, 3, 2)
        self.layer2 = Block(32, 64, 3, 2)
        self.layer3 = nn.Linear(1600, 128)
        self.layer3_act = nn.ReLU()
        self.layer3_dropout = nn.Dropout(dropout)
        self.layer4 = nn.Linear(128, 10)
        self.softmax = nn.Softmax(1)

    def forward(self, x: Any) -> Any:
        x = self.layer2(self.layer1(x)).view(-1, 1600)
        x = self.layer3_dropout(self.layer3_act(self.layer3(x)))
        return self.softmax(self.layer4(x))


class WithLoss(nn.Module):
    """A model with its loss: what trains on the device."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()

    def forward(self, images: Any, labels: Any = None) -> Any:
        output = self.model(images)
        return output if labels is None else (output, self.loss(output, labels))
