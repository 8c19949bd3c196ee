"""`GrowingJoin`: several traces as one, again and again while their programs write them.

It keeps what the last reading made: the numbers of names, and begins and names of the files that move or whose names
get other numbers, in columns that grow at their end (growing_columns.py). So a reading costs what is new in all files,
as that of one file does. Names that come late get numbers after all that are known, of whichever file they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from popvision.analysis.trace.alignment import Marker, align_traces
from popvision.analysis.trace.columns import Lane, TraceThread
from popvision.analysis.trace.growing import GrownTrace
from popvision.analysis.trace.growing_columns import GrowingColumn, GrowingMipmap
from popvision.analysis.trace.joint import JointNames, JointTrace, is_renamed, moved_thread
from popvision.analysis.trace.source import TraceSource
from popvision.arrays import Int64Array, UnsignedArray


class GrowingJoin:
    """The readings of one joint trace. Not thread-safe: ask it under a lock."""

    def __init__(self) -> None:
        self._recordings: list[object] = []
        self._names = JointNames(0)
        self._files: list[_File] = []

    def join(self, parts: Sequence[TraceSource], mode: str = "absolute", marker: Marker | None = None) -> JointTrace:
        """The traces as they are now; see `join_traces`. Where a file was recorded anew or has ended, all is made anew.
        Raises ValueError for an unknown mode."""
        alignment = align_traces(parts, mode, marker)
        recordings = [part.recording if isinstance(part, GrownTrace) else part for part in parts]
        same = len(recordings) == len(self._recordings) and all(map(_is, recordings, self._recordings))
        if not same:
            self._names, self._files = JointNames(len(parts)), [_File() for _ in parts]
        self._recordings = []  # a join that fails leaves columns that are partly new
        numbers = self._names.add([part.names for part in parts])
        threads = [
            thread
            for file, part, shift, own in zip(self._files, parts, alignment.shifts, numbers, strict=True)
            for thread in file.threads(part, shift, own)
        ]
        self._recordings = recordings
        return JointTrace(parts, alignment, self._names.names(), numbers, threads)


def _is(one: object, other: object) -> bool:
    return one is other


@dataclass
class _Moved:
    """Begins and names of a lane, or of the instants of a thread, on the common clock."""

    kept: int = 0  #: events that stay as they are: all but the last one, which may not have ended
    begin: GrowingColumn = field(default_factory=lambda: GrowingColumn(np.int64))
    name: GrowingColumn = field(default_factory=lambda: GrowingColumn(np.uint32))
    mipmap: GrowingMipmap = field(default_factory=GrowingMipmap)

    def extend(self, begin: Int64Array, name: UnsignedArray, shift: int, numbers: Int64Array) -> None:
        """Take up what is new, given all events."""
        self.begin.put(begin[self.kept :] + shift, self.kept)
        self.name.put(numbers[name[self.kept :]], self.kept)
        self.kept = max(0, len(begin) - 1)


class _File:
    """The threads of one file at the last reading."""

    def __init__(self) -> None:
        self._shift: int | None = None
        self._moved: dict[tuple[int, int], _Moved] = {}  # (id of the thread, depth, -1 for instants) -> columns
        self._still: list[TraceThread] = []

    def threads(self, part: TraceSource, shift: int, numbers: Int64Array) -> list[TraceThread]:
        if shift != self._shift:
            self._shift, self._moved, self._still = shift, {}, []
        if not shift and not is_renamed(numbers):
            return part.threads
        if not part.is_growing:  # the same file as at the last reading
            self._still = self._still or [moved_thread(thread, shift, numbers) for thread in part.threads]
            return self._still
        return [self._thread(thread, shift, numbers) for thread in part.threads]

    def _thread(self, thread: TraceThread, shift: int, numbers: Int64Array) -> TraceThread:
        lanes = []
        for depth, lane in enumerate(thread.lanes):
            moved = self._columns(thread.row.id, depth, len(lane))
            moved.extend(lane.start, lane.name, shift, numbers)
            begin, name = moved.begin.view, moved.name.view
            mipmap = moved.mipmap.extended(begin, lane.duration, name)
            lanes.append(Lane(begin, lane.duration, lane.site, name, lane.parent, mipmap))
        instants = self._columns(thread.row.id, -1, len(thread.instant_time))
        instants.extend(thread.instant_time, thread.instant_name, shift, numbers)
        return replace(thread, lanes=lanes, instant_time=instants.begin.view, instant_name=instants.name.view)

    def _columns(self, thread: int, depth: int, events: int) -> _Moved:
        """The columns so far; new ones where an earlier reading had more events."""
        known = self._moved.get((thread, depth))
        if known is None or known.kept > events:
            known = self._moved[thread, depth] = _Moved()
        return known
