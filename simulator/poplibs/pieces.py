"""Cut tensors into the runs that vertices work on.

An element-wise vertex writes runs of memory on its own tile and reads the elements of its operands at the same places
of the flattened tensors. `aligned_runs` finds the runs of a whole tensor at once: it cuts the output's regions where
its tile mapping changes, sorts them by memory and joins adjacent ones. Six workers share the runs of a tile in equal
parts of whole vectors. The operands are cut at the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base import regions
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.memory_order import ordered_by_memory


@dataclass(frozen=True)
class Runs:
    """Runs of the output, by tile, then in memory order, and the operands' regions for each.

    Run i covers elements `starts[i] .. + lengths[i]` on `tiles[i]` and belongs to worker `workers[i]`, or to all six
    (-1) as the only run of its tile. Operand j's regions of run i are rows `offsets[j][i] : offsets[j][i + 1]` of
    `operands[j]`."""

    tiles: Int64Array
    starts: Int64Array
    lengths: Int64Array
    workers: Int64Array
    operands: list[regions.Regions]
    offsets: list[Int64Array]

    def take(self, keep: BoolArray) -> Runs:
        """The runs of a mask."""
        if keep.all():
            return self
        operands, offsets = [], []
        for (starts, lengths), offset in zip(self.operands, self.offsets, strict=True):
            count = np.diff(offset)
            rows = np.repeat(keep, count)
            operands.append((starts[rows], lengths[rows]))
            offsets.append(np.concatenate([[0], np.cumsum(count[keep])]).astype(np.int64))
        columns = (self.tiles[keep], self.starts[keep], self.lengths[keep], self.workers[keep])
        return Runs(*columns, operands, offsets)


@dataclass(frozen=True)
class _Pieces:
    """Parts of the output: element, length, tile, place in the flattened tensor."""

    starts: Int64Array
    lengths: Int64Array
    tiles: Int64Array
    places: Int64Array


def aligned_runs(
    store: GraphStore, out: Tensor, operands: Sequence[Tensor], grain: int = 1, always_dealt: bool = False
) -> Runs:
    """Runs of `out` and the regions of `operands` of the same size at the same places of the flattened tensors.

    `grain`: cuts between workers are at multiples of this many elements. `always_dealt`: workers also share the only
    run of a tile. Each element of `out` must be mapped."""
    out, *operands = ordered_by_memory(out, operands) or [out, *operands]
    pieces = _mapped_pieces(store, out)
    head = _run_heads(store, pieces)
    pieces, workers = _share_pieces(pieces, head, grain, 0 if always_dealt else 1)
    head = _run_heads(store, pieces)
    head[1:] |= workers[1:] != workers[:-1]
    first = np.flatnonzero(head)
    run_of_piece = np.cumsum(head) - 1
    cut = [_operand(store, tensor, pieces, run_of_piece, len(first)) for tensor in operands]
    lengths = np.add.reduceat(pieces.lengths, first) if len(first) else pieces.lengths
    return Runs(
        pieces.tiles[first], pieces.starts[first], lengths, workers[first], [c[0] for c in cut], [c[1] for c in cut]
    )


def places_of(out: Tensor, runs: Runs) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The places of runs in the flattened form of a tensor that holds no element twice: (places, lengths, run of each),
    one row for each stretch of a run with consecutive places, in order of the runs."""
    if out.isContiguous() and out.strided() is not None:
        return runs.starts - int(out.regions()[0][0]), runs.lengths, np.arange(len(runs.starts))
    starts, lengths = out.regions()
    order = np.argsort(starts, kind="stable")
    place_of = (np.cumsum(lengths) - lengths)[order]
    begins, size, row = regions.split_by_table(runs.starts, runs.lengths, (starts + lengths)[order])
    run = np.searchsorted(np.cumsum(runs.lengths), np.cumsum(size) - size, side="right")
    return place_of[row] + begins - starts[order][row], size, run


