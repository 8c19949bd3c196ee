"""Where the terms of a reduction lie: pieces of the tensor by tile, and the outputs that each tile has terms of.

The tensor is seen as [outputs, terms]. Where adjacent outputs are adjacent in memory a piece is part of a *row*: one
term each of a run of outputs. Otherwise a piece is a run of terms of one output. Pieces are cut where the tile mapping
changes. A *cell* is a run of outputs of which one tile has values. All in columns; the cost is a sort of the pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base import regions
from simulator.building.graph import Graph
from simulator.graph.tensor import Tensor
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.pieces import mapping_of


@dataclass(frozen=True)
class Cells:
    """Runs of outputs with values on a tile. In memory a cell is one run of elements from `start`. Sorted by tile,
    then by output; cells of a tile may overlap only where it has several values of an output."""

    tile: Int64Array
    first: Int64Array
    length: Int64Array
    start: Int64Array

    def __len__(self) -> int:
        return len(self.tile)


@dataclass(frozen=True)
class Pieces:
    """The pieces of a tensor: `outputs` of `first` on, each with `terms` terms, from element `start` on. One of the two
    counts is 1."""

    tile: Int64Array
    first: Int64Array
    outputs: Int64Array
    terms: Int64Array
    start: Int64Array

    def cells(self) -> Cells:
        """The pieces themselves, for a tensor that has no two terms of an output on a tile."""
        order = np.lexsort((self.first, self.tile))
        return Cells(self.tile[order], self.first[order], self.outputs[order], self.start[order])


def rows_are_adjacent(matrix: Tensor) -> bool:
    """Whether adjacent outputs are adjacent in memory (rather than the terms of one output)."""
    outputs, terms = matrix.shape()
    if terms == 1:
        return True
    row = len(matrix.slice(0, 1, 0).regions()[0])
    column = len(matrix.slice(0, 1, 1).regions()[0])
    return row / terms >= column / outputs if outputs > 1 else False


def pieces_of(graph: Graph, matrix: Tensor) -> Pieces:
    """The pieces of a [outputs, terms] tensor, on tiles of the graph."""
    outputs, terms = matrix.shape()
    by_row = rows_are_adjacent(matrix)
    flat, width = (matrix.transpose().flatten(), outputs) if by_row else (matrix.flatten(), terms)
    begins = np.arange(0, outputs * terms, width, dtype=np.int64)
    starts, lengths, line = regions.cuts(*flat.regions(), begins, begins + width)
    ends, tiles = mapping_of(graph.store, flat)
    order = np.argsort(ends, kind="stable")
    ends, tiles = ends[order], tiles[order]
    before = np.cumsum(lengths) - lengths
    cut, size, row = regions.split_by_table(starts, lengths, ends)
    place = np.cumsum(size) - size
    source = np.searchsorted(before, place, side="right") - 1
    # Terms on another IPU, which this graph does not have, are added up on its first tile.
    on = np.maximum(graph.state.graph_tiles(np.asarray(tiles[row], dtype=np.int64)), 0)
    one = np.ones(len(cut), np.int64)
    if by_row:
        return Pieces(on, place - line[source] * width, size, one, cut)
    return Pieces(on, line[source], one, size, cut)


def spread(pieces: Pieces, outputs: int) -> tuple[int, bool]:
    """(the largest number of tiles that have terms of one output, whether a tile has several terms of an output)."""
    key = pieces.tile * (outputs + 1) + pieces.first
    order = np.argsort(key, kind="stable")
    begin, end = key[order], key[order] + pieces.outputs[order]
    reach = np.maximum.accumulate(end)
    several = bool((pieces.terms > 1).any() or (begin[1:] < reach[:-1]).any())
    head = np.flatnonzero(np.append(True, begin[1:] > reach[:-1]))
    begins, ends = begin[head] % (outputs + 1), reach[np.append(head[1:] - 1, len(reach) - 1)] % (outputs + 1)
    change = np.bincount(begins, minlength=outputs + 1) - np.bincount(ends, minlength=outputs + 1)
    return int(np.cumsum(change).max()), several


@dataclass(frozen=True)
class Groups:
    """Reductions to make: outputs `first .. + length` on a tile from rows of as many elements each, or for one output
    from runs of `size` terms. Group g has rows `offsets[g]:offsets[g + 1]` of `start` and `size`."""

    tile: Int64Array
    first: Int64Array
    length: Int64Array
    start: Int64Array
    size: Int64Array
    offsets: Int64Array

    def __len__(self) -> int:
        return len(self.tile)

    @property
    def rows(self) -> Int64Array:
        return np.diff(self.offsets)

    @property
    def terms(self) -> Int64Array:
        """Terms of each output."""
        sums = np.append(0, np.cumsum(self.size))
        return np.asarray((sums[self.offsets[1:]] - sums[self.offsets[:-1]]) // self.length, np.int64)

    def take(self, chosen: BoolArray) -> Groups:
        """The groups of a mask."""
        if chosen.all():
            return self
        count = self.rows
        rows = np.repeat(chosen, count)
        offsets = np.append(0, np.cumsum(count[chosen])).astype(np.int64)
        columns = self.tile[chosen], self.first[chosen], self.length[chosen]
        return Groups(*columns, self.start[rows], self.size[rows], offsets)

    def shared(self, unit: int) -> Groups:
        """Cut along outputs, so that the six workers of a tile get equal shares of whole units."""
        total = np.bincount(self.tile, self.length).astype(np.int64)
        share = np.maximum(-(-total // (WORKERS * unit)) * unit, unit)[self.tile]
        parts = -(-self.length // share)
        if (parts == 1).all():
            return self
        group = np.repeat(np.arange(len(self)), parts)
        skipped = (np.arange(len(group)) - np.repeat(np.cumsum(parts) - parts, parts)) * share[group]
        length = np.minimum(share[group], self.length[group] - skipped)
        rows, row = _rows_of(self.offsets, group)
        one_output = np.repeat(self.length[group] == 1, rows)
        size = np.where(one_output, self.size[row], np.repeat(length, rows))
        offsets = np.append(0, np.cumsum(rows)).astype(np.int64)
        start = self.start[row] + np.repeat(skipped, rows)
        return Groups(self.tile[group], self.first[group] + skipped, length, start, size, offsets)

    def chunks(self, rows: Int64Array) -> tuple[Groups, Int64Array]:
        """(groups of at most `rows[g]` rows of group g each, the group that each is a part of)."""
        parts = -(-self.rows // rows)
        group = np.repeat(np.arange(len(self)), parts)
        number = np.arange(len(group)) - np.repeat(np.cumsum(parts) - parts, parts)
        begin = self.offsets[group] + number * rows[group]
        offsets = np.append(begin, self.offsets[-1])
        return Groups(self.tile[group], self.first[group], self.length[group], self.start, self.size, offsets), group

    def runs_of_terms(self, most: Int64Array) -> Groups:
        """Cut the rows of each group of one output into runs of at most `most[g]` terms."""
        limit = np.repeat(most, self.rows)
        parts = -(-self.size // limit)
        row = np.repeat(np.arange(len(self.size)), parts)
        skipped = (np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)) * limit[row]
        size = np.minimum(limit[row], self.size[row] - skipped)
        ends = np.append(0, np.cumsum(parts)).astype(np.int64)
        return Groups(self.tile, self.first, self.length, self.start[row] + skipped, size, ends[self.offsets])


def _rows_of(offsets: Int64Array, group: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(number of rows of each group, the rows themselves)."""
    rows = offsets[group + 1] - offsets[group]
    row = np.repeat(offsets[group] - np.cumsum(rows) + rows, rows) + np.arange(int(rows.sum()))
    return rows, row


