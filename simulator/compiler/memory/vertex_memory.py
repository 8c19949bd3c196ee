"""Bytes of vertices on their tiles: state, data of fields, descriptors of lists.

The state of a vertex is a struct of its fields in order of declaration, each at a multiple of its own alignment, padded
to the store granularity of 4 bytes. Simple fields take their type's bytes. An edge field takes a pointer: 8 bytes for a
span (pointer and size), 4 for a short span, one pointer or a single edge; a compressed pointer takes 2 on Mk1, and 4 on
later chips, whose memory 16-bit pointers do not reach. Lists are pointed at in the same way (`FieldSpec.outer`) and
stored outside: 4 bytes per single edge; the bytes of the inner layout per inner vector; or, for the delta forms of
VectorList, 4 bytes per row counted as a VectorList descriptor. Rows at a stride ("strided") are one pointer. Sources:
poplar-model 1.4, the field declarations of the public PopLibs codelets; exact on the published TF adder, whose SetSeed
takes 4 + 4 + 4 bytes, BinaryOp1D 4 + 4 + 8 and ScaledAdd 8 + 4 + 4 (published-numbers 6.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.footprint import (
    COMPRESSED_POINTER,
    POINTER_BYTES,
    POINTER_PER_EDGE,
    STATE_GRANULARITY,
    VECTOR_LIST_ROW,
)

if TYPE_CHECKING:
    from simulator.graph.vertices import FieldSpec, VertexBlock, VertexType


_DELTA_LAYOUTS = ("deltan", "deltanelements")
#: Rows a constant stride apart: a pointer to the first, the stride is vertex state.
_STRIDED = "strided"


@dataclass(frozen=True)
class VertexMemory:
    """Bytes per tile of the vertices of one block."""

    state: Int64Array
    field_data: Int64Array
    list_descriptors: Int64Array


@dataclass(frozen=True)
class StateField:
    """One field's place in the struct."""

    name: str
    offset: int
    bytes: int
    pointer: bool  #: true for a pointer to data, false for a value


def state_fields(type_: VertexType, architecture: str, vector_values: Iterable[str] = ()) -> list[StateField]:
    """The struct of one instance. `vector_values` names simple fields that hold vectors (stored as spans);
    `architecture` is "Ipu1", "Ipu2" or "Ipu21"."""
    vectors = set(vector_values)
    fields, end = [], 0
    for spec in type_.fields:
        pointer = spec.kind != "value" or spec.name in vectors
        size = _pointer(_outer(spec), architecture) if pointer else _value_bytes(spec)
        begin = -(-end // min(size, 4)) * min(size, 4)
        fields.append(StateField(spec.name, begin, size, pointer))
        end = begin + size
    return fields


def state_bytes(type_: VertexType, architecture: str, vector_values: Iterable[str] = ()) -> int:
    """Bytes of one instance's state."""
    fields = state_fields(type_, architecture, vector_values)
    end = fields[-1].offset + fields[-1].bytes if fields else 0
    return -(-end // STATE_GRANULARITY) * STATE_GRANULARITY


def vertex_memory(block: VertexBlock, tiles: int, architecture: str) -> VertexMemory:
    """Bytes of a block's vertices on each of `tiles` tiles."""
    tile = block.tiles.astype(np.int64)
    n = len(block)
    vectors = {name: size for name, value in block.values.items() if (size := _vector_bytes(value, n)) is not None}
    state = np.bincount(tile, minlength=tiles) * state_bytes(block.type, architecture, vectors)
    data, descriptors = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for size in vectors.values():
        data += size
    for name, edges in block.edges.items():
        spec = block.type.fields_by_name[name]
        if spec.kind == "scalars":
            data += POINTER_PER_EDGE * edges.elements_per_vertex(n)
        elif spec.kind == "vectors":
            rows = np.ones(n, np.int64) if edges.offsets is None else np.diff(edges.offsets)
            if spec.layout == _STRIDED:
                continue
            if spec.layout in _DELTA_LAYOUTS:
                descriptors += VECTOR_LIST_ROW * rows
            else:
                data += _pointer(spec.layout, architecture) * rows
    return VertexMemory(state.astype(np.int64), _per_tile(tile, data, tiles), _per_tile(tile, descriptors, tiles))


def _outer(spec: FieldSpec) -> str:
    """The layout of the pointer that the state holds."""
    if spec.kind == "scalar" or spec.layout == _STRIDED:
        return "one_ptr"
    if spec.kind == "vector":
        return spec.layout
    return "span" if spec.kind == "value" or spec.layout in _DELTA_LAYOUTS else spec.outer


def _pointer(layout: str, architecture: str) -> int:
    if layout.startswith("scaled_ptr"):
        return COMPRESSED_POINTER[architecture]
    return POINTER_BYTES[layout]


def _value_bytes(spec: FieldSpec) -> int:
    return int(spec.type.size) if spec.type is not None else 4


def _vector_bytes(value: Any, n: int) -> Int64Array | None:
    """Bytes per vertex of a simple field that holds vectors, None when it holds scalars."""
    if isinstance(value, list):
        return np.array([np.asarray(v).nbytes for v in value], np.int64)
    array = np.asarray(value)
    if array.ndim < 2:
        return None
    return np.full(n, array[0].nbytes, np.int64)


def _per_tile(tile: Int64Array, size: Int64Array, tiles: int) -> Int64Array:
    return np.bincount(tile, weights=size, minlength=tiles).astype(np.int64)
