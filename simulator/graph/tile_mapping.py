"""Tile mapping of one variable: an interval map from elements to tiles.

`setTileMapping` is often called once per element, so writes are queued, and painted together in O(n log n) when the map
is read. A later write wins.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.regions import distinct

Table = tuple[Int64Array, Int64Array]  #: (ends, tiles): interval i begins where interval i - 1 ends; tile -1 = unmapped
Batch = tuple[Int64Array, Int64Array, Int64Array]  #: (begins, ends, tiles) within the variable; later intervals win
Write = tuple[int, int, int] | Batch  #: one interval, or many


def painted(numel: int, table: Table | None, writes: list[Write]) -> Table:
    """The table (None = all unmapped) after these writes, in order."""
    batches = _batches(writes)
    if table is not None:
        batches.insert(0, (np.concatenate([[0], table[0][:-1]]), table[0], table[1]))
    begins, ends, tiles = (np.concatenate(column) for column in zip(*batches, strict=True))
    order = np.argsort(begins, kind="stable")
    if (begins[order][1:] >= ends[order][:-1]).all():
        return _with_gaps(numel, begins[order], ends[order], tiles[order])
    bounds = distinct(np.concatenate([[0, numel], begins, ends]))
    owner = np.full(len(bounds) - 1, -1, np.int64)
    for batch in batches:
        _paint(owner, bounds, *batch)
    return merged(bounds[1:], owner)


def _batches(writes: list[Write]) -> list[Batch]:
    """The writes in order, single intervals gathered, empty ones dropped."""
    out: list[Batch] = []
    for single, rows in groupby(writes, key=lambda w: isinstance(w[0], int)):
        if single:
            out.append(tuple(np.array(list(rows), np.int64).T))
        else:
            out.extend(rows)  # type: ignore[arg-type]
    return [(b[b < e], e[b < e], t[b < e]) for b, e, t in out]


def _paint(owner: Int64Array, bounds: Int64Array, begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> None:
    """Assign the elementary intervals between `bounds` to the tiles of one batch."""
    first, last = np.searchsorted(bounds, begins), np.searchsorted(bounds, ends)
    order = np.argsort(first, kind="stable")
    if (first[order][1:] >= last[order][:-1]).all():
        count = last - first
        inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        owner[np.repeat(first, count) + inside] = np.repeat(tiles, count)
        return
    for low, high, tile in zip(first.tolist(), last.tolist(), tiles.tolist(), strict=True):
        owner[low:high] = tile


def _with_gaps(numel: int, begins: Int64Array, ends: Int64Array, tiles: Int64Array) -> Table:
    """A table of sorted disjoint intervals, with rows of tile -1 between them."""
    previous = np.concatenate([[0], ends])
    following = np.concatenate([begins, [numel]])
    all_ends = np.stack([following, np.concatenate([ends, [numel]])], axis=1).reshape(-1)[:-1]
    all_tiles = np.stack([np.full(len(following), -1), np.concatenate([tiles, [-1]])], axis=1).reshape(-1)[:-1]
    wide = np.stack([following > previous, np.ones(len(following), bool)], axis=1).reshape(-1)[:-1]
    return merged(all_ends[wide], all_tiles[wide])


def merged(ends: Int64Array, tiles: Int64Array) -> Table:
    """Neighbouring intervals of one tile as one."""
    last = np.append(np.flatnonzero(tiles[1:] != tiles[:-1]), len(tiles) - 1)
    return ends[last], tiles[last]
