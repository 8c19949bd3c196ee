"""POPVISION_CHECK compares the optimizer's step and what the user's executable gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch
from simulator.frontends.lowering.optimizers import _Step
from simulator.frontends.lowering.rules import TABLE
from simulator.frontends.poptorch import compiled_model
from simulator.frontends.session.device_program import DeviceProgram
from tests.frontends.poptorch.checking.checked_steps import line_of
from tests.frontends.poptorch.gradient_twins import Net
from tests.frontends.poptorch.model_options import options

pytestmark = pytest.mark.usefixtures("under_check")


def optimizers(net: Any) -> list[Any]:
    groups = [{"params": [net.a.weight], "lr": 0.2}, {"params": [net.a.bias, net.c.weight]}]
    return [
        torch.optim.SGD(groups, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1),
        poptorch.optim.AdamW(net.parameters(), lr=0.1, max_grad_norm=0.01, loss_scaling=64.0),
        torch.optim.RMSprop(net.parameters(), lr=0.1, momentum=0.5, centered=True),
    ]


def train(net: Any, optimizer: Any, chosen: Any = None, batch: int = 5) -> None:
    model = poptorch.trainingModel(net, chosen or options(), optimizer)
    model(torch.randn(batch, 3), torch.randn(batch, 4))
    model.destroy()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_optimizers_step_is_that_of_torch(number: int, monkeypatch: Any, capsys: Any) -> None:
    net = Net(lambda net, x: net.c(net.a(x)))
    train(net, optimizers(net)[number])
    said = line_of(capsys)
    assert f"agrees with eager torch: 1 output, 4 gradients, {(3, 4, 4)[number]} updates" in said
    plain = _Step.subtract
    monkeypatch.setattr(
        _Step, "subtract", lambda step, weight, change, factor, name: plain(step, weight, change, -1.01, name)
    )
    train(net, optimizers(net)[number])
    assert "differs from eager torch: the optimizer's step of a.weight by" in line_of(capsys)


def test_a_step_from_loaded_states_is_that_of_torch(monkeypatch: Any, capsys: Any) -> None:
    net = Net(lambda net, x: net.c(net.a(x)))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1, weight_decay=0.1)
    monkeypatch.setenv("POPVISION_CHECK", "")
    for _ in range(2):
        train(net, optimizer)
    monkeypatch.setenv("POPVISION_CHECK", "torch")
    train(net, optimizer)
    assert "agrees with eager torch: 1 output, 4 gradients, 4 updates" in line_of(capsys)


def test_a_step_that_torch_does_not_have_is_named(monkeypatch: Any, capsys: Any) -> None:
    net = Net(lambda net, x: net.c(net.a(x)) - 1.0)
    train(net, poptorch.optim.LAMB(net.parameters(), lr=0.1))
    assert "agrees with eager torch, without the step of LAMB, which torch does not have: " in line_of(capsys)
    monkeypatch.setitem(TABLE._rules, "aten.sub.Tensor", TABLE["aten.add.Tensor"])
    train(net, poptorch.optim.LAMB(net.parameters(), lr=0.1))
    assert "differs from eager torch, without the step of LAMB, which torch does not have: " in line_of(capsys)


def test_groups_of_replicas_with_their_own_weights_are_not_compared(capsys: Any) -> None:
    model = poptorch.inferenceModel(nn.Linear(3, 2, bias=False), options(replicationFactor=2))
    model.weight.replicaGrouping(poptorch.CommGroupType.NoGrouping, 0)
    model(torch.randn(2, 3))
    model.destroy()
    assert "cannot be compared: replicas have weights of their own (weight)" in line_of(capsys)


def test_an_executable_of_another_program_is_noticed(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """One from a cache whose key does not tell both programs apart."""
    monkeypatch.setattr(compiled_model, "executable_key", lambda *_: "12")
    chosen = [options().enableExecutableCaching(str(tmp_path)) for _ in range(3)]
    for number, factor in enumerate((2, 2, 3)):
        torch.manual_seed(0)
        net = Net(lambda net, x: net.c(net.a(x)) * factor)  # noqa: B023
        train(net, torch.optim.SGD(net.parameters(), lr=0.1), chosen[number])
    first, second, third = (one for one in capsys.readouterr().err.splitlines() if one.startswith("popvision check"))
    assert "agrees with eager torch" in first
    assert "agrees with eager torch" in second
    assert "ran another program than it compiles to now, which differs: output " in third


@pytest.mark.parametrize("mode", ["Final", "All", "Sum", "EveryN"])
def test_the_executables_results_of_several_steps_are_compared(mode: str, monkeypatch: Any, capsys: Any) -> None:
    def ran(wrong: float) -> str:
        chosen = options().deviceIterations(4).replicationFactor(2).outputMode(getattr(poptorch.OutputMode, mode), 2)
        chosen.Training.gradientAccumulation(2)
        net = Net(lambda net, x: net.c(net.a(x)))
        fetched = DeviceProgram.fetch_weights

        def fetch(program: Any) -> Any:
            values = fetched(program)
            is_users = program.interface.settings.iterations == 4
            return {name: array * (wrong if is_users else 1.0) for name, array in values.items()}

        monkeypatch.setattr(DeviceProgram, "fetch_weights", fetch)
        train(net, torch.optim.SGD(net.parameters(), lr=0.1), chosen, 4 * 2 * 2 * 2)
        return line_of(capsys)

    assert "agrees with eager torch" in ran(1.0)
    if mode == "Final":
        assert "which differs: the change of a." in ran(1.1)
