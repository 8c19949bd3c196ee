"""`JointTrace`: several traces as one, on the clock of the first.

Names of all files are one list, so that a label has one row in statistics and a channel one colour; names, threads,
lines and heat maps of the first file keep their numbers. Columns of a file that does not move and whose names keep
their numbers are shared with it; other files cost a copy of their begins and names, 10 bytes an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from popvision.analysis.trace.alignment import Alignment, Marker, align_traces
from popvision.analysis.trace.columns import HostTrace, Lane, TraceFile, TraceThread
from popvision.analysis.trace.source import TraceSource
from popvision.arrays import Float64Array, Int64Array, UInt32Array, UnsignedArray
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.reader import HeatmapRow, SeriesRow
from popvision.kept import MOST_BYTES, Kept


class JointTrace(HostTrace):
    """The traces `parts`, placed by `alignment`, which has a shift for each.

    `numbers` holds, of each part, the numbers of its names in `names`; `threads` are those of all parts in turn, with
    these numbers and on the common clock."""

    def __init__(
        self,
        parts: Sequence[TraceSource],
        alignment: Alignment,
        names: Names,
        numbers: Sequence[Int64Array],
        threads: list[TraceThread],
    ) -> None:
        self.parts, self.alignment, self._numbers = tuple(parts), alignment, numbers
        self.is_growing = any(part.is_growing for part in parts)
        self.moved = sum(part.moved for part in parts)
        self.label = " + ".join(part.label for part in parts)
        self.lost = [sentence.within(part.label) for part in parts for sentence in part.lost]
        self.is_damaged = any(part.is_damaged for part in parts)
        self.names, self.threads = names, threads
        self.begin, self.end = alignment.begin, alignment.end
        lanes = sum(lane.nbytes for thread in self.threads for lane in thread.lanes)
        self.kept = Kept(max(MOST_BYTES, 2 * lanes))

    @property
    def has_checksums(self) -> bool:
        """Whether all of all files is under checksums."""
        return all(part.has_checksums for part in self.parts)

    @cached_property
    def files(self) -> tuple[TraceFile, ...]:
        """The files in the order of `parts`."""
        files: list[TraceFile] = []
        threads = series = heatmaps = 0
        for part, shift in zip(self.parts, self.alignment.shifts, strict=True):
            (own,) = part.files
            ranges = (
                range(threads, threads + len(own.threads)),
                range(series, series + len(own.series)),
                range(heatmaps, heatmaps + len(own.heatmaps)),
            )
            files.append(replace(own, threads=ranges[0], series=ranges[1], heatmaps=ranges[2], shift=shift))
            threads, series, heatmaps = (each.stop for each in ranges)
        return tuple(files)

    @cached_property
    def series(self) -> list[tuple[SeriesRow, Int64Array, Float64Array]]:
        """Each line of a line graph; graphs of different files stay apart."""
        return [
            (replace(row, graph_id=number << 32 | row.graph_id), times + shift if shift else times, values)
            for number, (part, shift) in enumerate(zip(self.parts, self.alignment.shifts, strict=True))
            for row, times, values in part.series
        ]

    @cached_property
    def heatmaps(self) -> list[tuple[HeatmapRow, Int64Array, UInt32Array]]:
        """Each heat map with the times of its columns and their quantities (column, bin)."""
        return [
            (row, times + shift if shift else times, quantities)
            for part, shift in zip(self.parts, self.alignment.shifts, strict=True)
            for row, times, quantities in part.heatmaps
        ]

    def metadata(self, thread: int, site: int) -> str | None:
        """Metadata of the events of a site of a thread, as JSON text."""
        number, own = self.place_of(thread)
        return self.parts[number].metadata(own, site)

    def metadata_texts(self, thread: int) -> Mapping[int, str]:
        """Site -> JSON text, of all sites with metadata of the file of a thread."""
        return self.parts[self.place_of(thread)[0]].metadata_texts(thread)

    def flow_points(self) -> Int64Array:
        """Points of flows of all files. Flows of one run are one, whichever files they pass; others get numbers of
        their own below 0, by file."""
        parts = [np.zeros((0, 3), np.int64)]
        runs = [part.meta.get("run_id", "") for part in self.parts]
        for number, (part, file) in enumerate(zip(self.parts, self.files, strict=True)):
            points = part.flow_points().copy()
            points[:, 1] += file.threads.start
            points[:, 2] += file.shift
            if not runs[number] or runs[number] != runs[0]:
                points[:, 0] = -1 - (points[:, 0] * len(self.parts) + number)
            parts.append(points)
        return np.concatenate(parts)

    def flow_names(self, flows: list[int]) -> dict[int, str]:
        """Names of some flows."""
        names: dict[int, str] = {}
        for number, part in enumerate(self.parts):
            own = {
                flow if flow >= 0 else (-1 - flow) // len(self.parts): flow
                for flow in flows
                if flow >= 0 or (-1 - flow) % len(self.parts) == number
            }
            names |= {own[flow]: name for flow, name in part.flow_names(list(own)).items() if own[flow] not in names}
        return names

    def _count_names(self) -> Int64Array:
        """The sum of what the parts count, each once."""
        counts = np.zeros(len(self.names), np.int64)
        for part, numbers in zip(self.parts, self._numbers, strict=True):
            np.add.at(counts, numbers, part.events_of_names())
        return counts

    def _find_positions(self, label: str) -> list[tuple[int, int, Int64Array]]:
        return [
            (file.threads.start + thread, depth, positions)
            for part, file in zip(self.parts, self.files, strict=True)
            for thread, depth, positions in part.positions_of(label)
        ]

    def place_of(self, thread: int) -> tuple[int, int]:
        """Number of the file with a thread, and the number of the thread in it."""
        for number, file in enumerate(self.files):
            if thread in file.threads:
                return number, thread - file.threads.start
        raise IndexError(f"there is no thread {thread}")


def marker_at(parts: Sequence[TraceSource], thread: int, depth: int, position: int) -> Marker:
    """What marks an event of a joint trace, its thread counted over all files: its label, its channel, and its number
    by begin among those events of its file. Raises IndexError when there is no such event."""
    for part in parts:
        if thread >= len(part.threads):
            thread -= len(part.threads)
            continue
        owner = part.threads[thread]
        if depth < 0:
            names, times = owner.instant_name, owner.instant_time
        else:
            names, times = owner.lanes[depth].name, owner.lanes[depth].start
        name, begin = int(names[position]), int(times[position])
        return Marker(
            part.names.label[name], part.names.channel_name[part.names.channel[name]], _earlier(part, name, begin)
        )
    raise IndexError(f"there is no thread {thread}")


def join_traces(parts: Sequence[TraceSource], mode: str = "absolute", marker: Marker | None = None) -> JointTrace:
    """Several traces as one, aligned as `align_traces` does. Raises ValueError for an unknown mode."""
    alignment, names = align_traces(parts, mode, marker), JointNames(len(parts))
    numbers = names.add([part.names for part in parts])
    threads = [
        moved_thread(thread, shift, own)
        for part, shift, own in zip(parts, alignment.shifts, numbers, strict=True)
        for thread in part.threads
    ]
    return JointTrace(parts, alignment, names.names(), numbers, threads)


def _earlier(part: TraceSource, name: int, begin: int) -> int:
    """Events of a name that begin before `begin`."""
    count = 0
    for thread in part.threads:
        last = int(np.searchsorted(thread.instant_time, np.int64(begin), "left"))
        count += int(np.count_nonzero(thread.instant_name[:last] == name))
    for number, depth, positions in part.positions_of(part.names.label[name]):
        lane = part.threads[number].lanes[depth]
        earlier = positions[: int(np.searchsorted(positions, np.searchsorted(lane.start, np.int64(begin), "left")))]
        count += int(np.count_nonzero(lane.name[earlier] == name))
    return count


class JointNames:
    """Names of several files, each once; those that are known keep their numbers when others come."""

    def __init__(self, parts: int) -> None:
        self._channels: dict[str, int] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._of_part = [np.zeros(0, np.int64) for _ in range(parts)]

    def add(self, parts: Sequence[Names]) -> list[Int64Array]:
        """For each file the numbers of its names; those given before are its first names still."""
        for at, part in enumerate(parts):
            known = self._of_part[at]
            for channel in part.channel_name:
                self._channels.setdefault(channel, len(self._channels))
            new = [
                self._numbers.setdefault((part.channel_name[channel], label), len(self._numbers))
                for channel, label in zip(part.channel[len(known) :].tolist(), part.label[len(known) :], strict=True)
            ]
            self._of_part[at] = np.concatenate([known, np.array(new, np.int64)])
        return list(self._of_part)

    def names(self) -> Names:
        """All of them."""
        channel_of = np.array([self._channels[channel] for channel, _ in self._numbers], np.int32)
        return Names(np.zeros(0, np.int64), channel_of, [label for _, label in self._numbers], list(self._channels))


def is_renamed(numbers: Int64Array) -> bool:
    """Whether some name of a file has another number in the joint trace."""
    return not np.array_equal(numbers, np.arange(len(numbers)))


def moved_thread(thread: TraceThread, shift: int, numbers: Int64Array) -> TraceThread:
    """The thread on the common clock, its names renumbered."""
    renamed = is_renamed(numbers)
    if not shift and not renamed:
        return thread
    width = np.min_scalar_type(int(numbers.max()) if len(numbers) else 0)

    def renumber(names: UnsignedArray) -> UnsignedArray:
        return np.asarray(numbers.astype(width)[names]) if renamed else names

    lanes = [
        Lane(lane.start + shift if shift else lane.start, lane.duration, lane.site, renumber(lane.name), lane.parent)
        for lane in thread.lanes
    ]
    return replace(
        thread,
        lanes=lanes,
        instant_time=thread.instant_time + shift if shift else thread.instant_time,
        instant_name=renumber(thread.instant_name),
    )
