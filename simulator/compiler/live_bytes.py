"""Bytes that are live at each position, and each tile's largest sum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.compiler.liveness import LiveClasses

I8 = npt.NDArray[np.int64]

#: Tiles swept at a time, so that memory stays below positions x 8 x this.
_CHUNK = 512


def bytes_of_classes(class_: I8, tile: I8, size: I8, n_classes: int, tiles: int) -> I8:
    """Bytes of each class on each tile, (classes, tiles)."""
    flat = np.bincount(class_ * tiles + tile, weights=size, minlength=n_classes * tiles)
    return flat.astype(np.int64).reshape(n_classes, tiles)


def sums_by_position(bytes_: I8, classes: LiveClasses, positions: int) -> I8:
    """Bytes live at each position; `bytes_` has a row per class and any number of columns: (positions, columns)."""
    owner = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    change = np.zeros((positions + 1, bytes_.shape[1]), np.int64)
    for row, start, end in zip(owner.tolist(), classes.starts.tolist(), classes.ends.tolist(), strict=True):
        change[start] += bytes_[row]
        change[end] -= bytes_[row]
    return np.asarray(np.cumsum(change[:-1], axis=0), dtype=np.int64)


def peak_by_tile(bytes_: I8, classes: LiveClasses, positions: int) -> I8:
    """Each tile's largest sum of live bytes over all positions; `bytes_` is (classes, tiles)."""
    tiles = bytes_.shape[1]
    peak = np.zeros(tiles, np.int64)
    if positions == 0 or len(classes) == 0:
        return peak
    for first in range(0, tiles, _CHUNK):
        part = slice(first, first + _CHUNK)
        peak[part] = sums_by_position(bytes_[:, part], classes, positions).max(axis=0)
    return peak
