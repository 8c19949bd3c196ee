"""The tab "Summary": facts of the selected event, else of the window and the trace, and the marks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.activity import RUN_LABEL
from popvision.analysis.trace.drawing import events_between
from popvision.analysis.trace.flows import FlowLink, flow_links
from popvision.analysis.trace.search import EventFacts, metadata_rows
from webapp.base.formats import integer_text
from webapp.base.query import whole_number
from webapp.base.view import ViewContext
from webapp.components.attributes import attributes
from webapp.components.partner_links import device_run_links
from webapp.system_analyser.timeline.channel_colours import channel_colour, channel_pattern
from webapp.system_analyser.timeline.files_menu import align_link
from webapp.system_analyser.timeline.host_times import absolute_text, nanoseconds_text
from webapp.system_analyser.timeline.measured import length_text, place_text
from webapp.system_analyser.timeline.query_window import MOST_TIME
from webapp.system_analyser.timeline.routes import MOST_LINKS
from webapp.system_analyser.timeline.selection import selected_event, window_of

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace, TraceFile

#: Marks of an address; timeline.js has the same number.
_MOST_MARKS = 50


def event_links(context: ViewContext) -> list[tuple[str, Component]]:
    """Rows of links of the selected event: of an `Engine::run` to the device's side of it, of several files to their
    alignment at the event."""
    event = selected_event(context.trace, context.params)
    if event is None:
        return []
    runs: list[Component] = []
    if event.label == RUN_LABEL:
        runs = device_run_links(context, event.thread, event.depth, event.position)
    align = align_link(context, context.params["tl_event"])
    return [*(("Device trace", link) for link in runs), *([("Files", align)] if align is not None else [])]


def summary(
    source: HostTrace, selection: Mapping[str, str], theme: str, links: Sequence[tuple[str, Component]] = ()
) -> Component:
    """Facts of the selected event with rows of links; without one, of the window and the trace."""
    event = selected_event(source, selection)
    if event is None:
        parts = [_facts(_window_rows(source, selection)), _facts(_trace_rows(source)), _marks(source, selection)]
        return html.Div(parts, className="tl-facts")
    index = source.names.channel_name.index(event.channel)
    swatch = html.Span(
        className=f"tl-swatch tl-pattern-{channel_pattern(index)}",
        style={"backgroundColor": channel_colour(index, theme)},
    )
    rows: list[tuple[str, Any]] = [("Name", html.Strong(event.label)), ("Channel", [swatch, " ", event.channel])]
    rows.append(
        (
            "Type",
            "Instant"
            if event.depth < 0
            else "Unfinished, clipped where what encloses it or its thread ends"
            if event.unfinished
            else "Duration",
        )
    )
    thread = source.threads[event.thread].row
    rows.append(("Thread", f"{thread.name or 'Thread'} ({thread.tid})"))
    if len(source.files) > 1:
        rows.append(("File", next(file.label for file in source.files if event.thread in file.threads)))
    rows += links
    if event.depth >= 0:
        rows.append(("Duration", length_text(source, event.duration)))
        rows.append(("Self time", length_text(source, event.self_time)))
        rows += _flow_rows(source, event)
    rows.append(("Timestamp", place_text(source, event.start - source.begin)))
    if not source.unit:
        rows.append(("Absolute timestamp", absolute_text(event.start)))
    return html.Div(
        [
            _facts(rows),
            _facts(list(metadata_rows(event.metadata)), "Metadata") if event.metadata else None,
            _marks(source, selection),
        ],
        className="tl-facts",
    )


def _flow_rows(source: HostTrace, event: EventFacts) -> list[tuple[str, Any]]:
    """Events that flows lead from and to; each is a button that selects it."""
    links, number = flow_links(source, event.thread, event.depth, event.position, MOST_LINKS)
    rows: list[tuple[str, Any]] = [
        ("Flow to" if link.is_onwards else "Flow from", _flow_button(source, event, link)) for link in links
    ]
    if number > len(links):
        rows.append(("Flows", f"{number - len(links):,} more are not listed"))
    return rows


def _flow_button(source: HostTrace, event: EventFacts, link: FlowLink) -> Component:
    thread = source.threads[link.thread].row
    end, begin = (
        (event.start + event.duration, link.start) if link.is_onwards else (link.start + link.duration, event.start)
    )
    gap = begin - end
    between = f"{length_text(source, gap)} between" if gap >= 0 else f"they overlap by {length_text(source, -gap)}"
    where = f" on {thread.name or thread.tid}, {between}" + (f", {link.name}" if link.name else "")
    facts = {"thread": link.thread, "depth": link.depth, "position": link.position}
    facts |= {"start": link.start - source.begin, "duration": link.duration}
    more = attributes(data_flow=json.dumps(facts))
    button = html.Button(link.label or "(no label)", type="button", className="tl-flow", **more)
    return html.Span([button, where])


def _marks(source: HostTrace, selection: Mapping[str, str]) -> Component | None:
    """The marks of the address with the time from the one before."""
    texts = selection.get("tl_marks", "").split(",")[:_MOST_MARKS]
    times = [time for time in (whole_number(text, 0, MOST_TIME) for text in texts) if time is not None]
    rows: list[tuple[str, Any]] = []
    for number, time in enumerate(times):
        after = f", {length_text(source, time - times[number - 1])} after mark {number}" if number else ""
        rows.append((f"Mark {number + 1}", place_text(source, time) + after))
    return _facts(rows, "Marks") if rows else None


def _window_rows(source: HostTrace, selection: Mapping[str, str]) -> list[tuple[str, Any]]:
    begin, end, name = window_of(source, selection)
    return [
        ("Window", name),
        ("Events", integer_text(events_between(source, begin, end))),
        ("Duration", length_text(source, min(end, source.end) - begin)),
        ("From", place_text(source, begin - source.begin)),
        ("To", place_text(source, min(end, source.end) - source.begin)),
    ]


def _trace_rows(source: HostTrace) -> list[tuple[str, Any]]:
    unfinished = sum(len(thread.unfinished) for thread in source.threads)
    rows: list[tuple[str, Any]] = [
        *([] if source.unit else [("Begin", absolute_text(source.begin))]),
        ("All events", integer_text(source.events)),
        ("Threads", integer_text(len(source.threads))),
        ("Clock", source.clock if source.unit else f"{source.clock}, one monotonic clock per process"),
    ]
    if unfinished:
        rows.append(("Unfinished", f"{unfinished:,} events, clipped where what encloses them or their thread ends"))
    for file in source.files:
        rows += _file_rows(file)
    return rows


def _file_rows(file: TraceFile) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = [("File", file.label)]
    if file.shift:
        rows.append(("Moved", f"{'later' if file.shift > 0 else 'earlier'} by {nanoseconds_text(abs(file.shift))}"))
    if file.state == "recording":
        rows.append(("State", "being recorded, or the program was killed"))
    known = {"format", "version", "clock_offset_ns", "state", "source_state"}
    return rows + [(key, value) for key, value in sorted(file.meta.items()) if key not in known]


def _facts(rows: list[tuple[str, Any]], title: str = "") -> Component:
    body = html.Table(html.Tbody([html.Tr([html.Th(name), html.Td(value)]) for name, value in rows]))
    return html.Div([html.H2(title) if title else None, body], className="tl-fact-list")
