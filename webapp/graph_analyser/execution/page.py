"""Execution Trace: the steps of every IPU over device time, as bars and as a BSP raster of its tiles, with figures.

The drawing is assets/execution/*.js, which reads the binary routes of routes.py. The URL holds the state of the page:

    from, to   visible cycles        sel   selected cycles "begin-end"      step   selected execution step
    ipu        one IPU, else all     mode  "flat", else flame               bsp    "0" = no BSP raster
    units      "time", else cycles   find  text to look for in step names   detail  tab of the lower pane
    hide       classes not drawn     marks marked cycles                    agg, wl grouping, table of the workers
    filtered   "1" = figures exclude hidden types                           labels, small  "0" = not drawn

and in a comparison `link` ("0" = each trace has its own window, the target's in `tfrom`, `tto`) and `tstep`, a step of
the target without a match in the source; `sel` then holds for both.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.execution.timeline import TYPE_NAMES, run_bars, step_count
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.report.tile_knowledge import tiles_unknown
from webapp.base import preferences
from webapp.base.comparison import target_keys
from webapp.base.theme import STEP_FAMILY
from webapp.base.view import View, ViewContext
from webapp.components import (
    empty_hint,
    group,
    help_text,
    icon,
    icon_button,
    options_menu,
    page_of_halves,
    popover,
    search_box,
    segments,
    select,
    spacer,
    toggle,
    toolbar,
)
from webapp.components.attributes import attributes
from webapp.components.hint import first_hint
from webapp.graph_analyser.execution import tabs
from webapp.graph_analyser.execution.routes import level_count, read_steps, register_routes
from webapp.graph_analyser.execution.state import CLASS_TEXT, hidden_classes
from webapp.graph_analyser.execution.tabs import TAB_SET

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

KEYS = (
    ("W S  + −", "Zoom in or out; hold to keep zooming"),
    ("A D", "Move along time; hold to keep moving"),
    ("← → ↑ ↓", "Move the cursor to the previous or next step, the tile above or below; its figures are read out"),
    ("Enter", "Select the step at the cursor or pointer, or zoom to the selection"),
    (". ,", "Go to the next or previous match of the search; without a search, the next or previous step"),
    ("n / p", "Select the next or previous step"),
    ("m", "Set or remove a mark and show its distance to the pointer or cursor; Shift + m removes all marks"),
    ("f", "Fit the selection; without one, show everything"),
    ("0", "Show everything"),
    ("Page Up / Down", "Move by one screen"),
    ("Home / End", "Go to the start or the end"),
    ("Shift + ↑ ↓", "Make the BSP raster taller or shorter"),
    ("Esc", "Clear the cursor and the selection"),
    ("Wheel", "Zoom at the pointer; with Shift, scroll"),
    ("Drag", "Move; with Shift, select a window of cycles"),
)

HINT = "The wheel zooms, a drag moves, Shift and a drag measures a window of cycles; ? lists all keys."


def layout(context: ViewContext) -> Component:
    """The page: toolbar, drawing and tabs."""
    return page_of_halves(
        "execution",
        _traces(context),
        TAB_SET.layout(context),
        KEYS,
        toolbar=_toolbar(context),
        percent=62 if context.target is None else 54,
        class_name="execution",
        stores=TAB_SET.stores(context),
    )


def _toolbar(context: ViewContext) -> Component:
    extras = context.selection.extras
    ipus = context.source.reader.target().num_ipus
    chosen = context.selection.ipu
    choices = {"": "All IPUs"} | {str(ipu): f"IPU {ipu}" for ipu in range(ipus)}
    return toolbar(
        segments("mode", "Execution view", {"": "Flame", "flat": "Flat"}, extras.get("mode", "")),
        *_bsp(context),
        select("ipu", "IPU", choices, "" if chosen is None else str(chosen)) if ipus > 1 else None,
        segments(
            "units",
            "Units of the axis",
            {"cycles": "Cycles", "time": "Time"},
            extras.get("units", preferences.current().time),
        ),
        None if context.target is None else _link(extras.get("link") != "0"),
        first_hint("trace", HINT),
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
            popover(icon("key"), html.Div(**attributes(data_slot="key")), label="Colour key", class_name="trace-key"),
            options_menu(*_options(context)),
            icon_button("camera", "Save the drawing as PNG", action="trace-save"),
            icon_button("download", "Save the drawing as SVG", action="trace-save-svg"),
        ),
        label="Execution trace",
    )


def _bsp(context: ViewContext) -> list[Component]:
    unknown = tiles_unknown(context.source)
    if unknown:
        return [html.Span(["BSP unknown", help_text("BSP", unknown)], className="trace-unknown")]
    is_on = context.selection.extras.get("bsp") != "0"
    return [toggle("bsp", "BSP", is_on, on="", off="0", title="Show one row per tile below the bars")]


def _link(is_on: bool) -> Component:
    about = "Show the same cycles at the same scale in source and target"
    return toggle("link", "Link", is_on, on="", off="0", title=about)


def _options(context: ViewContext) -> list[Component]:
    """Switches for what is drawn: classes of steps, names, merged bars. None of them changes a figure."""
    extras, hidden = context.selection.extras, hidden_classes(context.selection)
    shown = [
        html.Button(
            [html.Span(className="switch"), text],
            type="button",
            role="switch",
            className="toggle",
            **attributes(aria_checked="false" if name in hidden else "true", data_hide=name),
        )
        for name, text in CLASS_TEXT.items()
    ]
    return [
        html.Div("Show steps (figures count all)", className="trace-options-head"),
        *shown,
        html.Div("Show", className="trace-options-head"),
        toggle("labels", "step names", extras.get("labels") != "0", on="", off="0"),
        toggle("small", "bars narrower than a pixel", extras.get("small") != "0", on="", off="0"),
    ]


def _traces(context: ViewContext) -> Component:
    """The drawing of the report; in a comparison that of the source above that of the target."""
    if context.target is None:
        facts = trace_facts(context.source, context.key) | _levels(context)
        return _trace(facts, "Execution trace")
    keys = [context.key, target_keys(context.params)[0]]
    both = max(run_bars(context.source).total, run_bars(context.target).total)
    drawn = []
    for role, name, source, key in (
        ("source", "Source", context.source, keys[0]),
        ("target", "Target", context.target, keys[1]),
    ):
        facts = trace_facts(source, key) | {"role": role, "both": both, "pair": keys}
        if facts["total"]:
            title = html.Div([html.Strong(name), f" {source.label}"], className="trace-side", title=source.label)
            drawn.append(html.Div([title, _trace(facts, f"{name}: execution trace")], className="trace-half"))
        else:
            drawn.append(html.Div(empty_hint(f"{name}: {why_no_run(source)}"), className="trace-half"))
    return html.Div(drawn, className="trace-pair")


def _trace(facts: dict[str, Any], name: str) -> Component:
    return html.Div(
        className="trace",
        tabIndex="0",
        role="application",
        **attributes(
            aria_label=f"{name}: arrow keys move the cursor and read it out, W S A D zoom and move, ? lists all keys",
            data_trace=json.dumps(facts),
            data_role=facts["role"],
        ),
    )


def trace_facts(source: ReportSource, key: str) -> dict[str, Any]:
    """What the drawing needs before its first request: sizes, clock and step types."""
    target = source.reader.target()
    return {
        "key": key,
        "role": "source",
        "generation": source.generation,
        "ipus": target.num_ipus,
        "tiles": target.tiles_per_ipu,
        "clock": target.clock_hz,
        "total": run_bars(source).total,
        "steps": step_count(source),
        "unknown": tiles_unknown(source),
        "types": list(TYPE_NAMES),
        "families": [STEP_FAMILY.get(name, "other") for name in TYPE_NAMES],
    }


def _levels(context: ViewContext) -> dict[str, Any]:
    """Rows of bars where one IPU is drawn, so that the drawing has its final layout before the bars arrive."""
    source, selection = context.source, context.selection
    ipus = source.reader.target().num_ipus
    ipu = 0 if selection.ipu is None and ipus == 1 else selection.ipu
    if ipu is None or not 0 <= ipu < ipus or not run_bars(source).total:
        return {}
    mode = "flat" if selection.extras.get("mode") == "flat" else "flame"
    return {"levels": {"ipu": ipu, "mode": mode, "count": level_count(source, ipu, mode)}}


def missing(context: ViewContext) -> str:
    """The reason why there is nothing to show, "" when there is something."""
    if run_bars(context.source).total:
        return ""
    return why_no_run(context.source)


def register(app: Dash, library: Library) -> None:
    """Routes of the drawing and callbacks of the tabs."""
    register_routes(app, library)
    tabs.register(app, library)


VIEW = View("execution", "Execution Trace", "execution", layout, register, missing=missing, ahead=read_steps)
