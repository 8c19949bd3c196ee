"""Spans of one track -> lanes in which no two overlap, by a stack of open spans; O(n log n) for the sort.

The rule is that of our own traces: a span takes the slot above the topmost open one, and what encloses it is the span
in the slot below. Of spans that begin together the longest comes first, of equal ones the first in the file. Spans
that overlap without nesting keep both of their ends, the later one in the deeper lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from popvision.formats.pvti.columns import Slices
from popvision.formats.pvti.schema import MAX_DEPTH

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """`lanes[d]` holds the spans of depth d; `unfinished` (depth, position) of those without an end; `too_deep` counts
    spans below the deepest lane, which are left out."""

    lanes: list[Slices]
    unfinished: list[tuple[int, int]]
    too_deep: int


def lay_out(begin: Ints, end: Ints, site: Ints, unfinished: Ints) -> Layout:
    """Lanes of spans in any order; `unfinished` are the positions of those whose end is only where the trace ends."""
    order = np.lexsort((-end, begin))
    begin, end, site = begin[order], end[order], site[order]
    depth, parent = _slots(begin.tolist(), end.tolist())
    is_unfinished = np.isin(order, unfinished)
    lanes: list[Slices] = []
    places: list[tuple[int, int]] = []
    for level in range(int(depth.max(initial=-1)) + 1):
        rows = np.flatnonzero(depth == level)
        columns = (end[rows] - begin[rows], site[rows], parent[rows])
        lanes.append(Slices(begin[rows], *(column.view(np.uint64) for column in columns)))
        places += [(level, position) for position in np.flatnonzero(is_unfinished[rows]).tolist()]
    return Layout(lanes, places, int((depth < 0).sum()))


def _slots(begins: list[int], ends: list[int]) -> tuple[Ints, Ints]:
    """The slot of each span in order of begin, and the position of what encloses it in the lane above; slot -1 for a
    span that would be too deep."""
    depth, parent = np.zeros(len(begins), np.int64), np.zeros(len(begins), np.int64)
    stack: list[tuple[int, int, int]] = []  # (end, slot, position), slots ascending
    counts = [0] * MAX_DEPTH
    first_end = 0
    for row, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        if stack and first_end <= begin:
            stack = [entry for entry in stack if entry[0] > begin]
            first_end = min((entry[0] for entry in stack), default=0)
        slot = stack[-1][1] + 1 if stack else 0
        if slot >= MAX_DEPTH:
            depth[row] = -1
            continue
        depth[row], parent[row] = slot, stack[-1][2] if stack else 0
        first_end = min(first_end, end) if stack else end
        stack.append((end, slot, counts[slot]))
        counts[slot] += 1
    return depth, parent
