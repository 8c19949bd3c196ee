"""Stand-in for torchvision.models: networks with torchvision's names and keys of state_dict, without weights."""

from __future__ import annotations

from simulator.frontends.torchvision.models.efficientnet import EfficientNet, efficientnet_b0
from simulator.frontends.torchvision.models.mobilenet import MobileNetV2, mobilenet_v2
from simulator.frontends.torchvision.models.resnet import ResNet, resnet18, resnet34, resnet50, resnet101, resnet152

__all__ = [
    "EfficientNet",
    "MobileNetV2",
    "ResNet",
    "efficientnet_b0",
    "mobilenet_v2",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
]
