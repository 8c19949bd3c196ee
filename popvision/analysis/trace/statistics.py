"""Per-label statistics of a host trace: count, total, self, mean and percentiles. Columns are in microseconds.

All events are sorted once by name and duration; each event knows its rank in that order. The events of a window are a
few runs of ranks, marked in a bit column: their durations come out sorted per name without another sort. Sorting
10 M events takes some seconds at the first question; a window then costs one pass over the ranks of its events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane, TraceThread
from popvision.arrays import AnyArray, Int64Array

if TYPE_CHECKING:
    from pandas import DataFrame


PERCENTILES = (50, 95, 99)
#: Below this share of all events their ranks are sorted; above, they are marked and the marks are read in order.
_FEW = 1 / 8

#: Steps of a spread, on a logarithmic scale from the shortest to the longest duration.
SPREAD_STEPS = 12


def clipped_durations(
    lane: Lane, first: int, last: int, begin: int | None = None, end: int | None = None
) -> Int64Array:
    """Durations in ns of events [first, last) of a lane: with a window, the part inside [begin, end)."""
    duration = lane.duration[first:last].astype(np.int64)
    if begin is None or end is None:
        return duration
    start = lane.start[first:last]
    return np.asarray(np.maximum(0, np.minimum(start + duration, end) - np.maximum(start, begin)))


def self_durations(
    thread: TraceThread, depth: int, first: int, last: int, begin: int | None = None, end: int | None = None
) -> Int64Array:
    """Time in ns that events [first, last) of a lane spent outside the events directly inside them, of a window
    [begin, end) the part in it.

    An inner event that outlives its encloser counts up to the encloser's end.
    """
    lane = thread.lanes[depth]
    own = clipped_durations(lane, first, last, begin, end)
    if depth + 1 == len(thread.lanes) or first == last:
        return own
    inner = thread.lanes[depth + 1]
    low, high = children(inner, first, last)
    parent = inner.parent[low:high].astype(np.int64)
    start = inner.start[low:high]
    ends = lane.start[parent] + lane.duration[parent].astype(np.int64)
    stop = np.minimum(start + inner.duration[low:high].astype(np.int64), ends)
    if begin is not None and end is not None:
        start, stop = np.maximum(start, begin), np.minimum(stop, end)
    until = np.concatenate([[0], np.cumsum(np.maximum(0, stop - start))])
    after = np.cumsum(np.bincount(parent - first, minlength=last - first))
    own -= np.diff(until[after], prepend=0)
    return own


def children(inner: Lane, first: int, last: int) -> tuple[int, int]:
    """Positions in the lane below whose enclosers are [first, last); parents ascend along a lane."""
    low, high = np.searchsorted(inner.parent, np.array([first, last], inner.parent.dtype)).tolist()
    return low, high


@dataclass(frozen=True, eq=False)
class WindowStatistics:
    """Events that overlap a window, by name; a row per name with events, in the order of names. Times in ns.

    `total` and `self_time` count the parts inside the window; `entire` sums entire durations. The entire durations of
    row i, ascending, are `durations[start[i]:stop[i]]`.
    """

    name: Int64Array
    total: Int64Array
    self_time: Int64Array
    entire: Int64Array
    start: Int64Array
    stop: Int64Array
    durations: AnyArray

    @property
    def count(self) -> Int64Array:
        """Events of each row."""
        return self.stop - self.start

    def percentile(self, share: int) -> Int64Array:
        """The smallest duration of each row that at least `share` percent of its events do not exceed."""
        return np.asarray(self.durations[self.start - (-self.count * share // 100) - 1], np.int64)

    def spread(self, row: int) -> list[int]:
        """Events of a row per step of a logarithmic scale from its shortest to its longest duration."""
        durations = self.durations[self.start[row] : self.stop[row]]
        low, high = max(1.0, float(durations[0])), max(1.0, float(durations[-1]))
        edges = np.geomspace(low, high, SPREAD_STEPS + 1)[1:-1]
        places = np.searchsorted(durations, np.ceil(edges).astype(durations.dtype), "left").tolist()
        return [stop - start for start, stop in zip([0, *places], [*places, len(durations)], strict=True)]

    def rank(self, row: int, duration: int) -> float:
        """The share of a row's events that take less than `duration` ns."""
        durations = self.durations[self.start[row] : self.stop[row]]
        return int(np.searchsorted(durations, duration, "left")) / len(durations)


def window_statistics(source: HostTrace, begin: int | None = None, end: int | None = None) -> WindowStatistics:
    """Statistics of all events that overlap [begin, end) ns, by default of the entire trace."""
    order = source.kept.once("duration order", lambda: _sort_by_name_and_duration(source))
    begin, end = source.begin if begin is None else begin, source.end + 1 if end is None else end
    runs = [(at, thread, depth, *thread.lanes[depth].between(begin, end)) for at, thread, depth in _lanes(source)]
    places = _places(order, [(at + first, at + last) for at, _, _, first, last in runs])
    edges = order.name_begin if places is None else np.searchsorted(places, order.name_begin)
    seen = np.flatnonzero(np.diff(edges))
    start, stop = edges[seen], edges[seen + 1]
    durations = order.duration if places is None else order.duration[places]
    own = order.own if places is None else order.own[places]
    entire = np.add.reduceat(durations, start, dtype=np.int64) if len(seen) else np.zeros(0, np.int64)
    total = entire.copy()
    selves = np.add.reduceat(own, start, dtype=np.int64) if len(seen) else np.zeros(0, np.int64)
    for _, thread, depth, first, last in runs:
        lane = thread.lanes[depth]
        for position in _crossing(lane, first, last, begin, end):
            row = int(np.searchsorted(seen, lane.name[position]))
            event = (position, position + 1)
            total[row] += clipped_durations(lane, *event, begin, end)[0] - clipped_durations(lane, *event)[0]
            outside = self_durations(thread, depth, *event, begin, end) - self_durations(thread, depth, *event)
            selves[row] += outside[0]
    return WindowStatistics(seen, total, selves, entire, start, stop, durations)


