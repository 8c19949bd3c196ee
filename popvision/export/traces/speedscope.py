"""Speedscope's evented profiles, one per thread, in nanoseconds since the first event of the trace.

Format: https://www.speedscope.app/file-format-schema.json. Its events must nest; lanes of events that outlive what
encloses them become profiles of their own. Instants, samples and histograms have no form there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

import numpy as np

from popvision.analysis.trace.call_order import Tour, euler_tour, nested_events
from popvision.analysis.trace.columns import HostTrace, TraceThread
from popvision.arrays import UnsignedArray
from popvision.export.traces.texts import thread_names

_CHUNK = 1 << 16
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(source: HostTrace, provenance: str, stream: IO[str]) -> None:
    """Write the events with a duration as one JSON object; a trace without any has no profiles."""
    frames = [
        {"name": label, "file": source.names.channel_name[channel]}
        for label, channel in zip(source.names.label, source.names.channel.tolist(), strict=True)
    ]
    head = {"$schema": _SCHEMA, "exporter": provenance, "name": source.label, "shared": {"frames": frames}}
    stream.write(json.dumps(head)[:-1] + ', "profiles": [')
    separator = "\n"
    for thread, title in zip(source.threads, thread_names(source), strict=True):
        for name, tour in _profiles(thread, title):
            stream.write(separator)
            _write_profile(source, thread, name, tour, stream)
            separator = ",\n"
    stream.write("\n]}\n")


def _profiles(thread: TraceThread, name: str) -> Iterator[tuple[str, Tour]]:
    """The tour of the nested events, then one per lane with others."""
    if thread.events:
        yield name, euler_tour(thread)
    for depth, nested in enumerate(nested_events(thread)):
        rows = np.flatnonzero(~nested)
        if len(rows):
            lane = thread.lanes[depth]
            times = np.column_stack((lane.start[rows], lane.end[rows]))
            enters = np.tile(np.array([True, False]), len(rows))
            both = np.repeat(rows, 2)
            yield f"{name}, overlapping, lane {depth}", Tour(np.full_like(both, depth), both, times.ravel(), enters)


def _write_profile(source: HostTrace, thread: TraceThread, name: str, tour: Tour, stream: IO[str]) -> None:
    begin = source.begin
    head = {
        "type": "evented",
        "name": name,
        "unit": "nanoseconds",
        "startValue": int(tour.time[0]) - begin,
        "endValue": int(tour.time[-1]) - begin,
    }
    stream.write(json.dumps(head)[:-1] + ', "events": [')
    names: list[UnsignedArray] = [lane.name for lane in thread.lanes]
    for first in range(0, len(tour), _CHUNK):
        part = slice(first, first + _CHUNK)
        frame = np.zeros(len(tour.time[part]), np.int64)
        for depth in np.unique(tour.depth[part]).tolist():
            here = tour.depth[part] == depth
            frame[here] = names[depth][tour.position[part][here]]
        columns = (tour.enters[part], frame, tour.time[part] - begin)
        texts = [
            f'{{"type": "{"O" if enters else "C"}", "frame": {number}, "at": {time}}}'
            for enters, number, time in zip(*(column.tolist() for column in columns), strict=True)
        ]
        stream.write((",\n" if first else "\n") + ",\n".join(texts))
    stream.write("\n]}")
