"""Residual networks (He et al., 2015), with the stride of a bottleneck in its 3x3 convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from simulator.frontends.torchvision.models.layers import begin_convolutions, refuse_weights


def _conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1, self.bn1 = _conv(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = _conv(width, width, 3), nn.BatchNorm2d(width)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Any) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1, self.bn1 = _conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = _conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = _conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Any) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """`layers` are the blocks of each of four stages; `zero_init_residual` lets every block begin as an identity."""

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        inputs, stages = 64, []
        for stage, blocks in enumerate(layers):
            width = 64 << stage
            made: list[nn.Module] = []
            for number in range(blocks):
                stride = 2 if stage and not number else 1
                downsample = None
                if stride > 1 or inputs != width * block.expansion:
                    outputs = width * block.expansion
                    downsample = nn.Sequential(_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
                made.append(block(inputs, width, stride, downsample))
                inputs = width * block.expansion
            stages.append(nn.Sequential(*made))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(inputs, num_classes)
        begin_convolutions(self)
        if zero_init_residual:
            for part in self.modules():
                if isinstance(part, BasicBlock | Bottleneck):
                    nn.init.zeros_((part.bn3 if isinstance(part, Bottleneck) else part.bn2).weight)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(*, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any) -> ResNet:
    refuse_weights("resnet18", weights, pretrained)
    return ResNet(BasicBlock, (2, 2, 2, 2), **named)


def resnet34(*, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any) -> ResNet:
    refuse_weights("resnet34", weights, pretrained)
    return ResNet(BasicBlock, (3, 4, 6, 3), **named)


def resnet50(*, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any) -> ResNet:
    refuse_weights("resnet50", weights, pretrained)
    return ResNet(Bottleneck, (3, 4, 6, 3), **named)


def resnet101(*, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any) -> ResNet:
    refuse_weights("resnet101", weights, pretrained)
    return ResNet(Bottleneck, (3, 4, 23, 3), **named)


def resnet152(*, weights: Any = None, progress: bool = True, pretrained: Any = None, **named: Any) -> ResNet:
    refuse_weights("resnet152", weights, pretrained)
    return ResNet(Bottleneck, (3, 8, 36, 3), **named)
