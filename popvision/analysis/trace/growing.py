"""`FollowedTrace`: a trace that its program still writes, of which each reading takes what was added.

The columns of the events so far grow at their end (growing_columns.py), so that a reading costs what is new: 100,000
events cost some tens of milliseconds, whether the trace has a thousand events or ten million. Once the program has
ended, and the journal became nested slices, the file is read as a whole.

The trace of another tool is imported anew at each reading, since its events come in any order: an end may lie before
what was shown of its span. `moved` of a reading counts the spans that such ends have moved so far.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from popvision.analysis.trace.columns import TraceThread
from popvision.analysis.trace.growing_columns import GrowingColumn, GrowingLane
from popvision.analysis.trace.source import TraceSource
from popvision.arrays import Float64Array, Int64Array, UInt32Array
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.recognition import is_foreign_trace
from popvision.formats.pvti.growing import GrowingJournal, GrowingNames, NewColumn, NewSamples, StartAgainError
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.nesting import Nested
from popvision.formats.pvti.reader import HeatmapRow, SeriesRow, ThreadRow, TraceReader


class FollowedTrace:
    """The trace at `path`, however it changes. Not thread-safe: ask it under a lock."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._growing: _Growing | None = None
        self._shown: _Shown | None = None  #: of another tool's trace at the last reading
        self._moved = 0
        self._bytes = 0  #: of the file when it was last read: SQLite adds pages to a trace, and takes none away

    def now(self) -> TraceSource:
        """The trace as it is now. Raises FormatError with one sentence when nothing of it can be read."""
        if is_foreign_trace(self.path):
            return self._imported()
        for _ in range(2):
            reader = TraceReader(self.path, salvage=True)
            if not reader.is_growing():
                break
            try:
                return self._grown(reader)
            except StartAgainError:
                self._growing = None
            except FormatError:
                break
        self._growing = None
        return TraceSource(self.path)

    def _imported(self) -> TraceSource:
        size, source = self.path.stat().st_size, TraceSource(self.path)
        shown = _Shown.of(source)
        if self._shown is None or size < self._bytes:
            self._moved = 0
        else:
            self._moved += _moved_spans(self._shown, shown)
        self._shown, self._bytes, source.moved = shown, size, self._moved
        return source

    def _grown(self, reader: TraceReader) -> TraceSource:
        status = self.path.stat()
        identity = (status.st_ino, reader.meta.get("run_id"), reader.meta.get("clock_offset_ns"))
        is_cut_off, self._bytes = status.st_size < self._bytes, status.st_size
        if self._growing is None or self._growing.identity != identity or is_cut_off:
            self._growing = _Growing(identity, int(reader.meta["clock_offset_ns"]))
        growing, self._growing = self._growing, None  # a reading that fails leaves columns that are partly new
        grown = growing.read(self.path, reader)
        self._growing = growing
        return grown


@dataclass(frozen=True)
class _Shown:
    """The spans of a reading, a row each: thread (a hash of what tells it from others), name, begin, end, is open."""

    table: Int64Array

    @classmethod
    def of(cls, source: TraceSource) -> _Shown:
        names = np.array(
            [hash((source.names.channel_name[channel], label)) for channel, label in _channel_and_label(source.names)],
            np.int64,
        )
        parts = [np.zeros((5, 0), np.int64)]
        for thread in source.threads:
            number = hash((thread.row.pid, thread.row.tid, thread.row.name))
            for depth, lane in enumerate(thread.lanes):
                is_open = np.zeros(len(lane), np.int64)
                is_open[[position for level, position in thread.unfinished if level == depth]] = 1
                parts.append(np.stack([np.full(len(lane), number), names[lane.name], lane.start, lane.end, is_open]))
        return cls(np.concatenate(parts, axis=1))


def _channel_and_label(names: Names) -> list[tuple[int, str]]:
    return list(zip(names.channel.tolist(), names.label, strict=True))


