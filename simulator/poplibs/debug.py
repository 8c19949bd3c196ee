"""Debug records of library calls: which function was called, with what, from where."""

from __future__ import annotations

from typing import Any

from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.tensor import Tensor
from simulator.programming.graph import Graph

#: The layer of all libraries together, as libpva's OperationAnalysis expects it.
LAYER = "poplibs"


def operation(graph: Graph, context: Context, library: str, api: str, **arguments: Any) -> DebugInfo:
    """Record a call of `api` ("matMul") of a library ("poplin"). Tensors are kept as type and shape. Give the result,
    or a pair of it and a name, as the context of what the call makes."""
    kept = {name: _described(value) for name, value in arguments.items()}
    return graph.addDebugInfo(context, LAYER, library=library, api=api, **kept)


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return f"{value.elementType()}{value.shape()}"
    return value if isinstance(value, (int, float, str, bool)) else str(value)
