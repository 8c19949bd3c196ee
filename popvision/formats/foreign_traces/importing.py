"""Foreign traces -> .pvti files, which everything else reads."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.chrome_json import read_chrome_json
from popvision.formats.foreign_traces.clock import LATEST_NS, set_clock
from popvision.formats.foreign_traces.lanes import lay_out
from popvision.formats.foreign_traces.perfetto import read_perfetto
from popvision.formats.foreign_traces.profiles import read_cpuprofile, read_speedscope
from popvision.formats.foreign_traces.recognition import TITLES, kind_of, refusal
from popvision.formats.foreign_traces.recording import TOO_DEEP, FlowPoints, Recording, Track, short
from popvision.formats.foreign_traces.sharing import share_rows
from popvision.formats.pvti.columns import Slices
from popvision.formats.pvti.finalise import finalise_closed, write_instants, write_slices, write_unfinished
from popvision.formats.pvti.writer import TraceWriter

#: Events of a lane in one row, and points of flows that are numbers of Python at once.
_RUN = 1 << 18

Ints = NDArray[np.int64]


def import_trace(source: Path, target: Path, unit: str = "us") -> dict[str, int]:
    """Write the trace of another tool to `target`, a new .pvti; what could not be taken, with its number. Times of
    Chrome trace events count `unit`s (chrome_json.UNITS).

    Raises FormatError, one sentence, for a file that is no trace this version knows; no file is left then. Raises
    FileExistsError when the target is taken."""
    recording = import_recording(source, target, unit)
    return dict(recording.left_out + recording.not_read)


def import_recording(source: Path, target: Path, unit: str = "us", *, keeps_losses: bool = True) -> Recording:
    """Write a trace as `import_trace` does, on demand without what says of its losses; all that was counted."""
    with _without_collector():
        recording = read_recording(source, unit)
        try:
            write_recording(recording, target, str(source), keeps_losses=keeps_losses)
        except (sqlite3.Error, OSError) as problem:
            if not isinstance(problem, FileExistsError):
                target.unlink(missing_ok=True)
                raise FormatError(f"cannot write {target}: {problem}; give another path or free space.") from None
            raise
    return recording


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Without Python's search for cycles, of which events and rows have none: it looks at all names again and again,
    a third of the time of writing."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def read_recording(path: Path, unit: str = "us") -> Recording:
    """What a file holds, read as its first bytes say. Raises FormatError for an unknown one."""
    try:
        kind = kind_of(path)
    except OSError as problem:
        raise FormatError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    if kind == "chrome":
        return read_chrome_json(path, unit)
    if not kind:
        raise FormatError(refusal(path))
    if unit != "us":
        raise FormatError(f"{path} is a {TITLES[kind]}, which says its units itself: leave the unit out.")
    return {"perfetto": read_perfetto, "speedscope": read_speedscope, "cpuprofile": read_cpuprofile}[kind](path)


def write_recording(recording: Recording, target: Path, origin: str, *, keeps_losses: bool = True) -> None:
    """Write a finalised .pvti of what was read, by default with what was lost and which spans have no end. Names, flows
    and tracks leave the recording as they are written, so that the next ones have their memory."""
    set_clock(recording)
    recording.finish_spans()
    share_rows(recording)
    meta = {"producer": recording.producer, "imported_from": origin}
    if recording.problem and keeps_losses:
        meta["problem"] = recording.problem
    if recording.samples:
        meta["samples"] = str(recording.samples)
    if recording.unit:
        meta["unit"] = recording.unit
    if recording.rank is not None:
        meta["rank"], meta["ranks"] = map(str, recording.rank)
    if recording.is_open and keeps_losses:
        meta["source_state"] = "recording"
    writer = TraceWriter(target, meta, clock_offset_ns=0)
    try:
        with writer.transaction():
            _write_names(writer, recording)
            tracks = [each for each in recording.tracks.values() if len(each.begin) or len(each.instant_time)]
            tracks.sort(key=lambda each: (each.process, each.order))
            _write_flows(writer, recording, tracks)
            for id, track in enumerate(tracks, start=1):
                writer.set_thread(id, track.process, track.tid, short(track.name))
                if not keeps_losses:
                    track.unfinished = array("q")
                _write_track(writer, id, track, recording)
                track.clear()
            _write_counters(writer, recording)
            for key, counted in (("left_out", recording.left_out), ("not_read", recording.not_read)):
                if counted and keeps_losses:
                    writer.set_meta(key, "; ".join(f"{what}: {number:,}" for what, number in sorted(counted.items())))
        finalise_closed(writer)
    except BaseException:
        writer.release()
        target.unlink(missing_ok=True)
        raise


def _write_names(writer: TraceWriter, recording: Recording) -> None:
    for pid, name in recording.processes.items():
        writer.add_process(pid, pid, None, short(name))
    texts: dict[str, int] = {}
    channels: dict[str, int] = {}

    def sites() -> Iterator[tuple[int, int, int, int | None]]:
        for site in np.flatnonzero(_used_sites(recording)).tolist():
            channel, label, metadata = recording.keys[site]
            of_channel = channels.setdefault(channel, len(channels) + 1)
            of_label = texts.setdefault(label, len(texts) + 1)
            of_metadata = None if metadata is None else texts.setdefault(metadata, len(texts) + 1)
            yield site, of_channel, of_label, of_metadata

    writer.add_sites(sites())
    recording.sites.clear()
    recording.keys.clear()
    for channel, number in channels.items():
        writer.set_channel(number, channel or "events", True)
    writer.add_strings((number, text) for text, number in texts.items())


def _used_sites(recording: Recording) -> NDArray[np.bool_]:
    """Whether an event has a site: those of ends and what was joined of two are only read from."""
    used = np.zeros(len(recording.keys), bool)
    for track in recording.tracks.values():
        used[np.asarray(track.site)] = True
        used[np.asarray(track.instant_site)] = True
    return used


def _write_track(writer: TraceWriter, id: int, track: Track, recording: Recording) -> None:
    begin, end, instant_time = (np.asarray(column) for column in (track.begin, track.end, track.instant_time))
    site, instant_site = np.asarray(track.site), np.asarray(track.instant_site)
    layout = lay_out(begin, end, site, np.asarray(track.unfinished), instant_time, instant_site)
    if layout.too_deep:
        recording.left_out[TOO_DEEP] += layout.too_deep
    for depth, lane in enumerate(layout.lanes):
        for first in range(0, len(lane), _RUN):
            run = slice(first, first + _RUN)
            part = Slices(lane.start[run], lane.duration[run], lane.site[run], lane.parent[run])
            write_slices(writer.tables, id, depth, part)
    write_unfinished(writer.tables, id, layout.unfinished)
    if layout.instants is not None:
        write_instants(writer.tables, id, layout.instants)


def _write_flows(writer: TraceWriter, recording: Recording, tracks: list[Track]) -> None:
    """Points that lead to the next span move to its begin; those on tracks without events lead nowhere."""
    points = recording.flows
    if not len(points.time):
        return
    flow, names = points.flows()
    ids = np.zeros(len(recording.tracks), np.int64)
    ids[[track.number for track in tracks]] = np.arange(1, len(tracks) + 1)
    thread, time = ids[np.asarray(points.track)], np.array(points.time)
    binds_next = np.asarray(points.binds_next).astype(bool)
    for id in np.unique(thread[binds_next & (thread > 0)]).tolist():
        begins = np.append(np.sort(np.asarray(tracks[id - 1].begin)), LATEST_NS)
        rows = np.flatnonzero(binds_next & (thread == id))
        begin = begins[np.searchsorted(begins, time[rows])]
        time[rows] = np.where(begin < LATEST_NS, begin, time[rows])
    known = thread > 0
    columns = [column[known] for column in (flow + 1, thread, time)]
    parts = ([column[first : first + _RUN].tolist() for column in columns] for first in range(0, len(columns[0]), _RUN))
    writer.add_flows(names, chain.from_iterable(zip(*part, strict=True) for part in parts))
    recording.flows = FlowPoints()


def _write_counters(writer: TraceWriter, recording: Recording) -> None:
    graphs: dict[object, int] = {}
    for series, (key, counters) in enumerate(recording.counters.items(), start=1):
        graph = key[:-1]
        if graph not in graphs:
            graphs[graph] = len(graphs) + 1
            writer.add_graph(graphs[graph], counters.graph, "")
        writer.add_series(series, graphs[graph], counters.name)
        times, values = np.asarray(counters.times), np.asarray(counters.values)
        order = np.argsort(times, kind="stable")
        writer.add_samples(series, times[order].tolist(), values[order].tolist())
