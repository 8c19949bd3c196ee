"""The graph of operations on its page: the box that the browser draws into, and the way back through the levels."""

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
    "A box is an operation or a group of them; a thick outline has more inside: open it with o or a double click. What "
    "no operation accounts for, or the choice leaves out, stands above where it gives variables and below where it "
    "takes them."
)
_OPENED = (
    "Rounded boxes are programs, square ones variables; dotted are those that other operations give their value. u "
    "goes back."
)
_ARROWS = (
    "A report says which variables a program touches, not which it writes: the first program that touches a variable "
    "gives it its value, and an arrow leads to everything that touches it later; an always-live one comes from what "
    "made it. The heavier, the more bytes; dashed arrows point back to what ran before."
)

_GRAPH_QUERY = ("ops_layer", "ops_group", "ops_under", "ops_by", "ops_open", "ops_find", "ipu")


def graph_part(key: str, params: Mapping[str, str]) -> Component:
    """The box that assets/operations/graph.js draws into."""
    query = {name: params[name] for name in _GRAPH_QUERY if params.get(name)}
    box = html.Div(
        className="ops-graph",
        role="group",
        **attributes(
            aria_label="Operations and what passes between them: arrow keys go from box to box",
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
    """Where the page is in the levels of names, each a button back; `opened` = name of the operation drawn."""
    if not state.under and not opened:
        return ""
    parts = state.under.split("/") if state.under else []
    crumbs: list[Any] = [_crumb("All operations", "", "1")]
    for at, part in enumerate(parts):
        crumbs += [html.Span("/", className="dim"), _crumb(part, "/".join(parts[: at + 1]), str(at + 2))]
    if opened:
        crumbs += [html.Span("/", className="dim"), html.Span(opened, className="ops-here")]
    return html.Nav(crumbs, **attributes(aria_label="Levels of names"))


def _crumb(text: str, under: str, level: str) -> Component:
    return html.Button(
        text, type="button", className="button small", **attributes(data_ops_under=under, data_ops_group=level)
    )


def opened_name(source: ReportSource, state: OperationState, params: Mapping[str, str]) -> str:
    """Name of the operation whose parts the graph shows, "" for none."""
    if params.get("ops_view") != "graph" or not params.get("ops_open"):
        return ""
    chosen = chosen_operations(source, state, {"ops_at": params["ops_open"]})
    return chosen.title if chosen is not None else "unknown operation"
