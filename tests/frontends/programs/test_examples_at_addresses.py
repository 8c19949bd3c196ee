"""One step of each PyTorch example on 16 tiles whose values live at the report's addresses only: results and weights
are those of the ordinary engine, but for the order in which products are summed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch
from simulator.runtime.address_accurate.plan import AddressPlan

TILES = "16"
RTOL = 2e-5


@dataclass(frozen=True)
class Example:
    """The network of an example, smaller where it has to be, with the arguments of a step."""

    network: Callable[[Any], Any]  #: from the example's module
    arguments: Callable[[], tuple[Any, ...]]
    optimizer: Callable[[Any], Any] | None = None  #: of a training
    options: dict[str, Any] = field(default_factory=dict)
    accumulation: int = 1


def sgd(weights: Any) -> Any:
    return torch.optim.SGD(weights, lr=0.1)


def scaled_adamw(weights: Any) -> Any:
    return poptorch.optim.AdamW(weights, lr=0.01, loss_scaling=128.0)


def classes(count: int, rows: int) -> Any:
    return torch.randint(0, count, (rows,))


def small_mnist(module: Any) -> Any:
    """The layers of the example, with fewer channels, for images of 14 by 14."""
    network = module.Network(0.5)
    network.layer1, network.layer2 = module.Block(1, 4, 3, 2), module.Block(4, 400, 3, 2)
    network.layer3, network.layer4 = nn.Linear(1600, 8), nn.Linear(8, 10)
    return module.WithLoss(network)


def pipelined_mnist(module: Any) -> Any:
    made = small_mnist(module)
    poptorch.BeginBlock(made.model.layer1, ipu_id=0)
    poptorch.BeginBlock(made.model.layer3, ipu_id=1)
    return made


def small_resnet(module: Any) -> Any:
    """The stem, a block with a shortcut and one without, and the head."""
    made = module.ResNet18()
    made.stem = nn.Sequential(nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    made.blocks = nn.Sequential(module.Residual(4, 4, 1), module.Residual(4, 6, 2))
    made.head = nn.Linear(6, 10)
    return made


def images(rows: int) -> tuple[Any, Any]:
    return torch.randn(rows, 1, 14, 14), classes(10, rows)


EXAMPLES = {
    "simple_adder": Example(lambda module: module.Adder(), lambda: (torch.tensor([1.0]), torch.tensor([2.0]))),
    "lstm": Example(
        lambda module: module.Memory(),
        lambda: (torch.randn(3, 2, 4), (torch.randn(1, 2, 3), torch.randn(1, 2, 3))),
    ),
    "gpt": Example(lambda module: module.Gpt().eval(), lambda: (torch.randint(0, 64, (1, 6)),)),
    "checkpoints": Example(lambda module: module.Tied(), lambda: (torch.randn(4, 6),), sgd),
    "half_precision": Example(
        lambda module: module.Regression().half(),
        lambda: (torch.randn(4, 8).half(), torch.randn(4, 1).half()),
        scaled_adamw,
    ),
    "data_parallel": Example(
        lambda module: module.Classifier(),
        lambda: (torch.randn(4, 8), classes(3, 4)),
        sgd,
        {"replicationFactor": 2, "outputMode": poptorch.OutputMode.All},
    ),
    "observing_tensors": Example(
        lambda module: module.Regression(), lambda: (torch.randn(4, 4), torch.ones(4, 1)), sgd
    ),
    "transformer_network": Example(
        lambda module: module.Encoder(1, 8, 2), lambda: (torch.randn(2, 4), classes(2, 2)), sgd
    ),
    "mnist_network": Example(small_mnist, lambda: images(2), sgd),
    "pipelined_mnist": Example(pipelined_mnist, lambda: images(3), sgd, {}, 3),
    "resnet18": Example(small_resnet, lambda: (torch.randn(2, 3, 16, 16), classes(10, 2)), sgd),
}
MODULES = {"pipelined_mnist": "mnist_network"}


def step(name: str) -> list[Any]:
    """Results of one step and the weights and buffers after it."""
    example = EXAMPLES[name]
    torch.manual_seed(0)
    module = example.network(importlib.import_module(f"examples.pytorch.{MODULES.get(name, name)}"))
    options = poptorch.Options().showCompilationProgressBar(False).randomSeed(1)
    for option, value in example.options.items():
        getattr(options, option)(value)
    if name == "observing_tensors":
        options.anchorTensor("gradient", "Gradient___second.weight")
    if example.optimizer is None:
        model = poptorch.inferenceModel(module, options)
    else:
        options.Training.gradientAccumulation(example.accumulation)
        model = poptorch.trainingModel(module, options, example.optimizer(module.parameters()))
    results = torch.utils._pytree.tree_leaves(model(*example.arguments()))
    if name == "observing_tensors":
        results.append(model.getAnchoredTensor("gradient"))
    model.destroy()
    return [*results, *(value.clone() for value in module.state_dict().values())]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_results_are_those_of_the_ordinary_engine(name: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "poptorch", poptorch)
    monkeypatch.setenv("POPVISION_TILES", TILES)
    expected = step(name)
    plans: list[Any] = []
    plain = AddressPlan.__init__

    def noted(self: Any, *arguments: Any, **named: Any) -> None:
        plans.append(self)
        plain(self, *arguments, **named)

    monkeypatch.setattr(AddressPlan, "__init__", noted)
    monkeypatch.setenv("POPVISION_ADDRESS_ACCURATE", "1")
    got = step(name)
    assert plans, "the engine is not the address-accurate one"
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        largest = float(other.double().abs().max())
        torch.testing.assert_close(one.double(), other.double(), rtol=RTOL, atol=RTOL * largest)
    if EXAMPLES[name].optimizer is not None:
        assert all(torch.isfinite(one).all() for one in got)
