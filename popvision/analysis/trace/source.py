"""`TraceSource`: the columns of an opened trace file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane, TraceFile, TraceThread
from popvision.arrays import Float64Array, Int64Array, UInt32Array, UnsignedArray
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.kept_imports import imported
from popvision.formats.foreign_traces.recognition import is_foreign_trace, refuse_unknown
from popvision.formats.integrity import LostPart
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.reader import HeatmapRow, SeriesRow, ThreadRow, TraceReader
from popvision.formats.pvti.stored_rows import StoredRows
from popvision.kept import MOST_BYTES, Kept

T = TypeVar("T")

#: Kinds of what the reader of another tool's trace could not take: what is wrong in the file, what has no form here.
LEFT_OUT, NOT_READ = "left out", "not read"

#: The name that the tracer gives a file, of which the time and the process are kept beside the program's name.
_GIVEN_NAME = re.compile(r"[A-Z][a-z]{2}_[A-Z][a-z]{2}_\d+_(\d\d:\d\d:\d\d)_\d{4}_[^_]*_(\d+)(?:_\d+)?\.pvti")


def trace_label(name: str, meta: Mapping[str, str]) -> str:
    """What a trace is called: its file's name, or for one that the tracer named by a date the program that it is of,
    with the time and the process that tell its traces apart. With the rank, where the trace names one."""
    given, words = _GIVEN_NAME.fullmatch(name), meta.get("command", "").split()
    if given is None or not words or words[0].startswith("-"):
        return f"{name}, rank {meta['rank']}" if meta.get("rank") else name
    return f"{Path(words[0]).name} {given[1]}, process {given[2]}"


def _losses_of_import(meta: Mapping[str, str]) -> list[LostPart]:
    """What the reader of another tool's trace could not take, a sentence each."""
    lost = [LostPart("file", f"{meta['problem'].rstrip('.')}.")] if meta.get("problem") else []
    for key, kind in (("left_out", LEFT_OUT), ("not_read", NOT_READ)):
        if counted := meta.get(key, "").rstrip("."):  # "ends without a begin: 1,200; objects: 2"
            number = sum(int(each.replace(",", "")) for each in re.findall(r": ([\d,]+)(?:;|$)", counted))
            lost.append(LostPart(kind, f"{kind.capitalize()}: {counted}.", number))
    return lost


class TraceSource(HostTrace):
    """An opened host trace: a .pvti, or the trace of another tool, which is imported into one first.
    Raises FormatError with one sentence when nothing of it can be read; `lost` has a sentence for each damaged part
    that was left out."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._imported = imported(self.path) if is_foreign_trace(self.path) else None
        if self._imported is None and self.path.suffix != ".pvti":
            refuse_unknown(self.path)
        self.reader = TraceReader(self.path, salvage=True) if self._imported is None else self._imported.reader
        self.label = trace_label(self.path.name, self.reader.meta)
        self.lost: list[LostPart] = []
        self._lost_by_import = _losses_of_import(self.reader.meta)
        with self.reader.one_state():
            self.names: Names = self.reader.names
            stored = self.reader.stored_rows(self.lost)
            self.threads = [self._thread(row, stored) for row in self.reader.threads()]
            self.begin, self.end = self._extent()
            self._processes = tuple(self._readable("processes", "The list of processes", self.reader.processes) or ())
        if self.lost and not (self.begin or self.end):
            raise FormatError(f"{self.path} is damaged, and none of its events can be read: {self.lost[0]}")
        self.lost += self._lost_by_import
        self.kept = self._make_kept()

    @property
    def cache_problem(self) -> str:
        """Why the import of another tool's trace is not kept; "" where it is, or need not be."""
        return "" if self._imported is None else self._imported.problem

    @property
    def is_damaged(self) -> bool:  # type: ignore[override]
        """Whether checksums, or what a reader of another tool's trace said, tell of damage."""
        return bool({"problem", "left_out"} & set(self.meta)) or len(self.lost) > len(self._lost_by_import)

    @property
    def has_checksums(self) -> bool:
        """Whether all of the file is under checksums: not that of another tool, nor one written before version 1.1."""
        return self._imported is None and self.reader.has_checksums

    def survey(self) -> list[LostPart]:
        """`lost` after all of the file was read."""
        _ = self.series, self.heatmaps, self.flow_points()
        return list(dict.fromkeys(self.lost))

    def _make_kept(self) -> Kept:
        """Room for one choice of hidden channels, whichever it is."""
        lanes = sum(lane.nbytes for thread in self.threads for lane in thread.lanes)
        return Kept(max(MOST_BYTES, 2 * lanes))

    @property
    def meta(self) -> dict[str, str]:
        """The file's facts: run_id, command, producer, state, ..."""
        return self.reader.meta

    @cached_property
    def files(self) -> tuple[TraceFile, ...]:
        """The file itself."""
        return (
            TraceFile(
                self.label,
                self.path,
                self.meta,
                self.meta.get("source_state", self.reader.state),
                self._processes,
                range(len(self.threads)),
                range(len(self.series)),
                range(len(self.heatmaps)),
            ),
        )

    def metadata(self, thread: int, site: int) -> str | None:
        """Metadata of the events of a site, as JSON text."""
        return self.reader.metadata(site)

    def metadata_texts(self, thread: int) -> Mapping[int, str]:
        """Site -> JSON text, of all sites with metadata."""
        return self.reader.metadata_texts

    def flow_points(self) -> Int64Array:
        """Points of flows, a row each: flow, number of the thread, time in ns since the epoch."""
        points = self._readable("flows", "The list of flows", self.reader.flow_points)
        if points is None or not len(points) or not self.threads:
            return np.zeros((0, 3), np.int64)
        ids = np.array([thread.row.id for thread in self.threads], np.int64)
        place = np.searchsorted(ids, points[:, 1])
        known = ids[np.minimum(place, len(ids) - 1)] == points[:, 1]
        points[:, 1] = place
        return np.asarray(points[known])

    def flow_names(self, flows: list[int]) -> dict[int, str]:
        """Names of some flows."""
        return self.reader.flow_names(flows) if flows else {}

    @cached_property
    def series(self) -> list[tuple[SeriesRow, Int64Array, Float64Array]]:
        """Each line of a line graph with its times (ns since the epoch) and values."""
        rows = self._readable("line graph", "The list of line graphs", self.reader.series) or []
        read = [
            (row, self._readable("line graph", f"Line {row.name!r}", partial(self.reader.samples, row.id)))
            for row in rows
        ]
        return [(row, *columns) for row, columns in read if columns is not None]

    @cached_property
    def heatmaps(self) -> list[tuple[HeatmapRow, Int64Array, UInt32Array]]:
        """Each heat map with the times of its columns and their quantities (column, bin)."""
        rows = self._readable("heat map", "The list of heat maps", self.reader.heatmaps) or []
        read = [
            (row, self._readable("heat map", f"Heat map {row.name!r}", partial(self.reader.heatmap_columns, row)))
            for row in rows
        ]
        return [(row, *columns) for row, columns in read if columns is not None]

    def _readable(self, kind: str, what: str, read: Callable[[], T]) -> T | None:
        """What can be read; None and a sentence in `lost` where the file is damaged there."""
        try:
            return read()
        except FormatError as error:
            self.lost.append(LostPart(kind, f"{what} cannot be read: {error}"))
            return None

    def _thread(self, row: ThreadRow, stored: StoredRows | None) -> TraceThread:
        events = self.reader.events(row.id, self.lost, stored)
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
        width = np.min_scalar_type(len(self.names))
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
