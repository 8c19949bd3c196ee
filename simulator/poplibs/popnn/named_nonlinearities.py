"""The short names of non-linearities: popnn.relu(graph, t, [nonLinearityScaling,] prog, debugContext="") and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.graph.tensor import Tensor
from simulator.poplibs.popnn.nonlinearity import NonLinearityType, nonLinearity, nonLinearityInPlace
from simulator.programming.graph import Graph


def _pair(kind: NonLinearityType) -> tuple[Callable[..., Any], Callable[..., float | None]]:
    """(a function that returns a new tensor, one that works in place)."""

    def applied(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> Any:
        return nonLinearity(graph, kind, t, *arguments, **named)

    def in_place(graph: Graph, t: Tensor, *arguments: Any, **named: Any) -> float | None:
        return nonLinearityInPlace(graph, kind, t, *arguments, **named)

    applied.__doc__ = f"`nonLinearity` of {kind.value}."
    in_place.__doc__ = f"`nonLinearityInPlace` of {kind.value}."
    return applied, in_place


sigmoid, sigmoidInPlace = _pair(NonLinearityType.SIGMOID)
relu, reluInPlace = _pair(NonLinearityType.RELU)
tanh, tanhInPlace = _pair(NonLinearityType.TANH)
gelu, geluInPlace = _pair(NonLinearityType.GELU)
swish, swishInPlace = _pair(NonLinearityType.SWISH)
softmax, softmaxInPlace = _pair(NonLinearityType.SOFTMAX)
softmaxStable, softmaxStableInPlace = _pair(NonLinearityType.SOFTMAX_STABLE)
scaledSoftmaxStable, scaledSoftmaxStableInPlace = _pair(NonLinearityType.SOFTMAX_SCALED)
