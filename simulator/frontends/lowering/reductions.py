"""Reductions: popops.reduce over the given dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popops


def reduced(
    at: Building, input: Tensor, dims: Sequence[int] | None, keepdim: bool, operation: popops.Operation
) -> Tensor:
    """The reduction of some dimensions (all of them for none), kept with size 1 if `keepdim`."""
    rank = input.rank()
    chosen = sorted({dim % rank for dim in dims}) if dims else list(range(rank))
    shape = [1 if dim in chosen else size for dim, size in enumerate(input.shape())]
    out = popops.reduce(at.graph, input, chosen, popops.ReduceParams(operation), at.program, at.name("reduce"))
    return out.reshape(shape) if keepdim else out


@lowers("aten.sum.dim_IntList", "aten.sum.default", kind="ReduceSum", call="popops.reduce")
def sum_(
    at: Building, input: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: str | None = None
) -> Tensor:
    return reduced(at, input if dtype is None else at.cast(input, dtype), dim, keepdim, popops.Operation.ADD)
