"""The liveness report: how much memory is live at each point of the program, and what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from popvision.analysis.live_steps import program_label
from popvision.analysis.liveness import Where, fullest_tile, liveness, peak
from popvision.analysis.lowered import variables
from popvision.analysis.not_recorded import NotRecordedError
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import target_of
from webapp.components import (
    empty_hint,
    options_menu,
    register_rows,
    search_box,
    select,
    spacer,
    themed,
    toggle,
    toolbar,
)
from webapp.graph_analyser.headline import range_line
from webapp.graph_analyser.liveness_headline import liveness_headline
from webapp.graph_analyser.liveness_plot import LivenessDrawing, draw_liveness
from webapp.graph_analyser.liveness_state import PLOT_KEYS, TAB_KEYS, TABS, LivenessState, liveness_state
from webapp.graph_analyser.liveness_tabs import always_frame, live_frame, tab_content
from webapp.graph_analyser.plot_box import NOTHING, hits_text, register_plot, save_plot
from webapp.graph_analyser.plot_page import plot_page
from webapp.graph_analyser.plot_reading import reading
from webapp.library import Library
from webapp.view import View, ViewContext, page_key

KEYS = (
    ("← →", "Move the selected index (focus the plot first)"),
    ("Shift ← →", "Add the next index to the selection"),
    ("W S", "Zoom in and out"),
    ("A D", "Move left and right"),
    ("Page Up / Down", "Move by a page (focus the plot first)"),
    ("f", "Fit the selected indices or the lifetime"),
    ("0", "Show all indices"),
    (". ,", "Next and previous step that the filter matches, or index"),
    ("p", "Select the peak"),
    ("n N", "Next and previous peak"),
    ("m", "Mark the selected index; Esc takes it away"),
    ("Esc", "Select nothing"),
)

_HINT = "Select an index to read its values here: click, or use the arrow keys; p selects the peak."


def layout(context: ViewContext) -> Component:
    source = context.source
    state = _state(source, context.params)
    stores = (PLOT_KEYS, TAB_KEYS)
    bar = _toolbar(source, state)
    return plot_page("live", "liveness", "Liveness curve", context.theme, bar, TABS, state.tab, stores, KEYS)


def _state(source: ReportSource, params: Any) -> LivenessState:
    return liveness_state(source, params, len(liveness(source).program))


def _toolbar(source: ReportSource, state: LivenessState) -> Component:
    target = target_of(source)
    where = state.where
    sources = {"": "All tiles" if target.num_replicas == 1 else "All tiles of a replica"}
    sources |= {f"ipu:{ipu}": f"IPU {ipu}" for ipu in range(target.num_ipus)}
    sources["tile"] = "One tile"
    chosen = {"all": "", "ipu": f"ipu:{where.number}", "tile": "tile"}[where.kind]
    options: list[Any] = [
        toggle("live_noalways", "Include always live", state.always, on="", off="1"),
        toggle("live_max", "Show memory (capacity)", state.show_max),
        toggle("live_nopeaks", "Show peaks", state.peaks, on="", off="1"),
    ]
    replicas: list[Component] = []
    if target.num_replicas > 1:
        names = {str(each): f"{each} of {target.num_replicas}" for each in range(target.num_replicas)}
        replicas = [select("live_replica", "Replica", names, str(where.number) if where.kind == "all" else "0")]
    return toolbar(
        select("live_source", "Source", sources, chosen),
        html.Div(
            search_box("tiles", f"Tile, e.g. {fullest_tile(source)}", _typed(where), width=120), id="live-tile-field"
        ),
        *replicas,
        spacer(),
        search_box("live_filter", "Filter steps by name or type", state.filter, width=220),
        options_menu(*options),
        save_plot("live-plot", "liveness"),
    )


def _typed(where: Where) -> str:
    return str(where.number) if where.kind == "tile" else ""


def register(app: Dash, library: Library) -> None:
    """Callbacks of the page and rows of its tables."""
    register_plot(app, "live")
    for rows in ("liveness-always", "liveness-live"):
        app.clientside_callback(
            ClientsideFunction("plots", "row"),
            Output("live-done", "title", allow_duplicate=True),
            Input({"rows": rows, "query": ALL}, "selectedRows"),
            prevent_initial_call=True,
        )
    _register_drawing(app, library)
    for tab in TABS:
        _register_tab(app, library, tab)
    register_rows(app, library, "liveness-always", always_frame)
    register_rows(app, library, "liveness-live", live_frame)


def _register_drawing(app: Dash, library: Library) -> None:
    @app.callback(
        Output("live-plot", "figure"),
        Output("live-config", "data"),
        Output("live-headline", "children"),
        Output("live-reading", "children"),
        Output("live-range", "children"),
        Output("live-tile-field", "hidden"),
        Input("live-plot-now", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def draw(params: dict[str, str] | None, theme: str | None, pathname: str) -> tuple[Any, ...]:
        if params is None:
            return (no_update,) * 6
        key = page_key(pathname)
        source = library.report(key)
        state = _state(source, params)
        return *plot_parts(source, key, state, theme or "light"), state.where.kind != "tile"


def _register_tab(app: Dash, library: Library, tab: str) -> None:
    @app.callback(Output(f"live-tab-{tab}", "children"), Input("live-tab-now", "data"), State("url", "pathname"))
    def fill(params: dict[str, str] | None, pathname: str) -> Any:
        if params is None or params.get("live_tab", "always") != tab:
            return no_update
        key = page_key(pathname)
        source = library.report(key)
        return tab_content(source, key, _state(source, params))


def plot_parts(source: ReportSource, key: str, state: LivenessState, theme: str) -> tuple[Any, ...]:
    """(figure, configuration for plots.js, headline, values at the cursor, the lines below the plot)."""
    try:
        drawing = draw_liveness(source, state, theme)
    except (NotRecordedError, ValueError) as problem:
        empty = themed(NOTHING, theme)
        return empty, {"name": "live", "count": 0}, "", "", empty_hint(str(problem))
    top = peak(drawing.curve)
    config = {
        "name": "live",
        "view": "live_view",
        "pick": "liveness",
        "also": "live_also",
        "count": len(drawing.curve.program),
        "first": 0,
        "order": None,
        "peak": top.index,
        "peaks": drawing.peaks,
        "mark": "live_mark",
        "hits": hits_text(drawing.matching, len(drawing.curve.program)),
        "fit": [min(s for s, _ in spans), max(e for _, e in spans) - 1] if (spans := drawing.lifetime) else None,
    }
    return (
        themed(drawing.figure, theme),
        config,
        liveness_headline(source, key, drawing.curve, state),
        reading(drawing.plot, _naming(source, drawing), state.indices[-1] if state.indices else None, _HINT, "Total"),
        _below(source, drawing, state),
    )


def _naming(source: ReportSource, drawing: LivenessDrawing) -> Callable[[int], str]:
    program = drawing.curve.program
    return lambda index: f"Index {index:,}: {program_label(source, int(program[index]))}"


def _below(source: ReportSource, drawing: LivenessDrawing, state: LivenessState) -> list[Component]:
    lines: list[Component] = [html.Div(problem, className="range-problem") for problem in state.problems]
    first, last = drawing.shown
    whole = len(drawing.curve.program)
    quantity = "Live, always live included" if state.always else "Live, always live not included"
    name = "indices" if last - first + 1 == whole else f"of {whole:,} indices shown"
    drawn = "Drawing decimated to minima and maxima; zoom in to see all" if drawing.decimated else ""
    position = lambda at: f"index {first + at:,}"  # noqa: E731
    lines.append(
        range_line(drawing.statistics, quantity, name, position=position, decimated=drawing.decimated, drawn=drawn)
    )
    notes = []
    if drawing.matching is not None:
        notes.append(
            f"{len(drawing.matching):,} of {whole:,} steps match the filter (marked below the curve); "
            "the statistics are of all steps shown."
        )
    if state.variable is not None:
        notes.append(_lifetime_note(source, state.variable, drawing.lifetime))
    return lines + [html.Div(note, className="range-plain") for note in notes]


def _lifetime_note(source: ReportSource, variable: int, ranges: list[tuple[int, int]] | None) -> str:
    name = variables(source).name[variable]
    if ranges is None:
        return f"{name} is always live."
    return f"{name} is live at " + ", ".join(f"{s:,} to {e - 1:,}" for s, e in ranges[:8]) + " (shaded)."


def _missing(context: ViewContext) -> str:
    try:
        liveness(context.source)
    except NotRecordedError as lacking:
        return str(lacking)
    return ""


VIEW = View(id="liveness", title="Liveness Report", icon="liveness", layout=layout, register=register, missing=_missing)
