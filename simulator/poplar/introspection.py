"""One vertex of a block as a performance estimator sees it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from simulator.poplar.graph_objects import FieldInfo, VertexIntrospector
from simulator.poplar.store import FieldEdges, VertexBlock


def introspect(block: VertexBlock, row: int) -> VertexIntrospector:
    """Field sizes and values of vertex `row` of the block."""
    fields: dict[str, FieldInfo] = {}
    for spec in block.type.fields:
        if spec.kind == "value":
            fields[spec.name] = FieldInfo(spec.name, (1,), value_at(block.values.get(spec.name), row))
        else:
            nested = spec.kind == "vectors"
            fields[spec.name] = FieldInfo(spec.name, vector_sizes(block.edges[spec.name], row, nested), nested=nested)
    return VertexIntrospector(block.type.name, fields)


def value_at(values: Any, row: int) -> Any:
    """The value of one vertex from a column that holds one for all or one per vertex."""
    return values[row] if isinstance(values, list) or np.ndim(values) else values


def vector_sizes(edges: FieldEdges, row: int, nested: bool) -> tuple[int, ...]:
    """Elements of each inner vector of one vertex (one entry for a field that is not `nested`, a plain vector)."""
    if edges.offsets is None:
        return (int(edges.lengths[row]),)
    first, last = int(edges.offsets[row]), int(edges.offsets[row + 1])
    if edges.row_offsets is not None:
        bounds = edges.row_offsets[first : last + 1].tolist()
        return tuple(int(edges.lengths[a:b].sum()) for a, b in pairwise(bounds))
    lengths = edges.lengths[first:last]
    return tuple(lengths.tolist()) if nested else (int(lengths.sum()),)
