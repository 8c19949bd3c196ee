"""Host traces with libpva's names: Trace -> Process -> Thread -> Event, views over columns; line graphs and heat maps,
which libpva's published names do not cover, as arrays.

Instant events appear among their siblings with duration 0. Times are whole microseconds as libpva gives them;
`Event.nanoseconds` keeps what the file has.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from popvision.analysis.trace.source import TraceSource
from popvision.formats.foreign_traces.kept_imports import imported
from popvision.formats.foreign_traces.recognition import is_foreign_trace
from popvision.formats.integrity import Loss, Verified, summed, verified
from popvision.formats.pvti.reader import HeatmapRow, SeriesRow, ThreadEvents, ThreadRow, TraceReader
from popvision.pva.listview import ListView

_INSTANTS = -1


class Event:
    """One event of a thread. Equal objects are the same event of the same opened trace."""

    __slots__ = ("_depth", "_index", "_thread")

    def __init__(self, thread: Thread, depth: int, index: int) -> None:
        self._thread, self._depth, self._index = thread, depth, index

    @property
    def label(self) -> str:
        """The name that the program gave it."""
        names = self._thread._reader.names
        return names.label[int(names.of_site[self._site])]

    @property
    def channel(self) -> str:
        """The name of its trace channel."""
        names = self._thread._reader.names
        return names.channel_name[int(names.channel[names.of_site[self._site]])]

    @property
    def timestamp(self) -> int:
        """Begin, in whole microseconds since the Unix epoch."""
        return self.nanoseconds[0] // 1000

    @property
    def duration(self) -> int:
        """Whole microseconds, rounded down; 0 for an instant event."""
        return self.nanoseconds[1] // 1000

    @property
    def nanoseconds(self) -> tuple[int, int]:
        """Begin since the Unix epoch and duration, in nanoseconds."""
        events = self._thread._columns
        if self._depth == _INSTANTS:
            return int(events.instants.time[self._index]), 0
        lane = events.lanes[self._depth]
        return int(lane.start[self._index]), int(lane.duration[self._index])

    @property
    def metadata(self) -> str | None:
        """The JSON text that the program attached. The first use reads the texts of all events."""
        return self._thread._reader.metadata_texts.get(self._site)

    def children(self) -> ListView[Event]:
        """Events directly inside this one, in time order."""
        if self._depth == _INSTANTS:
            return ListView(0, self._thread._event)
        return self._thread._inside(self._depth, self._index)

    @property
    def _site(self) -> int:
        events = self._thread._columns
        sites = events.instants.site if self._depth == _INSTANTS else events.lanes[self._depth].site
        return int(sites[self._index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, int, int]:
        return id(self._thread), self._depth, self._index

    def __repr__(self) -> str:
        return f"Event(label={self.label!r}, channel={self.channel!r}, duration={self.duration} us)"


class Thread:
    """A thread of a process; `events` are its top-level events."""

    def __init__(self, reader: TraceReader, row: ThreadRow) -> None:
        self._reader, self._row = reader, row

    @property
    def tid(self) -> int:
        """The operating system's thread id."""
        return self._row.tid

    @property
    def name(self) -> str:
        """The thread's name, "" when it has none."""
        return self._row.name

    @cached_property
    def events(self) -> ListView[Event]:
        """Top-level events in time order."""
        return self._inside(-1, 0)

    def __repr__(self) -> str:
        return f"Thread(tid={self.tid}, name={self.name!r})"

    @cached_property
    def _columns(self) -> ThreadEvents:
        return self._reader.events(self._row.id)

    def _event(self, key: int) -> Event:
        raise IndexError(key)

    def _inside(self, depth: int, index: int) -> ListView[Event]:
        """Slices one lane deeper and instants directly inside that event, by time."""
        events = self._columns
        rows: NDArray[np.int64] = np.zeros(0, np.int64)
        first = 0
        if depth + 1 < len(events.lanes):
            first, last = 0, len(events.lanes[depth + 1])
            if depth >= 0:
                parent = events.lanes[depth + 1].parent
                first, last = np.searchsorted(parent, np.array([index, index + 1], parent.dtype)).tolist()
            rows = np.arange(first, last)
        instants = self._instants_inside(depth, index)
        starts = events.lanes[depth + 1].start[rows] if len(rows) else np.zeros(0, np.int64)
        times = np.concatenate([starts, events.instants.time[instants]])
        order = np.argsort(times, kind="stable")
        position = np.concatenate([rows, instants])[order]
        level = np.where(order < len(rows), depth + 1, _INSTANTS)
        return ListView(len(order), lambda at: Event(self, int(level[at]), int(position[at])))

    def _instants_inside(self, depth: int, index: int) -> NDArray[np.int64]:
        rows = self._instants_by_depth.get(depth + 1)
        if rows is None:
            return np.zeros(0, np.int64)
        parent = self._columns.instants.parent[rows]
        first, last = np.searchsorted(parent, np.array([index, index + 1], parent.dtype)).tolist()
        return rows[first:last]

    @cached_property
    def _instants_by_depth(self) -> dict[int, NDArray[np.int64]]:
        """Positions of instants by the number of events open around them, each list by ascending parent."""
        depth = self._columns.instants.depth
        return {int(level): np.flatnonzero(depth == level) for level in np.unique(depth)}


