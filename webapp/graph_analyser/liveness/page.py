"""Liveness Report: live bytes at each point of the program, and the variables that are live there."""

from __future__ import annotations

from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update
from dash.development.base_component import Component

from popvision.analysis.liveness.curve import fullest_tile
from popvision.analysis.report.columns import liveness
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from webapp.base.comparison import KEY
from webapp.base.library import Library
from webapp.base.view import View, ViewContext, needs, page_key
from webapp.components import (
    TabSet,
    options_menu,
    register_pair_rows,
    register_part,
    register_row_choice,
    register_rows,
    register_tabs,
    search_box,
    select,
    spacer,
    toggle,
    toolbar,
)
from webapp.components.attributes import attributes
from webapp.graph_analyser.liveness.plot_area import plot_parts
from webapp.graph_analyser.liveness.routes import register_routes
from webapp.graph_analyser.liveness.state import GRAPHS, PLOT_KEYS, TAB_KEYS, TABS, LivenessState, liveness_state
from webapp.graph_analyser.liveness.tables import always_live, live_variables, steps, variable_parts
from webapp.graph_analyser.liveness.tabs import parts, tab_content
from webapp.graph_analyser.plots.page import plot_page, register_plot, save_plot

TAB_SET = TabSet("live", TABS, TAB_KEYS, "Liveness details")

KEYS = (
    ("← →", "Select the previous or next index (focus the plot first)"),
    ("Shift ← →", "Add the next index to the selection"),
    ("W S", "Zoom in and out"),
    ("A D", "Move left and right"),
    ("Page Up / Down", "Move by a page (focus the plot first)"),
    ("f", "Fit the selected indices, or the lifetime of the variable"),
    ("0", "Show all indices"),
    (". ,", "Next and previous match of the filter; without a filter, next and previous index"),
    ("p", "Select the peak"),
    ("n N", "Next and previous peak"),
    ("m", "Mark the selected index; Esc removes the mark"),
    ("Esc", "Clear the selection"),
    ("↑ ↓", "Heat map: move the cursor over tiles"),
    ("Shift W S", "Heat map: zoom the tiles"),
    ("Enter", "Heat map: go to the maximum of the cell"),
)


#: Runs in the drop-down list.
_MOST_RUNS = 200


def layout(context: ViewContext) -> Component:
    state = liveness_state(context.source, context.params)
    bar = _toolbar(context.source, state, context.target is not None)
    canvas = html.Div(
        id="live-heat",
        className="live-heat",
        hidden=state.graph != "heat",
        tabIndex="0",
        role="application",
        **attributes(
            data_live_heat="",
            data_plot="live",
            data_saves="live-plot",
            aria_label="Heat map of tiles by liveness index: arrow keys move the cursor, its values are shown below",
        ),
    )
    return plot_page(context, TAB_SET, "liveness", bar, "Liveness curve", KEYS, PLOT_KEYS, beside=[canvas])


def _toolbar(source: ReportSource, state: LivenessState, compares: bool) -> Component:
    target = target_of(source)
    where = state.where
    sources = {"": "All tiles" if target.num_replicas == 1 else "All tiles of a replica"}
    sources |= {f"ipu:{ipu}": f"IPU {ipu}" for ipu in range(target.num_ipus)}
    sources["tile"] = "One tile"
    chosen = {"all": "", "ipu": f"ipu:{where.number}", "tile": "tile"}[where.kind]
    options: list[Any] = [
        toggle("live_noalways", "Include always live", state.always, on="", off="1"),
        toggle("live_max", "Show capacity", state.show_max),
        toggle("live_nopeaks", "Show peaks", state.peaks, on="", off="1"),
    ]
    if compares:
        options += [
            toggle("live_diff", "Show the difference (target − source)", state.difference),
            toggle("live_split", "Show the target in its own plot", state.split),
            toggle("live_align", "Pair indices by matched programs", state.by == "programs", on="programs"),
        ]
    replicas: list[Component] = []
    if target.num_replicas > 1:
        names = {str(each): f"{each} of {target.num_replicas}" for each in range(target.num_replicas)}
        replicas = [select("live_replica", "Replica", names, str(where.number) if where.kind == "all" else "0")]
    fullest = if_recorded(lambda: fullest_tile(source)) or 0
    return toolbar(
        select("live_graph", "Graph", GRAPHS, state.graph),
        select("live_source", "Curve of", sources, chosen),
        html.Div(search_box("tiles", f"Tile, e.g. {fullest}", _typed(where), width=120), id="live-tile-field"),
        *replicas,
        html.Div(_run_choice(source, state), id="live-run-field", hidden=state.graph != "time"),
        spacer(),
        search_box("live_filter", "Filter steps by name or type", state.filter, width=220),
        options_menu(*options),
        save_plot("live-plot", "liveness"),
    )


