"""How many elements the edges of vertices hold, counted when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from simulator.arrays import Int64Array

if TYPE_CHECKING:
    from simulator.graph.vertices import FieldEdges, VertexBlock


class Elements(Mapping[str, Int64Array]):
    """Elements per vertex of each edge field of a block; a field is counted the first time it is asked for."""

    def __init__(self, block: VertexBlock) -> None:
        self._block = block
        self._counted: dict[str, Int64Array] = {}

    def __getitem__(self, field: str) -> Int64Array:
        if field not in self._counted:
            self._counted[field] = self._block.edges[field].elements_per_vertex(len(self._block))
        return self._counted[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._block.edges)

    def __len__(self) -> int:
        return len(self._block.edges)


def elements_of_vertex(edges: FieldEdges, vertex: int) -> int:
    """Elements connected to one field of one vertex."""
    if edges.offsets is None:
        return int(edges.lengths[vertex])
    first, last = int(edges.offsets[vertex]), int(edges.offsets[vertex + 1])
    if edges.row_offsets is not None:
        first, last = int(edges.row_offsets[first]), int(edges.row_offsets[last])
    return int(edges.lengths[first:last].sum())
