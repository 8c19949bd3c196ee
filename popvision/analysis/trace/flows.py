"""Flows: points that lead from event to event, as columns sorted by flow and time; the events are found by search.

A point belongs to the innermost event of its thread at its moment. Points outside all events lead nowhere and are left
out, and a point in the same event as the one before adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace, TraceThread
from popvision.arrays import BoolArray, Int64Array


@dataclass(frozen=True)
class Flows:
    """Row i: flow `flow[i]` passes event (`thread`, `depth`, `position`)[i] at `time[i]`, ns since the epoch; rows of a
    flow follow in time order."""

    flow: Int64Array
    thread: Int64Array
    depth: Int64Array
    position: Int64Array
    time: Int64Array

    def __len__(self) -> int:
        return len(self.flow)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return 5 * self.flow.nbytes

    def rows_of(self, thread: int, depth: int, position: int) -> Int64Array:
        """Rows of an event."""
        return np.flatnonzero((self.thread == thread) & (self.depth == depth) & (self.position == position))


@dataclass(frozen=True)
class FlowLink:
    """A flow of an event: from or to another event."""

    flow: int
    name: str
    is_onwards: bool  #: to the other event, else from it
    thread: int
    depth: int
    position: int
    start: int  #: of the other event, ns since the epoch
    duration: int  #: ns
    label: str


def trace_flows(source: HostTrace) -> Flows:
    """All flows of a trace, read and bound to their events at the first question."""
    return source.kept.once("flows", lambda: _bind(source))


def flow_links(source: HostTrace, thread: int, depth: int, position: int, most: int) -> tuple[list[FlowLink], int]:
    """The first `most` links of an event, those that lead to it first, and the number of all."""
    flows = trace_flows(source)
    rows = flows.rows_of(thread, depth, position)
    before, after = rows[rows > 0] - 1, rows[rows + 1 < len(flows)] + 1
    before = before[flows.flow[before] == flows.flow[before + 1]]
    after = after[flows.flow[after] == flows.flow[after - 1]]
    others = np.concatenate([before, after])
    names = source.flow_names(sorted(set(flows.flow[others[:most]].tolist())))
    links = [
        _link(source, flows, row, names, is_onwards=number >= len(before))
        for number, row in enumerate(others[:most].tolist())
    ]
    return links, len(others)


def _link(source: HostTrace, flows: Flows, row: int, names: dict[int, str], *, is_onwards: bool) -> FlowLink:
    flow, thread, depth, position = (
        int(column[row]) for column in (flows.flow, flows.thread, flows.depth, flows.position)
    )
    lane = source.threads[thread].lanes[depth]
    label = source.names.label[int(lane.name[position])]
    start, duration = int(lane.start[position]), int(lane.duration[position])
    return FlowLink(flow, names.get(flow, ""), is_onwards, thread, depth, position, start, duration, label)


def _bind(source: HostTrace) -> Flows:
    points = source.flow_points()
    order = np.lexsort((points[:, 2], points[:, 0]))
    flow, thread, time = points[order].T
    depth, position = np.full(len(flow), -1), np.zeros(len(flow), np.int64)
    for number in np.unique(thread).tolist():
        own = np.flatnonzero(thread == number)
        depth[own], position[own] = innermost(source.threads[number], time[own])
    keep = depth >= 0
    columns = np.stack([flow[keep], thread[keep], depth[keep], position[keep], time[keep]])
    keep = np.ones(columns.shape[1], np.bool_)
    keep[1:] = (columns[:4, 1:] != columns[:4, :-1]).any(axis=0)
    return Flows(*columns[:, keep])


def innermost(thread: TraceThread, time: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Depth and position of the innermost event around each moment, its begin and end included; depth -1 outside all
    events."""
    depth, position = np.full(len(time), -1), np.zeros(len(time), np.int64)
    for level, lane in enumerate(thread.lanes):
        at = np.searchsorted(lane.start, time, "right") - 1
        rows = np.maximum(at, 0)
        inside: BoolArray = (at >= 0) & (time <= lane.start[rows] + lane.duration[rows].astype(np.int64))
        depth[inside], position[inside] = level, rows[inside]
    return depth, position
