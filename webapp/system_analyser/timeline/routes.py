"""Routes of the host timeline, below /data/<key>/timeline/. Each answers one window of host time.

Times in queries and answers are whole nanoseconds since the first event of the trace. A query that cannot be answered
gets status 400 and one sentence; an event that does not exist gets 404.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash
from flask import Response, jsonify, request

from popvision.analysis.summary.engine_runs import match_engine_runs
from popvision.analysis.trace.activity import ipu_activity
from popvision.analysis.trace.drawing import (
    blocks_in,
    events_between,
    heatmap_in,
    instants_in,
    overview_strip,
    samples_in,
)
from popvision.analysis.trace.event_filter import EventMatcher, event_matcher, parse_filter
from popvision.analysis.trace.flows import flow_links
from popvision.analysis.trace.mipmap import Blocks
from popvision.analysis.trace.search import event_facts, find_event, first_of_name, metadata_rows, name_of_event
from webapp.base.arrays import AnyArray, BoolArray
from webapp.base.data_routes import trace_route
from webapp.base.joint_key import parse_event as event_of_text
from webapp.base.packed import packed_response
from webapp.base.query import number_of, numbers_of
from webapp.system_analyser.timeline.device_rows import device, device_step
from webapp.system_analyser.timeline.path_rows import paths
from webapp.system_analyser.timeline.query_window import MOST_TIME, window_of_query

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace, Lane
    from webapp.base.library import Library

#: Flows of one event that are drawn and listed.
MOST_LINKS = 100

_NARROWEST_LABEL = 18  # pixels


def register_routes(app: Dash, library: Library) -> None:
    """Add the routes to the viewer."""
    for name, answer in _ANSWERS.items():
        trace_route(app, library, f"timeline/{name}", answer)
    trace_route(app, library, "timeline/run", lambda source: host_run(library, source))
    trace_route(app, library, "timeline/device", lambda source: device(library, source))
    trace_route(app, library, "timeline/device_step", lambda source: device_step(library, source))


def host_run(library: Library, source: HostTrace) -> Response:
    """Lead to the page with the `run` of a `report` of the same execution: to its event, or, without one, to the run's
    span on the host's clock. Raises ValueError for a run that the report lacks or that lies outside the trace."""
    if len(source.files) > 1:
        raise ValueError("a run leads to the trace of one file, not to several on one clock")
    report = library.report(request.args.get("report", ""))
    runs = report.reader.runs()
    run = number_of(request.args, "run", 0, len(runs.name) - 1)
    matches = match_engine_runs(source, report)
    row = matches.row_of_run(run)
    if row is None:
        begin, end = int(runs.host_start_us[run]) * 1000, int(runs.host_end_us[run]) * 1000
        chosen = f"tl_sel={begin - source.begin}-{end - source.begin}"
    else:
        begin, end = int(matches.begin[row]), int(matches.end[row])
        chosen = f"tl_event={matches.thread[row]}.{matches.depth[row]}.{matches.position[row]}"
    if not source.begin <= begin < end <= source.end:
        raise ValueError(f"run {run} of {report.label} lies outside the time of this trace")
    room = (end - begin) // 4 + 1
    first, last = max(begin - room, source.begin) - source.begin, min(end + room, source.end) - source.begin
    key = (request.view_args or {})["key"]
    return Response(status=302, headers={"Location": f"/t/{key}/timeline?{chosen}&tl_from={first}&tl_to={last}"})


