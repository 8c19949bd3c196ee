"""Plain descent, for tests of the lowering alone."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.programs import Update, Updated
from simulator.poplar import FLOAT, Tensor
from simulator.poplibs import popops


def sgd_without_state(rate: float) -> Update:
    """The update by the negative gradient times the rate."""

    def update(at: Building, gradients: Mapping[str, tuple[Tensor, Tensor]]) -> Updated:
        step = at.graph.addVariable(FLOAT, [], "learningRate")
        at.graph.setInitialValue(step, rate)
        at.graph.setTileMapping(step, 0)
        for name, (weight, slope) in gradients.items():
            with at.weight_part(name, "SGD0VarUpdate"):
                popops.scaledSubtractFrom(at.graph, weight, slope, step, at.program, f"{name}/SGD0VarUpdate")
        return Updated(rates={"learningRate": step})

    return update
