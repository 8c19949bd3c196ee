"""Run the vertices of a compute set, one by one, on the bytes of their tiles."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import ErrorCode, ErrorInfo, application_runtime_error
from simulator.base.types import numpy_type
from simulator.codelets.printing import VertexPlaces, running
from simulator.codelets.run import agrees
from simulator.runtime.address_accurate.codelet_code import CodeletCode, VertexPlace
from simulator.runtime.address_accurate.tile_memory import TileMemory

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import FieldEdges, FieldSpec, VertexBlock


Addresses = dict[tuple[int, str], Int64Array]


@dataclass(frozen=True)
class _Vector:
    """One array of a vertex: the addresses of its bytes, read and written (None = not written)."""

    read: Int64Array
    written: Int64Array | None
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Vertex:
    compute: Callable[[Any], Any]
    place: VertexPlace
    values: dict[str, Any]
    fields: dict[str, _Vector | list[_Vector]]


def vertices_of(
    block: VertexBlock,
    inputs: Addresses,
    outputs: Addresses,
    store: GraphStore,
    code: CodeletCode,
    places: tuple[VertexPlaces, int],
) -> list[_Vertex]:
    """The vertices of a block. `inputs` and `outputs`: address of each element by (block, field). `places`: of the
    block, and the replica."""
    values = [{name: _value(value, i) for name, value in block.values.items()} for i in range(len(block))]
    vertices = [
        _Vertex(code.compute_function(block.type, (*places, i)), (*places, i), own, {}) for i, own in enumerate(values)
    ]
    for name, edges in block.edges.items():
        spec = block.type.fields_by_name[name]
        key = id(block), name
        read = inputs[key] if spec.direction != "out" else outputs[key]
        written = outputs[key] if spec.direction != "in" else None
        dtype = _dtype(spec, edges, store)
        ends = np.concatenate([[0], np.cumsum(edges.lengths)])
        for i, vertex in enumerate(vertices):
            vertex.fields[name] = _arrays(spec, edges, i, ends, read, written, dtype)
    return vertices


def run_vertices(vertices: list[_Vertex], memory: TileMemory, *, verify: bool = False) -> set[int]:
    """Read, compute and write each vertex; vertices of a compute set do not read what others of it write. Returns the
    replicas in which a compute() returned false. With `verify` raises application_runtime_error for a vertex that
    changed an input."""
    denied: set[int] = set()
    for vertex in vertices:
        places, replica, running.row = vertex.place
        running.places = places, replica
        fields = SimpleNamespace(**vertex.values)
        for name, field in vertex.fields.items():
            given = [_read(v, memory) for v in field] if isinstance(field, list) else _read(field, memory)
            setattr(fields, name, given)
        try:
            if not agrees(vertex.compute(fields)):
                denied.add(replica)
        finally:
            running.places = None
        for name, field in vertex.fields.items():
            made = getattr(fields, name)
            if verify:
                _check_unchanged(vertex, name, field, made, memory)
            if isinstance(field, list):
                for vector, values in zip(field, made, strict=True):
                    _write(vector, values, memory)
            else:
                _write(field, made, memory)
    return denied


def _check_unchanged(vertex: _Vertex, name: str, field: _Vector | list[_Vector], made: Any, memory: TileMemory) -> None:
    vectors = [(field, made)] if isinstance(field, _Vector) else list(zip(field, made, strict=True))
    for vector, values in vectors:
        was = _read(vector, memory)
        if vector.written is None and np.asarray(values, vector.dtype).tobytes() != was.tobytes():
            places, _, row = vertex.place
            which, location = places.located(row)
            raise application_runtime_error(
                f"{which} changed its field '{name}', which it may not write (found by debug.runtimeVerify); declare "
                "the field Output or InOut.",
                [ErrorInfo(ErrorCode.INVALID_ADDRESS, location)],
            )


def _read(vector: _Vector, memory: TileMemory) -> Any:
    return memory.read(vector.read, vector.dtype).reshape(vector.shape)


def _write(vector: _Vector, values: Any, memory: TileMemory) -> None:
    if vector.written is not None:
        memory.write(vector.written, np.asarray(values, vector.dtype))


def _arrays(
    spec: FieldSpec,
    edges: FieldEdges,
    i: int,
    ends: Int64Array,
    read: Int64Array,
    written: Int64Array | None,
    dtype: np.dtype[Any],
) -> _Vector | list[_Vector]:
    """The arrays of a field of vertex `i`. `ends`: number of elements before each region."""

    def vector(first: int, last: int, shape: tuple[int, ...] = (-1,)) -> _Vector:
        part = slice(int(first), int(last))
        to = None if written is None else _bytes(written[part], dtype)
        return _Vector(_bytes(read[part], dtype), to, dtype, shape)

    first, last = (i, i + 1) if edges.offsets is None else (int(edges.offsets[i]), int(edges.offsets[i + 1]))
    if spec.kind == "scalar":
        return vector(ends[first], ends[first] + 1, ())
    if spec.kind == "vector":
        return vector(ends[first], ends[last])
    if spec.kind == "scalars":
        return [vector(at, at + 1, ()) for at in range(int(ends[first]), int(ends[last]))]
    borders = np.arange(first, last + 1) if edges.row_offsets is None else edges.row_offsets[first : last + 1]
    return [vector(ends[a], ends[b]) for a, b in itertools.pairwise(borders.tolist())]


def _bytes(address: Int64Array, dtype: np.dtype[Any]) -> Int64Array:
    return np.asarray((address[:, None] + np.arange(dtype.itemsize)).reshape(-1), dtype=np.int64)


def _dtype(spec: FieldSpec, edges: FieldEdges, store: GraphStore) -> np.dtype[Any]:
    type_ = spec.type
    if type_ is None and len(edges.starts):
        type_ = store.variables.type[int(store.variable_of(edges.starts[:1])[0])]
    return np.dtype(np.float32) if type_ is None else numpy_type(type_)


def _value(value: Any, i: int) -> Any:
    return value if np.ndim(value) == 0 and not isinstance(value, list) else value[i]