def _mapped_pieces(store: GraphStore, out: Tensor) -> _Pieces:
    """The regions of `out` cut where the mapping changes, sorted by tile, then by element."""
    starts, lengths = out.regions()
    place = np.cumsum(lengths) - lengths
    if len(starts) > 1 and (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, lengths, place = starts[order], lengths[order], place[order]
    ends, tiles = mapping_of(store, out)
    sequence = np.cumsum(lengths) - lengths
    cut, size, row = regions.split_by_table(starts, lengths, ends)
    # Cutting keeps the order, so the distance into the sequence identifies the region of each piece.
    source = np.searchsorted(sequence, np.cumsum(size) - size, side="right") - 1
    tile = np.asarray(tiles[row], dtype=np.int64)
    order = np.argsort(tile, kind="stable")
    return _Pieces(cut[order], size[order], tile[order], (place[source] + cut - starts[source])[order])


def mapping_of(store: GraphStore, tensor: Tensor) -> tuple[Int64Array, Int64Array]:
    """(ends, tiles) of the mapping of the tensor's variables, in element space."""
    variables = regions.distinct(store.variable_of(tensor.regions()[0]))
    tables = [store.mapping_of(int(v)) for v in variables]
    base = store.bases()[variables]
    ends = [table[0] + b for table, b in zip(tables, base, strict=True)]
    return np.concatenate(ends), np.concatenate([table[1] for table in tables])


def _run_heads(store: GraphStore, pieces: _Pieces) -> BoolArray:
    """The pieces that begin a new run: another tile, a gap in memory, or another variable."""
    head = np.ones(len(pieces.starts), dtype=np.bool_)
    if len(head) > 1:
        touching = pieces.starts[1:] == (pieces.starts + pieces.lengths)[:-1]
        touching &= pieces.tiles[1:] == pieces.tiles[:-1]
        if touching.any():
            variable = store.variable_of(pieces.starts)
            touching &= variable[1:] == variable[:-1]
        head[1:] = ~touching
    return head


def _share_pieces(pieces: _Pieces, head: BoolArray, grain: int, more_than: int) -> tuple[_Pieces, Int64Array]:
    """Cut the pieces of tiles with more than this many runs into six equal shares: (pieces, worker of each)."""
    runs_of_tile = np.bincount(pieces.tiles[head], minlength=int(pieces.tiles.max(initial=0)) + 1)
    several = runs_of_tile > more_than
    if not several.any():
        return pieces, np.full(len(pieces.starts), -1, np.int64)
    total = np.bincount(pieces.tiles, weights=pieces.lengths, minlength=len(several)).astype(np.int64)
    share = -(-total // (WORKERS * grain)) * grain
    begin_of_tile = np.cumsum(total) - total
    tile = np.flatnonzero(several)
    borders = begin_of_tile[tile, None] + share[tile, None] * np.arange(1, WORKERS)
    borders = borders[borders < (begin_of_tile + total)[tile, None]]
    sequence = np.cumsum(pieces.lengths) - pieces.lengths
    table = regions.distinct(np.append(borders, total.sum()))
    cut, size, _ = regions.split_by_table(sequence, pieces.lengths, table)
    source = np.searchsorted(sequence, cut, side="right") - 1
    into = cut - sequence[source]
    tiles = pieces.tiles[source]
    workers = np.where(several[tiles], (cut - begin_of_tile[tiles]) // np.maximum(share[tiles], 1), -1)
    return _Pieces(pieces.starts[source] + into, size, tiles, pieces.places[source] + into), workers


def _operand(
    store: GraphStore, tensor: Tensor, pieces: _Pieces, run: Int64Array, runs: int
) -> tuple[regions.Regions, Int64Array]:
    """Regions of one operand at the places of the pieces, joined within each run, and the offsets of the runs."""
    starts, sizes, piece = regions.cuts(*tensor.regions(), pieces.places, pieces.places + pieces.lengths)
    owner = run[piece]
    if len(starts) > 1:
        fresh = np.ones(len(starts), dtype=np.bool_)
        fresh[1:] = (starts[1:] != (starts + sizes)[:-1]) | (owner[1:] != owner[:-1])
        if not fresh.all():  # pieces of different variables are not adjacent
            variable = store.variable_of(starts)
            fresh[1:] |= variable[1:] != variable[:-1]
        first = np.flatnonzero(fresh)
        starts, sizes, owner = starts[first], np.add.reduceat(sizes, first), owner[first]
    return (starts, sizes), np.searchsorted(owner, np.arange(runs + 1), side="left").astype(np.int64)


def vector_edges(starts: Int64Array, lengths: Int64Array, offsets: Int64Array | None = None) -> FieldEdges:
    """Edges of a vector field, region rows `offsets[i]:offsets[i + 1]` for vertex i; None = one row each."""
    if offsets is not None and (np.diff(offsets) == 1).all():
        offsets = None
    return FieldEdges(starts, lengths, offsets)


def rows_edges(
    starts: Int64Array, lengths: Int64Array, rows: Int64Array, offsets: Int64Array | None = None
) -> FieldEdges:
    """Edges of a field of vectors: vertex i has inner vectors `rows[i]:rows[i + 1]`, inner vector j has regions
    `offsets[j]:offsets[j + 1]`; None = one region each."""
    if offsets is not None and (np.diff(offsets) == 1).all():
        offsets = None
    return FieldEdges(starts, lengths, rows, offsets)
