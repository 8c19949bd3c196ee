"""Difference of two host traces by call path: per path of names the events of both, their total and their self times.

Each side becomes columns of paths (call_paths.py). Those of both are matched one depth at a time, by a sort of (path
above, name); neither side has an object per event or path. Threads are merged; a path is what surrounds an event, not
where it ran. A path that one side lacks counts zero there, so its difference is all of the other side. Over all paths
the differences of self times add up to the difference of the time of the outermost events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.trace.call_paths import PathColumns, window_paths
from popvision.analysis.trace.calls import CallTree, depth_first
from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.statistics import CALL_COLUMNS
from popvision.arrays import Int64Array
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from pandas import DataFrame


#: Figures of a call path that two traces differ in, which may order its rows.
DIFFERENCES = ("total_us", "self_us", "count")


@dataclass(frozen=True)
class TraceDifference:
    """Row i is a path: `name[i]`, a number of `names`, inside row `parent[i]` (-1 outermost) at `depth[i]`; parents
    come before what is inside them.

    `count`, `total` and `own` have the shape (row, side), sides source and target; times in ns."""

    is_sampled: bool  #: a side is: `count` counts no calls
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

    def together(self) -> CallTree:
        """The paths of both traces as one tree, with the sums of both; `matched` is the row of each path here."""
        count, total, own = (values.sum(axis=1) for values in (self.count, self.total, self.own))
        nothing = np.zeros((len(self), 3), np.int64)
        paths = PathColumns(self.parent, self.depth, self.name, count, total, own, nothing, np.arange(len(self)))
        return depth_first(paths)

    def change(self, row: int) -> float:
        """How the total of a path differs, as a share of both sides' together: 1 where only the target has it, -1 where
        only the source does."""
        before, after = self.total[row].tolist()
        return (after - before) / (after + before) if after + before else 0.0

    def folded(self) -> Iterator[str]:
        """A line per path with self time: labels joined by ";", then the self times of both traces in ns. So
        flamegraph.pl takes it (difffolded.pl writes it)."""
        stacks: list[str] = []
        for row in range(len(self)):
            above, label = int(self.parent[row]), self.names[int(self.name[row])][1]
            frame = " ".join(label.replace(";", ":").split()) or "(no name)"
            stacks.append(f"{stacks[above]};{frame}" if above >= 0 else frame)
            before, after = (max(0, own) for own in self.own[row].tolist())
            if before or after:
                yield f"{stacks[row]} {before} {after}"

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
    """What `target` has more of than `source`, over all events with a duration of both. Raises FormatError where one
    counts time and the other does not."""
    if source.unit != target.unit:
        units = [trace.unit or "time" for trace in (source, target)]
        raise FormatError(f"{source.label} counts {units[0]} and {target.label} {units[1]}: these have no difference.")
    return source.kept.beside(target).recent("difference", lambda: _compare(source, target))


def _compare(source: HostTrace, target: HostTrace) -> TraceDifference:
    numbers: dict[tuple[str, str], int] = {}
    sides = [_Side(each, numbers) for each in (source, target)]
    columns: list[list[Int64Array]] = []
    first = 0
    for depth in range(max(len(side.levels) for side in sides)):
        here = [side for side in sides if depth < len(side.levels)]
        found = [side.keys(depth) for side in here]
        keys = np.unique(np.concatenate(found))
        figures = np.zeros((3, len(keys), 2), np.int64)
        for side, own in zip(here, found, strict=True):
            at = np.searchsorted(keys, own)
            side.row[side.levels[depth]] = first + at
            figures[:, at, sides.index(side)] = side.figures[:, side.levels[depth]]
        columns.append([keys & 0xFFFFFFFF, (keys >> 32) - 1, np.full(len(keys), depth), *figures])
        first += len(keys)
    empty = [np.zeros(0, np.int64)] * 3 + [np.zeros((0, 2), np.int64)] * 3
    joined = [np.concatenate(parts) for parts in zip(*(columns or [empty]), strict=True)]
    return TraceDifference(bool(source.samples or target.samples), list(numbers), *joined)


class _Side:
    """The paths of one trace. `row` gives their rows in the difference, as far as they are known, -1 at the end."""

    def __init__(self, trace: HostTrace, numbers: dict[tuple[str, str], int]) -> None:
        paths = window_paths(trace, range(len(trace.threads)), None)
        self.name, self.parent = _number_names(trace, numbers)[paths.name], paths.parent
        self.figures = np.stack([paths.count, paths.total, paths.self_time])
        self.levels = paths.levels()
        self.row = np.full(len(paths) + 1, -1)

    def keys(self, depth: int) -> Int64Array:
        """(row of the path above + 1) << 32 | name of the paths of a depth."""
        rows = self.levels[depth]
        return np.asarray((self.row[self.parent[rows]] + 1) << 32 | self.name[rows])


def _number_names(trace: HostTrace, numbers: dict[tuple[str, str], int]) -> Int64Array:
    """The number, shared by both sides, of each name of a trace."""
    names = trace.names
    channels = [names.channel_name[channel] for channel in names.channel.tolist()]
    pairs = zip(channels, names.label, strict=True)
    return np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)


def _change(sides: Int64Array) -> Int64Array:
    return np.asarray(sides[:, 1] - sides[:, 0])


def difference_frame(difference: TraceDifference, rows: Sequence[int] | None = None) -> DataFrame:
    """A row per path, of all or of some `rows` in their order: path, label, channel, depth, then for count (not where
    a side is sampled), total_us and self_us the columns _source, _target and _diff (target minus source; of a path of
    one side all of it)."""
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
        if difference.is_sampled and field in CALL_COLUMNS:
            continue
        table |= {
            f"{field}_source": values[at, 0],
            f"{field}_target": values[at, 1],
            f"{field}_diff": values[at, 1] - values[at, 0],
        }
    return pd.DataFrame(table)
