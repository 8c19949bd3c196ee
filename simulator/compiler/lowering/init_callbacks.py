"""Call the functions that set vertex fields when the graph is complete (`Graph.setInitCallback`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base.errors import graph_object_creation_error, poplar_error
from simulator.graph.field_columns import state_value
from simulator.graph.introspection import StorageInfo, VertexEdgeInfo, vector_sizes

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


def call_init_callbacks(store: GraphStore) -> None:
    """Call every callback once; its result becomes the value of its field."""
    for block in store.blocks:
        for field, callbacks in block.late.items():
            column = _column(block, field)
            for row, callback in callbacks.items():
                try:
                    value = _called(callback, block, row)
                except poplar_error:
                    raise
                except Exception as error:
                    raise graph_object_creation_error(
                        f"setInitCallback: the function for field '{field}' of {block.type.name} raised "
                        f"{type(error).__name__}: {error}; mend it, or give the value with setInitialValue."
                    ) from error
                column[row] = state_value(block.type, field, value)
            block.values[field] = np.array(column) if all(np.ndim(value) == 0 for value in column) else column


def _column(block: VertexBlock, field: str) -> list[Any]:
    """The values of a field, one for each vertex of the block."""
    known = block.values.get(field, 0)
    return [*known] if isinstance(known, list) or np.ndim(known) else [known] * len(block)


def _called(callback: Callable[..., Any], block: VertexBlock, row: int) -> Any:
    try:
        takes_info = bool(inspect.signature(callback).parameters)
    except (TypeError, ValueError):  # a function of C
        takes_info = False
    return callback(_edge_info(block, row)) if takes_info else callback()


def _edge_info(block: VertexBlock, row: int) -> VertexEdgeInfo:
    storage: dict[str, list[StorageInfo]] = {}
    for spec in block.type.fields:
        if spec.kind != "value":
            sizes = vector_sizes(block.edges[spec.name], row, spec.kind == "vectors")
            item = spec.type.size if spec.type is not None else 4
            storage[spec.name] = [StorageInfo(n, n * item) for n in sizes]
    return VertexEdgeInfo(storage)
