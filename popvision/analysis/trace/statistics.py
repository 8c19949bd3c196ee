"""Per-label statistics of a host trace: count, total, self, mean and percentiles. Columns are in microseconds.

Counts and percentiles come from buckets of durations (duration_buckets.py), sums from one pass over the events of the
window: about 100 ms for ten million events. Nothing is sorted but the few events near the percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane, TraceThread
from popvision.analysis.trace.duration_buckets import BucketedWindow, bucketed_window
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from pandas import DataFrame


PERCENTILES = (50, 95, 99)

#: Columns that count calls, or are figures of single ones: a sampled trace, whose spans are no calls, has none of them.
CALL_COLUMNS = ("count", "mean_us", "min_us", *(f"p{share}_us" for share in PERCENTILES), "max_us")
_CHUNK = 1 << 18  #: events summed in one step

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
    """Positions in the lane below whose enclosers are [first, last); parents ascend along a lane.

    A position that the type of the parents cannot hold lies behind all of them: parents are stored as narrowly as the
    largest allows, and the search keeps that type, as another would copy the lane."""
    parent, most = inner.parent, np.iinfo(inner.parent.dtype).max
    low, high = (
        len(parent) if position > most else int(np.searchsorted(parent, parent.dtype.type(position)))
        for position in (first, last)
    )
    return low, high


@dataclass(frozen=True, eq=False)
class WindowStatistics:
    """Events that overlap a window, by name; a row per name with events, in the order of names. Times in ns.

    `total` and `self_time` count the parts inside the window; `entire` sums entire durations, of which `shortest`,
    `percentiles` (one column for each of PERCENTILES) and `longest` are the order statistics.
    """

    name: Int64Array
    count: Int64Array
    total: Int64Array
    self_time: Int64Array
    entire: Int64Array
    shortest: Int64Array
    percentiles: Int64Array
    longest: Int64Array
    window: BucketedWindow

    def spreads(self, rows: Int64Array) -> Int64Array:
        """Events of some rows (row, step) per step of a logarithmic scale from the shortest to the longest duration."""
        low, high = (np.maximum(1.0, column[rows].astype(np.float64)) for column in (self.shortest, self.longest))
        edges = np.ceil(np.geomspace(low, high, SPREAD_STEPS + 1, axis=1)[:, 1:-1]).astype(np.int64)
        names = np.repeat(self.name[rows], edges.shape[1])
        below = self.window.below(names, edges.ravel()).reshape(edges.shape)
        return np.diff(below, axis=1, prepend=0, append=self.count[rows, None])

    def rank(self, row: int, duration: int) -> float:
        """The share of a row's events that take less than `duration` ns."""
        shorter = self.window.below(self.name[[row]], np.array([duration]))
        return int(shorter[0]) / int(self.count[row])