def on_tiles(pieces: Pieces, outputs: int) -> Groups:
    """What each tile can add up of its own: runs of outputs with the same pieces on the tile, by tile and output."""
    key = pieces.tile * (outputs + 1) + pieces.first
    end = key + pieces.outputs
    points = regions.distinct(np.concatenate([key, end]))
    low = np.searchsorted(points, key)
    count = np.searchsorted(points, end) - low
    piece = np.repeat(np.arange(len(key)), count)
    part = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + low[piece]
    start = pieces.start[piece] + (points[part] - key[piece]) * (pieces.terms[piece] == 1)
    size = (points[part + 1] - points[part]) * pieces.terms[piece]
    order = np.argsort(part, kind="stable")
    part, start, size = part[order], start[order], size[order]
    return _grouped(part, start, size, points, outputs)


def _grouped(part: Int64Array, start: Int64Array, size: Int64Array, points: Int64Array, outputs: int) -> Groups:
    head = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
    first = points[part[head]]
    offsets = np.append(head, len(part)).astype(np.int64)
    length = points[part[head] + 1] - first
    return Groups(first // (outputs + 1), first % (outputs + 1), length, start, size, offsets)


def of_cells(cells: Cells, tile: Int64Array, first: Int64Array, length: Int64Array) -> Groups:
    """Groups that add up, on given tiles, what all cells hold of runs of outputs. No run crosses the end of a cell."""
    ends = regions.distinct(np.concatenate([first, first + length]))
    low = np.searchsorted(ends, cells.first, side="left")
    high = np.searchsorted(ends, cells.first + cells.length, side="left")
    count = high - low
    cell = np.repeat(np.arange(len(cells)), count)
    part = np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count) + low[cell]
    order = np.argsort(part, kind="stable")
    cell, part = cell[order], part[order]
    start = cells.start[cell] + ends[part] - cells.first[cell]
    bounds = np.searchsorted(part, np.searchsorted(ends, first), side="left")
    stops = np.searchsorted(part, np.searchsorted(ends, first), side="right")
    rows = stops - bounds
    row = np.repeat(bounds - np.cumsum(rows) + rows, rows) + np.arange(int(rows.sum()))
    offsets = np.append(0, np.cumsum(rows)).astype(np.int64)
    return Groups(tile, first, length, start[row], np.repeat(length, rows), offsets)


def cut_at_borders(cells: Cells, first: Int64Array, length: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Runs of outputs cut where a cell begins or ends: (first, length, the run of each)."""
    ends = regions.distinct(np.append(cells.first + cells.length, cells.first))
    begins, size, _ = regions.split_by_table(first, length, ends[ends > 0])
    run = np.searchsorted(np.cumsum(length), np.cumsum(size) - size, side="right")
    return begins, size, run
