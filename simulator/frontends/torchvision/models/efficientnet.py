"""EfficientNet-B0 (Tan and Le, 2019): inverted residuals with squeeze and excitation, and stochastic depth."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from simulator.frontends.torchvision.models.layers import begin_convolutions, convolved, refuse_weights

#: (expansion, size of the kernel, stride of the first block, inputs, outputs, blocks) of each stage
_STAGES = (
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
)


class SqueezeExcitation(nn.Module):
    """Scales channels by what two small layers make of their means."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        self.activation, self.scale_activation = nn.SiLU(inplace=True), nn.Sigmoid()

    def forward(self, x: Any) -> Any:
        return self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(x))))) * x


class StochasticDepth(nn.Module):
    """Drops whole rows of the batch in training, with the probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        kept = torch.empty([x.shape[0], 1, 1, 1], dtype=x.dtype, device=x.device).bernoulli_(1 - self.p)
        return x * kept / (1 - self.p)


class MBConv(nn.Module):
    def __init__(self, expansion: int, size: int, stride: int, inputs: int, outputs: int, drop: float) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = [] if expansion == 1 else [convolved(inputs, hidden, 1, activation=nn.SiLU)]
        layers.append(convolved(hidden, hidden, size, stride, hidden, nn.SiLU))
        layers.append(SqueezeExcitation(hidden, max(1, inputs // 4)))
        self.block = nn.Sequential(*layers, convolved(hidden, outputs, 1, activation=None))
        self.stochastic_depth = StochasticDepth(drop)
        self.use_res_connect = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        made = self.block(x)
        return self.stochastic_depth(made) + x if self.use_res_connect else made


class EfficientNet(nn.Module):
    """The network B0. The probability that a block is dropped grows over the blocks, to `stochastic_depth_prob`."""

    def __init__(self, num_classes: int = 1000, dropout: float = 0.2, stochastic_depth_prob: float = 0.2) -> None:
        super().__init__()
        total, done = sum(stage[-1] for stage in _STAGES), 0
        layers: list[nn.Module] = [convolved(3, 32, 3, 2, activation=nn.SiLU)]
        for expansion, size, stride, inputs, outputs, blocks in _STAGES:
            made: list[nn.Module] = []
            for number in range(blocks):
                drop = stochastic_depth_prob * done / total
                first = (stride, inputs) if number == 0 else (1, outputs)
                made.append(MBConv(expansion, size, *first, outputs, drop))
                done += 1
            layers.append(nn.Sequential(*made))
        self.features = nn.Sequential(*layers, convolved(320, 1280, 1, activation=nn.SiLU))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(1280, num_classes))
        begin_convolutions(self)
        bound = num_classes**-0.5
        nn.init.uniform_(self.classifier[1].weight, -bound, bound)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x: Any) -> Any:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def efficientnet_b0(
    *, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any
) -> EfficientNet:
    refuse_weights("efficientnet_b0", weights, pretrained)
    return EfficientNet(**named)
