"""`TraceSource`: an opened host trace as columns, one lane of never-overlapping events per thread and depth."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from popvision.analysis.trace.mipmap import FEW, Mipmap, build_mipmap
from popvision.arrays import BoolArray, Float64Array, Int64Array, UInt32Array, UnsignedArray
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.importing import is_foreign_trace, temporary_import
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.reader import HeatmapRow, SeriesRow, ThreadRow, TraceReader
from popvision.kept import MOST_BYTES, Kept

T = TypeVar("T")


class Lane:
    """Events of one thread at one depth in time order. Times are ns since the epoch.

    `name[i]` numbers a (channel, label) of the source's names; `parent[i]` is a position in the lane above.
    """

    def __init__(
        self,
        start: Int64Array,
        duration: UnsignedArray,
        site: UnsignedArray,
        name: UnsignedArray,
        parent: UnsignedArray,
    ) -> None:
        self.start, self.duration, self.site, self.name, self.parent = start, duration, site, name, parent
        self.positions: Int64Array | None = None
        """Of a lane that `only` has thinned out: positions of its events in the complete lane."""
        self._lock = threading.Lock()
        self._mipmap: Mipmap | None = None

    def only(self, keep: BoolArray) -> Lane:
        """A lane of some of the events, for drawing."""
        rows = np.flatnonzero(keep)
        lane = Lane(self.start[rows], self.duration[rows], self.site[rows], self.name[rows], self.parent[rows])
        lane.positions = rows
        return lane

    def __len__(self) -> int:
        return len(self.start)

    @property
    def end(self) -> Int64Array:
        """Exclusive end of each event."""
        return np.asarray(self.start + self.duration.astype(np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        columns = (self.start, self.duration, self.site, self.name, self.parent, self.positions)
        return sum(column.nbytes for column in columns if column is not None)

    @property
    def mipmap(self) -> Mipmap:
        """Events merged by time at several widths, for drawing; built once, by the first request."""
        with self._lock:
            if self._mipmap is None:
                self._mipmap = build_mipmap(self.start, self.duration, self.name)
            return self._mipmap

    def between(self, begin: int, end: int) -> tuple[int, int]:
        """Positions of the events that overlap [begin, end); an event of no length belongs where it begins."""
        first = int(np.searchsorted(self.start, np.int64(begin), "left"))
        if first and int(self.start[first - 1]) + int(self.duration[first - 1]) > begin:
            first -= 1
        return first, max(first, int(np.searchsorted(self.start, np.int64(end), "left")))


@dataclass(frozen=True)
class TraceThread:
    """A thread with its lanes and instants (times ns since the epoch; `instant_name` numbers a name)."""

    row: ThreadRow
    lanes: list[Lane]
    instant_time: Int64Array
    instant_name: UnsignedArray
    instant_site: UnsignedArray
    unfinished: frozenset[tuple[int, int]]

    @property
    def events(self) -> int:
        """Events with a duration."""
        return sum(len(lane) for lane in self.lanes)


class TraceSource:
    """An opened host trace: a .pvti, or the trace of another tool, which is imported into a temporary .pvti first.
    Raises FormatError with one sentence when nothing of it can be read; `lost` has a sentence for each damaged part
    that was left out."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._imported = temporary_import(self.path) if is_foreign_trace(self.path) else None
        file = self.path if self._imported is None else Path(self._imported.name, "trace.pvti")
        self.reader = TraceReader(file, salvage=True)
        self.label = self.path.name
        self.lost: list[str] = []
        with self.reader.one_state():
            self.names: Names = self.reader.names
            self.threads = [self._thread(row) for row in self.reader.threads()]
            self.begin, self.end = self._extent()
        if self.lost and not (self.begin or self.end):
            raise FormatError(f"{self.path} is damaged, and none of its events can be read: {self.lost[0]}")
        lanes = sum(lane.nbytes for thread in self.threads for lane in thread.lanes)
        self.kept = Kept(max(MOST_BYTES, 2 * lanes))  #: room for one choice of hidden channels, whichever it is

    def prepare(self) -> None:
        """Begin to make what drawing needs, in the background: NumPy leaves the interpreter lock while it works."""
        lanes = sorted((lane for thread in self.threads for lane in thread.lanes), key=len, reverse=True)
        pool = ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1), thread_name_prefix="trace")
        for lane in lanes:
            if len(lane) >= FEW:
                pool.submit(getattr, lane, "mipmap")
        pool.shutdown(wait=False)

    def lanes_without(self, thread: int, channels: frozenset[int]) -> list[Lane]:
        """A thread's lanes without the events of some channels (numbers of `names.channel_name`)."""
        lanes = self.threads[thread].lanes
        if not channels:
            return lanes

        def thin_out() -> list[Lane]:
            shown = ~np.isin(self.names.channel, list(channels))
            return [lane.only(shown[lane.name]) for lane in lanes]

        return self.kept.recent(("lanes without", thread, channels), thin_out)

    @property
    def meta(self) -> dict[str, str]:
        """The file's facts: run_id, command, producer, state, ..."""
        return self.reader.meta

    @property
    def events(self) -> int:
        """Events with a duration, all threads."""
        return sum(thread.events for thread in self.threads)

    @cached_property
    def series(self) -> list[tuple[SeriesRow, Int64Array, Float64Array]]:
        """Each line of a line graph with its times (ns since the epoch) and values."""
        rows = self._readable("The list of line graphs", self.reader.series) or []
        read = [(row, self._readable(f"Line {row.name!r}", partial(self.reader.samples, row.id))) for row in rows]
        return [(row, *columns) for row, columns in read if columns is not None]

    @cached_property
    def heatmaps(self) -> list[tuple[HeatmapRow, Int64Array, UInt32Array]]:
        """Each heat map with the times of its columns and their quantities (column, bin)."""
        rows = self._readable("The list of heat maps", self.reader.heatmaps) or []
        read = [
            (row, self._readable(f"Heat map {row.name!r}", partial(self.reader.heatmap_columns, row))) for row in rows
        ]
        return [(row, *columns) for row, columns in read if columns is not None]

    def _readable(self, what: str, read: Callable[[], T]) -> T | None:
        """What can be read; None and a sentence in `lost` where the file is damaged there."""
        try:
            return read()
        except FormatError as error:
            self.lost.append(f"{what} cannot be read: {error}")
            return None

    def _thread(self, row: ThreadRow) -> TraceThread:
        events = self.reader.events(row.id, self.lost)
        lanes = [
            Lane(lane.start, lane.duration, lane.site, self._names_of_sites(lane.site), lane.parent)
            for lane in events.lanes
        ]
        instants = events.instants
        return TraceThread(
            row, lanes, instants.time, self._names_of_sites(instants.site), instants.site, frozenset(events.unfinished)
        )

    def _names_of_sites(self, site: UnsignedArray) -> UnsignedArray:
        of_site = self.names.of_site
        width = np.dtype(np.uint16 if len(self.names) < 1 << 16 else np.uint32)
        if len(site) and int(site.max()) >= len(of_site):
            raise self._damage_error(int(site.max()))
        if (of_site < 0).any() and (of_site[site] < 0).any():
            raise self._damage_error(int(site[of_site[site] < 0][0]))
        return np.asarray(of_site.astype(width)[site])

    def _damage_error(self, site: int) -> FormatError:
        return FormatError(f"{self.path} is damaged: an event refers to site {site}, which is not in the file.")

    def _extent(self) -> tuple[int, int]:
        """First begin and last end of everything in the file, ns since the epoch; (0, 0) when it is empty."""
        lows, highs = [], []
        for thread in self.threads:
            for lane in thread.lanes:
                lows.append(int(lane.start[0]))
                highs.append(int(lane.start[-1]) + int(lane.duration[-1]))
            if len(thread.instant_time):
                lows.append(int(thread.instant_time[0]))
                highs.append(int(thread.instant_time[-1]))
        for times in [times for _, times, _ in self.series] + [times for _, times, _ in self.heatmaps]:
            if len(times):
                lows.append(int(times[0]))
                highs.append(int(times[-1]))
        return (min(lows), max(highs)) if lows else (0, 0)
