"""Interval set: a growing set of elements as sorted runs that do not touch.

Most runs lie in two arrays; the newest lie in two short lists, which are merged into the arrays now and then. A
question costs a binary search per run asked for, and adding n runs one at a time costs n log n and a few copies of the
arrays: so the time to compile many copies grows with their number, not with its square."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.regions import Regions

#: runs that are looked up and added one by one; more go through NumPy at once
_FEW = 16
#: runs in the lists, at which they are merged into the arrays
_MOST_NEW = 512


class RegionSet:
    """The elements of all regions that were added."""

    def __init__(self) -> None:
        self._starts, self._ends = np.empty(0, np.int64), np.empty(0, np.int64)
        self._new_starts: list[int] = []
        self._new_ends: list[int] = []

    def add(self, regions: Regions) -> None:
        """Add the elements of these regions, some of which may be in the set already."""
        if len(regions[0]) > _FEW:
            self._merge(*regions)
            return
        for start, length in zip(regions[0].tolist(), regions[1].tolist(), strict=True):
            if length:
                self._add_run(start, start + length)
        if len(self._new_starts) > _MOST_NEW:
            self._merge(np.empty(0, np.int64), np.empty(0, np.int64))

    def meets(self, regions: Regions) -> bool:
        """Whether one of the regions' elements is in the set."""
        starts, ends = regions[0], regions[0] + regions[1]
        if len(starts) > _FEW:
            new = np.array(self._new_starts, np.int64), np.array(self._new_ends, np.int64)
            return _meet(starts, ends, self._starts, self._ends) or _meet(starts, ends, *new)
        runs = zip(starts.tolist(), ends.tolist(), strict=True)
        return any(
            _meets_run(self._new_starts, self._new_ends, start, end) or _meets_run(self._starts, self._ends, start, end)
            for start, end in runs
            if start < end
        )

    def _add_run(self, start: int, end: int) -> None:
        """Add a run to the lists, in place of those that it touches."""
        first, past = bisect_left(self._new_ends, start), bisect_right(self._new_starts, end)
        if first < past:
            start, end = min(start, self._new_starts[first]), max(end, self._new_ends[past - 1])
        self._new_starts[first:past] = [start]
        self._new_ends[first:past] = [end]

    def _merge(self, starts: Int64Array, lengths: Int64Array) -> None:
        """Merge the lists and more regions into the arrays."""
        kept = lengths > 0
        begins = np.concatenate([self._starts, np.array(self._new_starts, np.int64), starts[kept]])
        stops = np.concatenate([self._ends, np.array(self._new_ends, np.int64), (starts + lengths)[kept]])
        self._new_starts, self._new_ends = [], []
        if not len(begins):
            return
        order = np.argsort(begins, kind="stable")
        begins, reach = begins[order], np.maximum.accumulate(stops[order])
        first = np.flatnonzero(np.append(True, begins[1:] > reach[:-1]))
        self._starts, self._ends = begins[first], reach[np.append(first[1:] - 1, len(reach) - 1)]


def _meets_run(starts: Sequence[int] | Int64Array, ends: Sequence[int] | Int64Array, start: int, end: int) -> bool:
    past = bisect_right(ends, start)  # the first run that ends behind `start`
    return past < len(ends) and bool(starts[past] < end)


def _meet(starts: Int64Array, ends: Int64Array, of_starts: Int64Array, of_ends: Int64Array) -> bool:
    if not len(of_starts):
        return False
    past = np.searchsorted(of_ends, starts, side="right")
    inside = (past < len(of_ends)) & (starts < ends)
    return bool((of_starts[past[inside]] < ends[inside]).any())
