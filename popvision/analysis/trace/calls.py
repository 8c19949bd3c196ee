"""Call trees of a host trace: events aggregated by their path of labels. Times in ns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace, TraceThread
from popvision.analysis.trace.statistics import children, clipped_durations, self_durations, sums
from popvision.arrays import Int64Array


@dataclass(frozen=True)
class CallTree:
    """Events merged by their path of labels, parents before children. `depth` 0 is a root; times in ns.

    Of a lane with more than MOST_PATHS paths the ones with the largest totals are listed; `omitted` counts the rest.
    """

    depth: list[int]
    name: list[int]
    count: list[int]
    total: list[int]
    self_time: list[int]
    omitted: int = 0


MOST_PATHS = 1000


@dataclass
class _Node:
    name: int
    count: int = 0
    total: int = 0
    self_time: int = 0


def call_tree(source: HostTrace, begin: int, end: int, event: tuple[int, int, int] | None = None) -> CallTree:
    """The tree below one event (thread index, depth, position), or below all that overlap [begin, end) ns.

    Of a window the events that overlap it count, with the parts of their durations inside it, as in the statistics.
    """
    tree = _Tree()
    if event is not None:
        thread, depth, position = event
        tree.add(source.threads[thread], depth, position, position + 1)
    else:
        tree.window = begin, end
        for each in source.threads:
            if each.lanes:
                tree.add(each, 0, *each.lanes[0].between(begin, end))
    return tree.listed()


class _Tree:
    """Nodes by (node above, name); -1 stands above the roots."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int], int] = {}
        self.rows: list[_Node] = []
        self.omitted = 0
        self.window: tuple[int, int] | None = None  #: ns since the epoch; None counts events in full

    def add(self, thread: TraceThread, depth: int, first: int, last: int) -> None:
        """Add events [first, last) of a lane and all below them, a lane at a time."""
        above = np.full(last - first, -1, np.int64)
        while first < last:
            above = self._add_lane(thread, depth, first, last, above)
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

    def _add_lane(self, thread: TraceThread, depth: int, first: int, last: int, above: Int64Array) -> Int64Array:
        """The node of each event; -2 for events that are not listed and hence what is inside them."""
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
        return node_of

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
        stack = [(0, id) for id in sorted(inside.get(-1, []), key=self._total)]
        while stack:
            depth, id = stack.pop()
            row = self.rows[id]
            tree.depth.append(depth)
            tree.name.append(row.name)
            tree.count.append(row.count)
            tree.total.append(row.total)
            tree.self_time.append(row.self_time)
            stack += [(depth + 1, child) for child in sorted(inside.get(id, []), key=self._total)]
        return tree

    def _total(self, id: int) -> int:
        return self.rows[id].total
