"""Plain descent, for tests of the lowering alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.update_steps import Update, Updated
from simulator.poplar import FLOAT, Tensor
from simulator.poplibs import popops


@dataclass
class _Descent(Update):
    rate: float

    def __call__(self, at: Building, weights: Mapping[str, tuple[Tensor, Tensor]]) -> Updated:
        step = at.graph.addVariable(FLOAT, [], "learningRate")
        at.graph.setInitialValue(step, self.rate)
        at.graph.setTileMapping(step, 0)
        for name, (weight, slope) in weights.items():
            with at.weight_part(name, "SGD0VarUpdate"):
                popops.scaledSubtractFrom(at.graph, weight, slope, step, at.program, f"{name}/SGD0VarUpdate")
        return Updated(rates={"learningRate": step})


def sgd_without_state(rate: float) -> Update:
    """The update by the negative gradient times the rate."""
    return _Descent(rate)
