"""Everything that a trace says, for a comparison of a changed file with the sound one."""

from __future__ import annotations

from typing import Any

import numpy as np

from popvision.analysis.trace.activity import ipu_activity
from popvision.analysis.trace.difference import trace_difference
from popvision.analysis.trace.drawing import blocks_in, overview
from popvision.analysis.trace.joint import join_traces
from popvision.analysis.trace.search import find_event, list_matches
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics

Answers = dict[str, Any]


def check_nested(source: TraceSource) -> None:
    """Every event lies in its lane after the one before, and begins inside its parent."""
    for thread in source.threads:
        for depth, lane in enumerate(thread.lanes):
            end = lane.end
            assert (lane.duration.astype(np.int64) >= 0).all()
            assert (lane.start[1:] >= end[:-1]).all()
            if depth:
                above = thread.lanes[depth - 1]
                parent = lane.parent.astype(np.int64)
                assert (parent < len(above)).all()
                assert (lane.start >= above.start[parent]).all()
                assert (lane.start <= above.end[parent]).all()
        assert (np.diff(thread.instant_time) >= 0).all()
        assert all(place < len(thread.lanes[depth]) for depth, place in thread.unfinished)


def use(source: TraceSource) -> None:
    """What a viewer asks first."""
    check_nested(source)
    overview(source, 200)
    for thread in source.threads:
        for lane in thread.lanes:
            blocks_in(lane, source.begin, source.end + 1, 300)
    label_statistics(source, None, None)
    find_event(source, "o", (source.begin, 0, 0, 0))
    joint = join_traces([source, source], "first")
    assert joint.events == 2 * source.events
    list_matches(joint, "/o/ channel:a dur>1ns meta:1", joint.begin, joint.end + 1, 10)
    difference = trace_difference(source, joint)
    assert int(difference.count[:, 0].sum()) == source.events
    ipu_activity(joint, joint.files[1])


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
