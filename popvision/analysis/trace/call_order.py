"""Euler tour of a thread's nested events: when each is entered and left, in O(events) with a few passes per lane.

Formats of other viewers know events that nest, and nothing else. Events that outlive what encloses them, and what lies
inside those, are told apart here, so that a writer can put them elsewhere instead of bending their times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import TraceThread
from popvision.arrays import BoolArray, Int64Array


@dataclass(frozen=True)
class Tour:
    """Entries and exits of nested events in the order of the thread.

    Entry or exit k concerns event `position[k]` of lane `depth[k]` at `time[k]` (ns since the epoch); `enters[k]` tells
    which of both. Times never decrease, and every prefix has at most as many exits as entries."""

    depth: Int64Array
    position: Int64Array
    time: Int64Array
    enters: BoolArray

    def __len__(self) -> int:
        return len(self.time)


def nested_events(thread: TraceThread) -> list[BoolArray]:
    """Per lane: which events end no later than all events that enclose them."""
    nested: list[BoolArray] = []
    for depth, lane in enumerate(thread.lanes):
        if depth == 0:
            nested.append(np.ones(len(lane), np.bool_))
            continue
        parent = lane.parent.astype(np.int64)
        nested.append(nested[-1][parent] & (lane.end <= thread.lanes[depth - 1].end[parent]))
    return nested


def euler_tour(thread: TraceThread) -> Tour:
    """The tour over the nested events of a thread.

    An event is number p in preorder; before it is entered, p entries and p - depth exits have happened. Its exit
    follows after two steps for each event inside it."""
    positions = [np.flatnonzero(mask) for mask in nested_events(thread)]
    parents = _parents_among_nested(thread, positions)
    sizes = _subtree_sizes(positions, parents)
    order = _preorder(sizes, parents)
    length = 2 * sum(len(each) for each in positions)
    column = np.zeros(length, np.int64)
    tour = Tour(column, column.copy(), column.copy(), np.zeros(length, np.bool_))
    for depth, (lane, rows) in enumerate(zip(thread.lanes, positions, strict=True)):
        entry = 2 * order[depth] - depth
        leave = entry + 2 * sizes[depth] - 1
        tour.enters[entry] = True
        tour.time[entry] = lane.start[rows]
        tour.time[leave] = lane.end[rows]
        for at in (entry, leave):
            tour.depth[at], tour.position[at] = depth, rows
    return tour


def _parents_among_nested(thread: TraceThread, positions: list[Int64Array]) -> list[Int64Array]:
    """Per lane: the number, among the nested events above, of what encloses each nested event."""
    parents = [np.zeros(len(rows), np.int64) for rows in positions[:1]]
    for depth in range(1, len(positions)):
        above = thread.lanes[depth].parent[positions[depth]].astype(np.int64)
        parents.append(np.searchsorted(positions[depth - 1], above))
    return parents


def _subtree_sizes(positions: list[Int64Array], parents: list[Int64Array]) -> list[Int64Array]:
    """Per lane: events in the tree below each nested event, itself included."""
    sizes = [np.ones(len(rows), np.int64) for rows in positions]
    for depth in range(len(sizes) - 1, 0, -1):
        np.add.at(sizes[depth - 1], parents[depth], sizes[depth])
    return sizes


def _preorder(sizes: list[Int64Array], parents: list[Int64Array]) -> list[Int64Array]:
    """Per lane: the number of each nested event in preorder. Parents ascend along a lane, so earlier siblings are
    neighbours and one running sum serves a whole lane."""
    numbers: list[Int64Array] = []
    for depth, size in enumerate(sizes):
        before = np.cumsum(size) - size
        if depth == 0:
            numbers.append(before)
            continue
        parent = parents[depth]
        first_of_parent = np.searchsorted(parent, parent, "left")
        numbers.append(numbers[-1][parent] + 1 + before - before[first_of_parent])
    return numbers
