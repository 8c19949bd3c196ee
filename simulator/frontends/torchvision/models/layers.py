"""Layers that the networks share, and how their weights begin."""

from __future__ import annotations

from typing import Any

from torch import nn


def convolved(
    inputs: int,
    outputs: int,
    size: int = 3,
    stride: int = 1,
    groups: int = 1,
    activation: type[nn.Module] | None = nn.ReLU,
) -> nn.Sequential:
    """A convolution that keeps the size of the image at stride 1, its norm and an activation."""
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, size, stride, (size - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    if activation is not None:
        layers.append(activation(inplace=True))
    return nn.Sequential(*layers)


def begin_convolutions(model: nn.Module) -> None:
    """Weights of convolutions by He's rule over the fan out, norms as identities."""
    for part in model.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out")
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.BatchNorm2d):
            nn.init.ones_(part.weight)
            nn.init.zeros_(part.bias)


def refuse_weights(name: str, weights: Any, pretrained: Any) -> None:
    """Raises ValueError where trained weights are asked for, which the stand-in has none of."""
    if weights is not None or pretrained:
        raise ValueError(
            f"torchvision's stand-in has no trained weights for {name}; call {name}() and load a state_dict, "
            "whose keys are torchvision's."
        )
