"""Call trees of a host trace: events aggregated by their path of labels. Times in ns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.event_filter import EventMatcher
from popvision.analysis.trace.statistics import children, clipped_durations, self_durations, sums
from popvision.arrays import Int64Array


@dataclass(frozen=True)
class CallTree:
    """Events merged by their path of labels, parents before children. `depth` 0 is a root; times in ns.

    Of a lane with more than MOST_PATHS paths the ones with the largest totals are listed; `omitted` counts the rest.
    `longest` is the event of the path with the most time in the window, the first of equal ones; `matched` counts the
    events that a filter finds, all without one. Both are filled where they are asked for.
    """

    depth: list[int]
    name: list[int]
    count: list[int]
    total: list[int]
    self_time: list[int]
    omitted: int = 0
    longest: list[tuple[int, int, int]] = field(default_factory=list)  #: (thread index, depth, position)
    matched: list[int] = field(default_factory=list)


MOST_PATHS = 1000


@dataclass
class _Node:
    name: int
    count: int = 0
    total: int = 0
    self_time: int = 0
    most: int = -1  #: time of the longest event
    longest: tuple[int, int, int] = (-1, -1, -1)
    matched: int = 0


def call_tree(source: HostTrace, begin: int, end: int, event: tuple[int, int, int] | None = None) -> CallTree:
    """The tree below one event (thread index, depth, position), or below all that overlap [begin, end) ns.

    Of a window the events that overlap it count, with the parts of their durations inside it, as in the statistics.
    """
    tree = _Tree(source)
    if event is not None:
        thread, depth, position = event
        tree.add(thread, depth, position, position + 1)
    else:
        tree.add_window(range(len(source.threads)), begin, end)
    return tree.listed()


def threads_tree(
    source: HostTrace, threads: Sequence[int], begin: int, end: int, matcher: EventMatcher | None = None
) -> CallTree:
    """The tree of some threads in a window, with the longest event of each path and the number that `matcher` finds."""
    tree = _Tree(source, with_events=True, matcher=matcher)
    tree.add_window(threads, begin, end)
    return tree.listed()


class _Tree:
    """Nodes by (node above, name); -1 stands above the roots."""

    def __init__(self, source: HostTrace, *, with_events: bool = False, matcher: EventMatcher | None = None) -> None:
        self.source, self.with_events, self.matcher = source, with_events, matcher
        self.nodes: dict[tuple[int, int], int] = {}
        self.rows: list[_Node] = []
        self.omitted = 0
        self.window: tuple[int, int] | None = None  #: ns since the epoch; None counts events in full

    def add_window(self, threads: Sequence[int], begin: int, end: int) -> None:
        """Add all events of some threads that overlap the window."""
        self.window = begin, end
        for number in threads:
            lanes = self.source.threads[number].lanes
            if lanes:
                self.add(number, 0, *lanes[0].between(begin, end))

    def add(self, number: int, depth: int, first: int, last: int) -> None:
        """Add events [first, last) of a thread's lane and all below them, a lane at a time."""
        thread = self.source.threads[number]
        above = np.full(last - first, -1, np.int64)
        while first < last:
            above = self._add_lane(number, depth, first, last, above)
            depth += 1
            if depth == len(thread.lanes):
                return
            inner = thread.lanes[depth]
            low, high = children(inner, first, last)
            if self.window is not None:
                inside = inner.between(*self.window)
                low, high = max(low, inside[0]), min(high, inside[1])
            above = above[inner.parent[low:high].astype(np.int64) - first]
            first, last = low, high

    def _add_lane(self, number: int, depth: int, first: int, last: int, above: Int64Array) -> Int64Array:
        """The node of each event; -2 for events that are not listed and hence what is inside them."""
        thread = self.source.threads[number]
        lane = thread.lanes[depth]
        begin, end = self.window or (None, None)
        own = self_durations(thread, depth, first, last, begin, end)
        duration = clipped_durations(lane, first, last, begin, end)
        node_of = np.full(last - first, -2, np.int64)
        listed = np.flatnonzero(above > -2)
        # One number per (node above, name), so that one unique finds the nodes of this lane.
        packed = (above[listed] + 1) << 32 | lane.name[first:last][listed].astype(np.int64)
        keys, inverse = np.unique(packed, return_inverse=True)
        total = sums(inverse, duration[listed], len(keys))
        own_total = sums(inverse, own[listed], len(keys))
        count = np.bincount(inverse, minlength=len(keys))
        ids = np.full(len(keys), -2, np.int64)
        largest = np.argsort(-total, kind="stable")[:MOST_PATHS]
        self.omitted += len(keys) - len(largest)
        for index in largest.tolist():
            row = self.rows[self._node((int(keys[index]) >> 32) - 1, int(keys[index]) & 0xFFFFFFFF, ids, index)]
            row.count += int(count[index])
            row.total += int(total[index])
            row.self_time += int(own_total[index])
        node_of[listed] = ids[inverse]
        if self.with_events and len(listed):
            self._add_events((number, depth, first), listed, ids, inverse, duration[listed])
        return node_of

    def _add_events(
        self,
        place: tuple[int, int, int],
        listed: Int64Array,
        ids: Int64Array,
        inverse: Int64Array,
        duration: Int64Array,
    ) -> None:
        """The longest event of each node, and how many the matcher finds; `place` is that of the first event."""
        number, depth, first = place
        most = np.full(len(ids), -1, np.int64)
        np.maximum.at(most, inverse, duration)
        longest = np.flatnonzero(duration == most[inverse])[::-1]
        event = np.zeros(len(ids), np.int64)
        event[inverse[longest]] = first + listed[longest]  # the last to be written, the first of equal ones, stays
        matched = np.bincount(inverse, minlength=len(ids))
        if self.matcher is not None:
            found = np.zeros(1 + int(listed.max()), np.bool_)
            found[self.matcher.rows(number, depth, first, first + len(found)) - first] = True
            matched = np.bincount(inverse[found[listed]], minlength=len(ids))
        for index in np.flatnonzero(ids >= 0).tolist():
            row = self.rows[int(ids[index])]
            row.matched += int(matched[index])
            if most[index] > row.most:
                row.most, row.longest = int(most[index]), (number, depth, int(event[index]))

    def _node(self, above: int, name: int, ids: Int64Array, index: int) -> int:
        id = self.nodes.get((above, name))
        if id is None:
            id = self.nodes[above, name] = len(self.rows)
            self.rows.append(_Node(name))
        ids[index] = id
        return id

    def listed(self) -> CallTree:
        """Depth first, siblings by total time."""
        inside: dict[int, list[int]] = {}
        for (above, _), id in self.nodes.items():
            inside.setdefault(above, []).append(id)
        tree = CallTree([], [], [], [], [], self.omitted)
        with_events = self.with_events
        stack = [(0, id) for id in sorted(inside.get(-1, []), key=self._total)]
        while stack:
            depth, id = stack.pop()
            row = self.rows[id]
            tree.depth.append(depth)
            tree.name.append(row.name)
            tree.count.append(row.count)
            tree.total.append(row.total)
            tree.self_time.append(row.self_time)
            if with_events:
                tree.longest.append(row.longest)
                tree.matched.append(row.matched)
            stack += [(depth + 1, child) for child in sorted(inside.get(id, []), key=self._total)]
        return tree

    def _total(self, id: int) -> int:
        return self.rows[id].total
