"""Per-label statistics of a host trace: count, total, self, mean and percentiles. Columns are in microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.trace.source import Lane, TraceSource, TraceThread
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from pandas import DataFrame


PERCENTILES = (50, 95, 99)
_DURATION_BITS = 44


def self_durations(thread: TraceThread, depth: int, first: int, last: int) -> Int64Array:
    """Time in ns that events [first, last) of a lane spent outside the events directly inside them.

    An inner event that outlives its encloser counts up to the encloser's end.
    """
    lane = thread.lanes[depth]
    own = lane.duration[first:last].astype(np.int64)
    if depth + 1 == len(thread.lanes) or first == last:
        return own
    inner = thread.lanes[depth + 1]
    low, high = children(inner, first, last)
    parent = inner.parent[low:high].astype(np.int64)
    end = lane.start[parent] + lane.duration[parent].astype(np.int64)
    start = inner.start[low:high]
    inside = np.minimum(inner.duration[low:high].astype(np.int64), np.maximum(0, end - start))
    np.subtract.at(own, parent - first, inside)
    return own


def children(inner: Lane, first: int, last: int) -> tuple[int, int]:
    """Positions in the lane below whose enclosers are [first, last); parents ascend along a lane."""
    low, high = np.searchsorted(inner.parent, np.array([first, last], inner.parent.dtype)).tolist()
    return low, high


def label_statistics(source: TraceSource, begin: int | None = None, end: int | None = None) -> DataFrame:
    """One row per (channel, label) of the events that overlap [begin, end) ns, by default all; events count in full.

    Columns: label, channel, count, total_us, self_us (total less what events inside took), mean_us, min_us, p50_us,
    p95_us, p99_us (nearest rank: the smallest duration that at least that share of events does not exceed), max_us.
    """
    import pandas as pd

    begin, end = source.begin if begin is None else begin, source.end + 1 if end is None else end
    names, durations, own = _gather(source, begin, end)
    totals = sums(names, durations, len(source.names))
    selves = sums(names, own, len(source.names))
    count = np.bincount(names, minlength=len(source.names))
    seen = np.flatnonzero(count)
    ordered = _by_name_and_duration(names, durations)
    stop = np.cumsum(count[seen])
    start = stop - count[seen]
    rank = {share: start + -(-count[seen] * share // 100) - 1 for share in PERCENTILES}
    frame = {
        "label": [source.names.label[name] for name in seen],
        "channel": [source.names.channel_name[source.names.channel[name]] for name in seen],
        "count": count[seen],
        "total_us": totals[seen] / 1e3,
        "self_us": selves[seen] / 1e3,
        "mean_us": totals[seen] / count[seen] / 1e3,
        "min_us": ordered[start] / 1e3,
        **{f"p{share}_us": ordered[rank[share]] / 1e3 for share in PERCENTILES},
        "max_us": ordered[stop - 1] / 1e3,
    }
    return pd.DataFrame(frame).sort_values("total_us", ascending=False, kind="stable", ignore_index=True)


def _gather(source: TraceSource, begin: int, end: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Names, durations and self durations (ns) of all events that overlap the window."""
    names, durations, own = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for thread in source.threads:
        for depth, lane in enumerate(thread.lanes):
            first, last = lane.between(begin, end)
            names.append(lane.name[first:last].astype(np.int64))
            durations.append(lane.duration[first:last].astype(np.int64))
            own.append(self_durations(thread, depth, first, last))
    return np.concatenate(names), np.concatenate(durations), np.concatenate(own)


def sums(names: Int64Array, values: Int64Array, n: int) -> Int64Array:
    """Exact sums per name; `bincount` with weights would round above 2^53."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, names, values)
    return sums


def _by_name_and_duration(names: Int64Array, durations: Int64Array) -> Int64Array:
    """Durations sorted within each name, names in order: one sort of packed numbers where both fit."""
    if len(names) and int(durations.max()) < 1 << _DURATION_BITS and int(names.max()) < 1 << (63 - _DURATION_BITS):
        packed = np.sort(names << _DURATION_BITS | durations)
        return packed & ((1 << _DURATION_BITS) - 1)
    return durations[np.lexsort((durations, names))]