def _moved_spans(before: _Shown, after: _Shown) -> int:
    """Spans with another end than before. One that was open has moved where it ends before what was shown of it.
    Spans of one thread, name and begin are told apart by their ends, the open ones last."""
    side = np.repeat([0, 1], [before.table.shape[1], after.table.shape[1]])
    thread, name, begin, end, is_open = np.concatenate([before.table, after.table], axis=1)
    order = np.lexsort((end, is_open, side, begin, name, thread))
    keys = np.stack([thread, name, begin, side])[:, order]
    is_first = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)]
    first = np.flatnonzero(is_first)
    rank = np.arange(len(order)) - first[np.cumsum(is_first) - 1]
    same_span = np.cumsum(np.append(True, (keys[:3, 1:] != keys[:3, :-1]).any(axis=0))[: len(order)])
    codes = same_span * (len(order) + 1) + rank
    old, new = (order[keys[3] == each] for each in (0, 1))
    _, at, to = np.intersect1d(codes[keys[3] == 0], codes[keys[3] == 1], assume_unique=True, return_indices=True)
    old, new = old[at], new[to]
    has_moved = np.where(is_open[old] == 1, (is_open[new] == 0) & (end[new] < end[old]), end[new] != end[old])
    return int(has_moved.sum())


@dataclass
class _Thread:
    lanes: list[GrowingLane] = field(default_factory=list)
    instant_time: GrowingColumn = field(default_factory=lambda: GrowingColumn(np.int64))
    instant_site: GrowingColumn = field(default_factory=lambda: GrowingColumn(np.uint32))
    instant_name: GrowingColumn = field(default_factory=lambda: GrowingColumn(np.uint32))
    unfinished: set[tuple[int, int]] = field(default_factory=set)

    def lane(self, depth: int) -> GrowingLane:
        while len(self.lanes) <= depth:
            self.lanes.append(GrowingLane())
        return self.lanes[depth]

    def add(self, nested: Nested, of_site: Int64Array) -> None:
        for depth, slices in nested.lanes.items():
            self.lane(depth).add(slices, of_site)
        instants = nested.instants
        if instants is not None:
            self.instant_time.put(instants.time)
            self.instant_site.put(instants.site)
            self.instant_name.put(of_site[instants.site])
        self.unfinished.update(nested.unfinished)

    def frozen(self, row: ThreadRow, opened: Nested, of_site: Int64Array) -> TraceThread:
        """The thread with its events that have not ended."""
        for lane in self.lanes:
            lane.without_open()
        for depth, slices in opened.lanes.items():
            self.lane(depth).add(slices, of_site, is_open=True)
        return TraceThread(
            row,
            [lane.lane() for lane in self.lanes],
            self.instant_time.view,
            self.instant_name.view,
            self.instant_site.view,
            frozenset(self.unfinished.union(opened.unfinished)),
        )


Series = list[tuple[SeriesRow, Int64Array, Float64Array]]
Heatmaps = list[tuple[HeatmapRow, Int64Array, UInt32Array]]


class GrownTrace(TraceSource):
    """What a reading hands out. Its columns are views of the growing ones; `recording` is the same object for all
    readings of one recording."""

    is_growing = True

    def __init__(
        self,
        path: Path,
        reader: TraceReader,
        *,
        names: Names,
        threads: list[TraceThread],
        processes: list[tuple[int, int | None, str]],
        series: Series,
        heatmaps: Heatmaps,
        counts: Int64Array,
        lanes: list[list[GrowingLane]],
        recording: object,
    ) -> None:
        self.path, self.reader, self.label, self.lost = path, reader, path.name, []
        self._lost_by_import, self._imported = [], None
        self.names, self.threads, self._processes = names, threads, tuple(processes)
        self.series, self.heatmaps = series, heatmaps
        self.begin, self.end = self._extent()
        self.kept = self._make_kept()
        self._counts, self._lanes, self.recording = counts, lanes, recording

    def _count_names(self) -> Int64Array:
        return self._counts

    def _find_positions(self, label: str) -> list[tuple[int, int, Int64Array]]:
        names = np.array([number for number, each in enumerate(self.names.label) if each == label], np.int64)
        found = []
        for number, lanes in enumerate(self._lanes if len(names) else ()):
            for depth, (growing, lane) in enumerate(zip(lanes, self.threads[number].lanes, strict=False)):
                positions = growing.positions_of(label, names)
                positions = positions[: int(np.searchsorted(positions, len(lane)))]
                last = len(lane) - 1
                if lane.name[last] in names and (not len(positions) or positions[-1] != last):
                    positions = np.append(positions, last)  # it has not ended
                if len(positions):
                    found.append((number, depth, positions))
        return found


