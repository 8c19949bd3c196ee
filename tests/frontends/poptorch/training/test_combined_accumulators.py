"""use_combined_accum: the velocity is the accumulator. Results are those of two tensors, memory is that of one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from popvision import pva
from simulator.frontends import poptorch

_SIDE, _ACCUMULATION, _STEPS = 48, 3, 3


class _Net(torch.nn.Module):
    def __init__(self, ipus: int = 1) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.last_ipu = ipus - 1
        self.first, self.second = torch.nn.Linear(_SIDE, _SIDE, bias=False), torch.nn.Linear(_SIDE, 2)

    def forward(self, x: Any) -> Any:
        with poptorch.Block("first", ipu_id=0):
            hidden = torch.tanh(self.first(x))
        with poptorch.Block("second", ipu_id=self.last_ipu):
            return poptorch.identity_loss(self.second(hidden).square(), reduction="mean")


def options(replicas: int = 1, mean: bool = True) -> poptorch.Options:
    chosen = poptorch.Options().showCompilationProgressBar(False).replicationFactor(replicas)
    chosen.Training.gradientAccumulation(_ACCUMULATION)
    kind = poptorch.ReductionType.Mean if mean else poptorch.ReductionType.Sum
    chosen.Training.accumulationAndReplicationReductionType(kind)
    return chosen


def trained(net: Any, chosen: Any, is_combined: bool, samples: int, **numbers: Any) -> dict[str, Any]:
    """The weights after some steps, the last of them at half the rate."""
    optimizer = poptorch.optim.SGD(net.parameters(), lr=0.2, use_combined_accum=is_combined, **numbers)
    model = poptorch.trainingModel(net, chosen, optimizer)
    for number in range(_STEPS):
        if number == _STEPS - 1:
            optimizer.param_groups[0]["lr"] = 0.1
            model.setOptimizer(optimizer)
        model(torch.randn(samples, _SIDE, generator=torch.Generator().manual_seed(number)))
    model.destroy()
    return dict(net.state_dict())


@pytest.mark.parametrize(
    ("numbers", "replicas", "mean"),
    [
        ({"momentum": 0.9}, 1, True),
        ({"momentum": 0.5, "weight_decay": 0.1, "loss_scaling": 8.0, "velocity_scaling": 4.0}, 1, True),
        ({"momentum": 0.5, "dampening": 0.25, "weight_decay": 0.1}, 1, False),
        ({"momentum": 0.9, "weight_decay": 0.1}, 2, True),
        ({"momentum": 0.9, "weight_decay": 0.1}, 2, False),
        ({"momentum": 0.9, "max_grad_norm": 0.1}, 1, True),
        ({}, 1, True),
    ],
)
def test_weights_are_those_of_two_tensors(numbers: dict[str, Any], replicas: int, mean: bool) -> None:
    net = _Net()
    twin = copy.deepcopy(net)
    samples = 2 * _ACCUMULATION * replicas
    combined = trained(net, options(replicas, mean), True, samples, **numbers)
    numbers = {name: value for name, value in numbers.items() if name != "velocity_scaling"}
    torch.testing.assert_close(combined, trained(twin, options(replicas, mean), False, samples, **numbers))


def test_stages_of_a_pipeline_have_their_velocities() -> None:
    net = _Net(ipus=2)
    twin = copy.deepcopy(net)
    numbers = {"momentum": 0.5, "dampening": 0.25, "weight_decay": 0.1, "loss_scaling": 4.0}
    combined = trained(net, options(), True, 2 * _ACCUMULATION, **numbers)
    torch.testing.assert_close(combined, trained(twin, options(), False, 2 * _ACCUMULATION, **numbers))


def bytes_of(folder: Path, is_combined: bool) -> int:
    """All bytes of variables on all tiles."""
    net, chosen = _Net(), options()
    chosen.enableProfiling(str(folder))
    trained(net, chosen, is_combined, 2 * _ACCUMULATION, momentum=0.9)
    (profile,) = folder.rglob("profile.pop")
    report = pva.openReport(str(profile))
    return sum(tile.memory.total.excludingGaps for tile in report.compilation.tiles)


def test_the_accumulator_takes_no_memory(tmp_path: Path) -> None:
    apart, combined = (bytes_of(tmp_path / str(is_combined), is_combined) for is_combined in (False, True))
    weights = sum(4 * weight.numel() for weight in _Net().parameters())
    assert apart - combined > 0.9 * weights