def label_statistics(source: HostTrace, begin: int | None = None, end: int | None = None) -> DataFrame:
    """One row per (channel, label) of the events that overlap [begin, end) ns, by default all.

    Columns: label, channel, count, total_us and self_us (total less what events inside took), both of the parts inside
    the window; of entire durations mean_us, min_us, p50_us, p95_us, p99_us (nearest rank: the smallest duration that at
    least that share of events does not exceed), max_us.
    """
    return statistics_frame(source, window_statistics(source, begin, end)).reset_index(drop=True)


def statistics_frame(source: HostTrace, window: WindowStatistics) -> DataFrame:
    """The columns of `label_statistics`, the largest total first; the index holds the rows of `window`."""
    import pandas as pd

    names = source.names
    frame = {
        "label": [names.label[name] for name in window.name],
        "channel": [names.channel_name[names.channel[name]] for name in window.name],
        "count": window.count,
        "total_us": window.total / 1e3,
        "self_us": window.self_time / 1e3,
        "mean_us": window.entire / window.count / 1e3,
        "min_us": window.durations[window.start] / 1e3,
        **{f"p{share}_us": window.percentile(share) / 1e3 for share in PERCENTILES},
        "max_us": window.durations[window.stop - 1] / 1e3,
    }
    return pd.DataFrame(frame).sort_values("total_us", ascending=False, kind="stable")


def sums(names: Int64Array, values: Int64Array, n: int) -> Int64Array:
    """Exact sums per name; `bincount` with weights would round above 2^53."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, names, values)
    return sums


@dataclass(frozen=True, eq=False)
class _DurationOrder:
    """All events sorted by name, then duration: ranks in the order of threads, lanes and positions; durations and self
    durations (ns) in the order of ranks; where each name begins, and the end."""

    rank: AnyArray
    duration: AnyArray
    own: AnyArray
    name_begin: Int64Array


def _lanes(source: HostTrace) -> list[tuple[int, TraceThread, int]]:
    """(number of the lane's first event among all events, thread, depth) of every lane."""
    at, lanes = 0, []
    for thread in source.threads:
        for depth, lane in enumerate(thread.lanes):
            lanes.append((at, thread, depth))
            at += len(lane)
    return lanes


def _sort_by_name_and_duration(source: HostTrace) -> _DurationOrder:
    events = source.events
    name, duration, own = np.zeros(events, np.uint32), np.zeros(events, np.int64), np.zeros(events, np.int64)
    for at, thread, depth in _lanes(source):
        lane = thread.lanes[depth]
        run = slice(at, at + len(lane))
        name[run], duration[run] = lane.name, lane.duration
        own[run] = self_durations(thread, depth, 0, len(lane))
    own = _narrow(own)
    order = _order_of(name, duration)
    count = np.bincount(name, minlength=len(source.names))
    rank = np.zeros(events, np.uint32 if events < 1 << 32 else np.int64)
    rank[order] = np.arange(events, dtype=rank.dtype)
    duration = _narrow(duration)
    return _DurationOrder(rank, duration[order], own[order], np.concatenate([[0], np.cumsum(count)]).astype(np.int64))


def _order_of(name: AnyArray, duration: Int64Array) -> Int64Array:
    """Positions of events by name, then duration. The three are one number where 63 bits hold it: sorting numbers takes
    a third of the time of sorting by keys."""
    bits = [int(column.max()).bit_length() if len(column) else 0 for column in (name, duration)]
    position_bits = len(name).bit_length()
    if sum(bits) + position_bits > 63:
        return np.lexsort((duration, name))
    packed = name.astype(np.int64)  # in place: a trace of 10 M events needs 80 MB for each copy
    packed <<= bits[1]
    packed |= duration
    packed <<= position_bits
    packed |= np.arange(len(name))
    packed.sort()
    packed &= (1 << position_bits) - 1
    return packed


def _narrow(values: Int64Array) -> AnyArray:
    """The values in 32 bits where they fit."""
    fits = not len(values) or (int(values.min()) >= 0 and int(values.max()) < 1 << 32)
    return values.astype(np.uint32) if fits else values


def _places(order: _DurationOrder, runs: list[tuple[int, int]]) -> Int64Array | None:
    """Ascending ranks of the events in some runs; None for all events."""
    chosen, events = sum(last - first for first, last in runs), len(order.rank)
    if chosen == events:
        return None
    if chosen < _FEW * events:
        return np.sort(np.concatenate([order.rank[first:last] for first, last in runs])).astype(np.int64)
    is_chosen = np.zeros(events, np.bool_)
    for first, last in runs:
        is_chosen[order.rank[first:last]] = True
    return np.flatnonzero(is_chosen)


def _crossing(lane: Lane, first: int, last: int, begin: int, end: int) -> list[int]:
    """Positions among [first, last) of the events that begin before the window or end after it: at most two, since the
    events of a lane follow one another."""
    return [
        position
        for position in sorted({first, last - 1} if first < last else ())
        if lane.start[position] < begin or int(lane.start[position]) + int(lane.duration[position]) > end
    ]