def _ascending(before: GrowingColumn, times: Int64Array) -> Int64Array:
    """Times as a line has them: never before an earlier sample."""
    least = before.view[-1] if len(before) else np.iinfo(np.int64).min
    ascending: Int64Array = np.maximum.accumulate(np.maximum(times, least))
    return ascending


class _Growing:
    """The columns of one recording."""

    def __init__(self, identity: tuple[object, ...], clock_offset_ns: int) -> None:
        self.identity = identity
        self._names, self._journal = GrowingNames(), GrowingJournal(clock_offset_ns)
        self._threads: dict[int, _Thread] = {}
        self._counts = np.zeros(0, np.int64)
        self._samples: dict[int, tuple[GrowingColumn, GrowingColumn]] = {}
        self._columns: dict[int, tuple[GrowingColumn, GrowingColumn]] = {}

    def read(self, path: Path, reader: TraceReader) -> TraceSource:
        """Take up what is new, and hand out all of it."""
        with reader.one_state() as db:
            self._journal.check(db)
            names = self._names.read(db)
            self._counts = np.concatenate([self._counts, np.zeros(len(names) - len(self._counts), np.int64)])
            for id, nested in self._journal.events(db, names):
                self._threads.setdefault(id, _Thread()).add(nested, names.of_site)
                self._count(nested, names.of_site)
            rows = reader.threads()
            series = self._read_samples(reader, list(self._journal.samples(db)))
            widths = {row.id: len(row.edges) + 1 for row in reader.heatmaps()}
            heatmaps = self._read_columns(reader, list(self._journal.columns(db, widths)))
            processes = reader.processes()
        opened, counts = dict(self._journal.open_events()), self._counts.copy()
        for nested in opened.values():
            self._count(nested, names.of_site, counts)
        threads = [
            self._threads.setdefault(row.id, _Thread()).frozen(row, opened.get(row.id, Nested()), names.of_site)
            for row in rows
        ]
        return GrownTrace(
            path,
            reader,
            names=names,
            threads=threads,
            processes=processes,
            series=series,
            heatmaps=heatmaps,
            counts=counts,
            lanes=[self._threads[row.id].lanes for row in rows],
            recording=self,
        )

    def _count(self, nested: Nested, of_site: Int64Array, counts: Int64Array | None = None) -> None:
        counts = self._counts if counts is None else counts
        parts = [slices.site for slices in nested.lanes.values()]
        for sites in parts if nested.instants is None else [*parts, nested.instants.site]:
            counts += np.bincount(of_site[sites], minlength=len(counts))

    def _read_samples(self, reader: TraceReader, added: list[NewSamples]) -> Series:
        for new in added:
            times, values = self._samples.setdefault(new.series, (GrowingColumn(np.int64), GrowingColumn(np.float64)))
            times.put(_ascending(times, new.time))
            values.put(new.value)
        empty = GrowingColumn(np.int64), GrowingColumn(np.float64)
        found = [(row, self._samples.get(row.id, empty)) for row in reader.series()]
        return [(row, times.view, values.view) for row, (times, values) in found]

    def _read_columns(self, reader: TraceReader, added: list[NewColumn]) -> Heatmaps:
        rows = reader.heatmaps()
        for row in rows:
            if row.id not in self._columns:
                self._columns[row.id] = GrowingColumn(np.int64), GrowingColumn(np.uint32, (len(row.edges) + 1,))
        for new in added:
            times, table = self._columns[new.heatmap]
            times.put(_ascending(times, np.array([new.time])))
            table.put(new.quantities[None, :])
        return [(row, self._columns[row.id][0].view, self._columns[row.id][1].view) for row in rows]
