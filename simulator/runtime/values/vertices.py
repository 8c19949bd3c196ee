"""Run the Python vertices of one block on the arena.

With `compute_batch`, vertices with equal sizes run together: each field is one array with the vertices as first
dimension, a strided window where the edges are evenly spaced, else gathered and scattered by item numbers. Without it,
vertices run one by one on windows of the arena; edges that are not one run of memory are copied to a buffer. A compute
set's vertices do not read what others of it write, so their order does not matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.types import numpy_type
from simulator.codelets.printing import VertexPlaces, running
from simulator.codelets.run import agrees
from simulator.runtime.values.arena import Arena, ArenaLayout

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import FieldEdges, FieldSpec, VertexBlock, VertexType


#: Blocks of at most this many vertices keep their windows between runs.
_MOST_BOUND_VERTICES = 50_000

#: Smaller blocks run on one thread.
_SHARED_VERTICES = 256


@dataclass(frozen=True)
class _Field:
    spec: FieldSpec
    dtype: np.dtype[Any]
    edges: FieldEdges
    items: Int64Array  #: item number of each region's first element


class BlockPlan:
    """The vertices of a block, ready to be bound to an arena."""

    def __init__(self, block: VertexBlock, store: GraphStore, layout: ArenaLayout, places: VertexPlaces) -> None:
        self._places = places
        self._type: VertexType = block.type
        self._n = len(block)
        self._values = dict(block.values)
        self._fields = [self._field(block, name, store, layout) for name in block.edges]

    def _field(self, block: VertexBlock, name: str, store: GraphStore, layout: ArenaLayout) -> _Field:
        spec, edges = block.type.fields_by_name[name], block.edges[name]
        type_ = spec.type
        if type_ is None and len(edges.starts):
            type_ = store.variables.type[int(store.variable_of(edges.starts[:1])[0])]
        dtype = np.dtype(np.float32) if type_ is None else numpy_type(type_)
        return _Field(spec, dtype, edges, layout.items(edges.starts))

    def bind_parts(self, arena: Arena, parts: int, denied: list[bool] | None = None) -> list[Callable[[], None]]:
        """At most `parts` functions that together run all vertices once, in any order. `denied` grows where a compute()
        returns false."""
        if self._type.compute_batch is not None:
            batches = list(self._batches(arena))
            shares = [batches[i::parts] for i in range(min(parts, len(batches)))]
            origin = self._places, arena.replica
            return [_bind_batches(self._type.compute_batch, share, origin, denied) for share in shares]
        if parts == 1 or self._n < _SHARED_VERTICES:
            return [self._bind_each(arena, range(self._n), denied)]
        return [self._bind_each(arena, range(i, self._n, parts), denied) for i in range(parts)]

    def _bind_each(self, arena: Arena, vertices: range, denied: list[bool] | None) -> Callable[[], None]:
        """A function that runs these vertices one after another."""
        compute = self._type.compute
        assert compute is not None, f"{self._type.name} has no compute function"
        origin = self._places, arena.replica
        if self._n > _MOST_BOUND_VERTICES:
            return lambda: _run_each(compute, (self._vertex(arena, i) for i in vertices), origin, denied)
        bound: list[_Bound] = []

        def run() -> None:
            if not bound:
                bound.extend(self._vertex(arena, i) for i in vertices)
            _run_each(compute, bound, origin, denied)

        return run

    # One vertex at a time

    def _vertex(self, arena: Arena, i: int) -> _Bound:
        bound = _Bound(SimpleNamespace(), [], i)
        for name, value in self._values.items():
            setattr(bound.fields, name, _value_of(value, i))
        for f in self._fields:
            setattr(bound.fields, f.spec.name, self._edge(arena, f, i, bound))
        return bound

    def _edge(self, arena: Arena, f: _Field, i: int, bound: _Bound) -> Any:
        flat = arena.flat(f.dtype)
        first, last = (i, i + 1) if f.edges.offsets is None else (int(f.edges.offsets[i]), int(f.edges.offsets[i + 1]))
        if f.spec.kind == "scalar":
            at = int(f.items[first])
            return flat[at : at + 1].reshape(())
        if f.spec.kind == "vector":
            return bound.vector(flat, f, first, last)
        if f.spec.kind == "scalars":
            items = regions.elements(f.items[first:last], f.edges.lengths[first:last]).tolist()
            return [flat[at : at + 1].reshape(()) for at in items]
        rows = f.edges.row_offsets
        if rows is None:
            return [bound.vector(flat, f, r, r + 1) for r in range(first, last)]
        return [bound.vector(flat, f, int(rows[r]), int(rows[r + 1])) for r in range(first, last)]

    # Many vertices at once

    def _batches(self, arena: Arena) -> Iterator[_Batch]:
        for shape, vertices in _groups_of_equal_size(
            [f.edges.elements_per_vertex(self._n) for f in self._fields], self._n
        ):
            fields = {}
            for f, size in zip(self._fields, shape, strict=False):
                fields[f.spec.name] = _batch_field(arena, f, vertices, size, self._n)
            values = {name: _values_of(value, vertices) for name, value in self._values.items()}
            yield _Batch(fields, values, int(vertices[0]))


def _groups_of_equal_size(sizes: list[Int64Array], n: int) -> Iterator[tuple[list[int], Int64Array]]:
    """Groups of vertices with equal sizes in all fields: (sizes, vertices in order). Grouping field by field takes a
    tenth of the time of NumPy's `unique` of rows."""
    member = np.zeros(n, np.int64)
    for size in sizes:
        if n and (size[0] != size).any():
            distinct, of = np.unique(size, return_inverse=True)
            member = np.unique(member * len(distinct) + of, return_inverse=True)[1]
    order = np.argsort(member, kind="stable")
    heads = np.flatnonzero(np.diff(member[order], prepend=-1))
    for vertices in np.split(order, heads[1:]) if n else ():
        yield [int(size[vertices[0]]) for size in sizes], vertices