def blocks(source: HostTrace) -> Response:
    """Blocks of all lanes of some threads, and their instants, without the channels in `hide`; with `only`, those that
    this filter lets through; with `name`, those with this number among the names of the trace."""
    begin, end, width = window_of_query(source)
    threads = numbers_of(request.args, "threads", len(source.threads))
    hidden = frozenset(numbers_of(request.args, "hide", len(source.names.channel_name)))
    text = request.args.get("only", "")
    only = event_matcher(source, parse_filter(text)) if text else None
    wanted = number_of(request.args, "name", 0, len(source.names) - 1) if request.args.get("name") else None
    lanes: list[list[int]] = []
    parts: list[Blocks] = []
    instants: list[list[int]] = []
    times: list[AnyArray] = []
    labels: dict[int, int] = {}
    for thread in threads:
        for depth, lane in enumerate(_shown_lanes(source, thread, hidden, only, wanted)):
            parts.append(blocks_in(lane, begin, end, width))
            lanes.append([thread, depth, len(parts[-1])])
        time_ns, name, position = instants_in(source.threads[thread], begin, end, width)
        channel = source.names.channel[name]
        shown = ~np.isin(channel, list(hidden))
        if only is not None:
            shown &= only.mask(thread, -1)[position]
        if wanted is not None:
            shown &= name == wanted
        instants.append([thread, int(shown.sum())])
        times.append(np.stack([time_ns[shown] - source.begin, channel[shown], position[shown]]).astype(np.float64))
    arrays = _block_arrays(source, parts, labels, (end - begin) / width)
    marks = np.concatenate([np.zeros((3, 0)), *times], axis=1)
    arrays |= {"mark_time": marks[0], "mark_channel": marks[1], "mark_position": marks[2]}
    header = {
        "lanes": lanes,
        "instants": instants,
        "labels": [source.names.label[name] for name in labels],
    }
    return packed_response(header, arrays)


def _shown_lanes(
    source: HostTrace, thread: int, hidden: frozenset[int], only: EventMatcher | None, name: int | None
) -> list[Lane]:
    if only is None and name is None:
        return source.lanes_without(thread, hidden)
    shown = ~np.isin(source.names.channel, list(hidden))
    if name is not None:
        shown &= np.arange(len(shown)) == name
    lanes = source.threads[thread].lanes

    def mask(depth: int) -> BoolArray:
        of_name = shown[lanes[depth].name]
        return of_name if only is None else only.mask(thread, depth) & of_name

    return source.lanes_with(thread, (only and only.wanted, hidden, name), mask)


def _block_arrays(
    source: HostTrace, parts: list[Blocks], labels: dict[int, int], ns_per_pixel: float
) -> dict[str, AnyArray]:
    def joined(name: str) -> AnyArray:
        return np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in parts)])

    start, end, count, name = joined("start"), joined("end"), joined("count"), joined("name")
    label = np.full(len(start), -1, np.int32)
    # Send a label where it can be drawn: on single events some pixels wide.
    for row in np.flatnonzero((count == 1) & (end - start >= _NARROWEST_LABEL * ns_per_pixel)).tolist():
        label[row] = labels.setdefault(int(name[row]), len(labels))
    return {
        "start": (start - source.begin).astype(np.float64),
        "end": (end - source.begin).astype(np.float64),
        "busy": joined("busy").astype(np.float64),
        "count": count.astype(np.uint32),
        "label": label,
        "channel": source.names.channel[name].astype(np.uint32),
        "first": joined("first").astype(np.uint32),
    }


def count(source: HostTrace) -> Response:
    """The number of events that overlap the window."""
    begin, end, _ = window_of_query(source)
    return jsonify({"events": events_between(source, begin, end)})


def strip(source: HostTrace) -> Response:
    """Busy share and channel of every pixel of the overview, row by row."""
    width, rows = number_of(request.args, "width", 1, 4096), number_of(request.args, "rows", 1, 256)
    share, channel = overview_strip(source, width, rows)
    return packed_response({"rows": len(share)}, {"share": share.ravel(), "channel": channel.ravel().astype(np.uint32)})


def samples(source: HostTrace) -> Response:
    """Samples of some series, decimated to the pixels."""
    begin, end, width = window_of_query(source)
    chosen = numbers_of(request.args, "series", len(source.series))
    drawn = [samples_in(*source.series[index][1:], begin, end, width) for index in chosen]
    arrays = {
        "time": np.concatenate([np.zeros(0), *((times - source.begin).astype(np.float64) for times, _ in drawn)]),
        "value": np.concatenate([np.zeros(0), *(values for _, values in drawn)]),
    }
    series = [[index, len(times)] for index, (times, _) in zip(chosen, drawn, strict=True)]
    return packed_response({"series": series}, arrays)