def window_statistics(source: HostTrace, begin: int | None = None, end: int | None = None) -> WindowStatistics:
    """Statistics of all events that overlap [begin, end) ns, by default of the entire trace.

    A percentile is the smallest duration that at least that share of the events does not exceed."""
    begin, end = source.begin if begin is None else begin, source.end + 1 if end is None else end
    lanes = [(thread, depth) for thread in source.threads for depth in range(len(thread.lanes))]
    runs = [(at, *thread.lanes[depth].between(begin, end)) for at, (thread, depth) in enumerate(lanes)]
    window = bucketed_window(source, runs)
    of_name = window.by_name()
    seen = np.flatnonzero(of_name)
    count = of_name[seen]
    ranks = [np.zeros_like(count), *(-(-count * share // 100) - 1 for share in PERCENTILES), count - 1]
    found = window.at_ranks(np.tile(seen, len(ranks)), np.concatenate(ranks)).reshape(len(ranks), -1)
    entire, selves = np.zeros((2, len(source.names)), np.int64)
    for at, first, last in runs:
        _add_sums(source, *lanes[at], first, last, entire, selves)
    total = entire.copy()
    for at, first, last in runs:
        thread, depth = lanes[at]
        lane = thread.lanes[depth]
        for position in _crossing(lane, first, last, begin, end):
            name, event = int(lane.name[position]), (position, position + 1)
            total[name] += clipped_durations(lane, *event, begin, end)[0] - clipped_durations(lane, *event)[0]
            outside = self_durations(thread, depth, *event, begin, end) - self_durations(thread, depth, *event)
            selves[name] += outside[0]
    return WindowStatistics(
        seen, count, total[seen], selves[seen], entire[seen], found[0], found[1:-1].T, found[-1], window
    )


def label_statistics(source: HostTrace, begin: int | None = None, end: int | None = None) -> DataFrame:
    """One row per (channel, label) of the events that overlap [begin, end) ns, by default all.

    Columns: label, channel, count, total_us and self_us (total less what events inside took), both of the parts inside
    the window; of entire durations mean_us, min_us, p50_us, p95_us, p99_us (nearest rank: the smallest duration that at
    least that share of events does not exceed), max_us. Of a sampled trace only label, channel, total_us and self_us.
    """
    return statistics_frame(source, window_statistics(source, begin, end)).reset_index(drop=True)


def statistics_frame(source: HostTrace, window: WindowStatistics) -> DataFrame:
    """The columns of `label_statistics`, the largest total first; the index holds the rows of `window`."""
    import pandas as pd

    names = source.names
    frame: dict[str, object] = {
        "label": [names.label[name] for name in window.name],
        "channel": [names.channel_name[names.channel[name]] for name in window.name],
        "count": window.count,
        "total_us": window.total / 1e3,
        "self_us": window.self_time / 1e3,
        "mean_us": window.entire / window.count / 1e3,
        "min_us": window.shortest / 1e3,
        **{f"p{share}_us": window.percentiles[:, at] / 1e3 for at, share in enumerate(PERCENTILES)},
        "max_us": window.longest / 1e3,
    }
    if source.samples:
        frame = {column: values for column, values in frame.items() if column not in CALL_COLUMNS}
    return pd.DataFrame(frame).sort_values("total_us", ascending=False, kind="stable")


def sums(names: Int64Array, values: Int64Array, n: int) -> Int64Array:
    """Exact sums per name; `bincount` with weights would round above 2^53."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, names, values)
    return sums


def _add_sums(
    source: HostTrace, thread: TraceThread, depth: int, first: int, last: int, entire: Int64Array, selves: Int64Array
) -> None:
    """Add durations and self durations of events [first, last) of a lane to the sums of their names."""
    lane = thread.lanes[depth]
    for at in range(first, last, _CHUNK):
        part = slice(at, min(last, at + _CHUNK))
        duration = lane.duration[part].astype(np.int64)
        np.add.at(entire, lane.name[part], duration)
        np.add.at(selves, lane.name[part], duration)
    if depth + 1 == len(thread.lanes) or first == last:
        return
    inner = thread.lanes[depth + 1]
    # Of a trace that grows the question about all events would come up at each reading.
    nests = not source.is_growing and source.kept.once(("nests", id(inner)), lambda: _all_end_inside(lane, inner))
    low, high = children(inner, first, last)
    for at in range(low, high, _CHUNK):
        part = slice(at, min(high, at + _CHUNK))
        inside = inner.duration[part].astype(np.int64) if nests else _until_parents_end(lane, inner, part)
        np.subtract.at(selves, lane.name[inner.parent[part]], inside)


def _until_parents_end(lane: Lane, inner: Lane, part: slice) -> Int64Array:
    """Durations of inner events, counted up to the end of the event that encloses each."""
    start, parent = inner.start[part], inner.parent[part]
    ends = lane.start[parent] + lane.duration[parent].astype(np.int64)
    return np.asarray(np.maximum(0, np.minimum(inner.duration[part].astype(np.int64), ends - start)))


def _all_end_inside(lane: Lane, inner: Lane) -> bool:
    """Whether all events of the inner lane end before what encloses them."""
    parts = (slice(at, at + _CHUNK) for at in range(0, len(inner), _CHUNK))
    return all(bool((_until_parents_end(lane, inner, part) == inner.duration[part]).all()) for part in parts)


def _crossing(lane: Lane, first: int, last: int, begin: int, end: int) -> list[int]:
    """Positions among [first, last) of the events that begin before the window or end after it: at most two, since the
    events of a lane follow one another."""
    return [
        position
        for position in sorted({first, last - 1} if first < last else ())
        if lane.start[position] < begin or int(lane.start[position]) + int(lane.duration[position]) > end
    ]
