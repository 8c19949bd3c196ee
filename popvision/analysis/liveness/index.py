"""Interval stabbing index with checkpoints: which intervals contain a given index.

Obvious way: look at all n intervals, `[i for i in range(n) if starts[i] <= at < ends[i]]`. This index sorts the
intervals by start, sweeps them from left to right, and now and then stores the set of open ones: a checkpoint. A query
looks at the last checkpoint before the index and at the intervals that began since, and returns those that have not
ended. That is the same set: an interval with start <= at began either before the checkpoint, and is in its set unless
it had ended by then, or after it.

A checkpoint follows when more intervals began since the last one than were open there (and than `LEAST`). So the
checkpoints together have at most two entries per interval, and a query looks at no more than the intervals open at the
checkpoint before it, as many again or `LEAST`, and those that begin at one index.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popvision.arrays import Int64Array

LEAST = 4096


class LiveIndex:
    """Half-open intervals `[starts[i], ends[i])`, ready for queries. Empty ones are allowed and never match."""

    def __init__(self, starts: npt.ArrayLike, ends: npt.ArrayLike, least: int = LEAST) -> None:
        begin = np.asarray(starts, dtype=np.int64)
        in_order = bool((begin[1:] >= begin[:-1]).all())
        self._order = np.arange(len(begin)) if in_order else np.argsort(begin, kind="stable")
        self._starts = begin[self._order]
        self._ends = np.asarray(ends, dtype=np.int64)[self._order]
        self._indices: list[int] = []
        self._open: list[Int64Array] = []
        self._begun: list[int] = []
        self._sweep(least)

    def _sweep(self, least: int) -> None:
        done, still_open = 0, np.empty(0, dtype=np.int64)
        while len(self._starts) - done > max(least, len(still_open)):
            index = int(self._starts[done + max(least, len(still_open))])
            begun = int(np.searchsorted(self._starts, index, side="right"))
            candidates = np.concatenate([still_open, np.arange(done, begun, dtype=np.int64)])
            still_open = candidates[self._ends[candidates] > index]
            self._indices.append(index)
            self._open.append(still_open)
            self._begun.append(begun)
            done = begun

    def at(self, index: int) -> Int64Array:
        """Numbers of the intervals that contain `index`, ascending."""
        checkpoint = int(np.searchsorted(self._indices, index, side="right")) - 1
        begun = int(np.searchsorted(self._starts, index, side="right"))
        first = self._begun[checkpoint] if checkpoint >= 0 else 0
        candidates = np.arange(first, begun, dtype=np.int64)
        if checkpoint >= 0:
            candidates = np.concatenate([self._open[checkpoint], candidates])
        return np.sort(self._order[candidates[self._ends[candidates] > index]])

    @property
    def checkpoint_entries(self) -> int:
        """Entries over all checkpoints, for the bound in the head of this file."""
        return sum(len(entries) for entries in self._open)
