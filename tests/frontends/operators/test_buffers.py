"""Buffers that a module writes: values that are views of them keep what they held."""

from typing import Any

import numpy as np
import torch

from simulator.frontends.capture.modules import capture
from simulator.frontends.lowering.lowered import Outputs, Settings
from simulator.frontends.lowering.programs import ModuleLowering
from tests.frontends.operators.operator_twin import device, run_lowered
from tests.frontends.sgd_without_state import sgd_without_state


class _Writing(torch.nn.Module):
    """Swaps two buffers, turns one of them, and returns what they held before and after."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.arange(5.0))
        self.register_buffer("b", 10 * torch.arange(5.0))
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))

    def forward(self, x: torch.Tensor) -> Any:
        before = self.a.clone()
        self.a.copy_(self.b.flip(0))
        self.b.copy_(before)
        self.a.copy_(self.a.roll(1))
        return before, self.a * 1, self.b[1:].clone(), self.weight.t(), (self.weight * x).sum()


def test_buffers_change_after_all_values_are_taken() -> None:
    module = _Writing()
    captured = capture(module, (torch.ones(()),), {}, True, loss_output=-1)
    lowered = ModuleLowering(device().getTarget(), captured.program, Settings(), sgd_without_state(1.0)).lower()
    outputs, after = run_lowered(lowered, captured, [torch.ones(())])
    expected = module(torch.ones(()))
    for given, other in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(given.reshape(other.shape), other.detach().numpy())
    np.testing.assert_array_equal(after["a"], module.a.numpy())
    np.testing.assert_array_equal(after["b"], module.b.numpy())
    np.testing.assert_array_equal(after["weight"], module.weight.detach().numpy() - 1)


def test_final_outputs_are_those_before_the_update() -> None:
    module = _Writing()
    captured = capture(module, (torch.ones(()),), {}, True, loss_output=-1)
    settings = Settings(outputs=Outputs.FINAL)
    lowered = ModuleLowering(device().getTarget(), captured.program, settings, sgd_without_state(1.0)).lower()
    outputs, _ = run_lowered(lowered, captured, [torch.ones(())])
    np.testing.assert_array_equal(outputs[3], torch.arange(6.0).reshape(2, 3).t().numpy())