@dataclass
class _Bound:
    """One vertex: its fields, and buffers for edges that are not one run: (flat arena, items, buffer, direction)."""

    fields: SimpleNamespace
    buffers: list[tuple[AnyArray, Int64Array, AnyArray, str]]
    row: int

    def vector(self, flat: AnyArray, f: _Field, first: int, last: int) -> AnyArray:
        """Regions first..last as one vector."""
        if last - first == 1:
            at = int(f.items[first])
            return flat[at : at + int(f.edges.lengths[first])]
        items = regions.elements(f.items[first:last], f.edges.lengths[first:last])
        buffer = np.empty(len(items), f.dtype)
        self.buffers.append((flat, items, buffer, f.spec.direction))
        return buffer


def _run_each(
    compute: Callable[[Any], Any], vertices: Any, origin: tuple[VertexPlaces, int], denied: list[bool] | None
) -> None:
    running.places = origin
    try:
        for vertex in vertices:
            running.row = vertex.row
            for flat, items, buffer, _ in vertex.buffers:
                buffer[...] = flat[items]
            result = compute(vertex.fields)
            if denied is not None and not agrees(result):
                denied.append(True)
            for flat, items, buffer, direction in vertex.buffers:
                if direction != "in":
                    flat[items] = buffer
    finally:
        running.places = None


@dataclass(frozen=True)
class _BatchField:
    flat: AnyArray
    items: Int64Array | None  #: (vertices, elements) item numbers; None when `window` is the memory itself
    window: AnyArray | None
    direction: str
    parts: list[_BatchField] | None = None  #: inner vectors of a vector of vectors

    def read(self) -> Any:
        if self.parts is not None:
            return [part.read() for part in self.parts]
        return self.window if self.window is not None else self.flat[self.items]


@dataclass(frozen=True)
class _Batch:
    fields: dict[str, _BatchField]
    values: dict[str, Any]
    row: int  #: its first vertex, which labels its prints