def _run_choice(source: ReportSource, state: LivenessState) -> Component:
    """The choice of the run whose device time is the axis; a run beyond _MOST_RUNS can be set in the URL."""
    runs = source.reader.runs()
    names = {str(row): f"{row}: {name}" if name else str(row) for row, name in enumerate(runs.name[:_MOST_RUNS])}
    return select("live_run", "Run", names or {"": "none recorded"}, str(state.run))


def _typed(where: Where) -> str:
    return str(where.number) if where.kind == "tile" else ""


def register(app: Dash, library: Library) -> None:
    """Callbacks of the page and rows of its tables."""
    register_routes(app, library)
    register_plot(app, "live")
    register_part(app, library, "live", "plot", _OUTPUTS, _plot_part)
    register_tabs(app, library, TAB_SET, tab_content)
    _register_parts(app, library)
    register_row_choice(app, "live", ClientsideFunction("plots", "row"), "liveness-always", "liveness-live")
    register_row_choice(app, "live", ClientsideFunction("plots", "index"), "liveness-steps")
    register_rows(app, library, "liveness-parts", variable_parts)
    register_pair_rows(app, library, "liveness-always", always_live)
    register_pair_rows(app, library, "liveness-live", live_variables)
    register_pair_rows(app, library, "liveness-steps", steps)


_OUTPUTS = (
    "live-plot.figure",
    "live-config.data",
    "live-headline.children",
    "live-reading.children",
    "live-range.children",
    "live-tile-field.hidden",
    "live-box.hidden",
    "live-heat.hidden",
    "live-run-field.hidden",
)


def _plot_part(context: ViewContext) -> tuple[Any, ...]:
    """The outputs above: the drawing and what stands around it, then which fields and canvases are hidden."""
    state = liveness_state(context.source, context.params)
    hidden = (state.where.kind != "tile", state.graph == "heat", state.graph != "heat", state.graph != "time")
    vs = context.params.get(KEY, "")
    return *plot_parts(context.source, context.key, state, context.theme, context.target, vs), *hidden


def _register_parts(app: Dash, library: Library) -> None:
    """Fill the parts of the selected variable beside every table of variables in the page."""

    @app.callback(
        Output({"live-parts": ALL}, "children"),
        Input("live-plot-now", "data"),
        Input("live-tab-now", "data"),
        State("url", "pathname"),
    )
    def fill(params: dict[str, str] | None, tab: dict[str, str] | None, pathname: str) -> Any:
        boxes = [each["id"]["live-parts"] for each in ctx.outputs_list]
        shown = (tab or {}).get("live_tab", "always")
        key = page_key(pathname)
        if params is None or shown not in boxes or not key:
            return [no_update] * len(boxes)
        source = library.report(key)
        shown_parts = parts(source, key, liveness_state(source, params))
        return [shown_parts if box == shown else "" for box in boxes]


VIEW = View(
    id="liveness",
    title="Liveness Report",
    icon="liveness",
    layout=layout,
    register=register,
    missing=needs(liveness),
    draws=("plot", "table"),
)
