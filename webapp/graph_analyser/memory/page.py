"""The memory report: what each tile uses, of what, and what lies where."""

from __future__ import annotations

from functools import partial
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from popvision.analysis.memory.binary_memory import has_archive
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.comparison import target_of_page
from webapp.components import (
    options_menu,
    register_rows,
    search_box,
    select,
    spacer,
    toggle,
    toolbar,
)
from webapp.graph_analyser.memory.compared import MemoryPage
from webapp.graph_analyser.memory.frames import (
    ROWS,
    details_frame,
    lowered_frame,
    table_frame,
    tiles_frame,
    variables_frame,
)
from webapp.graph_analyser.memory.headline import memory_headline
from webapp.graph_analyser.memory.parts import plot_parts
from webapp.graph_analyser.memory.peak_tab import peak_frame
from webapp.graph_analyser.memory.routes import register_memory_routes
from webapp.graph_analyser.memory.state import (
    BREAKDOWNS,
    GRAPHS,
    PLOT_KEYS,
    SCALES,
    TAB_KEYS,
    TABS,
    MemoryState,
    memory_state,
)
from webapp.graph_analyser.memory.tabs import tab_content
from webapp.graph_analyser.memory.tile_map_plot import map_parts
from webapp.graph_analyser.plots.box import register_plot, save_plot
from webapp.graph_analyser.plots.page import plot_page
from webapp.library import Library
from webapp.view import View, ViewContext, page_key

#: Rows of a table -> what selecting one of them selects (assets/memory/rows.js).
_CHOOSE = {
    "memory-tiles": "tile",
    "memory-lowered": "variable",
    "memory-sizes": "variable",
    "memory-peak": "variable",
    "memory-exchanges": "program",
    "memory-compute-sets": "program",
}

KEYS = (
    ("← →", "Move the selected tile (focus the plot first)"),
    ("Shift ← →", "Add the next tile to the selection"),
    ("W S", "Zoom in and out"),
    ("A D", "Move left and right"),
    ("Page Up / Down", "Move by a page (focus the plot first)"),
    ("f", "Fit the selected tiles"),
    ("0", "Show all tiles"),
    (". ,", "Next and previous tile"),
    ("p", "Select the fullest tile"),
    ("m", "Mark the selected tile; Esc takes the mark away"),
    ("Esc", "Select nothing"),
)


def layout(context: ViewContext) -> Component:
    source = context.source
    state = memory_state(source, context.params)
    stores = (PLOT_KEYS, TAB_KEYS)
    bar = _toolbar(source, state, context.target)
    return plot_page("mem", "memory", "Memory by tile", context.theme, bar, TABS, state.tab, stores, KEYS)


def _toolbar(source: ReportSource, state: MemoryState, target_report: ReportSource | None) -> Component:
    target = target_of(source)
    physical = target.physical_tile is not None
    graphs = {name: text for name, text in GRAPHS.items() if name != "map" or physical}
    comparing = target_report is not None
    options: list[Any] = [
        toggle("mem_nogaps", "Include gaps", state.gaps, on="", off="1"),
        toggle("mem_max", "Show memory of a tile", state.show_max, on="1", off="0"),
        toggle("mem_ipus", "Plot by IPU", state.by_ipu),
    ]
    if physical:
        title = "Sort tiles by physical id within each IPU"
        options.insert(2, toggle("mem_order", "Hardware order", state.order == "hardware", on="hardware", title=title))
    if comparing:
        options.append(toggle("mem_diff", "Draw the difference", state.difference, title="Target − source"))
    elif has_archive(source):
        title = "Sizes of the sections in archive.a"
        options.append(toggle("mem_binary", "Tile memory from binary", state.binary, title=title))
    return toolbar(
        select("mem_graph", "Graph", graphs, state.graph),
        html.Div(select("mem_by", "Breakdown", BREAKDOWNS, state.by), id="mem-by-field"),
        html.Div(
            [select("mem_part", "Show", map_parts(), state.part), select("mem_scale", "Colours", SCALES, state.scale)],
            id="mem-part-field",
            className="toolbar-group",
        ),
        spacer(),
        *_replica_choice(target.num_replicas, state.replica),
        html.Div(
            search_box("tiles", "Select tiles, e.g. 0, 5-9", _typed(state.tiles), width=190), id="mem-tiles-field"
        ),
        html.Div(search_box("ipu", "Select an IPU, e.g. 0", _typed(state.ipus), width=160), id="mem-ipu-field"),
        options_menu(*options),
        save_plot("mem-plot", "memory"),
    )


