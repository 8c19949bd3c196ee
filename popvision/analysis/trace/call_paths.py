"""Sums per call path: a trie of labels, built one depth at a time over the lanes of some threads. Times in ns.

Events know what encloses them, so the path of an event is (path of its encloser, its own name). At each depth a table
has a slot for every such pair that may occur, and an event adds to its slot: no sort, no object per event or path. Five
or six passes over the columns, about 15 ns an event. Where the pairs are too many for a table, as in a trace whose
labels hardly repeat, the pairs that occur are sorted first, which takes about 200 ns an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane
from popvision.analysis.trace.event_filter import EventMatcher
from popvision.analysis.trace.statistics import children
from popvision.arrays import Int32Array, Int64Array, UnsignedArray

_CHUNK = 1 << 17  #: events added in one step

#: Slots of a table: so many for each event, and at most.
_SLOTS_PER_EVENT, _MOST_SLOTS = 4, 1 << 21
_FEW_SLOTS = 1 << 12


@dataclass(frozen=True, eq=False)
class PathColumns:
    """A row per path, parents before what is inside them, the outermost first. `parent` is a row, -1 of the outermost.

    `self_time` is `total` less what the events directly inside took, counted up to the end of what encloses them.
    `longest` (path, 3) are thread index, depth and position of the event with the most time in the window, the first of
    equal ones; `matched` counts the events that a filter finds, all without one.
    """

    parent: Int64Array
    depth: Int64Array
    name: Int64Array
    count: Int64Array
    total: Int64Array
    self_time: Int64Array
    longest: Int64Array
    matched: Int64Array

    def __len__(self) -> int:
        return len(self.depth)

    def levels(self) -> list[Int64Array]:
        """The rows at each depth, in their order."""
        order = np.argsort(self.depth, kind="stable")
        depths = 1 + int(self.depth.max(initial=-1))
        return np.split(order, np.searchsorted(self.depth[order], np.arange(1, depths))) if depths else []

    @staticmethod
    def joined(levels: Sequence[PathColumns]) -> PathColumns:
        """The rows of several depths, the outermost first."""
        if not levels:
            nothing, no_event = np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
            return PathColumns(nothing, nothing, nothing, nothing, nothing, nothing, no_event, nothing)
        return PathColumns(
            *(np.concatenate([getattr(level, each.name) for level in levels]) for each in fields(PathColumns))
        )


def window_paths(
    source: HostTrace, threads: Sequence[int], window: tuple[int, int] | None, matcher: EventMatcher | None = None
) -> PathColumns:
    """Paths of the events of some threads that overlap the window, with the parts of their durations inside it; without
    a window of all events, in full."""
    runs = []
    for number in dict.fromkeys(threads):
        lanes = source.threads[number].lanes
        if lanes:
            first, last = (0, len(lanes[0])) if window is None else lanes[0].between(*window)
            runs.append(_Run(number, lanes[0], first, last))
    return _sum_levels(source, runs, 0, window, matcher)


def event_paths(source: HostTrace, thread: int, depth: int, position: int) -> PathColumns:
    """Paths of one event and all below it, in full; the event is at depth 0."""
    lane = source.threads[thread].lanes[depth]
    return _sum_levels(source, [_Run(thread, lane, position, position + 1)], depth, None, None)


@dataclass(eq=False)
class _Run:
    """Events [first, last) of a lane. `above` has the paths of the events of the lane above from `above_first` on, and
    `ends` their ends; None at the outermost depth. `slots` are those of the own events, where something is inside them.
    """

    thread: int
    lane: Lane
    first: int
    last: int
    above_first: int = 0
    above: Int32Array | None = None
    ends: Int64Array | None = None
    slots: Int32Array | None = None

    def parts(self) -> Iterator[slice]:
        return (slice(at, min(self.last, at + _CHUNK)) for at in range(self.first, self.last, _CHUNK))

    def encloser(self, part: slice) -> UnsignedArray:
        """Where the paths of what encloses each event are in `above`."""
        return np.asarray(self.lane.parent[part] - self.lane.parent.dtype.type(self.above_first))

    def above_of(self, part: slice) -> Int32Array | int:
        return 0 if self.above is None else self.above[self.encloser(part)]


class _DenseSlots:
    """A slot for every path above with every name of the depth."""

    def __init__(self, above: int, names: Int64Array, code: Int64Array) -> None:
        self.names, self.code = names, code
        self.size = above * len(names)

    def of(self, run: _Run, part: slice) -> Int64Array:
        return np.asarray(self.code[run.lane.name[part]] + run.above_of(part) * np.int64(len(self.names)))

    def pairs(self, slots: Int64Array) -> tuple[Int64Array, Int64Array]:
        """(path above, name) of some slots."""
        above, name = np.divmod(slots, len(self.names))
        return above, self.names[name]


class _SortedSlots:
    """A slot for each pair that occurs, by path above and name."""

    def __init__(self, runs: Sequence[_Run]) -> None:
        found = {(run.thread, part.start): _pairs_of(run, part) for run in runs for part in run.parts()}
        self.keys = np.unique(np.concatenate([keys for keys, _ in found.values()]))
        self.size = len(self.keys)
        self.found = found

    def of(self, run: _Run, part: slice) -> Int64Array:
        keys, inverse = self.found.pop((run.thread, part.start))
        return np.searchsorted(self.keys, keys)[inverse]

    def pairs(self, slots: Int64Array) -> tuple[Int64Array, Int64Array]:
        keys = self.keys[slots]
        return keys >> 32, keys & 0xFFFFFFFF


def _pairs_of(run: _Run, part: slice) -> tuple[Int64Array, Int32Array]:
    """The pairs that occur, path above << 32 | name, and the place of each event's own among them."""
    above = np.asarray(run.above_of(part), np.int64)
    keys, inverse = np.unique(above << 32 | run.lane.name[part].astype(np.int64), return_inverse=True)
    return keys, inverse.astype(np.int32)


