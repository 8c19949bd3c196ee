"""Spans of one track -> lanes in which no two overlap, by a stack of open spans; O(n log n) for the sorts.

The rule is that of our own traces: a span takes the slot above the topmost open one, and what encloses it is the span
in the slot below. Of spans that begin together the longest comes first, of equal ones the first in the file. Spans
that overlap without nesting keep both of their ends, the later one in the deeper lane."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from popvision.formats.pvti.columns import Instants, Slices
from popvision.formats.pvti.schema import MAX_DEPTH

Ints = NDArray[np.int64]

#: Rows that are numbers of Python at once.
_ROWS = 1 << 16


@dataclass(frozen=True)
class Layout:
    """`lanes[d]` holds the spans of depth d; `unfinished` (depth, position) of those without an end; `too_deep` counts
    spans below the deepest lane, which are left out. `instants` is None where there are none."""

    lanes: list[Slices]
    instants: Instants | None
    unfinished: list[tuple[int, int]]
    too_deep: int


def lay_out(begin: Ints, end: Ints, site: Ints, unfinished: Ints, instant_time: Ints, instant_site: Ints) -> Layout:
    """Lanes of spans and places of instants, both in any order; `unfinished` are the positions of the spans that
    nothing ends."""
    order = np.lexsort((-end, begin))
    begin, end, site = begin[order], end[order], site[order]
    by_time = np.argsort(instant_time, kind="stable")
    time = instant_time[by_time]
    sweep = _Sweep(len(begin), len(time))
    sweep.take(begin, end, time.tolist())
    depth, parent = np.asarray(sweep.depth), np.asarray(sweep.parent)
    is_unfinished = np.isin(order, unfinished)
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[by_depth], np.arange(int(depth.max(initial=-1)) + 2))
    lanes: list[Slices] = []
    places: list[tuple[int, int]] = []
    for level, (first, last) in enumerate(pairwise(bounds.tolist())):
        rows = by_depth[first:last]
        columns = (end[rows] - begin[rows], site[rows], parent[rows])
        lanes.append(Slices(begin[rows], *(column.view(np.uint64) for column in columns)))
        places += [(level, position) for position in np.flatnonzero(is_unfinished[rows]).tolist()]
    columns = (instant_site[by_time], sweep.depth_around, sweep.parent_around)
    instants = Instants(time, *(column.view(np.uint64) for column in columns)) if len(time) else None
    return Layout(lanes, instants, places, int((depth < 0).sum()))


def _rows(begins: Ints, ends: Ints) -> Iterator[tuple[int, int]]:
    """The rows of two columns as numbers of Python, of which there are few at once."""
    for first in range(0, len(begins), _ROWS):
        part = slice(first, first + _ROWS)
        yield from zip(begins[part].tolist(), ends[part].tolist(), strict=True)


class _Sweep:
    """The slot of each span in order of begin, and the position of what encloses it in the lane above; slot -1 for a
    span that would be too deep. Of each instant the number of slots around it and the position of the deepest."""

    def __init__(self, spans: int, instants: int) -> None:
        self.depth, self.parent = array("q", bytes(8 * spans)), array("q", bytes(8 * spans))
        self.depth_around, self.parent_around = np.zeros(instants, np.int64), np.zeros(instants, np.int64)
        self.stack: list[tuple[int, int, int]] = []  # (end, slot, position); what has ended goes when it is on top

    def take(self, begins: Ints, ends: Ints, times: list[int]) -> None:
        """Place all, each column in order."""
        counts: list[int] = []
        stack, placed = self.stack, 0
        for row, (begin, end) in enumerate(_rows(begins, ends)):
            while placed < len(times) and times[placed] < begin:
                placed = self._place_instant(placed, times[placed])
            while stack and stack[-1][0] <= begin:
                stack.pop()
            slot = stack[-1][1] + 1 if stack else 0
            if slot >= MAX_DEPTH:
                self.depth[row] = -1
                continue
            if slot == len(counts):
                counts.append(0)
            self.depth[row], self.parent[row] = slot, stack[-1][2] if stack else 0
            stack.append((end, slot, counts[slot]))
            counts[slot] += 1
        while placed < len(times):
            placed = self._place_instant(placed, times[placed])

    def _place_instant(self, row: int, time: int) -> int:
        while self.stack and self.stack[-1][0] <= time:
            self.stack.pop()
        if self.stack:
            _, slot, self.parent_around[row] = self.stack[-1]
            self.depth_around[row] = slot + 1
        return row + 1
