"""Views: operators that move no data, as tensor expressions, and those that join tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor

_VIEW = "tensor views only"


@lowers("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", kind="Reshape", call=_VIEW)
def view(at: Building, input: Tensor, size: Sequence[int] = (), shape: Sequence[int] = ()) -> Tensor:
    wanted = list(size or shape)
    if -1 in wanted:
        rest = 1
        for one in wanted:
            rest *= one if one != -1 else 1
        wanted[wanted.index(-1)] = input.numElements() // max(1, rest)
    return input.reshape(wanted)


@lowers("aten.flatten.using_ints", kind="Flatten", call=_VIEW)
def flatten(at: Building, input: Tensor, start_dim: int, end_dim: int) -> Tensor:
    if input.rank() == 0:
        return input.reshape([1])
    first, last = start_dim % input.rank(), end_dim % input.rank()
    return input.flatten(first, last + 1)


@lowers("aten.t.default", kind="Transpose", call=_VIEW)
def t(at: Building, input: Tensor) -> Tensor:
    return input.transpose() if input.rank() == 2 else input


@lowers("aten.detach.default", "aten.alias.default", kind="Identity", call=_VIEW)
def same(at: Building, input: Tensor, **_: Any) -> Tensor:
    return input


@lowers("aten.expand.default", kind="Expand", call=_VIEW)
def expand(at: Building, input: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    out = input.reshape([1] * (len(size) - input.rank()) + input.shape())
    for dim, wanted in enumerate(size):
        if wanted not in (-1, out.dim(dim)):
            out = out.broadcast(wanted, dim)
    return out
