"""Execution Trace: what every IPU did over device time, as bars, as a BSP picture of its tiles, and in figures.

The drawing is assets/execution/*.js, fed by the binary routes of execution_routes. What is shown stands in the URL:

    from, to   visible cycles        sel   selected cycles "begin-end"      step   selected execution step
    ipu        one IPU, else all     mode  "flat", else flame               bsp    "0" = no picture of tiles
    units      "time", else cycles   find  text to look for in step names   detail  tab of the lower pane
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.timeline import TYPE_NAMES, run_bars, step_count
from webapp import preferences
from webapp.components import (
    Tab,
    group,
    icon,
    icon_button,
    popover,
    search_box,
    segments,
    select,
    spacer,
    split,
    tabs,
    toggle,
    toolbar,
    view_shortcuts,
)
from webapp.components.attributes import attributes
from webapp.graph_analyser import (
    execution_aggregate,
    execution_details,
    execution_steps,
    execution_summary,
    execution_workers,
)
from webapp.graph_analyser.execution_routes import register_routes
from webapp.theme import STEP_FAMILY
from webapp.view import View, ViewContext

if TYPE_CHECKING:
    from webapp.library import Library

KEYS = (
    ("← →", "Move along time; hold to keep moving"),
    ("Page Up / Down", "Move by a screen"),
    ("Home / End", "Go to the begin or the end"),
    ("+ −", "Zoom in or out"),
    ("f", "Show everything"),
    ("↑ ↓", "Scroll through levels, tiles and IPUs"),
    ("Shift + ↑ ↓", "Make the picture of tiles taller or lower"),
    ("n / p", "Select the next or previous step"),
    ("Enter", "Select what is under the pointer, or zoom to the selection"),
    ("g / Shift + g", "Go to the next or previous match of the search"),
    ("Esc", "Clear the selection"),
    ("Wheel", "Zoom at the pointer; with Shift scroll"),
    ("Drag", "Move; with Shift select a window of cycles"),
)

NOT_RECORDED = "This report holds no execution profile: run with autoReport.outputExecutionProfile=true to record one."


def layout(context: ViewContext) -> Component:
    """The page: toolbar, drawing, and the tabs Summary, Details and Steps below it."""
    extras = context.selection.extras
    lower = tabs(
        "detail",
        [
            Tab("summary", "Summary", execution_summary.panel()),
            Tab("details", "Details", execution_details.panel()),
            Tab("workers", "Workers", execution_workers.panel()),
            Tab("aggregate", "Aggregation", execution_aggregate.panel()),
            Tab("steps", "Steps", execution_steps.panel()),
        ],
        extras.get("detail"),
    )
    return html.Div(
        [
            _toolbar(context),
            split("execution", _trace(context), lower, percent=62),
            view_shortcuts(KEYS),
        ],
        className="execution",
    )


def _toolbar(context: ViewContext) -> Component:
    extras = context.selection.extras
    ipus = context.source.reader.target().num_ipus
    chosen = context.selection.ipu
    choices = {"": "All IPUs"} | {str(ipu): f"IPU {ipu}" for ipu in range(ipus)}
    return toolbar(
        segments("mode", "Execution view", {"": "Flame", "flat": "Flat"}, extras.get("mode", "")),
        toggle("bsp", "BSP", extras.get("bsp") != "0", on="", off="0", title="One row per tile below the bars"),
        select("ipu", "IPU", choices, "" if chosen is None else str(chosen)) if ipus > 1 else None,
        segments(
            "units",
            "Units of the axis",
            {"cycles": "Cycles", "time": "Time"},
            extras.get("units", preferences.current().time),
        ),
        spacer(),
        group(
            search_box("find", "Find steps by name", extras.get("find", ""), width=190),
            html.Span(className="trace-matches", **attributes(data_slot="matches", aria_live="polite")),
        ),
        group(
            icon_button("zoom_out", "Zoom out (-)", action="trace-out"),
            html.Span(className="trace-zoom", **attributes(data_slot="zoom")),
            icon_button("zoom_in", "Zoom in (+)", action="trace-in"),
            icon_button("reset", "Show everything (f)", action="trace-fit"),
        ),
        group(
            popover(
                icon("key"), html.Div(**attributes(data_slot="key")), label="Key of colours", class_name="trace-key"
            ),
            icon_button("camera", "Save the drawing as PNG", action="trace-save"),
        ),
        label="Execution trace",
    )


def _trace(context: ViewContext) -> Component:
    facts = json.dumps(trace_facts(context))
    return html.Div(className="trace", tabIndex="0", role="application", **attributes(
        aria_label="Execution trace: arrow keys move, plus and minus zoom, question mark lists all keys",
        data_trace=facts,
    ))  # fmt: skip


def trace_facts(context: ViewContext) -> dict[str, Any]:
    """What the drawing must know before its first request."""
    source = context.source
    target = source.reader.target()
    return {
        "key": context.key,
        "generation": source.generation,
        "ipus": target.num_ipus,
        "tiles": target.tiles_per_ipu,
        "clock": target.clock_hz,
        "total": run_bars(source).total,
        "steps": step_count(source),
        "types": list(TYPE_NAMES),
        "families": [STEP_FAMILY.get(name, "other") for name in TYPE_NAMES],
    }


def missing(context: ViewContext) -> str:
    """Why there is nothing to show, "" when there is."""
    return "" if run_bars(context.source).total else NOT_RECORDED


def register(app: Dash, library: Library) -> None:
    """Routes of the drawing and callbacks of the lower pane."""
    register_routes(app, library)
    execution_summary.register(app, library)
    execution_details.register(app, library)
    execution_steps.register(app, library)
    execution_workers.register(app, library)
    execution_aggregate.register(app, library)


VIEW = View(
    id="execution", title="Execution Trace", icon="execution", layout=layout, register=register, missing=missing
)
