"""Intervals of a tensor as runs of memory."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import Interval
from simulator.graph.tensor import Tensor


def memory_runs(t: Tensor, intervals: Int64Array, *, split: bool) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(starts in element space, begins in the flattened tensor, lengths) of the runs that intervals of a tensor are
    made of; `split`: cut where another run begins or ends, so that two runs are the same elements or have none in
    common."""
    starts, lengths, of = regions.cuts(*t.regions(), intervals[:, 0], intervals[:, 1])
    before = np.cumsum(lengths) - lengths
    begins = intervals[of, 0] + before - before[np.searchsorted(of, of, side="left")] if len(of) else before
    if not split or not len(starts):
        return starts, begins, lengths
    bounds = regions.distinct(np.concatenate([starts, starts + lengths]))
    cut_starts, cut_lengths, _ = regions.split_by_table(starts, lengths, bounds)
    place = np.cumsum(cut_lengths) - cut_lengths
    owner = np.searchsorted(before, place, side="right") - 1
    return cut_starts, begins[owner] + place - before[owner], cut_lengths


def sequences(
    starts: Int64Array, begins: Int64Array, lengths: Int64Array, variables: Int64Array
) -> list[list[Interval]]:
    """Runs in order of memory, those that follow each other within a variable in one list."""
    out: list[list[Interval]] = []
    end, variable = -1, -1
    for start, begin, length, owner in zip(
        starts.tolist(), begins.tolist(), lengths.tolist(), variables.tolist(), strict=True
    ):
        if start != end or owner != variable:
            out.append([])
        out[-1].append(Interval(begin, begin + length))
        end, variable = start + length, owner
    return out
