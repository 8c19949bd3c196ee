"""The memory report: what each tile uses, of what, and what lies where."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from popvision.analysis.binary_memory import has_archive
from popvision.analysis.catalogue import FormatError
from popvision.analysis.liveness import fullest_tile
from popvision.analysis.memory import memory_by_tile
from popvision.analysis.not_recorded import NotRecordedError
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import target_of
from webapp.comparison import target_of_page
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
from webapp.graph_analyser.drawing import Drawing
from webapp.graph_analyser.headline import range_line
from webapp.graph_analyser.memory_frames import (
    ROWS,
    details_frame,
    lowered_frame,
    table_frame,
    tiles_frame,
    variables_frame,
)
from webapp.graph_analyser.memory_headline import memory_headline
from webapp.graph_analyser.memory_page import MemoryPage
from webapp.graph_analyser.memory_peak_tab import peak_frame
from webapp.graph_analyser.memory_plot import draw_memory
from webapp.graph_analyser.memory_routes import register_memory_routes
from webapp.graph_analyser.memory_state import (
    BREAKDOWNS,
    GRAPHS,
    PLOT_KEYS,
    SCALES,
    TAB_KEYS,
    TABS,
    MemoryState,
    memory_state,
)
from webapp.graph_analyser.memory_tabs import tab_content
from webapp.graph_analyser.plot_box import NOTHING, register_plot, save_plot
from webapp.graph_analyser.plot_page import plot_page
from webapp.graph_analyser.plot_reading import reading
from webapp.graph_analyser.tile_map_plot import draw_tile_map, map_parts
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


def plot_parts(
    source: ReportSource, state: MemoryState, theme: str, target: ReportSource | None = None
) -> tuple[Any, ...]:
    """(figure, configuration for plots.js, values at the cursor, the line of statistics below it)."""
    try:
        draw = draw_tile_map if state.graph == "map" else draw_memory
        drawing = draw(source, state, theme, target)
    except (NotRecordedError, ValueError, FormatError) as problem:
        return themed(NOTHING, theme), {"name": "mem", "count": 0}, "", empty_hint(str(problem))
    first = int(drawing.ids[0])
    in_order = state.graph == "map" or bool((drawing.ids[1:] > drawing.ids[:-1]).all())
    config = {
        "name": "mem",
        "view": "mem_view" if state.graph != "map" and not state.by_ipu else "",
        "pick": "ipu" if state.by_ipu else "tiles",
        "also": "",
        "count": len(drawing.ids),
        "first": first if in_order else 0,
        "order": None if in_order else drawing.ids.tolist(),
        "mark": "" if state.by_ipu else "mem_mark",
        "peak": None if state.by_ipu else fullest_tile(source, state.replica),
    }
    return themed(drawing.figure, theme), config, _reading(drawing, state), _below(drawing, state)


def _reading(drawing: Drawing, state: MemoryState) -> Any:
    """Values of the last selected tile, and what lies between it and the mark."""
    if drawing.plot is None:
        return ""
    chosen, noun = (state.ipus, "IPU") if state.by_ipu else (state.tiles, "tile")
    found = np.flatnonzero(drawing.ids == chosen[-1]).tolist() if chosen else []
    hint = f"Select {'an' if state.by_ipu else 'a'} {noun} to read its values here: click, or use the arrow keys"
    hint += "." if state.by_ipu else "; p selects the fullest."
    name = f"{noun[0].upper()}{noun[1:]}"
    return reading(drawing.plot, lambda at: f"{name} {int(drawing.ids[at]):,}", found[0] if found else None, hint)


def _below(drawing: Drawing, state: MemoryState) -> list[Component]:
    lines: list[Component] = [html.Div(problem, className="range-problem") for problem in state.problems]
    if drawing.statistics is None:
        return lines
    noun = "IPU" if state.by_ipu else "tile"
    first, last = drawing.shown
    where = f"{drawing.quantity[0].upper()}{drawing.quantity[1:]}"
    name = f"{noun}s" if last - first + 1 == drawing.whole else f"of {drawing.whole:,} {noun}s shown"
    drawn = "Drawing decimated to minima and maxima; zoom in to see all" if drawing.decimated else ""
    position = lambda at: f"{noun} {int(drawing.ids[first + at]):,}"  # noqa: E731
    lines.append(
        range_line(drawing.statistics, where, name, position=position, decimated=drawing.decimated, drawn=drawn)
    )
    if len(drawing.also) > 1:
        each = [
            range_line(figures, title, name, position=position, decimated=False, drawn="")
            for title, figures in drawing.also
            if figures is not None
        ]
        lines.append(html.Details([html.Summary(f"The same of each of the {len(each)} curves"), *each]))
    if state.graph == "map":
        lines.append(
            html.Div(
                "Places follow physical ids; no public source gives the exact floor plan, so this one is a guess.",
                className="range-note",
            )
        )
    return lines


def _missing(context: ViewContext) -> str:
    try:
        memory_by_tile(context.source, None)
    except NotRecordedError as lacking:
        return str(lacking)
    return ""


VIEW = View(id="memory", title="Memory Report", icon="memory", layout=layout, register=register, missing=_missing)
