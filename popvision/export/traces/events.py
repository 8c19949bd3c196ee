"""All events of a trace as columns, thread by thread, lane by lane, instants last."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popvision.analysis.trace.source import TraceSource
from popvision.arrays import Int64Array, UnsignedArray
from popvision.export.tables import Table
from popvision.export.traces.texts import thread_name

#: kind of a row
SPAN, INSTANT = "span", "instant"


def event_columns(source: TraceSource) -> Table:
    """Columns pid, tid, thread, depth, kind, begin_ns (since the epoch), duration_ns, channel, label, metadata (JSON
    text, "" when an event has none). An instant's depth is -1 and its duration 0."""
    parts: list[dict[str, npt.NDArray[np.generic]]] = []
    for thread in source.threads:
        place = (thread.row.pid, thread.row.tid, thread_name(thread))
        for depth, lane in enumerate(thread.lanes):
            columns = _columns(source, place, depth, SPAN, lane.start, lane.name, lane.site)
            parts.append(columns | {"duration_ns": lane.duration.astype(np.int64)})
        nothing = np.zeros(len(thread.instant_time), np.int64)
        columns = _columns(source, place, -1, INSTANT, thread.instant_time, thread.instant_name, thread.instant_site)
        parts.append(columns | {"duration_ns": nothing})
    order = ("pid", "tid", "thread", "depth", "kind", "begin_ns", "duration_ns", "channel", "label", "metadata")
    return {name: np.concatenate([part[name] for part in parts]) if parts else [] for name in order}


def _columns(
    source: TraceSource,
    place: tuple[int, int, str],
    depth: int,
    kind: str,
    begin: Int64Array,
    name: UnsignedArray,
    site: UnsignedArray,
) -> dict[str, npt.NDArray[np.generic]]:
    labels = np.asarray(source.names.label, dtype=object)
    channels = np.asarray(source.names.channel_name, dtype=object)
    sites, of_site = np.unique(site, return_inverse=True)
    metadata = np.asarray([source.reader.metadata(each) or "" for each in sites.tolist()], dtype=object)
    whole = len(begin)
    return {
        "pid": np.full(whole, place[0]),
        "tid": np.full(whole, place[1]),
        "thread": np.full(whole, place[2], dtype=object),
        "depth": np.full(whole, depth),
        "kind": np.full(whole, kind, dtype=object),
        "begin_ns": begin,
        "channel": channels[source.names.channel[name]] if whole else np.zeros(0, object),
        "label": labels[name] if whole else np.zeros(0, object),
        "metadata": metadata[of_site] if whole else np.zeros(0, object),
    }
