"""Which tile of an IPU ends last in each of many steps, and how many end with it.

Repeated steps share their arrays of begins and cycles, so each pair of arrays is read once: O(different pairs x tiles)
time, one chunk of arrays in memory.
"""

from __future__ import annotations

import numpy as np

from popvision.analysis.execution.raster import ArrayReader
from popvision.analysis.execution.timeline import Timeline
from popvision.analysis.report.nouns import with_noun
from popvision.arrays import Int64Array

#: Values read at a time.
_CHUNK = 1 << 22


def last_tiles(steps: Timeline, reader: ArrayReader, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(first tile, counted within the IPU, number of tiles that end last) of each step of `rows`; (-1, 0) where no tile
    takes part. Raises FormatError when an array cannot be read."""
    spans = steps.spans
    ids = np.stack([spans.start_array[rows], spans.cycles_array[rows]], axis=1).astype(np.int64)
    pairs, row = np.unique(ids, axis=0, return_inverse=True)
    last = np.tile(np.array([-1, 0], np.int64), (len(pairs), 1))
    known = np.flatnonzero((pairs >= 0).all(axis=1))
    at_once = max(1, _CHUNK // (2 * max(steps.tiles, 1)))
    for first in range(0, len(known), at_once):
        chunk = known[first : first + at_once]
        arrays = iter(reader.arrays(pairs[chunk].reshape(-1).tolist()))
        for number, (start, cycles) in zip(chunk.tolist(), zip(arrays, arrays, strict=True), strict=True):
            tiles = ends_last(start.astype(np.int64), cycles.astype(np.int64))
            if len(tiles):
                last[number] = tiles[0], len(tiles)
    first_tile, tied = last[row.reshape(-1)].T
    return first_tile, tied


def ends_last(begin: Int64Array, cycles: Int64Array) -> Int64Array:
    """The tiles that end last; several where they tie, none where none takes part."""
    active = cycles > 0
    if not active.any():
        return np.zeros(0, np.int64)
    end = begin + cycles
    return np.flatnonzero(active & (end == end[active].max()))


#: From so many further tiles on, a tie is told by its number first.
_MANY = 16


def tied_text(first: int, count: int) -> str:
    """ "tile 3", "tile 1,284 and 7 more", "1,400 tiles, first tile 0"; "" for none."""
    if not count:
        return ""
    if count > _MANY:
        return f"{with_noun(count, 'tile')}, first tile {first:,}"
    return f"tile {first:,} and {count - 1} more" if count > 1 else f"tile {first:,}"
