"""Difference of two host traces by call path: per path of names the events of both, their total and their self times.

Both sides are merged one depth at a time: each event knows the path of what encloses it, and one sort of (path, name)
of a lane gives its paths, so that neither side has an object per event or path. Threads are merged; a path is what
surrounds an event, not where it ran. A path that one side lacks counts zero there, so its difference is all of the
other side. Over all paths the differences of self times add up to the difference of the time of the outermost events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.trace.columns import HostTrace, TraceThread
from popvision.analysis.trace.statistics import self_durations, sums
from popvision.arrays import AnyArray, Int64Array

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class TraceDifference:
    """Row i is a path: `name[i]`, a number of `names`, inside row `parent[i]` (-1 outermost) at `depth[i]`; parents
    come before what is inside them.

    `count`, `total` and `own` have the shape (row, side), sides source and target; times in ns."""

    names: list[tuple[str, str]]  #: (channel, label)
    name: Int64Array
    parent: Int64Array
    depth: Int64Array
    count: Int64Array
    total: Int64Array
    own: Int64Array

    def __len__(self) -> int:
        return len(self.name)

    def path(self, row: int) -> str:
        """The labels from the outermost event to this one."""
        labels = []
        while row >= 0:
            labels.append(self.names[int(self.name[row])][1])
            row = int(self.parent[row])
        return " > ".join(reversed(labels))

    def listed(self, most: int) -> list[int]:
        """The `most` rows with the largest differences of their totals or self times and what encloses them, depth
        first, at each depth the largest difference of totals first."""
        weight = np.maximum(abs(_change(self.total)), abs(_change(self.own)))
        chosen = set(np.argsort(-weight, kind="stable")[:most].tolist())
        for row in list(chosen):
            above = int(self.parent[row])
            while above >= 0 and above not in chosen:
                chosen.add(above)
                above = int(self.parent[above])
        inside: dict[int, list[int]] = {}
        for row in sorted(chosen):
            inside.setdefault(int(self.parent[row]), []).append(row)
        change = abs(_change(self.total))
        order: list[int] = []
        stack = sorted(inside.get(-1, []), key=lambda row: int(change[row]))
        while stack:
            row = stack.pop()
            order.append(row)
            stack += sorted(inside.get(row, []), key=lambda row: int(change[row]))
        return order


def trace_difference(source: HostTrace, target: HostTrace) -> TraceDifference:
    """What `target` has more of than `source`, over all events with a duration of both."""
    return source.kept.beside(target).recent("difference", lambda: _compare(source, target))


def _compare(source: HostTrace, target: HostTrace) -> TraceDifference:
    numbers: dict[tuple[str, str], int] = {}
    sides = [_Side(each, _number_names(each, numbers)) for each in (source, target)]
    columns: list[list[Int64Array]] = []
    first = depth = 0
    while any(side.has(depth) for side in sides):
        lanes = [lane for side in sides for lane in side.lanes(depth)]
        keys = np.unique(np.concatenate([lane.keys for lane in lanes]))
        count, total, own = (np.zeros((len(keys), 2), np.int64) for _ in range(3))
        for lane in lanes:
            rows = np.searchsorted(keys, lane.keys)
            side = sides.index(lane.side)
            count[rows, side] += lane.count
            total[rows, side] += lane.total
            own[rows, side] += lane.own
            lane.side.path[lane.thread] = (first + rows)[lane.inverse]
        columns.append([keys & 0xFFFFFFFF, (keys >> 32) - 1, np.full(len(keys), depth), count, total, own])
        first, depth = first + len(keys), depth + 1
    empty = [np.zeros(0, np.int64)] * 3 + [np.zeros((0, 2), np.int64)] * 3
    joined = [np.concatenate(parts) for parts in zip(*(columns or [empty]), strict=True)]
    return TraceDifference(list(numbers), *joined)


@dataclass(frozen=True, eq=False)
class _LanePaths:
    """Paths of one lane: `keys` are (path above + 1) << 32 | name, ascending; `inverse` gives those of its events."""

    side: _Side
    thread: int
    keys: Int64Array
    inverse: Int64Array
    count: AnyArray
    total: AnyArray
    own: AnyArray


class _Side:
    """One trace; `path` has, of each thread, the paths of the events of the lane read last."""

    def __init__(self, trace: HostTrace, numbers: Int64Array) -> None:
        self.trace, self.numbers = trace, numbers
        self.path: dict[int, Int64Array] = {}

    def has(self, depth: int) -> bool:
        return any(depth < len(thread.lanes) for thread in self.trace.threads)

    def lanes(self, depth: int) -> list[_LanePaths]:
        return [
            self._lane(number, thread, depth)
            for number, thread in enumerate(self.trace.threads)
            if depth < len(thread.lanes)
        ]

    def _lane(self, number: int, thread: TraceThread, depth: int) -> _LanePaths:
        lane = thread.lanes[depth]
        packed = self.numbers[lane.name]
        if depth:
            packed = packed | (self.path[number][lane.parent.astype(np.int64)] + 1) << 32
        keys, inverse = np.unique(packed, return_inverse=True)
        duration = lane.duration.astype(np.int64)
        own = self_durations(thread, depth, 0, len(lane))
        count = np.bincount(inverse, minlength=len(keys))
        return _LanePaths(
            self, number, keys, inverse, count, sums(inverse, duration, len(keys)), sums(inverse, own, len(keys))
        )


def _number_names(trace: HostTrace, numbers: dict[tuple[str, str], int]) -> Int64Array:
    """The number, shared by both sides, of each name of a trace."""
    names = trace.names
    channels = [names.channel_name[channel] for channel in names.channel.tolist()]
    pairs = zip(channels, names.label, strict=True)
    return np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)


def _change(sides: Int64Array) -> Int64Array:
    return np.asarray(sides[:, 1] - sides[:, 0])


def difference_frame(difference: TraceDifference, rows: Sequence[int] | None = None) -> DataFrame:
    """A row per path, of all or of some `rows` in their order: path, label, channel, depth, then for count, total_us
    and self_us the columns _source, _target and _diff (target minus source; of a path of one side all of it)."""
    import pandas as pd

    at = np.arange(len(difference)) if rows is None else np.asarray(rows, np.int64)
    names = [difference.names[number] for number in difference.name[at].tolist()]
    table: dict[str, object] = {
        "path": [difference.path(row) for row in at.tolist()],
        "label": [label for _, label in names],
        "channel": [channel for channel, _ in names],
        "depth": difference.depth[at],
    }
    sides = (("count", difference.count), ("total_us", difference.total / 1e3), ("self_us", difference.own / 1e3))
    for field, values in sides:
        table |= {
            f"{field}_source": values[at, 0],
            f"{field}_target": values[at, 1],
            f"{field}_diff": values[at, 1] - values[at, 0],
        }
    return pd.DataFrame(table)
