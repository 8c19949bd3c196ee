"""What an optimizer adds to a training program: its step, the tensors that last, and where gradients add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.loss_scaling import LossScaling
from simulator.poplar import Tensor
from simulator.poplar import program as programs


@dataclass(frozen=True)
class Updated:
    """Tensors of an update step by name: states that last, rates that the host sends, and the states' first values."""

    states: Mapping[str, Tensor] = field(default_factory=dict)
    rates: Mapping[str, Tensor] = field(default_factory=dict)
    first_values: Mapping[str, float] = field(default_factory=dict)

    def joined(self, scaling: LossScaling) -> Updated:
        """With the tensors of the loss scaling."""
        first = dict.fromkeys(scaling.states, 1.0)
        return Updated(
            {**self.states, **scaling.states}, {**self.rates, **scaling.rates}, {**self.first_values, **first}
        )


class Update:
    """An optimizer's step."""

    def __call__(self, at: Building, weights: Mapping[str, tuple[Tensor, Tensor]]) -> Updated:
        """Build the step; `weights` are the tensor and the gradient of each weight by name."""
        raise NotImplementedError

    def accumulated(
        self, at: Building, name: str, weight: Tensor, slope: Tensor, before: programs.Sequence, share: float
    ) -> Tensor | None:
        """Add `share` of the gradient of a micro-batch to a state of the optimizer, which is then the accumulator;
        `before` runs before the micro-batches of a step. None: the weight has an accumulator apart."""
        return None
