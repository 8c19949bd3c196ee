"""Copies of tensors with their layout."""

from __future__ import annotations

from simulator.base.types import TensorCloneMethod
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor

_UNLESS = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES


def duplicate(
    graph: Graph, in_: Tensor, p: Sequence, debugContext: Context = "", method: TensorCloneMethod = _UNLESS
) -> Tensor:
    """A new tensor with the mapping of another and, after `p`, its values."""
    out = graph.clone(in_, debugContext, method)
    p.add(Copy(in_, out, False, debugContext))
    return out


def cloneN(graph: Graph, t: Tensor, N: int, debugContext: Context = "", method: TensorCloneMethod = _UNLESS) -> Tensor:
    """N clones of a tensor as one of shape [N, ...]."""
    return graph.cloneN(t, N, debugContext, method)
