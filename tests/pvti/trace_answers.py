"""Everything that a trace says, for a comparison of a changed file with the sound one."""

from __future__ import annotations

from typing import Any

from popvision.analysis.trace.source import TraceSource

Answers = dict[str, Any]


def answers_of(source: TraceSource) -> Answers:
    """Key -> list of what is there, in an order that a loss only shortens; other values are there or not."""
    labels, channels = source.names.label, [source.names.channel_name[at] for at in source.names.channel]
    said: Answers = {"meta": dict(source.meta), "processes": source.files[0].processes}
    for thread in source.threads:
        key = f"thread {thread.row.id}"
        said[key] = (thread.row.tid, thread.row.name, thread.row.pid)
        for depth, lane in enumerate(thread.lanes):
            texts = source.metadata_texts(0)
            said[f"{key} lane {depth}"] = [
                (start, duration, labels[name], channels[name], parent, texts.get(site))
                for start, duration, name, parent, site in zip(
                    *(c.tolist() for c in (lane.start, lane.duration, lane.name, lane.parent, lane.site)), strict=True
                )
            ]
        instants = zip(thread.instant_time.tolist(), thread.instant_name.tolist(), strict=True)
        said[f"{key} instants"] = [(time, labels[name]) for time, name in instants]
        said[f"{key} unfinished"] = sorted(thread.unfinished)
    for row, times, values in source.series:
        said[f"line {row.id}"] = (row.graph, row.unit, row.name, times.tolist(), values.tolist())
    for heatmap, times, quantities in source.heatmaps:
        facts = (heatmap.name, heatmap.unit, heatmap.edges.tolist(), times.tolist(), quantities.tolist())
        said[f"heat map {heatmap.id}"] = facts
    points = source.flow_points()
    said["flows"] = points.tolist()
    said["flow names"] = source.flow_names(sorted(set(points[:, 0].tolist())))
    return said


def untrue(said: Answers, truth: Answers, is_flagged: bool) -> list[str]:
    """What differs from the sound file; of one that is flagged as damaged only what is there and wrong."""
    if not is_flagged:
        return [key for key in {**truth, **said} if said.get(key) != truth.get(key)]
    return [key for key, value in said.items() if not _is_part(value, truth.get(key))]


def _is_part(value: Any, whole: Any) -> bool:
    if isinstance(value, list) and isinstance(whole, list):
        left = iter(whole)
        return all(item in left for item in value)  # in this order
    return not value or value == whole