def _bind_batches(
    compute: Callable[[Any], Any], batches: list[_Batch], origin: tuple[VertexPlaces, int], denied: list[bool] | None
) -> Callable[[], None]:
    def run() -> None:
        running.places = origin
        try:
            run_batches()
        finally:
            running.places = None

    def run_batches() -> None:
        for batch in batches:
            running.row = batch.row
            given = SimpleNamespace(**batch.values)
            for name, f in batch.fields.items():
                setattr(given, name, f.read())
            result = compute(given)
            if denied is not None and not agrees(result):
                denied.append(True)
            for name, f in batch.fields.items():
                if f.direction != "in" and f.items is not None:
                    f.flat[f.items] = getattr(given, name)

    return run


def _batch_field(arena: Arena, f: _Field, vertices: Int64Array, size: int, n: int) -> _BatchField:
    flat = arena.flat(f.dtype)
    items = _items_of(f, vertices, n).reshape(len(vertices), -1)
    if f.spec.kind == "vectors":
        inner = _inner_sizes(f, int(vertices[0]))
        columns = np.split(items, np.cumsum(inner)[:-1], axis=1) if inner else []
        return _BatchField(flat, None, None, f.spec.direction, [_field_of(flat, c, f) for c in columns])
    if f.spec.kind == "scalars":
        return _BatchField(flat, None, None, f.spec.direction, [_field_of(flat, c[:, 0], f) for c in _columns(items)])
    return _field_of(flat, items[:, 0] if f.spec.kind == "scalar" else items, f)


def _columns(items: Int64Array) -> list[Int64Array]:
    return [items[:, i : i + 1] for i in range(items.shape[1])]


def _field_of(flat: AnyArray, items: Int64Array, f: _Field) -> _BatchField:
    """A strided window where the items are evenly spaced and written items do not overlap."""
    if items.size:
        step = int(items.flat[items.shape[1] if items.ndim == 2 else 1] - items.flat[0]) if len(items) > 1 else 0
        even = items.flat[0] + np.arange(len(items)) * step
        if items.ndim == 2:
            even = even[:, None] + np.arange(items.shape[1])
        if (step > 0 or len(items) == 1) and np.array_equal(even, items):
            strides = (step * flat.itemsize, flat.itemsize)[: items.ndim]
            window = np.lib.stride_tricks.as_strided(flat[int(items.flat[0]) :], items.shape, strides)
            return _BatchField(flat, None, window, f.spec.direction)
    return _BatchField(flat, items, None, f.spec.direction)


def _items_of(f: _Field, vertices: Int64Array, n: int) -> Int64Array:
    """Item numbers of all elements of these vertices, in order."""
    if f.edges.offsets is None:
        rows = vertices
    else:
        border = f.edges.offsets if f.edges.row_offsets is None else f.edges.row_offsets[f.edges.offsets]
        rows = regions.elements(border[vertices], border[vertices + 1] - border[vertices])
    return regions.elements(f.items[rows], f.edges.lengths[rows])


def _inner_sizes(f: _Field, vertex: int) -> list[int]:
    """Elements of each inner vector of a vertex."""
    if f.edges.offsets is None:
        return [int(f.edges.lengths[vertex])]
    first, last = int(f.edges.offsets[vertex]), int(f.edges.offsets[vertex + 1])
    if f.edges.row_offsets is None:
        return [int(size) for size in f.edges.lengths[first:last]]
    borders = f.edges.row_offsets[first : last + 1].tolist()
    return [int(f.edges.lengths[a:b].sum()) for a, b in itertools.pairwise(borders)]


def _value_of(value: Any, i: int) -> Any:
    return value if np.ndim(value) == 0 and not isinstance(value, list) else value[i]


def _values_of(value: Any, vertices: Int64Array) -> Any:
    if isinstance(value, list):
        return [value[i] for i in vertices.tolist()]
    return value if np.ndim(value) == 0 else np.asarray(value)[vertices]