def _typed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:12]))


def _replica_choice(count: int, replica: int | None) -> list[Component]:
    """Replicas run the same program; the page says which one it shows."""
    if count < 2:
        return []
    options = {str(each): f"{each} of {count}" for each in range(count)} | {"all": f"All {count}"}
    return [select("mem_replica", "Replica", options, "all" if replica is None else str(replica))]


def register(app: Dash, library: Library) -> None:
    """Callbacks of the page and rows of its tables."""
    register_plot(app, "mem")
    app.clientside_callback(
        ClientsideFunction("plots", "rows"),
        Output("mem-done", "title", allow_duplicate=True),
        Input({"rows": "memory-variables", "query": ALL}, "selectedRows"),
        prevent_initial_call=True,
    )
    for rows, choose in _CHOOSE.items():
        app.clientside_callback(
            ClientsideFunction("memory", choose),
            Output("mem-done", "title", allow_duplicate=True),
            Input({"rows": rows, "query": ALL}, "selectedRows"),
            prevent_initial_call=True,
        )
    _register_drawing(app, library)
    for tab, rows in ROWS.items():
        register_rows(app, library, rows, partial(table_frame, tab, library))
    frames = {"details": details_frame, "variables": variables_frame, "tiles": tiles_frame, "peak": peak_frame}
    for name, frame in frames.items():
        register_rows(app, library, f"memory-{name}", partial(frame, library))
    register_rows(app, library, "memory-lowered", lowered_frame)
    register_memory_routes(app, library)


def _register_drawing(app: Dash, library: Library) -> None:
    @app.callback(
        Output("mem-plot", "figure"),
        Output("mem-config", "data"),
        Output("mem-reading", "children"),
        Output("mem-range", "children"),
        Output("mem-headline", "children"),
        Output("mem-by-field", "hidden"),
        Output("mem-part-field", "hidden"),
        Output("mem-tiles-field", "hidden"),
        Output("mem-ipu-field", "hidden"),
        Input("mem-plot-now", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def draw(params: dict[str, str] | None, theme: str | None, pathname: str) -> tuple[Any, ...]:
        if params is None:
            return (no_update,) * 9
        key = page_key(pathname)
        source = library.report(key)
        state = memory_state(source, params)
        target = target_of_page(library, params)
        drawn, config, values, line = plot_parts(source, state, theme or "light", target)
        total = state.graph == "total"
        return (
            drawn,
            config,
            values,
            line,
            memory_headline(source, key, state, params.get("vs", "")),
            not total,
            state.graph != "map",
            state.by_ipu,
            not state.by_ipu,
        )

    _register_tabs(app, library)


def _register_tabs(app: Dash, library: Library) -> None:
    @app.callback(
        [Output(f"mem-tab-{tab}", "children") for tab in TABS],
        Input("mem-tab-now", "data"),
        Input("theme", "data"),
        State("selection", "data"),
        State("url", "pathname"),
    )
    def fill(params: dict[str, str] | None, theme: str | None, selection: dict[str, str] | None, pathname: str) -> Any:
        shown = None if params is None else params.get("mem_tab", "details")
        if params is None or shown not in TABS:
            return [no_update] * len(TABS)
        key = page_key(pathname)
        source = library.report(key)
        state = memory_state(source, {**(selection or {}), **params})
        content = tab_content(MemoryPage(library, key, source, state, params.get("vs", "")), theme or "light")
        return [content if tab == shown else no_update for tab in TABS]


def _missing(context: ViewContext) -> str:
    try:
        memory_by_tile(context.source, None)
    except NotRecordedError as lacking:
        return str(lacking)
    return ""


VIEW = View(id="memory", title="Memory Report", icon="memory", layout=layout, register=register, missing=_missing)
