"""Operations: the cost of each call of a software layer, as a table, a graph and a roofline plot.

The URL holds the state of the page (state.py). The graph is assets/operations/graph.js, which reads the route of
routes.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component

from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.owners import chosen_layer, layers
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from webapp.base.library import Library
from webapp.base.view import View, ViewContext, needs
from webapp.components import (
    TabSet,
    group,
    help_text,
    long_table,
    options_menu,
    page_of_halves,
    part_stores,
    register_pair_rows,
    register_part,
    register_row_choice,
    register_tabs,
    search_box,
    segments,
    select,
    spacer,
    toggle,
    toolbar,
    unavailable,
)
from webapp.graph_analyser.operations.graph import graph_part, opened_name, path_part
from webapp.graph_analyser.operations.roofline import roofline_part
from webapp.graph_analyser.operations.routes import register_routes
from webapp.graph_analyser.operations.state import PLOT_KEYS, TAB_KEYS, VIEWS, OperationState, levels
from webapp.graph_analyser.operations.tables import FIGURES, columns, compared_columns, operation_rows
from webapp.graph_analyser.operations.tabs import NOTHING, TABS, panel_title, tab_content

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_KEYS = (
    ("↑ ↓ Page Up / Down", "Move in the table; in the graph go to the nearest box, or move by a page"),
    ("Space", "Select the row under the cursor and show its details"),
    ("o", "Open the selected group: show its parts"),
    ("u", "Go up one level"),
    ("Esc", "Clear the selection"),
    ("← →", "In the graph: go to the nearest box"),
    ("Enter", "In the graph: select the box"),
    ("W S A D 0", "In the graph: zoom, move, show everything"),
)

_QUERY = ("ops_layer", "ops_group", "ops_under", "ops_find", "ops_by", "ipu", "vs")


TAB_SET = TabSet("ops", TABS, TAB_KEYS, "Operation details")


def layout(context: ViewContext) -> Component:
    source = context.source
    try:
        state = OperationState.read(source, context.params)
    except NotRecordedError as lacking:
        return unavailable(lacking)
    above = html.Div(
        [html.Div(id="ops-path", className="ops-path"), html.Div(id="ops-main", className="ops-main")],
        className="ops-top",
    )
    title = html.Div(id="ops-title", className="panel-title")
    below = html.Div([title, TAB_SET.layout(context)], className="panel-body panel")
    return page_of_halves(
        "operations",
        above,
        below,
        _KEYS,
        toolbar=_toolbar(context, state),
        class_name="column-page ops-page",
        stores=[*TAB_SET.stores(context, PLOT_KEYS), *part_stores("ops", "title", TAB_KEYS)],
    )


def _toolbar(context: ViewContext, state: OperationState) -> Component:
    source, params = context.source, context.params
    view = params.get("ops_view", "")
    ipus = target_of(source).num_ipus
    layer = params.get("ops_layer", "")
    names = {"" if each == chosen_layer(source) else each: each for each in layers(source)}
    grouped = levels(source, state.layer)
    ipu = "" if state.ipu is None else str(state.ipu)
    recorded = operations(source, state.layer, state.ipu).columns() if context.target is None else FIGURES
    by = {
        "" if field == "cycles" else field: figure[0] if field in recorded else f"{figure[0]} (not recorded)"
        for field, figure in FIGURES.items()
    }
    per_ipu = {"": "All"} | {str(each): f"IPU {each}" for each in range(ipus)}
    return toolbar(
        segments("ops_view", "Show", VIEWS, view if view in VIEWS else ""),
        select("ops_layer", "Layer", names, layer if layer in names else ""),
        select("ops_group", "Group by", grouped, params.get("ops_group", "")),
        select("ops_by", "Figure", by, "" if state.by == "cycles" else state.by),
        select("ipu", "IPU", per_ipu, ipu) if ipus > 1 else None,
        spacer(),
        group(search_box("ops_find", "Filter operations", state.find, width=160)),
        options_menu(toggle("ops_all", "All figures", params.get("ops_all") == "1"), label="Columns")
        if context.target is None
        else None,
        _about(source, state),
        label="Operations",
    )


def _about(source: ReportSource, state: OperationState) -> Component:
    return help_text(
        "Operations",
        "An operation is the outermost call of the selected software layer. It owns the programs and variables that it "
        "creates at any depth. Those of a function belong to the call that creates the function, not to its callers.",
        "One row holds what belongs to no operation, so that each column adds up to the report's total. Vertex code "
        "of several operations on a tile is not attributed. Nor are waits of an IPU at the end of a run.",
        *operations(source, state.layer, state.ipu).remarks,
        formula="share = figure / the report's total",
    )


def register(app: Dash, library: Library) -> None:
    """Rows of the table, the route of the graph, and the callbacks of both halves."""
    register_pair_rows(app, library, "operations", operation_rows)
    register_routes(app, library)
    register_part(app, library, "ops", "plot", ("ops-main.children", "ops-path.children"), _main)
    register_part(app, library, "ops", "title", ("ops-title.children",), lambda context: [panel_title(context)])
    register_tabs(app, library, TAB_SET, tab_content)
    register_row_choice(app, "ops", ClientsideFunction("operations", "rows"), "operations")
    app.clientside_callback(
        ClientsideFunction("operations", "parts"),
        Output("ops-done", "className"),
        Input({"ops": ALL}, "selectedRows"),
        prevent_initial_call=True,
    )


def _main(context: ViewContext) -> tuple[Any, Any]:
    """(table, graph or roofline; the path of names above it)."""
    source, params = context.source, context.params
    try:
        state = OperationState.read(source, params)
        return _view(context, state), path_part(state, opened_name(source, state, params))
    except (NotRecordedError, ValueError) as problem:
        return unavailable(problem), ""


def _view(context: ViewContext, state: OperationState) -> Component:
    source, params = context.source, context.params
    if params.get("ops_view") == "roofline":
        return roofline_part(source, state, context.theme)
    if params.get("ops_view") == "graph":
        return graph_part(context.key, params)
    query = {name: params[name] for name in _QUERY if params.get(name)}
    is_alone = context.target is None
    shown = columns(source, state, params.get("ops_all") == "1") if is_alone else compared_columns(state.by)
    return long_table("operations", context.key, query, shown, selectable=True)


def _ahead(source: ReportSource) -> None:
    try:
        operations(source)
    except NotRecordedError:
        return


VIEW = View("operations", "Operations", "operations", layout, register, missing=needs(chosen_layer), ahead=_ahead)

__all__ = ["NOTHING", "VIEW"]
