"""All events of a trace as columns, thread by thread, lane by lane, instants last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popvision.analysis.trace.columns import HostTrace, TraceThread
from popvision.arrays import Int64Array, UnsignedArray
from popvision.export.tables import Table
from popvision.export.traces.texts import thread_name

#: kind of a row
SPAN, INSTANT = "span", "instant"


def event_columns(source: HostTrace) -> Table:
    """Columns file (its path), pid, tid, thread, depth, kind, begin_ns (since the epoch), duration_ns, channel, label,
    metadata (JSON text, "" when an event has none). An instant's depth is -1 and its duration 0. Begins of several
    files are on the clock of the first."""
    parts: list[dict[str, npt.NDArray[np.generic]]] = []
    for place in _places(source):
        thread = place.thread
        for depth, lane in enumerate(thread.lanes):
            columns = _columns(source, place, depth, SPAN, lane.start, lane.name, lane.site)
            parts.append(columns | {"duration_ns": lane.duration.astype(np.int64)})
        nothing = np.zeros(len(thread.instant_time), np.int64)
        columns = _columns(source, place, -1, INSTANT, thread.instant_time, thread.instant_name, thread.instant_site)
        parts.append(columns | {"duration_ns": nothing})
    order = ("file", "pid", "tid", "thread", "depth", "kind", "begin_ns", "duration_ns", "channel", "label", "metadata")
    return {name: np.concatenate([part[name] for part in parts]) if parts else [] for name in order}


class _Place(NamedTuple):
    """A thread, its number in the trace, and the path of its file."""

    number: int
    file: str
    thread: TraceThread


def _places(source: HostTrace) -> Iterator[_Place]:
    for file in source.files:
        for number in file.threads:
            yield _Place(number, str(file.path), source.threads[number])


def _columns(
    source: HostTrace,
    place: _Place,
    depth: int,
    kind: str,
    begin: Int64Array,
    name: UnsignedArray,
    site: UnsignedArray,
) -> dict[str, npt.NDArray[np.generic]]:
    labels = np.asarray(source.names.label, dtype=object)
    channels = np.asarray(source.names.channel_name, dtype=object)
    sites, of_site = np.unique(site, return_inverse=True)
    metadata = np.asarray([source.metadata(place.number, each) or "" for each in sites.tolist()], dtype=object)
    whole = len(begin)
    return {
        "file": np.full(whole, place.file, dtype=object),
        "pid": np.full(whole, place.thread.row.pid),
        "tid": np.full(whole, place.thread.row.tid),
        "thread": np.full(whole, thread_name(place.thread), dtype=object),
        "depth": np.full(whole, depth),
        "kind": np.full(whole, kind, dtype=object),
        "begin_ns": begin,
        "channel": channels[source.names.channel[name]] if whole else np.zeros(0, object),
        "label": labels[name] if whole else np.zeros(0, object),
        "metadata": metadata[of_site] if whole else np.zeros(0, object),
    }
