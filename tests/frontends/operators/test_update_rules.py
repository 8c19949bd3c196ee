"""Update steps on the device beside torch.optim, with a rate that changes between runs of one executable."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from simulator.frontends.capture.modules import capture
from simulator.frontends.lowering.lowered import Settings
from simulator.frontends.lowering.optimizers import update_rule
from simulator.frontends.lowering.programs import ModuleLowering
from simulator.frontends.optimizer import VALUES, Group, Optimizer, Rule, Setting
from simulator.frontends.session.device_program import DeviceProgram
from simulator.poplar import IPUModel, compileGraph

STEPS, RATES = 5, (0.1, 0.1, 0.02, 0.02, 0.05)
DEFAULTS = {"velocity_scaling": 1.0, "max_weight_norm": math.inf, "eps": 1e-8}


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)

    def forward(self, x: Any, y: Any) -> Any:
        return torch.nn.functional.mse_loss(self.second(torch.relu(self.first(x))), y)


def trained_on_device(optimizer: Optimizer, net: Any, x: Any, y: Any) -> dict[str, Any]:
    """The weights after STEPS runs, each with its own rate."""
    model = IPUModel()
    model.tilesPerIPU = 8
    device = model.createDevice()
    captured = capture(net, (x, y), {}, True)
    settings = Settings(loss_scaling=optimizer.loss_scaling.value)
    lowered = ModuleLowering(device.getTarget(), captured.program, settings, update_rule(optimizer)).lower()
    program = DeviceProgram(compileGraph(lowered.graph, list(lowered.programs)), lowered.interface, {})
    program.load(device)
    program.send_weights({name: tensor.detach().numpy() for name, tensor in captured.data.items()})
    for name, tensor in zip(program.interface.inputs, (x, y), strict=True):
        program.input(name)[0] = tensor.numpy()
    for rate in RATES:
        program.send_rates({**optimizer.variables(), "0.learning_rate": rate})
        program.run("step")
    weights = {name: value.copy() for name, value in program.fetch_weights().items() if name in captured.data}
    program.close()
    return weights


def described(rule: Rule, constants: bool, net: Any, **values: Any) -> Optimizer:
    """An optimizer of one group; the rate is a variable, the rest constants or variables."""
    numbers = {name: values.pop(name, DEFAULTS.get(name, 0.0)) for name in VALUES[rule]}
    settings = {name: Setting(value, constants and name != "learning_rate") for name, value in numbers.items()}
    group = Group(tuple(name for name, _ in net.named_parameters()), settings)
    return Optimizer(rule, (group,), **values)


@pytest.mark.parametrize("constants", [True, False])
@pytest.mark.parametrize(
    ("rule", "values", "twin", "arguments"),
    [
        (Rule.SGD, {}, torch.optim.SGD, {}),
        (Rule.SGD, {"weight_decay": 0.1}, torch.optim.SGD, {"weight_decay": 0.1}),
        (Rule.SGD, {"momentum": 0.9}, torch.optim.SGD, {"momentum": 0.9}),
        (
            Rule.SGD,
            {"momentum": 0.9, "dampening": 0.5, "velocity_scaling": 4.0},
            torch.optim.SGD,
            {"momentum": 0.9, "dampening": 0.5},
        ),
        (Rule.ADAM, {"beta1": 0.9, "beta2": 0.99}, torch.optim.Adam, {"betas": (0.9, 0.99)}),
        (
            Rule.ADAMW,
            {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.05},
            torch.optim.AdamW,
            {"betas": (0.9, 0.99), "weight_decay": 0.05},
        ),
        (Rule.RMSPROP, {"alpha": 0.9}, torch.optim.RMSprop, {"alpha": 0.9}),
        (
            Rule.RMSPROP,
            {"alpha": 0.9, "momentum": 0.5, "centered": True},
            torch.optim.RMSprop,
            {"alpha": 0.9, "momentum": 0.5, "centered": True},
        ),
        (Rule.SGD, {"loss_scaling": Setting(64.0, True)}, torch.optim.SGD, {}),
    ],
)
def test_steps(rule: Rule, values: dict[str, Any], twin: Any, arguments: dict[str, Any], constants: bool) -> None:
    torch.manual_seed(3)
    net, x, y = _Net(), torch.randn(4, 3), torch.randn(4, 2)
    got = trained_on_device(described(rule, constants, net, learning_rate=RATES[0], **dict(values)), net, x, y)
    other = twin(net.parameters(), lr=RATES[0], **arguments)
    for rate in RATES:
        for group in other.param_groups:
            group["lr"] = rate
        other.zero_grad()
        net(x, y).backward()
        other.step()
    for name, parameter in net.named_parameters():
        np.testing.assert_allclose(got[name], parameter.detach().numpy(), rtol=1e-4, atol=2e-5, err_msg=name)


def test_lamb_beside_its_formula() -> None:
    torch.manual_seed(3)
    net, x, y = _Net(), torch.randn(4, 3), torch.randn(4, 2)
    values = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-6}
    got = trained_on_device(described(Rule.LAMB, True, net, learning_rate=RATES[0], **values), net, x, y)
    state = {name: (torch.zeros_like(one), torch.zeros_like(one)) for name, one in net.named_parameters()}
    for number, rate in enumerate(RATES, start=1):
        net.zero_grad()
        net(x, y).backward()
        for name, weight in net.named_parameters():
            first, second = state[name]
            first.mul_(0.9).add_(0.1 * weight.grad)
            second.mul_(0.99).add_(0.01 * weight.grad**2)
            change = (first / (1 - 0.9**number)) / ((second / (1 - 0.99**number)).sqrt() + 1e-6) + 0.1 * weight.detach()
            ratio = weight.detach().norm() / change.norm()
            weight.data.sub_(rate * ratio * change)
    for name, parameter in net.named_parameters():
        np.testing.assert_allclose(got[name], parameter.detach().numpy(), rtol=1e-4, atol=2e-5, err_msg=name)


def test_gradients_are_clipped_together() -> None:
    torch.manual_seed(3)
    net, x, y = _Net(), torch.randn(4, 3), 10 * torch.randn(4, 2)
    got = trained_on_device(described(Rule.SGD, True, net, learning_rate=RATES[0], max_grad_norm=0.5), net, x, y)
    for rate in RATES:
        net.zero_grad()
        net(x, y).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        for weight in net.parameters():
            weight.data.sub_(rate * weight.grad)
    for name, parameter in net.named_parameters():
        np.testing.assert_allclose(got[name], parameter.detach().numpy(), rtol=1e-4, atol=2e-5, err_msg=name)
