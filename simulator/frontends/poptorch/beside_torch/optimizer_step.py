"""The optimizer's step beside torch: torch's own optimizer takes the device's gradients, in float64.

Gradients are compared apart, so the step gets the device's: where one is nothing but rounding, Adam moves a weight by
the whole learning rate in one direction or the other. Copies of the weights and of their states are all it costs.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from simulator.frontends.optimizer import Optimizer, Rule
from simulator.frontends.poptorch.beside_torch.comparison import Pair, rounding_of
from simulator.frontends.poptorch.beside_torch.device_step import DeviceStep
from simulator.frontends.poptorch.optimizers.states import fill_torch

_KINDS = (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adam, torch.optim.RMSprop)


class NotInTorchError(Exception):
    """An optimizer's step that torch does not have; the text says what."""


@dataclass(frozen=True)
class UsersOptimizer:
    """An optimizer, its description, the names of the parameters in its groups by id, and the states that the first
    step begins with."""

    optimizer: Any
    described: Optimizer
    names: Mapping[int, str]
    states: Mapping[str, Any] = field(default_factory=dict)

    def pairs(self, device: DeviceStep) -> list[Pair]:
        """The change of each weight on the device and by torch's optimizer. Raises NotInTorchError."""
        pairs = []
        for name, in_torch in self._step(device).items():
            before, after = device.weights[name], device.stepped[name]
            changes = _change(before, after)[None], _change(before, in_torch)[None]
            pairs.append(Pair("update", name, *changes, rounding_of(before)))
        return pairs

    @property
    def has_halves(self) -> bool:
        described = self.described
        return "float16" in (described.accumulator_type, described.first_state_type, described.second_state_type)

    @property
    def _is_resumed(self) -> bool:
        return any(np.any(values) for values in self.states.values())

    def _step(self, device: DeviceStep) -> dict[str, Any]:
        """Weights after the step of torch's optimizer."""
        kind = self._kind()
        weights = {
            name: torch.nn.Parameter(torch.as_tensor(device.weights[name]).double())
            for group in self.described.groups
            for name in group.parameters
            if name in device.gradients
        }
        if not weights:
            return {}
        gradients = {name: torch.as_tensor(device.gradients[name]).double() for name in weights}
        limit = self.described.max_grad_norm
        norm = math.sqrt(sum(float(one.square().sum()) for one in gradients.values()))
        for name, weight in weights.items():
            weight.grad = gradients[name] * (limit / max(norm, limit) if math.isfinite(limit) else 1.0)
        known = inspect.signature(kind).parameters
        groups = [
            {name: value for name, value in group.items() if name in known}
            | {"params": self._of_group(group, weights), "foreach": False, "fused": False}
            for group in self.optimizer.param_groups
        ]
        twin = kind([group for group in groups if group["params"]])
        if self._is_resumed:
            fill_torch(twin, self.states, self.described, weights, int(self.states.get("Step", 1)))
            for state in twin.state.values():
                state.update({name: value.double() for name, value in state.items() if name != "step"})
        twin.step()
        return {name: weight.detach().numpy() for name, weight in weights.items()}

    def _of_group(self, group: Mapping[str, Any], weights: Mapping[str, Any]) -> list[Any]:
        names = (self.names.get(id(parameter), "") for parameter in group["params"])
        return [weights[name] for name in names if name in weights]

    def _kind(self) -> Any:
        described = self.described
        kind = next((kind for kind in _KINDS if isinstance(self.optimizer, kind)), None)
        if kind is None:
            raise NotInTorchError(type(self.optimizer).__name__)
        if described.tensorflow_variant:
            raise NotInTorchError("RMSprop with use_tf_variant")
        if not described.bias_correction:
            raise NotInTorchError(f"{kind.__name__} without bias_correction")
        is_scaled = described.rule is Rule.SGD and any(
            one.number("velocity_scaling") != 1.0 for one in described.groups
        )
        if self._is_resumed and is_scaled:
            raise NotInTorchError("a velocity with velocity_scaling")
        return kind


def _change(before: Any, after: Any) -> Any:
    return np.asarray(after, np.float64) - np.asarray(before, np.float64)
