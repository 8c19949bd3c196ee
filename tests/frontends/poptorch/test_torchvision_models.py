"""Networks of torchvision's stand-in: torchvision's parameters and keys, and blocks beside eager torch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simulator.frontends import poptorch
from simulator.frontends.torchvision import models
from simulator.frontends.torchvision.models.efficientnet import MBConv
from simulator.frontends.torchvision.models.mobilenet import InvertedResidual
from simulator.frontends.torchvision.models.resnet import Bottleneck

#: name -> parameters that torchvision documents, tensors of its state_dict, some of their keys with their shapes
NETWORKS: dict[str, tuple[int, int, dict[str, tuple[int, ...]]]] = {
    "resnet18": (
        11_689_512,
        122,
        {"layer2.0.downsample.0.weight": (128, 64, 1, 1), "layer4.1.bn2.running_var": (512,), "fc.bias": (1000,)},
    ),
    "resnet50": (
        25_557_032,
        320,
        {"layer1.0.downsample.1.weight": (256,), "layer3.5.conv3.weight": (1024, 256, 1, 1), "fc.weight": (1000, 2048)},
    ),
    "mobilenet_v2": (
        3_504_872,
        314,
        {
            "features.0.0.weight": (32, 3, 3, 3),
            "features.1.conv.1.weight": (16, 32, 1, 1),
            "features.2.conv.1.0.weight": (96, 1, 3, 3),
            "features.18.1.num_batches_tracked": (),
            "classifier.1.weight": (1000, 1280),
        },
    ),
    "efficientnet_b0": (
        5_288_548,
        360,
        {
            "features.1.0.block.1.fc1.weight": (8, 32, 1, 1),
            "features.2.1.block.2.fc2.bias": (144,),
            "features.6.3.block.3.0.weight": (192, 1152, 1, 1),
            "features.8.0.weight": (1280, 320, 1, 1),
            "classifier.1.bias": (1000,),
        },
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_and_keys_are_torchvisions(name: str) -> None:
    parameters, tensors, keys = NETWORKS[name]
    net = getattr(models, name)()
    assert sum(one.numel() for one in net.parameters()) == parameters
    state = net.state_dict()
    assert len(state) == tensors
    assert {key: tuple(state[key].shape) for key in keys} == keys
    with torch.no_grad():
        assert getattr(models, name)(num_classes=7).eval()(torch.rand(1, 3, 32, 32)).shape == (1, 7)


def test_trained_weights_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="stand-in has no trained weights for resnet18"):
        models.resnet18(weights="DEFAULT")
    with pytest.raises(ValueError, match="no trained weights for mobilenet_v2"):
        models.mobilenet_v2(pretrained=True)


class Trained(nn.Module):
    def __init__(self, block: Any) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Any) -> Any:
        return F.mse_loss(self.block(x), x * 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bottleneck(8, 2, 1, None),
        lambda: InvertedResidual(4, 4, 1, 6),
        lambda: MBConv(4, 3, 1, 4, 4, 0.0),
    ],
    ids=["bottleneck", "inverted residual", "squeeze and excitation"],
)
def test_a_block_trains_as_in_torch(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_TILES", "8")
    torch.manual_seed(0)
    net = Trained(make())
    twin = copy.deepcopy(net)
    x = torch.rand(2, 8 if isinstance(net.block, Bottleneck) else 4, 4, 4)
    options = poptorch.Options().showCompilationProgressBar(False)
    model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = twin(x)
        loss.backward()
        optimizer.step()
        assert float(model(x)) == pytest.approx(loss.item(), rel=1e-3)
    model.destroy()


class _Classified(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = models.resnet18(num_classes=10)

    def forward(self, x: Any, labels: Any) -> Any:
        return F.cross_entropy(self.network(x), labels)


@pytest.mark.long
def test_resnet18_trains_as_in_torch() -> None:
    """One step of the whole network: its loss, and every weight and buffer after it."""
    torch.manual_seed(0)
    net = _Classified()
    twin = copy.deepcopy(net)
    x, labels = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
    options = poptorch.Options().showCompilationProgressBar(False)
    model = poptorch.trainingModel(net, options, torch.optim.SGD(net.parameters(), lr=0.01))
    loss = twin(x, labels)
    loss.backward()
    torch.optim.SGD(twin.parameters(), lr=0.01).step()
    assert float(model(x, labels)) == pytest.approx(loss.item(), rel=1e-4)
    torch.testing.assert_close(dict(net.state_dict()), dict(twin.state_dict()), rtol=1e-2, atol=1e-3)
    model.destroy()