def _slots(source: HostTrace, runs: Sequence[_Run], above: int) -> _DenseSlots | _SortedSlots:
    used = np.zeros(len(source.names), np.bool_)
    for run in runs:
        for part in run.parts():
            used[run.lane.name[part]] = True
    names = np.flatnonzero(used)
    events = sum(run.last - run.first for run in runs)
    if above * len(names) > max(_FEW_SLOTS, min(_SLOTS_PER_EVENT * events, _MOST_SLOTS)):
        return _SortedSlots(runs)
    return _DenseSlots(above, names, np.cumsum(used) - 1)


class _Level:
    """Sums per slot of one depth."""

    def __init__(self, slots: _DenseSlots | _SortedSlots, window: tuple[int, int] | None) -> None:
        self.slots, self.window = slots, window
        #: `outside` is the time after the end of the encloser; `event` numbers all events of the depth, run by run.
        self.count, self.total, self.outside, self.event, self.matched = np.zeros((5, slots.size), np.int64)
        self.most = np.full(slots.size, -1, np.int64)

    def add(self, run: _Run, base: int, matcher: EventMatcher | None, depth: int) -> None:
        """Add a run whose first event has number `base`; keeps the slots of its events where the run has room."""
        for part in run.parts():
            slot = self.slots.of(run, part)
            start, duration = self._clipped(run, part)
            np.add.at(self.count, slot, 1)
            np.add.at(self.total, slot, duration)
            if run.ends is not None:
                over = start + duration - run.ends[run.encloser(part)]
                late = np.flatnonzero(over > 0)
                if len(late):
                    np.add.at(self.outside, slot[late], np.minimum(over[late], duration[late]))
            self._add_longest(slot, duration, base + part.start - run.first)
            if matcher is not None:
                found = matcher.rows(run.thread, depth, part.start, part.stop) - part.start
                np.add.at(self.matched, slot[found], 1)
            if run.slots is not None:
                run.slots[part.start - run.first : part.stop - run.first] = slot

    def _clipped(self, run: _Run, part: slice) -> tuple[Int64Array, Int64Array]:
        """Begins and durations inside the window. Events of a lane follow one another, so that only the first and the
        last can cross an end of the window."""
        start, duration = run.lane.start[part], run.lane.duration[part].astype(np.int64)
        if self.window is None:
            return start, duration
        begin, end = self.window
        for at in {run.first, run.last - 1}:
            if part.start <= at < part.stop:
                begins, ends = int(run.lane.start[at]), int(run.lane.start[at]) + int(run.lane.duration[at])
                if begins < begin or ends > end:
                    start = start.copy()
                    start[at - part.start] = max(begins, begin)
                    duration[at - part.start] = max(0, min(ends, end) - max(begins, begin))
        return start, duration

    def _add_longest(self, slot: Int64Array, duration: Int64Array, base: int) -> None:
        longer = np.flatnonzero(duration > self.most[slot])
        slot, duration = slot[longer], duration[longer]
        np.maximum.at(self.most, slot, duration)
        best = np.flatnonzero(duration == self.most[slot])[::-1]
        self.event[slot[best]] = base + longer[best]  # the last to be written, the first of equal ones, stays