def activity(source: HostTrace) -> Response:
    """Spans in which IPUs ran, of the file with this `id`: begins, ends, and the time filled, which is less than the
    span where close ones are merged."""
    begin, end, width = window_of_query(source)
    known = ipu_activity(source, source.files[number_of(request.args, "id", 0, len(source.files) - 1)])
    if known is None:
        raise ValueError("this file holds no run of an IPU")
    spans = blocks_in(known.spans, begin, end, width)
    arrays = {
        "start": (spans.start - source.begin).astype(np.float64),
        "end": (spans.end - source.begin).astype(np.float64),
        "busy": spans.busy.astype(np.float64),
    }
    return packed_response({}, arrays)


def heatmap(source: HostTrace) -> Response:
    """Columns of one heat map: begins, ends, and for each column the quantities from underflow to overflow."""
    begin, end, width = window_of_query(source)
    row, times, quantities = source.heatmaps[number_of(request.args, "id", 0, len(source.heatmaps) - 1)]
    start, stop, table = heatmap_in(times, quantities, begin, end, width)
    arrays = {
        "start": (start - source.begin).astype(np.float64),
        "end": (stop - source.begin).astype(np.float64),
        "quantity": table.ravel().astype(np.float64),
    }
    return packed_response({"bins": len(row.edges) + 1}, arrays)


def event(source: HostTrace) -> Response:
    """Facts of the event `at` thread.depth.position; depth i marks an instant."""
    try:
        facts = event_facts(source, *parse_event(request.args.get("at", "")))
    except IndexError:
        return Response("The trace holds no such event.", status=404, mimetype="text/plain")
    described: dict[str, Any] = asdict(facts) | {"metadata": metadata_rows(facts.metadata)}
    described["name"] = name_of_event(source, facts.thread, facts.depth, facts.position)
    described["start"] = facts.start - source.begin
    return jsonify(described)


def label(source: HostTrace) -> Response:
    """The label with the number `name` among the names of the trace, the number of its channel, and its first event
    from `time` on, else from the begin; 404 for a name without events."""
    name = number_of(request.args, "name", 0, len(source.names) - 1)
    first = first_of_name(source, name, source.begin + number_of(request.args, "time", 0, MOST_TIME))
    if first is None:
        return Response("The trace holds no event of this label.", status=404, mimetype="text/plain")
    facts = event_facts(source, *first)
    place = {"thread": facts.thread, "depth": facts.depth, "position": facts.position}
    place |= {"start": facts.start - source.begin, "duration": facts.duration}
    return jsonify({"name": name, "label": facts.label, "channel": int(source.names.channel[name]), "first": place})


def find(source: HostTrace) -> Response:
    """The next event whose label contains `text` (with exact=1: is `text`), after (or with back=1 before) `time` and
    event `at`; with here=1 from event `at` on, which may be the one; {} when none."""
    begin = source.begin + number_of(request.args, "time", 0, MOST_TIME)
    place = parse_event(request.args.get("at", "")) if request.args.get("at") else (-1, -2, -1)
    back, exact, here = (request.args.get(name) == "1" for name in ("back", "exact", "here"))
    if here:
        try:
            begin = event_facts(source, *place).start
        except IndexError:
            return Response("The trace holds no such event.", status=404, mimetype="text/plain")
        place = (*place[:2], place[2] - 1)
    hit = find_event(source, request.args.get("text", ""), (begin, *place), back, exact)
    return jsonify({} if hit is None else asdict(hit) | {"start": hit.start - source.begin})


def flows(source: HostTrace) -> Response:
    """Events that flows lead to and from, for the event `at`: `onwards` tells which; `links` has the first, `all` the
    number of all."""
    thread, depth, position = parse_event(request.args.get("at", ""))
    links, number = flow_links(source, thread, depth, position, MOST_LINKS)
    rows = [asdict(link) | {"start": link.start - source.begin, "flow": str(link.flow)} for link in links]
    return jsonify({"links": rows, "all": number})


_ANSWERS = {
    "blocks": blocks,
    "paths": paths,
    "count": count,
    "overview": strip,
    "samples": samples,
    "activity": activity,
    "heatmap": heatmap,
    "event": event,
    "find": find,
    "label": label,
    "flows": flows,
}


def parse_event(text: str) -> tuple[int, int, int]:
    """ "2.0.17" -> (2, 0, 17); "2.i.3" -> (2, -1, 3). Raises ValueError."""
    event = event_of_text(text)
    if event is None:
        raise ValueError(f"at={text[:40]!r} names no event: use thread.depth.position")
    return event
