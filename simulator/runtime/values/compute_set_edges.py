"""The edges of a compute set, vertex by vertex, for debugging tools that look at them while programs run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import Type
from simulator.runtime.values.arena import ArenaLayout

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import FieldEdges


@dataclass(frozen=True)
class Edge:
    """One field of one vertex: `items` are the numbers of its elements in the arena, seen as items of `type`."""

    vertex: str
    tile: int
    field: str
    written: bool
    type: Type
    items: Int64Array


def edges_of(store: GraphStore, layout: ArenaLayout, compute_set: int) -> list[Edge]:
    """All edges of a compute set, vertex by vertex."""
    found = []
    for block in store.settled_blocks:
        if block.compute_set != compute_set:
            continue
        for row in range(len(block)):
            for name, edges in block.edges.items():
                starts, lengths = _of_vertex(edges, row)
                if not len(starts):
                    continue
                variable = int(store.variable_of(starts[:1])[0])
                items = regions.elements(layout.items(starts), lengths)
                written = block.type.fields_by_name[name].direction != "in"
                type_ = store.variables.type[variable]
                label = f"{block.type.name} {block.first_id + row}"
                found.append(Edge(label, int(block.tiles[row]), name, written, type_, items))
    return found


def _of_vertex(edges: FieldEdges, row: int) -> tuple[Int64Array, Int64Array]:
    """The regions of one vertex's field."""
    if edges.offsets is None:
        return edges.starts[row : row + 1], edges.lengths[row : row + 1]
    first, last = int(edges.offsets[row]), int(edges.offsets[row + 1])
    if edges.row_offsets is not None:
        first, last = int(edges.row_offsets[first]), int(edges.row_offsets[last])
    return edges.starts[first:last], edges.lengths[first:last]
