"""Bytes that vertices take on their tiles: state, data of fields, descriptors of lists.

The state of a vertex holds its simple fields and one pointer per edge field: 8 bytes for a span (pointer and size), 4
for a short span, one pointer or a single edge, 2 for a compressed pointer; it is rounded up to 4 bytes. Lists hold
their pointers outside: 4 bytes per single edge, as much as the layout of the inner vectors takes per inner vector, or,
for the delta forms of VectorList, 4 bytes per row counted as a VectorList descriptor. Source: poplar-model 1.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from simulator.codelets.vertex_type import FieldSpec, VertexType
    from simulator.poplar.store import VertexBlock

I8 = npt.NDArray[np.int64]

_POINTER = {"span": 8, "short_span": 4, "one_ptr": 4, "scaled_ptr32": 2, "scaled_ptr64": 2, "scaled_ptr128": 2}
_LIST_POINTER = 8
_DELTA_LAYOUTS = ("deltan", "deltanelements")
_PER_EDGE, _PER_DELTA_ROW = 4, 4


@dataclass(frozen=True)
class VertexMemory:
    """Bytes per tile of the vertices of one block."""

    state: I8
    field_data: I8
    list_descriptors: I8


def state_bytes(type_: VertexType, vector_values: Iterable[str] = ()) -> int:
    """Bytes of one instance's state; `vector_values` names simple fields that hold vectors (kept as spans)."""
    vectors = set(vector_values)
    total = sum(_LIST_POINTER if f.name in vectors else _field_bytes(f) for f in type_.fields)
    return -(-total // 4) * 4


def vertex_memory(block: VertexBlock, tiles: int) -> VertexMemory:
    """Bytes of a block's vertices on each of `tiles` tiles."""
    tile = block.tiles.astype(np.int64)
    n = len(block)
    vectors = {name: size for name, value in block.values.items() if (size := _vector_bytes(value, n)) is not None}
    state = np.bincount(tile, minlength=tiles) * state_bytes(block.type, vectors)
    data, descriptors = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for size in vectors.values():
        data += size
    for name, edges in block.edges.items():
        spec = block.type.fields_by_name[name]
        if spec.kind == "scalars":
            data += _PER_EDGE * edges.elements_per_vertex(n)
        elif spec.kind == "vectors":
            rows = np.ones(n, np.int64) if edges.offsets is None else np.diff(edges.offsets)
            if spec.layout in _DELTA_LAYOUTS:
                descriptors += _PER_DELTA_ROW * rows
            else:
                data += _POINTER.get(spec.layout, 8) * rows
    return VertexMemory(state.astype(np.int64), _per_tile(tile, data, tiles), _per_tile(tile, descriptors, tiles))


def _field_bytes(spec: FieldSpec) -> int:
    if spec.kind == "value":
        return int(spec.type.size) if spec.type is not None else 4
    if spec.kind == "scalar":
        return 4
    if spec.kind == "vector":
        return _POINTER.get(spec.layout, 8)
    return _LIST_POINTER


def _vector_bytes(value: Any, n: int) -> I8 | None:
    """Bytes per vertex of a simple field that holds vectors, None when it holds scalars."""
    if isinstance(value, list):
        return np.array([np.asarray(v).nbytes for v in value], np.int64)
    array = np.asarray(value)
    if array.ndim < 2:
        return None
    return np.full(n, array[0].nbytes, np.int64)


def _per_tile(tile: I8, size: I8, tiles: int) -> I8:
    return np.bincount(tile, weights=size, minlength=tiles).astype(np.int64)
