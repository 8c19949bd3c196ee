"""Detect memory constraints that no layout can satisfy: two fields of a vertex that must lie in different memory
elements are connected to the same element of a variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import memory_elem_constraints_error

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


def check_constraints(store: GraphStore) -> None:
    """Raises memory_elem_constraints_error naming vertex type, tile, fields and variable of the first such vertex."""
    for block in store.settled_blocks:
        if not block.type.constrained or not len(block):
            continue
        for one, other in block.type.apart:
            if one in block.edges and other in block.edges:
                found = _shared(block, one, other, store.num_elements)
                if found is not None:
                    raise memory_elem_constraints_error(_sentence(store, block, one, other, *found))


def _shared(block: VertexBlock, one: str, other: str, span: int) -> tuple[int, int] | None:
    """(vertex, element) of a vertex whose two fields share an element, or None."""
    begin, end = _sorted(block, one, span)
    if len(begin) == 0:
        return None
    first, last = _sorted(block, other, span)
    # For each region of `other`: the first region of `one` that ends after its begin.
    highest = np.maximum.accumulate(end)
    at = np.minimum(np.searchsorted(highest, first, side="right"), len(begin) - 1)
    hit = np.flatnonzero((highest[at] > first) & (begin[at] < last))
    if len(hit) == 0:
        return None
    place = int(max(begin[at[hit[0]]], first[hit[0]]))
    return place // span, place % span


def _sorted(block: VertexBlock, field: str, span: int) -> tuple[Int64Array, Int64Array]:
    """(first, end) of each region in the space of (vertex, element), in order."""
    edges = block.edges[field]
    full = edges.lengths > 0
    begin = (edges.vertex_of_region(len(block)) * span + edges.starts)[full]
    order = np.argsort(begin, kind="stable")
    return begin[order], (begin + edges.lengths[full])[order]


def _sentence(store: GraphStore, block: VertexBlock, one: str, other: str, vertex: int, element: int) -> str:
    variable = int(store.variable_of(np.array([element], np.int64))[0])
    name = store.variables.name[variable] or str(variable)
    return (
        f"Vertex {vertex} of type {block.type.name} on tile {int(block.tiles[vertex])} needs its fields '{one}' and "
        f"'{other}' in different memory elements, but both are connected to the same element of variable '{name}'; "
        "connect one of them to a copy."
    )
