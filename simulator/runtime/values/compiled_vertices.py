"""Blocks of compiled vertices: a row of structs per block, whose pointers lead into the arena.

Vectors that are not one run of memory, or not aligned as their field requires, are copied to scratch memory behind the
rows: gathered before a run and scattered after it, all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import AnyArray, BoolArray, Int64Array, UInt64Array
from simulator.base import regions
from simulator.base.types import numpy_type
from simulator.codelets.compiled.cycle_counter import entered
from simulator.codelets.compiled.rows import ALIGNMENT, Pointers, Rows
from simulator.codelets.printing import VertexPlaces
from simulator.graph.vertices import FieldEdges, FieldSpec, VertexBlock, segment_sums

if TYPE_CHECKING:
    from simulator.codelets.compiled.session import Session
    from simulator.runtime.values.arena import Arena, ArenaLayout
    from simulator.runtime.values.host_side import HostSide


@dataclass(frozen=True)
class _Gathered:
    """Elements in scratch memory: item numbers in the arena, and in the scratch memory."""

    dtype: np.dtype[Any]
    items: Int64Array
    places: Int64Array
    written: bool


class CompiledBlock:
    """The vertices of a block, ready to be bound to an arena."""

    def __init__(self, block: VertexBlock, layout: ArenaLayout, places: VertexPlaces) -> None:
        assert block.type.compiled is not None
        self._class = block.type.compiled
        self._n = len(block)
        self._places = places
        self._scratch = 0  #: bytes
        self._gathered: list[_Gathered] = []
        pointers = {
            name: self._pointers(block.type.fields_by_name[name], edges, layout.items(edges.starts))
            for name, edges in block.edges.items()
        }
        self._columns = pointers
        self._values = dict(block.values)

    def bind(self, arena: Arena, side: HostSide, denied: list[bool] | None = None) -> BoundBlock:
        """The block on an arena. `denied` grows where a compute() returns false."""
        session = arena.session
        assert session is not None, "compiled codelets need an arena that their process shares"
        shift = arena.offset
        columns = {
            name: Pointers(np.where(p.scratch, p.offset, p.offset + shift), p.count, p.scratch, p.bounds)
            for name, p in self._columns.items()
        }
        rows = Rows(self._class.layout, self._n, columns, self._values)
        return BoundBlock(self, arena, session, rows, side, denied)

    def _pointers(self, spec: FieldSpec, edges: FieldEdges, items: Int64Array) -> Pointers:
        dtype = numpy_type(spec.type)
        size = dtype.itemsize
        if spec.kind in ("scalar", "scalars"):
            each = regions.elements(items, edges.lengths)
            bounds = None
            if spec.kind == "scalars":
                bounds = np.concatenate([[0], np.cumsum(edges.elements_per_vertex(self._n))]).astype(np.int64)
            return Pointers(each * size, np.ones(len(each), np.int64), np.zeros(len(each), np.bool_), bounds)
        ends = self._ends(spec, edges)
        count = segment_sums(edges.lengths, ends)
        begin = np.zeros(len(count), np.int64)
        full = ends[1:] > ends[:-1]
        begin[full] = items[ends[:-1][full]]
        apart = _in_pieces(items, edges.lengths, ends)
        if spec.alignment > size:
            apart |= full & (begin * size % spec.alignment != 0)
        offset = begin * size
        if apart.any():
            offset[apart] = self._gather(spec, dtype, items, edges.lengths, ends, apart, count)
        nested = spec.kind == "vectors"
        vectors = edges.offsets if nested and edges.offsets is not None else None
        return Pointers(offset, count, apart, vectors)

    def _ends(self, spec: FieldSpec, edges: FieldEdges) -> Int64Array:
        """The first region of each vector, and the number of regions."""
        bounds = edges.offsets if spec.kind == "vector" else edges.row_offsets
        return np.arange(len(edges.starts) + 1, dtype=np.int64) if bounds is None else bounds

    def _gather(
        self,
        spec: FieldSpec,
        dtype: np.dtype[Any],
        items: Int64Array,
        lengths: Int64Array,
        ends: Int64Array,
        apart: AnyArray,
        count: Int64Array,
    ) -> Int64Array:
        """Offsets in scratch memory of the vectors that are `apart`."""
        size = -(-count[apart] * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        offset = self._scratch + np.cumsum(size) - size
        self._scratch += int(size.sum())
        rows = np.repeat(apart, np.diff(ends))
        own = np.flatnonzero(rows)
        elements = regions.elements(items[own], lengths[own])
        there = regions.elements(offset // dtype.itemsize, count[apart])
        self._gathered.append(_Gathered(dtype, elements, there, spec.direction != "in"))
        return offset


def _in_pieces(items: Int64Array, lengths: Int64Array, ends: Int64Array) -> BoolArray:
    """Flags of vectors that are not one run of memory."""
    vector = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    broken = np.zeros(len(ends) - 1, np.bool_)
    if len(items) > 1:
        cut = (vector[1:] == vector[:-1]) & (items[:-1] + lengths[:-1] != items[1:])
        broken[vector[1:][cut]] = True
    return broken


class BoundBlock:
    """A block on one arena. Addresses are written after each start of the process. `parts`: the parts of issue slots
    that each vertex took in the last run, in memory that the next run writes again; none where they do not count."""

    def __init__(
        self,
        block: CompiledBlock,
        arena: Arena,
        session: Session,
        rows: Rows,
        side: HostSide,
        denied: list[bool] | None,
    ) -> None:
        self._block, self._arena, self._session, self._rows = block, arena, session, rows
        self._side, self._denied = side, denied
        # Rows, vectors of their own, begins where codelets ask, parts where they count, tiles.
        self._begins = rows.bytes + block._scratch
        self._parts = self._begins + (8 * block._n if session.timed else 0)
        self._tiles = self._parts + (8 * block._n if session.counts else 0)
        self._segment, self._begin = session.reserve(self._tiles + 4 * block._n)
        self._filled = 0
        self.parts: UInt64Array = np.empty(0, np.uint64)

    def run(self) -> None:
        """Run all vertices once."""
        session, block = self._session, self._block
        with session.lock:
            runner = session.ready()
            memory = session.memory(self._segment)[self._begin :]
            base = runner.bases[self._segment] + self._begin
            if self._filled != session.starts:
                self._rows.fill(memory, base, runner.bases[0], base + self._rows.bytes)
                memory[self._tiles : self._tiles + 4 * block._n].view(np.uint32)[...] = block._places.tiles
                if session.timed:
                    begins = entered(self._side.vertex_begins(block._places))
                    memory[self._begins : self._parts].view(np.int64)[...] = begins
                self._filled = session.starts
                if session.counts:
                    self.parts = memory[self._parts : self._tiles].view(np.uint64)
            scratch = memory[self._rows.bytes : self._rows.bytes + block._scratch]
            for part in block._gathered:
                scratch.view(part.dtype)[part.places] = self._arena.flat(part.dtype)[part.items]
            agreed = runner.run(
                block._class,
                base,
                (0, block._n),
                block._places.located,
                self._printed,
                tiles=base + self._tiles,
                begins=base + self._begins if session.timed else 0,
                slots=base + self._parts if session.counts else 0,
            )
            if self._denied is not None and not agreed:
                self._denied.append(True)
            for part in block._gathered:
                if part.written:
                    self._arena.flat(part.dtype)[part.items] = scratch.view(part.dtype)[part.places]

    def _printed(self, row: int, worker: int, text: str) -> None:
        self._side.print_codelet(self._block._places, self._arena.replica, row, worker, text)
