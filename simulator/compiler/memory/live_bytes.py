"""Bytes that are live at each position, and each tile's largest sum."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.memory.liveness import LiveClasses


def bytes_of_classes(class_: Int64Array, tile: Int64Array, size: Int64Array, n_classes: int, tiles: int) -> Int64Array:
    """Bytes of each class on each tile, (classes, tiles)."""
    place = class_ * tiles
    place += tile
    total = np.zeros(n_classes * tiles, np.int64)
    np.add.at(total, place, size)
    return total.reshape(n_classes, tiles)


def sums_by_position(bytes_: Int64Array, classes: LiveClasses, positions: int) -> Int64Array:
    """Bytes live at each position; `bytes_` has a row per class and a few columns: (positions, columns)."""
    owner = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    change = np.zeros((positions + 1, bytes_.shape[1]), np.int64)
    np.add.at(change, classes.starts, bytes_[owner])
    np.subtract.at(change, classes.ends, bytes_[owner])
    return np.asarray(np.cumsum(change[:-1], axis=0), dtype=np.int64)


def peak_by_tile(bytes_: Int64Array, classes: LiveClasses) -> Int64Array:
    """Each tile's largest sum of live bytes over all positions; `bytes_` is (classes, tiles).

    One sum per tile goes along the positions; it can only be largest after ranges have begun."""
    tiles = bytes_.shape[1]
    now, peak = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    owner = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    by_start, by_end = (np.argsort(at, kind="stable") for at in (classes.starts, classes.ends))
    ended = 0
    ends, dying = classes.ends[by_end].tolist(), owner[by_end].tolist()
    starts, born = classes.starts[by_start].tolist(), owner[by_start].tolist()
    for i, (start, row) in enumerate(zip(starts, born, strict=True)):
        while ended < len(ends) and ends[ended] <= start:
            now -= bytes_[dying[ended]]
            ended += 1
        now += bytes_[row]
        if i + 1 == len(starts) or starts[i + 1] > start:
            np.maximum(peak, now, out=peak)
    return peak
