"""Place the vertices of an operator with a broadcast operand, tile by tile as `choice` says.

The operand's edges name each of its elements once, so a tile receives each once however often it is applied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base import regions
from simulator.base.types import UNSIGNED_SHORT
from simulator.building.graph import Graph
from simulator.building.mapping import grain
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges, VertexType
from simulator.poplibs.pieces import Runs, aligned_runs, rows_edges, vector_edges
from simulator.poplibs.popops.broadcast import vertices as vertices
from simulator.poplibs.popops.broadcast.choice import Choice, choices, share_among_workers
from simulator.poplibs.popops.broadcast.patterns import Patterns, Segments, patterns_of, segments_of
from simulator.poplibs.popops.broadcast.shortcuts import chunks, surely_general
from simulator.poplibs.popops.vertices import elementwise_vertex
from simulator.poplibs.type_names import short_name


@dataclass(frozen=True)
class Broadcast:
    """One operator on one result: `data` (None in place) with `operand` broadcast to the result's shape."""

    graph: Graph
    cs: ComputeSet
    context: DebugInfo
    op: str
    out: Tensor
    operand: Tensor
    data: Tensor | None

    @property
    def dtype(self) -> str:
        return short_name(self.operand.elementType())

    @property
    def in_place(self) -> bool:
        return self.data is None


@dataclass(frozen=True)
class _Work:
    """Runs of a result with the segments and patterns of their operand; run i is on tile number `tile[i]`."""

    what: Broadcast
    runs: Runs
    segments: Segments
    patterns: Patterns
    tile: Int64Array

    def pieces(
        self, run: Int64Array, begin: Int64Array, length: Int64Array
    ) -> tuple[Int64Array, tuple[regions.Regions, Int64Array] | None]:
        """(starts of pieces of the result, the regions of data at the same places, their offsets)."""
        starts = self.runs.starts[run] + begin
        if self.what.in_place:
            return starts, None
        place = (np.cumsum(self.runs.lengths) - self.runs.lengths)[run] + begin
        first, size, of = regions.cuts(*self.runs.operands[1], place, place + length)
        return starts, ((first, size), np.searchsorted(of, np.arange(len(run) + 1), side="left").astype(np.int64))

    def gathered(self, first: Int64Array, count: Int64Array) -> tuple[regions.Regions, Int64Array]:
        """The operand's elements of `count[i]` segments from `first[i]` on, as regions, and the offsets for each i."""
        owner = np.repeat(np.arange(len(first)), count)
        row = first[owner] + np.arange(len(owner)) - (np.cumsum(count) - count)[owner]
        element = self.segments.element[row]
        variable = self.what.graph.store.variable_of(element)
        head = np.ones(len(element), np.bool_)
        head[1:] = (element[1:] != element[:-1] + 1) | (owner[1:] != owner[:-1]) | (variable[1:] != variable[:-1])
        at = np.flatnonzero(head)
        lengths = np.diff(np.append(at, len(element)))
        offsets = np.searchsorted(owner[at], np.arange(len(first) + 1), side="left").astype(np.int64)
        return (element[at], lengths), offsets


#: number of elements to search for patterns at a time
CHUNK = 1 << 20


def place_broadcast(what: Broadcast) -> Int64Array:
    """Add the vertices of all tiles that take a broadcast form; returns the tiles that take the general form."""
    operands = [what.operand] if what.data is None else [what.operand, what.data]
    # A unit of the whole result, so that runs are not cut between workers.
    runs = aligned_runs(what.graph.store, what.out, operands, what.out.numElements())
    general = surely_general(what.op, what.dtype, runs, 0)
    left = runs.take(~general)
    found = [np.unique(runs.tiles[general])]
    found += [_place(what, left.take(mask)) for mask in chunks(left, CHUNK)]
    return np.unique(np.concatenate(found))


