"""The tile mapping of one variable: a table of intervals, painted by writes of which the last one wins.

`setTileMapping` is often called once per element, so writes are only noted; a table is made when somebody asks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]
Table = tuple[I8, I8]  #: (ends, tiles): interval i begins where interval i - 1 ends; tile -1 = unmapped
Write = tuple[int, int, int]  #: (begin, end, tile) within the variable


def painted(numel: int, table: Table | None, writes: list[Write]) -> Table:
    """`table` (None = all unmapped) after `writes`, in order."""
    begins, ends, tiles = np.array(writes, np.int64).reshape(-1, 3).T
    if table is not None:
        begins = np.concatenate([[0], table[0][:-1], begins])
        ends = np.concatenate([table[0], ends])
        tiles = np.concatenate([table[1], tiles])
    keep = ends > begins
    begins, ends, tiles = begins[keep], ends[keep], tiles[keep]
    order = np.argsort(begins, kind="stable")
    if (begins[order][1:] < ends[order][:-1]).any():
        return _painted_in_order(numel, begins, ends, tiles)
    return _with_gaps(numel, begins[order], ends[order], tiles[order])


def _painted_in_order(numel: int, begins: I8, ends: I8, tiles: I8) -> Table:
    bounds = np.unique(np.concatenate([[0, numel], begins, ends]))
    owner = np.full(len(bounds) - 1, -1, np.int64)
    first = np.searchsorted(bounds, begins).tolist()
    last = np.searchsorted(bounds, ends).tolist()
    for low, high, tile in zip(first, last, tiles.tolist(), strict=True):
        owner[low:high] = tile
    return merged(bounds[1:], owner)


def _with_gaps(numel: int, begins: I8, ends: I8, tiles: I8) -> Table:
    """A table of sorted disjoint intervals, with rows of tile -1 between them."""
    previous = np.concatenate([[0], ends])
    following = np.concatenate([begins, [numel]])
    all_ends = np.stack([following, np.concatenate([ends, [numel]])], axis=1).reshape(-1)[:-1]
    all_tiles = np.stack([np.full(len(following), -1), np.concatenate([tiles, [-1]])], axis=1).reshape(-1)[:-1]
    wide = np.stack([following > previous, np.ones(len(following), bool)], axis=1).reshape(-1)[:-1]
    return merged(all_ends[wide], all_tiles[wide])


def merged(ends: I8, tiles: I8) -> Table:
    """Neighbouring intervals of one tile as one."""
    last = np.append(np.flatnonzero(tiles[1:] != tiles[:-1]), len(tiles) - 1)
    return ends[last], tiles[last]