def _sum_levels(
    source: HostTrace, runs: list[_Run], top: int, window: tuple[int, int] | None, matcher: EventMatcher | None
) -> PathColumns:
    levels: list[PathColumns] = []
    depth, rows, above_row, above = top, 0, 0, 1
    while runs := [run for run in runs if run.first < run.last]:
        inner = [_inside(source, run, depth + 1, window) for run in runs]
        sums = _Level(_slots(source, runs, above), window)
        bases = np.cumsum([0, *(run.last - run.first for run in runs)])
        for run, base, below in zip(runs, bases.tolist(), inner, strict=False):
            if below is not None:
                run.slots = np.empty(run.last - run.first, np.int32)
            sums.add(run, base, matcher, depth)
        seen = np.flatnonzero(sums.count)
        parent, name = sums.slots.pairs(seen)
        count, total, outside = sums.count[seen], sums.total[seen], sums.outside[seen]
        if depth > top:
            np.subtract.at(levels[-1].self_time, parent, total - outside)
        longest = _places(sums.event[seen], runs, bases, depth)
        matched = (sums.count if matcher is None else sums.matched)[seen]
        row = np.where(depth > top, parent + above_row, -1)
        levels.append(
            PathColumns(row, np.full(len(seen), depth - top), name, count, total, total.copy(), longest, matched)
        )
        path = np.zeros(sums.slots.size, np.int32)
        path[seen] = np.arange(len(seen))
        runs = [_enter(run, below, path) for run, below in zip(runs, inner, strict=True) if below is not None]
        above_row, above, rows, depth = rows, len(seen), rows + len(seen), depth + 1
    return PathColumns.joined(levels)


def _inside(source: HostTrace, run: _Run, depth: int, window: tuple[int, int] | None) -> _Run | None:
    """The events of the next lane that lie inside those of a run and, of a window, overlap it; None without any."""
    lanes = source.threads[run.thread].lanes
    if depth == len(lanes):
        return None
    low, high = children(lanes[depth], run.first, run.last)
    if window is not None:
        first, last = lanes[depth].between(*window)
        low, high = max(low, first), min(high, last)
    return _Run(run.thread, lanes[depth], low, high) if low < high else None


def _enter(run: _Run, inner: _Run, path: Int32Array) -> _Run:
    """Tell the inner run the paths and the ends of the events around it; `path` is by slot."""
    assert run.slots is not None
    inner.above_first, inner.above, run.slots = run.first, path[run.slots], None
    rows = slice(run.first, run.last)
    inner.ends = run.lane.start[rows] + run.lane.duration[rows].astype(np.int64)
    return inner


def _places(event: Int64Array, runs: Sequence[_Run], bases: Int64Array, depth: int) -> Int64Array:
    """Thread, depth and position of events that are numbered run by run."""
    run = np.searchsorted(bases, event, "right") - 1
    thread, first = (np.array([getattr(each, field) for each in runs], np.int64) for field in ("thread", "first"))
    return np.stack([thread[run], np.full(len(event), depth), first[run] + event - bases[run]], axis=1)