def _place(what: Broadcast, runs: Runs) -> Int64Array:
    segments = segments_of(runs, 0)
    patterns = patterns_of(segments, len(runs.tiles))
    tiles, tile = np.unique(runs.tiles, return_inverse=True)
    choice = choices(what.op, what.dtype, what.in_place, segments, patterns, tile)
    work = _Work(what, runs, segments, patterns, tile)
    of_pattern, of_segment = choice[tile[patterns.run]], choice[tile[segments.run]]
    _scalars(work, of_segment == Choice.SCALAR_1D)
    one = _one_element(work)
    for uniform in (False, True):
        _scalar_rows(work, (of_segment == Choice.SCALAR_2D) & (one == uniform), uniform)
    _inner(work, of_pattern == Choice.INNER_1D)
    _inner_rows(work, of_pattern == Choice.INNER_2D)
    for form in (Choice.BY_ROW, Choice.BY_COLUMN):
        _outer(work, of_pattern == form, form is Choice.BY_ROW)
    return np.asarray(tiles[choice == Choice.GENERAL])


def _one_element(work: _Work) -> BoolArray:
    """For each segment: whether its tile meets a single element of the operand."""
    tile = work.tile[work.segments.run]
    first = np.searchsorted(tile, np.arange(int(tile.max(initial=-1)) + 1), side="left")
    other = work.segments.element != work.segments.element[first][tile]
    return np.asarray((np.bincount(tile, other, len(first)) == 0)[tile])


def _add(
    work: _Work,
    type_: VertexType,
    tiles: Int64Array,
    edges: dict[str, FieldEdges],
    values: dict[str, Int64Array] | None = None,
) -> None:
    what = work.what
    what.graph.addVertices(what.cs, type_, what.graph.state.graph_tiles(tiles), edges, values)


def _flat_edges(work: _Work, run: Int64Array, begin: Int64Array, length: Int64Array) -> dict[str, FieldEdges]:
    starts, data = work.pieces(run, begin, length)
    edges = {"out": vector_edges(starts, length)}
    if data is not None:
        edges["in1"] = vector_edges(*data[0], data[1])
    return edges


def _scalars(work: _Work, chosen: BoolArray) -> None:
    if not chosen.any():
        return
    seg, what = work.segments, work.what
    type_ = elementwise_vertex("scalar", what.op, what.dtype, what.in_place, True)
    edges = _flat_edges(work, seg.run[chosen], seg.begin[chosen], seg.length[chosen])
    edges["in2"] = vector_edges(seg.element[chosen], np.ones(int(chosen.sum()), np.int64))
    _add(work, type_, work.runs.tiles[seg.run[chosen]], edges)


@dataclass(frozen=True)
class _Rows:
    """Pieces shared among workers: rows `rows[i]:rows[i + 1]` are those of vertex i, on `tiles[i]`."""

    piece: Int64Array
    length: Int64Array
    rows: Int64Array
    tiles: Int64Array
    edges: dict[str, FieldEdges]


def _shared(work: _Work, run: Int64Array, begin: Int64Array, length: Int64Array, unit: Int64Array, least: int) -> _Rows:
    tile = work.tile[run]
    piece, into, size, worker = share_among_workers(tile, length, unit, least)
    head = np.flatnonzero(np.diff(tile[piece] * 8 + worker, prepend=-1))
    rows = np.append(head, len(piece))
    starts, data = work.pieces(run[piece], begin[piece] + into, size)
    edges = {"out": rows_edges(starts, size, rows)}
    if data is not None:
        edges["in1"] = rows_edges(*data[0], rows, data[1])
    return _Rows(piece, size, rows, work.runs.tiles[run[piece[head]]], edges)