class Process:
    """A process of the trace."""

    def __init__(self, pid: int, name: str, threads: list[Thread]) -> None:
        self.pid = pid
        self.name = name
        self._threads = threads

    @property
    def threads(self) -> list[Thread]:
        """Its threads, in the order of their first event."""
        return list(self._threads)

    def thread(self, tid: int) -> Thread:
        """The thread with that id; KeyError when there is none."""
        for thread in self._threads:
            if thread.tid == tid:
                return thread
        raise KeyError(f"process {self.pid} has no thread {tid}.")

    def __repr__(self) -> str:
        return f"Process(pid={self.pid}, threads={len(self._threads)})"


class LineGraph:
    """A line graph of a trace: lines that share a unit."""

    def __init__(self, name: str, unit: str, series: list[LineGraphSeries]) -> None:
        self.name, self.unit = name, unit
        self._series = series

    @property
    def series(self) -> list[LineGraphSeries]:
        """Its lines, in the order they were made."""
        return list(self._series)

    def __repr__(self) -> str:
        return f"LineGraph(name={self.name!r}, unit={self.unit!r}, series={len(self._series)})"


class LineGraphSeries:
    """A line of a line graph; a value holds until the next one."""

    def __init__(self, reader: TraceReader, row: SeriesRow) -> None:
        self._reader, self._row = reader, row

    @property
    def name(self) -> str:
        """The name that the program gave it."""
        return self._row.name

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """Time of each sample, in whole microseconds since the Unix epoch, ascending."""
        return self._samples[0] // 1000

    @property
    def values(self) -> NDArray[np.float64]:
        """Value of each sample."""
        return self._samples[1]

    @cached_property
    def _samples(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return self._reader.samples(self._row.id)

    def __repr__(self) -> str:
        return f"LineGraphSeries(name={self.name!r})"


class Heatmap:
    """Histograms over time. With the unit "2^x" the edges are exponents."""

    def __init__(self, reader: TraceReader, row: HeatmapRow) -> None:
        self._reader, self._row = reader, row

    @property
    def name(self) -> str:
        """The name that the program gave it."""
        return self._row.name

    @property
    def unit(self) -> str:
        """The unit of the edges, "" for none."""
        return self._row.unit

    @property
    def edges(self) -> NDArray[np.float64]:
        """Ascending edges of the bins, one more than bins."""
        return self._row.edges

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """Time of each histogram, in whole microseconds since the Unix epoch, ascending."""
        return self._columns[0] // 1000

    @property
    def quantities(self) -> NDArray[np.uint32]:
        """Values counted, [histogram, bin]: below the first edge, in each bin, from the last edge up."""
        return self._columns[1]

    @cached_property
    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        return self._reader.heatmap_columns(self._row)

    def __repr__(self) -> str:
        return f"Heatmap(name={self.name!r}, unit={self.unit!r}, bins={len(self.edges) - 1})"


class Trace:
    """An opened host trace."""

    def __init__(self, reader: TraceReader, path: Path) -> None:
        self._reader, self._path = reader, path
        rows = reader.threads()
        self._processes = [
            Process(pid, name, [Thread(reader, row) for row in rows if row.pid == pid])
            for pid, _, name in reader.processes()
        ]

    @property
    def processes(self) -> list[Process]:
        """Its processes; our files hold one."""
        return list(self._processes)

    def process(self, pid: int) -> Process:
        """The process with that id; KeyError when there is none."""
        for process in self._processes:
            if process.pid == pid:
                return process
        raise KeyError(f"{self._reader.path} has no process {pid}.")

    @cached_property
    def lost(self) -> list[Loss]:
        """What damage has cost: a kind, a count and the sentence about the first of each. Reads the entire file. Not
        one of libpva's names; here a damaged part raises FormatError where it is asked for."""
        return summed(self._surveyed.survey())

    @property
    def verified(self) -> Verified:
        """Whether the file matches its checksums: "yes", "partly" where something is `lost`, "no" for a file of another
        tool or of before version 1.1. Reads the entire file. Not one of libpva's names."""
        return verified(self.lost, self._surveyed.has_checksums)

    @cached_property
    def _surveyed(self) -> TraceSource:
        return TraceSource(self._path)

    @property
    def metadata(self) -> dict[str, str]:
        """Facts that the file records: run_id, command, producer, state ..."""
        return dict(self._reader.meta)

    @property
    def channels(self) -> list[str]:
        """Names of the trace channels, in the order they were made."""
        return [name for name, _ in self._reader.channels()]

    @cached_property
    def lineGraphs(self) -> list[LineGraph]:
        """Line graphs, in the order they were made."""
        graphs: dict[int, LineGraph] = {}
        for row in self._reader.series():
            graph = graphs.setdefault(row.graph_id, LineGraph(row.graph, row.unit, []))
            graph._series.append(LineGraphSeries(self._reader, row))
        return list(graphs.values())

    @cached_property
    def heatmaps(self) -> list[Heatmap]:
        """Heat maps, in the order they were made."""
        return [Heatmap(self._reader, row) for row in self._reader.heatmaps()]

    def __repr__(self) -> str:
        return f"Trace({str(self._reader.path)!r}, processes={len(self._processes)})"


def openTrace(filename: str | os.PathLike[str]) -> Trace:
    """Open a host trace: a .pvti, or a Chrome or Perfetto trace. Raises FormatError, a RuntimeError, with one sentence
    when it cannot be read."""
    path = Path(filename)
    if not is_foreign_trace(path):
        return Trace(TraceReader(path), path)
    return Trace(imported(path).reader, path)
