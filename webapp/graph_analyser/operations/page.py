"""Operations: what each call of a software layer took, as a table, as a graph and against the machine's roofline.

What is shown stands in the URL (operations_state.py). The graph is assets/operations/graph.js, fed by
operations_routes.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.owners import chosen_layer, layers
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from webapp.comparison import target_of_page
from webapp.components import (
    Tab,
    empty_hint,
    group,
    help_text,
    long_table,
    options_menu,
    register_rows,
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
from webapp.graph_analyser.operations.columns import (
    FIGURES,
    columns,
    compared_columns,
    compared_rows,
    operation_rows,
)
from webapp.graph_analyser.operations.graph import graph_part, opened_name, path_part
from webapp.graph_analyser.operations.panel import NOTHING, TABS, tab_content
from webapp.graph_analyser.operations.roofline import roofline_part
from webapp.graph_analyser.operations.routes import register_routes
from webapp.graph_analyser.operations.state import TAB_KEYS, TOP_KEYS, VIEWS, OperationState, levels
from webapp.library import Library
from webapp.view import View, ViewContext, page_key

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

_KEYS = (
    ("↑ ↓ Page Up / Down", "Move in the table"),
    ("Space", "Select the row under the cursor and show its details"),
    ("o", "Open the selected group: the next part of its names"),
    ("u", "Back to what holds it"),
    ("Esc", "Select nothing"),
    ("← → ↑ ↓", "In the graph: to the nearest box"),
    ("Enter", "In the graph: select the box"),
    ("W S A D Page Up / Down 0", "In the graph: zoom, move, show all"),
)

_QUERY = ("ops_layer", "ops_group", "ops_under", "ops_find", "ops_by", "ipu", "vs")


def layout(context: ViewContext) -> Component:
    source = context.source
    try:
        state = OperationState.read(source, context.params)
    except NotRecordedError as lacking:
        return empty_hint(str(lacking))
    items = [Tab(value, label, html.Div(id=f"ops-tab-{value}", className="tab-body")) for value, label in TABS.items()]
    lower = html.Div(
        [
            html.Div(id="ops-title", className="panel-title"),
            tabs("ops_tab", items, context.params.get("ops_tab"), label="Operation details"),
        ],
        className="panel-body panel",
    )
    top = html.Div(
        [html.Div(id="ops-path", className="ops-path"), html.Div(id="ops-main", className="ops-main")],
        className="ops-top",
    )
    return html.Div(
        [
            _toolbar(context, state),
            html.Div(split("operations", top, lower, percent=58), className="fill"),
            dcc.Store(id="ops-top-keys", data=list(TOP_KEYS)),
            dcc.Store(id="ops-tab-keys", data=list(TAB_KEYS)),
            dcc.Store(id="ops-top-now"),
            dcc.Store(id="ops-tab-now"),
            html.Div(id="ops-done", hidden=True),
            view_shortcuts(_KEYS),
        ],
        className="column-page ops-page",
    )


def _toolbar(context: ViewContext, state: OperationState) -> Component:
    source, params = context.source, context.params
    view = params.get("ops_view", "")
    ipus = target_of(source).num_ipus
    layer = params.get("ops_layer", "")
    names = {"" if each == chosen_layer(source) else each: each for each in layers(source)}
    grouped = levels(source, state.layer)
    ipu = "" if state.ipu is None else str(state.ipu)
    by = {"" if field == "cycles" else field: figure[0] for field, figure in FIGURES.items()}
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
        "An operation is the outermost call of the chosen software layer. Programs and variables made under it, at any "
        "depth, are its own; those of a function count where the function was made, wherever it is called from.",
        "What no operation accounts for is a row of its own, so that each column adds up to the report's total. Code "
        "of a vertex type that several operations share on a tile is not attributed.",
        *operations(source, state.layer, state.ipu).missing,
        formula="share = figure / the report's total",
    )


def register(app: Dash, library: Library) -> None:
    """Rows of the tables, and the callbacks of both halves."""

    def frame(source: Any, query: Mapping[str, str]) -> pd.DataFrame:
        target = target_of_page(library, query)
        return operation_rows(source, query) if target is None else compared_rows(source, target, query)

    register_rows(app, library, "operations", frame)
    register_routes(app, library)
    for half in ("top", "tab"):
        app.clientside_callback(
            ClientsideFunction("plots", "keep"),
            Output(f"ops-{half}-now", "data"),
            Input("selection", "data"),
            State(f"ops-{half}-keys", "data"),
            State(f"ops-{half}-now", "data"),
        )
    app.clientside_callback(
        ClientsideFunction("operations", "rows"),
        Output("ops-done", "title", allow_duplicate=True),
        Input({"rows": "operations", "query": ALL}, "selectedRows"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("operations", "parts"),
        Output("ops-done", "className"),
        Input({"ops": ALL}, "selectedRows"),
        prevent_initial_call=True,
    )
    _register_top(app, library)
    _register_tabs(app, library)


def _register_top(app: Dash, library: Library) -> None:
    @app.callback(
        Output("ops-main", "children"),
        Output("ops-path", "children"),
        Input("ops-top-now", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def main(params: dict[str, str] | None, theme: str | None, pathname: str) -> tuple[Any, Any]:
        if params is None:
            return no_update, no_update
        key, target = page_key(pathname), target_of_page(library, params)
        source = library.report(key)
        try:
            state = OperationState.read(source, params)
            return _main(source, key, state, params, theme or "light", target), path_part(
                state, opened_name(source, state, params)
            )
        except (NotRecordedError, ValueError) as problem:
            return empty_hint(str(problem)), ""


def _main(
    source: ReportSource,
    key: str,
    state: OperationState,
    params: Mapping[str, str],
    theme: str,
    target: ReportSource | None,
) -> Component:
    if params.get("ops_view") == "roofline":
        return roofline_part(source, state, theme)
    if params.get("ops_view") == "graph":
        return graph_part(key, params)
    query = {name: params[name] for name in _QUERY if params.get(name)}
    shown = columns(source, state, params.get("ops_all") == "1") if target is None else compared_columns(state.by)
    return long_table("operations", key, query, shown, selectable=True)


def _register_tabs(app: Dash, library: Library) -> None:
    @app.callback(
        [Output("ops-title", "children"), *(Output(f"ops-tab-{tab}", "children") for tab in TABS)],
        Input("ops-tab-now", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def fill(params: dict[str, str] | None, theme: str | None, pathname: str) -> Any:
        shown = None if params is None else params.get("ops_tab", "summary")
        if params is None or shown not in TABS:
            return [no_update] * (len(TABS) + 1)
        key, target = page_key(pathname), target_of_page(library, params)
        title, content = tab_content(library.report(key), key, shown, params, theme or "light", target)
        return [title, *(content if tab == shown else no_update for tab in TABS)]


def _missing(context: ViewContext) -> str:
    try:
        chosen_layer(context.source)
    except NotRecordedError as lacking:
        return str(lacking)
    return ""


def _ahead(source: ReportSource) -> None:
    try:
        operations(source)
    except NotRecordedError:
        return


VIEW = View("operations", "Operations", "operations", layout, register, missing=_missing, ahead=_ahead)

__all__ = ["NOTHING", "VIEW"]
