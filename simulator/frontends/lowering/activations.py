"""Activations: popnn.nonLinearity where it has the function, expressions of popops elsewhere."""

from __future__ import annotations

from typing import Any

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popnn


@lowers("aten.relu.default", kind="Relu", call="popnn.nonLinearity, nonLinearityInputGradient", own_backward=True)
def relu(at: Building, input: Tensor) -> Any:
    kind = popnn.NonLinearityType.RELU
    out = popnn.nonLinearity(at.graph, kind, input, at.program, at.name())

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = popnn.nonLinearityInputGradient(at.graph, kind, out, slopes[0], at.program, at.name())
        return {"input": back}

    return out, backward
