"""MobileNetV2 (Sandler et al., 2018): inverted residuals with linear bottlenecks."""

from __future__ import annotations

from typing import Any

from torch import nn

from simulator.frontends.torchvision.models.layers import begin_convolutions, convolved, refuse_weights

#: (expansion, channels, blocks, stride of the first block) of each stage
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _divisible(channels: float) -> int:
    """The nearest multiple of 8, at least nine tenths of the number."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = [] if expansion == 1 else [convolved(inputs, hidden, 1, activation=nn.ReLU6)]
        layers.append(convolved(hidden, hidden, 3, stride, hidden, nn.ReLU6))
        self.conv = nn.Sequential(*layers, nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.use_res_connect = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """`width_mult` scales the channels of every layer."""

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2) -> None:
        super().__init__()
        inputs = _divisible(32 * width_mult)
        last = _divisible(1280 * max(1.0, width_mult))
        layers: list[nn.Module] = [convolved(3, inputs, 3, 2, activation=nn.ReLU6)]
        for expansion, channels, blocks, stride in _STAGES:
            outputs = _divisible(channels * width_mult)
            for number in range(blocks):
                layers.append(InvertedResidual(inputs, outputs, 1 if number else stride, expansion))
                inputs = outputs
        self.features = nn.Sequential(*layers, convolved(inputs, last, 1, activation=nn.ReLU6))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, num_classes))
        begin_convolutions(self)
        nn.init.normal_(self.classifier[1].weight, 0, 0.01)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x: Any) -> Any:
        return self.classifier(nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1)).flatten(1))


def mobilenet_v2(*, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any) -> MobileNetV2:
    refuse_weights("mobilenet_v2", weights, pretrained)
    return MobileNetV2(**named)
