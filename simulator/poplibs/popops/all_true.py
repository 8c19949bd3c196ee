"""popops.allTrue: whether all elements of a BOOL tensor are true."""

from __future__ import annotations

from simulator.base.errors import type_error
from simulator.base.types import BOOL
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.debug import operation
from simulator.poplibs.popops.reduction import Operation, ReduceParams, reduce
from simulator.programming.graph import Graph


def allTrue(graph: Graph, A: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A BOOL scalar, the logical and of all elements: a predicate for loops and choices.

    Raises `type_error` for a tensor of another type."""
    if A.elementType() is not BOOL:
        raise type_error(f"allTrue: the tensor holds {A.elementType()}; compare it first, so that it holds bool.")
    call = operation(graph, debugContext, "popops", "allTrue", A=A)
    return reduce(graph, A.flatten(), [0], ReduceParams(Operation.LOGICAL_AND), prog, call)
