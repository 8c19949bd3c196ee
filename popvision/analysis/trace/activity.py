"""When IPUs ran, as the host saw it: the union of the `Engine::run` events of a file, whatever thread called them.

One sort of the runs. A run covers what the host does for it too, such as the copies of streams before the first step,
so the row says when a device could be at work, not how busy it was: that is in the report, on the device's own clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane, TraceFile

#: Label of a call that runs programs on a device.
RUN_LABEL = "poplar::core::Engine::run"


@dataclass(frozen=True)
class Activity:
    """Number of runs, and the spans in which at least one was under way: begins and ends touch no other."""

    runs: int
    spans: Lane

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return self.spans.nbytes


def ipu_activity(source: HostTrace, file: TraceFile) -> Activity | None:
    """The activity of a file; None without a run. A run inside another one counts, and adds nothing to the spans."""
    return source.kept.once(("activity", file.threads.start), lambda: _read(source, file))


def _read(source: HostTrace, file: TraceFile) -> Activity | None:
    begins, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, depth, rows in source.positions_of(RUN_LABEL):
        if number in file.threads:
            lane = source.threads[number].lanes[depth]
            begins.append(lane.start[rows])
            ends.append(lane.start[rows] + lane.duration[rows].astype(np.int64))
    begin, end = np.concatenate(begins), np.concatenate(ends)
    if not len(begin):
        return None
    order = np.argsort(begin, kind="stable")
    begin, reached = begin[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate([[True], begin[1:] > reached[:-1]]))
    start, stop = begin[first], reached[np.append(first[1:], len(begin)) - 1]
    zeros = np.zeros(len(first), np.uint32)
    name = zeros + source.names.label.index(RUN_LABEL)
    return Activity(len(begin), Lane(start, (stop - start).astype(np.uint64), zeros, name, zeros))