def _scalar_rows(work: _Work, chosen: BoolArray, uniform: bool) -> None:
    """Rows with a scalar each. `uniform`: all rows of a tile have the same scalar, which is one edge."""
    if not chosen.any():
        return
    seg, what = work.segments, work.what
    run, element = seg.run[chosen], seg.element[chosen]
    unit = np.full(int(work.tile.max()) + 1, grain(what.out.elementType()))
    shared = _shared(work, run, seg.begin[chosen], seg.length[chosen], unit, 2)
    of_row = element[shared.piece]
    if uniform:
        edges = shared.edges | {"in2": vector_edges(of_row[shared.rows[:-1]], np.ones(len(shared.tiles), np.int64))}
        type_ = elementwise_vertex("scalar", what.op, what.dtype, what.in_place, False)
    else:
        edges = shared.edges | {"in2": rows_edges(of_row, np.ones_like(of_row), shared.rows)}
        type_ = vertices.scalar_rows_vertex(what.op, what.dtype, what.in_place)
    _add(work, type_, shared.tiles, edges)


def _inner(work: _Work, chosen: BoolArray) -> None:
    if not chosen.any():
        return
    pat, what = work.patterns, work.what
    run, first, size, outer = pat.run[chosen], pat.first[chosen], pat.size[chosen], pat.outer[chosen]
    edges = _flat_edges(work, run, work.segments.begin[first], pat.elements[chosen])
    vector, offsets = work.gathered(first, size)
    edges["in2"] = vector_edges(*vector, offsets)
    type_ = vertices.inner_vertex(what.op, what.dtype, what.in_place, True)
    _add(work, type_, work.runs.tiles[run], edges, {"dataBlockCountPacked": (outer // 6 << 3) | outer % 6})


def _inner_rows(work: _Work, chosen: BoolArray) -> None:
    if not chosen.any():
        return
    pat, what = work.patterns, work.what
    run, first, size = pat.run[chosen], pat.first[chosen], pat.size[chosen]
    unit = np.ones(int(work.tile.max()) + 1, np.int64)
    unit[work.tile[run]] = size  # equal for all runs of a tile
    shared = _shared(work, run, work.segments.begin[first], pat.elements[chosen], unit, 1)
    vector, offsets = work.gathered(first[shared.piece], size[shared.piece])
    edges = shared.edges | {"in2": rows_edges(*vector, shared.rows, offsets)}
    edges["workList"] = _work_lists(work, shared, size[shared.piece])
    type_ = vertices.inner_vertex(what.op, what.dtype, what.in_place, False)
    _add(work, type_, shared.tiles, edges)


def _work_lists(work: _Work, shared: _Rows, size: Int64Array) -> FieldEdges:
    """A constant for each vertex: the number of rows less one, then the length of the vector and the blocks of each
    row."""
    count = np.diff(shared.rows)
    lengths = 1 + 2 * count
    begins = np.cumsum(lengths) - lengths
    values = np.empty(int(lengths.sum()), np.int64)
    values[begins] = count - 1
    at = np.repeat(begins + 1 - 2 * shared.rows[:-1], count) + 2 * np.arange(len(size))
    values[at], values[at + 1] = size, shared.length // size
    graph = work.what.graph
    constant = graph.addConstant(UNSIGNED_SHORT, [len(values)], values, (work.what.context, "workList"))
    graph.setTileMappingIntervals(constant, begins, begins + lengths, graph.state.graph_tiles(shared.tiles))
    return vector_edges(int(constant.regions()[0][0]) + begins, lengths)


def _outer(work: _Work, chosen: BoolArray, by_row: bool) -> None:
    pat, what = work.patterns, work.what
    uneven = vertices.misaligned(what.dtype, pat.inner)
    for misaligned in (False, True):
        mine = chosen & (uneven == misaligned)
        if not mine.any():
            continue
        run, first, size = pat.run[mine], pat.first[mine], pat.size[mine]
        edges = _flat_edges(work, run, work.segments.begin[first], pat.elements[mine])
        vector, offsets = work.gathered(first, size)
        edges["in2"] = vector_edges(*vector, offsets)
        type_ = vertices.outer_vertex(what.op, what.dtype, what.in_place, by_row, misaligned)
        values = {"columns": pat.inner[mine], "rows": size * pat.outer[mine]}
        _add(work, type_, work.runs.tiles[run], edges, values)
