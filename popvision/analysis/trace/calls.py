"""Call trees of a host trace: events aggregated by their path of labels, a row of columns per path. Times in ns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from popvision.analysis.trace.call_paths import PathColumns, event_paths, window_paths
from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.event_filter import EventMatcher
from popvision.arrays import BoolArray, Int64Array


@dataclass(frozen=True, eq=False)
class CallTree(PathColumns):
    """Events merged by their path of labels, depth first, siblings by total time, the largest first, equal ones by the
    number of their name. `depth` 0 is a root; times in ns. `omitted` counts the paths that the tree leaves out."""

    omitted: int = 0

    def largest(self, most: int) -> CallTree:
        """The `most` paths with the largest totals, and what they lie in."""
        if len(self) <= most:
            return self
        keep = np.zeros(len(self), np.bool_)
        keep[np.argsort(-self.total, kind="stable")[:most]] = True
        for row in np.flatnonzero(keep).tolist():
            above = int(self.parent[row])
            while above >= 0 and not keep[above]:
                keep[above] = True
                above = int(self.parent[above])
        return self._only(keep)

    def _only(self, keep: BoolArray) -> CallTree:
        """The rows of a mask that holds what encloses each."""
        place = np.append(np.cumsum(keep) - 1, -1)  # the last stands for "nothing above"
        columns = {field.name: getattr(self, field.name)[keep] for field in fields(PathColumns)}
        columns["parent"] = place[columns["parent"]]
        return CallTree(**columns, omitted=self.omitted + int((~keep).sum()))


def call_tree(source: HostTrace, begin: int, end: int, event: tuple[int, int, int] | None = None) -> CallTree:
    """The tree below one event (thread index, depth, position), or below all that overlap [begin, end) ns.

    Of a window the events that overlap it count, with the parts of their durations inside it, as in the statistics.
    """
    if event is not None:
        return depth_first(event_paths(source, *event))
    return threads_tree(source, range(len(source.threads)), begin, end)


def threads_tree(
    source: HostTrace, threads: Sequence[int], begin: int, end: int, matcher: EventMatcher | None = None
) -> CallTree:
    """The tree of some threads in a window; `matched` counts what `matcher` finds."""
    return depth_first(window_paths(source, threads, (begin, end), matcher))


def depth_first(paths: PathColumns, omitted: int = 0) -> CallTree:
    """The tree of paths that come a depth at a time, the outermost first."""
    levels = paths.levels()
    size = np.ones(len(paths.depth), np.int64)
    for rows in levels[:0:-1]:
        np.add.at(size, paths.parent[rows], size[rows])
    place = np.zeros(len(size), np.int64)  # of each row in the tree
    for rows in levels:
        parent = paths.parent[rows]
        rows = rows[np.lexsort((paths.name[rows], -paths.total[rows], parent))]
        parent = paths.parent[rows]
        above = np.where(parent < 0, -1, place[parent])
        place[rows] = above + 1 + sums_before(parent, size[rows])
    order = np.argsort(place)
    columns = {field.name: getattr(paths, field.name)[order] for field in fields(PathColumns)}
    parent = columns["parent"]
    columns["parent"] = np.where(parent < 0, -1, place[parent])
    return CallTree(**columns, omitted=omitted)


def sums_before(parent: Int64Array, values: Int64Array) -> Int64Array:
    """Of each row the sum of the values before it among the rows with its parent; rows of one parent are neighbours."""
    before = np.cumsum(values) - values
    first = np.flatnonzero(np.append(True, parent[1:] != parent[:-1])) if len(parent) else np.zeros(0, np.int64)
    return before - np.repeat(before[first], np.diff(np.append(first, len(parent))))
