"""Random operators through poprand: each has a seed modifier of its own, each micro-batch a seed of its own."""

from __future__ import annotations

from typing import Any

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, Tensor
from simulator.poplibs import poprand


def _dropout(at: Building, input: Tensor, p: float) -> Any:
    """Identity for inference. Its gradient draws the same numbers again, as PopART does, so that no mask is stored."""
    if not at.training or p == 0:
        return input, lambda at, slopes, wanted: {"input": slopes[0]}
    draw, scale = at.next_draw(), 1 / (1 - p) if p < 1 else 0.0

    def dropped(at: Building, tensor: Tensor) -> Tensor:
        return poprand.dropout(at.graph, at.seed, draw, tensor, input, 1 - p, scale, at.program, at.name("dropout"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": dropped(at, slopes[0])}

    return dropped(at, input), backward


@lowers("aten.dropout.default", kind="Dropout", call="poprand.dropout", own_backward=True)
def dropout(at: Building, input: Tensor, p: float, train: bool) -> Any:
    return _dropout(at, input, p if train else 0.0)


@lowers("aten.native_dropout.default", kind="Dropout", call="poprand.dropout", own_backward=True)
def native_dropout(at: Building, input: Tensor, p: float, train: bool | None) -> Any:
    """The second result, the mask, is for PyTorch's own gradient only."""
    out, backward = _dropout(at, input, p if train in (None, True) else 0.0)
    mask = at.constant(BOOL, input.shape(), True, "mask")
    return (out, mask), backward
