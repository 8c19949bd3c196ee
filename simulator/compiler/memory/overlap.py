"""Overlap: the bytes of a tile in use, per allocation and region, alone or overlapped. One sort by address.

A byte counts once, for its *owner*: the first allocation by address, then by row, that covers it. In order of address,
an allocation owns what lies above the highest end so far. A byte is *overlapped* where at least two allocations cover
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array


@dataclass(frozen=True)
class Coverage:
    """Bytes that each allocation owns in each region, (3, n), alone and overlapped."""

    alone: Int64Array
    overlapped: Int64Array


def coverage(tile: Int64Array, address: Int64Array, size: Int64Array, border: int, capacity: int) -> Coverage:
    """Regions: [0, border) non-interleaved, [border, capacity) interleaved, [capacity, ...) overflowed."""
    n = len(tile)
    if n == 0:
        return Coverage(np.zeros((3, 0), np.int64), np.zeros((3, 0), np.int64))
    span = int((address + size).max()) + 1
    begin = tile * span + address
    end = begin + size
    order = np.argsort(begin, kind="stable")
    reach = np.maximum.accumulate(end[order])
    own_begin = np.maximum(begin[order], np.concatenate([[0], reach[:-1]]))
    own_end = np.maximum(end[order], own_begin)
    shared = _shared_measure(begin, end)
    alone, overlapped = np.zeros((3, n), np.int64), np.zeros((3, n), np.int64)
    floor = tile[order] * span
    borders = (0, min(border, span), min(capacity, span), span)
    for region in range(3):
        low = np.clip(own_begin, floor + borders[region], floor + borders[region + 1])
        high = np.clip(own_end, floor + borders[region], floor + borders[region + 1])
        twice = shared(high) - shared(low)
        overlapped[region, order] = twice
        alone[region, order] = high - low - twice
    return Coverage(alone, overlapped)


class _Measure:
    """Prefix sum of the length that at least two intervals cover."""

    def __init__(self, points: Int64Array, counts: Int64Array) -> None:
        width = np.diff(points) * (counts[:-1] >= 2)
        self._points = points
        self._inside = counts >= 2
        self._below = np.concatenate([[0], np.cumsum(width)])

    def __call__(self, at: Int64Array) -> Int64Array:
        i = np.maximum(np.searchsorted(self._points, at, side="right") - 1, 0)
        beyond = np.maximum(at - self._points[i], 0)
        return np.asarray(self._below[i] + np.where(self._inside[i], beyond, 0), dtype=np.int64)


def _shared_measure(begin: Int64Array, end: Int64Array) -> _Measure:
    points, inverse = np.unique(np.concatenate([begin, end]), return_inverse=True)
    change = np.zeros(len(points), np.int64)
    np.add.at(change, inverse[: len(begin)], 1)
    np.add.at(change, inverse[len(begin) :], -1)
    return _Measure(points, np.cumsum(change))
