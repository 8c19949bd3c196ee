"""The graph of operations: the element that the browser draws into, and the path of names above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from webapp.components import help_text, icon_button
from webapp.components.attributes import attributes
from webapp.graph_analyser.operations.state import OperationState, chosen_operations

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_FLOW = (
    "A box is an operation or a group. Open a group (thick outline) with o or a double click. The box above the "
    "graph holds the writers outside it, the box below the readers."
)
_OPENED = (
    "Rounded boxes are programs, square boxes variables. Dotted outlines mark variables that other operations write. "
    "Press u to go up one level."
)
_ARROWS = (
    "A report stores the variables of a program, not whether it writes them. The graph assumes that the first user "
    "writes a variable, and draws an arrow to every later one; an always-live variable comes from the "
    "operation that creates it. Thicker arrows carry more bytes; dashed arrows point back to earlier programs."
)

_GRAPH_QUERY = ("ops_layer", "ops_group", "ops_under", "ops_by", "ops_open", "ops_find", "ipu")


def graph_part(key: str, params: Mapping[str, str]) -> Component:
    """The element that assets/operations/graph.js draws into, with its zoom buttons and notes."""
    query = {name: params[name] for name in _GRAPH_QUERY if params.get(name)}
    box = html.Div(
        className="ops-graph",
        role="group",
        **attributes(
            aria_label="Graph of operations and the data between them: arrow keys go from box to box",
            data_ops_graph=f"/data/{key}/operations/graph?{urlencode(query)}",
        ),
    )
    tools = html.Div(
        [
            icon_button(name, title, action=None)
            for name, title in (("zoom_out", "Zoom out (S)"), ("zoom_in", "Zoom in (W)"), ("reset", "Show all (0)"))
        ],
        className="ops-graph-tools",
    )
    for button, action in zip(tools.children, ("out", "in", "fit"), strict=True):
        setattr(button, "data-ops-zoom", action)
    about = help_text("The graph", _OPENED if params.get("ops_open") else _FLOW, _ARROWS)
    note = html.Span(className="ops-graph-note", role="status")
    target = html.Span("The graph shows the source. ") if params.get("vs") else None
    return html.Div([tools, box, html.Div([target, note, about], className="ops-note")], className="ops-column")


def path_part(state: OperationState, opened: str = "") -> Any:
    """The path of names as buttons that go back up; `opened` = name of the operation drawn."""
    if not state.under and not opened:
        return ""
    parts = state.under.split("/") if state.under else []
    crumbs: list[Any] = [_crumb("All operations", "", "1")]
    for at, part in enumerate(parts):
        crumbs += [html.Span("/", className="dim"), _crumb(part, "/".join(parts[: at + 1]), str(at + 2))]
    if opened:
        crumbs += [html.Span("/", className="dim"), html.Span(opened, className="ops-here")]
    return html.Nav(crumbs, **attributes(aria_label="Path of names"))


def _crumb(text: str, under: str, level: str) -> Component:
    return html.Button(
        text, type="button", className="button small", **attributes(data_ops_under=under, data_ops_group=level)
    )


def opened_name(source: ReportSource, state: OperationState, params: Mapping[str, str]) -> str:
    """The name of the operation whose parts the graph shows, "" for none."""
    if params.get("ops_view") != "graph" or not params.get("ops_open"):
        return ""
    chosen = chosen_operations(source, state, {"ops_at": params["ops_open"]})
    return chosen.title if chosen is not None else "unknown operation"
