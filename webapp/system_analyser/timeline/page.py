"""Host timeline: the events of every thread of the traced program, line graphs and heat maps over host time.

The drawing is assets/timeline/*.js, which reads the routes of routes.py. The URL holds the state of the page; times
are nanoseconds since the first event:

    tl_from, tl_to   visible window           tl_sel    selected window "begin-end"    tl_event  selected event
    tl_hide          hidden channels          tl_fold   folded rows                    tl_pin    pinned rows
    tl_merge  "1" = threads merged in one row tl_clock  "absolute" = time of day       tl_line   "area" = filled graphs
    tl_find          filter of the search         tl_tab    tab of the lower pane
    tl_heat          scale of heat maps' colours                                       tl_bins   "used" = no empty bins
    tl_marks         marks, listed in the Summary with the time between them
    tl_label  number of the label that is highlighted
    tl_only   "1" = draw only what tl_find finds               vs        trace to compare with
    tl_flame  "paths" or "callers" = calls merged        tl_up    "1" = outermost calls at the bottom
    tl_device "0" = without the rows of the device   tl_follow "0" = a growing trace leaves the window where it is

Several files in one timeline are one key in the address (webapp/base/joint_key.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import ALL, ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from flask import Response, jsonify, request

from popvision.analysis.trace.activity import ipu_activity
from webapp.base.data_routes import trace_route
from webapp.base.view import View, ViewContext
from webapp.components import (
    group,
    icon,
    icon_button,
    options_menu,
    page_of_halves,
    popover,
    register_row_choice,
    register_tabs,
    search_box,
    segments,
    select,
    spacer,
    toggle,
    toolbar,
)
from webapp.components.attributes import attributes
from webapp.components.hint import first_hint
from webapp.system_analyser.timeline.channel_colours import channel_colour, channel_pattern
from webapp.system_analyser.timeline.device_rows import device_rows, families
from webapp.system_analyser.timeline.files_menu import apart_note, files_menu
from webapp.system_analyser.timeline.live import live_state
from webapp.system_analyser.timeline.measured import measured_note
from webapp.system_analyser.timeline.path_rows import FLAME_TYPES
from webapp.system_analyser.timeline.routes import register_routes
from webapp.system_analyser.timeline.tabs import TAB_SET, tab_content, tab_depends

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace, TraceFile, TraceThread
    from webapp.base.arrays import AnyArray
    from webapp.base.library import Library

#: Scales from the share of a column's values to the colour of a cell, by the value of tl_heat (charts.js has them).
HEAT_SCALES = {
    "": "Logarithmic from 10⁻⁴",
    "2": "Logarithmic from 10⁻²",
    "6": "Logarithmic from 10⁻⁶",
    "linear": "Linear",
}

#: How line graphs are drawn, by the value of tl_line.
LINE_TYPES = {"": "Lines", "area": "Areas"}

KEYS = (
    ("← →", "Move along time; hold to keep moving"),
    ("Page Up / Down", "Move by one screen"),
    ("Home / End", "Go to the start or the end"),
    ("+ −", "Zoom in or out"),
    ("f", "Show everything"),
    ("↑ ↓", "Scroll through the rows"),
    ("n / p", "Select the next or previous event of the same row"),
    ("Enter", "Select the event under the pointer, open the device's step there, or zoom to the selection"),
    ("j / Shift + j", "Follow a flow to the next event, or back to the one before"),
    ("g / Shift + g", "Go to the next or previous match of the search; in its box, Enter and Shift + Enter"),
    (". ,", "The same; without a search, the next or previous event of the same row"),
    ("c", "Fold or unfold all rows"),
    ("v", "Flame graph: timeline, aggregated, bottom-up"),
    ("l", "Highlight the label of the selected event, or no label"),
    ("m", "Set or remove a mark at the pointer or the selected event"),
    ("Esc", "Clear the selection"),
    ("Wheel", "Zoom at the pointer; with Shift, or over the names, scroll"),
    ("Drag", "Move; with Shift, select a window and show its length"),
)


HINT = "The wheel zooms, a drag moves, Shift and a drag measures a window of time; ? lists all keys."


def layout(context: ViewContext) -> Component:
    """The page: toolbar, drawing and tabs."""
    context.trace.prepare()
    drawing = _drawing(context)
    has_devices = any(device_rows(context.library, context.key, context.trace))
    return page_of_halves(
        "timeline",
        drawing,
        TAB_SET.layout(context),
        KEYS,
        toolbar=_toolbar(
            files_menu(context),
            [note for note in (apart_note(context), measured_note(context.trace)) if note is not None],
            context.selection.extras,
            has_graphs=bool(context.trace.series),
            has_heatmaps=bool(context.trace.heatmaps),
            has_devices=has_devices,
            follows=context.library is not None and context.library.follows,
        ),
        percent=68,
        class_name="timeline",
        stores=TAB_SET.stores(context),
    )


def _toolbar(
    files: Component,
    notes: list[Component],
    extras: Mapping[str, str],
    *,
    has_graphs: bool,
    has_heatmaps: bool,
    has_devices: bool,
    follows: bool,
) -> Component:
    graphs = [select("tl_line", "Line graphs", LINE_TYPES, extras.get("tl_line", ""))] if has_graphs else []
    options = [
        *_drawing_options(extras),
        *([_device_option(extras)] if has_devices else []),
        *graphs,
        *(_heat_options(extras) if has_heatmaps else []),
    ]
    return toolbar(
        files,
        *notes,
        select("tl_flame", "Flame graph", FLAME_TYPES, extras.get("tl_flame", "")),
        segments("tl_clock", "Time axis", {"": "Relative", "absolute": "Absolute"}, extras.get("tl_clock", "")),
        *(_follow_parts(extras) if follows else []),
        first_hint("timeline", HINT),
        spacer(),
        _search(extras),
        _navigation(),
        group(
            icon_button("fold", "Collapse or expand all rows (c)", action="timeline-fold"),
            options_menu(*options),
            popover(icon("key"), html.Div(**attributes(data_slot="key")), label="Channels", class_name="tl-key"),
            icon_button("camera", "Save the drawing as PNG", action="timeline-save"),
        ),
        label="Host timeline",
    )


def _search(extras: Mapping[str, str]) -> Component:
    return group(
        search_box("tl_find", "Find: text or /regex/", extras.get("tl_find", ""), width=190),
        icon_button("up", "Previous match (Shift + g)", action="timeline-previous"),
        icon_button("down", "Next match (g)", action="timeline-next"),
        html.Span(className="tl-matches", **attributes(data_slot="matches", aria_live="polite")),
        html.Span(className="tl-problem", role="alert", **attributes(data_slot="problem")),
    )


def _navigation() -> Component:
    return group(
        icon_button("page_left", "Move left by one screen (Page Up)", action="timeline-page-left"),
        icon_button("page_right", "Move right by one screen (Page Down)", action="timeline-page-right"),
        icon_button("zoom_out", "Zoom out (-)", action="timeline-out"),
        html.Span(className="tl-zoom", **attributes(data_slot="zoom")),
        icon_button("zoom_in", "Zoom in (+)", action="timeline-in"),
        icon_button("reset", "Show everything (f)", action="timeline-fit"),
    )


def _drawing_options(extras: Mapping[str, str]) -> list[Component]:
    merged = "Draw all threads of a process in one row"
    upwards = "Draw the outermost calls at the bottom of a row, what they call above"
    found = "Figures and tables still count all events"
    return [
        toggle("tl_merge", "Merge all threads", extras.get("tl_merge") == "1", title=merged),
        toggle("tl_up", "Flames upwards", extras.get("tl_up") == "1", title=upwards),
        toggle("tl_only", "Draw only what the search finds", extras.get("tl_only") == "1", title=found),
    ]


def _follow_parts(extras: Mapping[str, str]) -> list[Component]:
    title = "A window that reaches the end moves on with the trace; any other window stays"
    is_on = extras.get("tl_follow", "") != "0"
    return [
        toggle("tl_follow", "Follow the end", is_on, on="", off="0", title=title),
        html.Span(className="tl-live", **attributes(data_slot="live")),
    ]


def _device_option(extras: Mapping[str, str]) -> Component:
    return toggle(
        "tl_device",
        "Device under the host",
        extras.get("tl_device", "") != "0",
        on="",
        off="0",
        title="Rows of the IPUs: each recorded run over the time of its Engine::run, on its own clock",
    )


def _heat_options(extras: Mapping[str, str]) -> list[Component]:
    bins = {"": "All bins", "used": "Bins that hold values"}
    return [
        select("tl_heat", "Heat map colours", HEAT_SCALES, extras.get("tl_heat", "")),
        select("tl_bins", "Heat map rows", bins, extras.get("tl_bins", "")),
    ]


def _drawing(context: ViewContext) -> Component:
    return html.Div(
        className="tl",
        tabIndex="0",
        role="application",
        **attributes(
            aria_label="Host timeline: arrow keys move, plus and minus zoom, question mark lists all keys",
            data_timeline=json.dumps(facts(context.key, context.trace, context.library)),
        ),
    )


def facts(key: str, source: HostTrace, library: Library | None = None) -> dict[str, Any]:
    """What the drawing needs before its first request; with a `library`, the devices too. Times in ns; `begin`, in ns
    since the epoch, is text, since JavaScript numbers are exact only up to 2^53."""
    # Before the devices: reports that come between the two differ from what was seen, and are asked for again.
    live = live_state(source, library.look(key)) if library is not None and library.follows else None
    per_channel = _events_per_channel(source)
    devices = device_rows(library, key, source)
    channels = [
        {
            "name": name,
            "light": channel_colour(index, "light"),
            "dark": channel_colour(index, "dark"),
            "pattern": channel_pattern(index),
            "events": per_channel[index],
        }
        for index, name in enumerate(source.names.channel_name)
    ]
    return {
        "key": key,
        "file": source.label,
        "begin": str(source.begin),
        "total": source.end - source.begin,
        "events": source.events,
        "recording": any(file.state == "recording" for file in source.files),
        "lost": "; ".join(each if library is None else library.without_paths(each) for each in source.lost),
        "moved": source.moved,
        "isSampled": source.samples > 0,
        "unit": source.unit,
        "live": live,
        "channels": channels,
        "families": families(),
        "files": [
            {
                "name": file.label,
                "activity": _activity(source, number),
                "processes": _processes(source, file),
                "graphs": _graphs(source, file),
                "heatmaps": _heatmaps(source, file),
                "devices": devices[number],
            }
            for number, file in enumerate(source.files)
        ],
    }


def _activity(source: HostTrace, number: int) -> dict[str, int] | None:
    activity = ipu_activity(source, source.files[number])
    return None if activity is None else {"index": number, "runs": activity.runs}


def _heatmaps(source: HostTrace, file: TraceFile) -> list[dict[str, Any]]:
    maps = []
    for index in file.heatmaps:
        row, times, quantities = source.heatmaps[index]
        facts = {"name": row.name, "unit": row.unit, "edges": row.edges.tolist()}
        maps.append(facts | {"index": index, "columns": len(times), "used": _used_bins(quantities)})
    return maps


def _used_bins(quantities: AnyArray) -> list[int] | None:
    """The lowest and the highest bin that any column has a value in; None when all are empty."""
    used = np.flatnonzero(quantities.any(axis=0))
    return [int(used[0]), int(used[-1])] if len(used) else None


def _processes(source: HostTrace, file: TraceFile) -> list[dict[str, Any]]:
    rows = []
    threads_of_file = [(index, source.threads[index]) for index in file.threads]
    for pid, _, name in file.processes:
        threads = [
            {
                "index": index,
                "tid": thread.row.tid,
                "name": thread.row.name,
                "lanes": len(thread.lanes),
                "events": thread.events,
                "instants": len(thread.instant_time),
            }
            for index, thread in sorted(threads_of_file, key=lambda each: _place_of(each[1]))
            if thread.row.pid == pid
        ]
        rows.append({"pid": pid, "name": name, "threads": threads})
    return rows


def _place_of(thread: TraceThread) -> tuple[bool, list[tuple[int, str]], int]:
    """The main thread first, the others by name, numbers in names by value."""
    row = thread.row
    is_main = row.tid == row.pid or row.name == "MainThread"
    name = [(int(digits or 0), text) for digits, text in re.findall(r"(\d{1,18})|(\D+)", row.name)]
    return not is_main, name, row.tid


def _graphs(source: HostTrace, file: TraceFile) -> list[dict[str, Any]]:
    graphs: dict[tuple[str, str], dict[str, Any]] = {}
    for index in file.series:
        row, _, values = source.series[index]
        graph = graphs.setdefault((row.graph, row.unit), {"name": row.graph, "unit": row.unit, "series": []})
        finite = values[abs(values) < float("inf")]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        graph["series"].append({"index": index, "name": row.name, "low": low, "high": high, "samples": len(values)})
    return list(graphs.values())


def _events_per_channel(source: HostTrace) -> list[int]:
    totals = np.zeros(len(source.names.channel_name), np.int64)
    np.add.at(totals, source.names.channel, source.events_of_names())
    return [int(total) for total in totals]


def _live(library: Library, source: HostTrace) -> Response:
    """The state of the trace; where it is not the one that the page has `known`, also the facts of the drawing."""
    key = (request.view_args or {})["key"]
    state: dict[str, Any] = live_state(source, library.look(key))
    if state["known"] != request.args.get("known", ""):
        state["facts"] = facts(key, source, library)
    answer = jsonify(state)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def register(app: Dash, library: Library) -> None:
    """Routes of the drawing and the callback of the tabs."""
    register_routes(app, library)
    trace_route(app, library, "timeline/live", lambda source: _live(library, source))
    register_tabs(app, library, TAB_SET, tab_content, tab_depends)
    register_row_choice(app, "tl", ClientsideFunction("timeline", "matches"), "tl-matches")
    register_row_choice(app, "tl", ClientsideFunction("timeline", "labels"), "tl-labels")
    register_row_choice(app, "tl", ClientsideFunction("timeline", "matches"), "tl-longest")
    app.clientside_callback(
        ClientsideFunction("timeline", "occurrence"),
        Output("tl-done", "title", allow_duplicate=True),
        Input({"plot": "tl-occurrences", "query": ALL}, "clickData"),
        prevent_initial_call=True,
    )


VIEW = View(id="timeline", title="Timeline", icon="timeline", layout=layout, register=register, kind="trace")
