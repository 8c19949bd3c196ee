"""Memory Report: the memory of each tile by region, category and liveness, and the variables on it."""

from __future__ import annotations

from functools import partial
from typing import Any

from dash import ClientsideFunction, Dash, html
from dash.development.base_component import Component

from popvision.analysis.memory.binary_memory import has_archive
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.base.library import Library
from webapp.base.view import View, ViewContext, needs
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
from webapp.graph_analyser.memory.headline import memory_headline
from webapp.graph_analyser.memory.peak_tab import peak_rows
from webapp.graph_analyser.memory.plot_area import plot_parts
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
from webapp.graph_analyser.memory.tables import (
    ROWS,
    all_variables,
    details_rows,
    lowered,
    table_of,
    tiles_table,
)
from webapp.graph_analyser.memory.tabs import tab_content
from webapp.graph_analyser.memory.tile_map_plot import map_parts
from webapp.graph_analyser.plots.page import plot_page, register_plot, save_plot

TAB_SET = TabSet("mem", TABS, TAB_KEYS, "Memory details")

#: What a selected row of each table selects (assets/memory/rows.js).
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
    ("m", "Mark the selected tile; Esc removes the mark"),
    ("Esc", "Clear the selection"),
)


def layout(context: ViewContext) -> Component:
    state = memory_state(context.source, context.params)
    bar = _toolbar(context.source, state, context.target)
    return plot_page(context, TAB_SET, "memory", bar, "Memory by tile", KEYS, PLOT_KEYS)


def _toolbar(source: ReportSource, state: MemoryState, target_report: ReportSource | None) -> Component:
    target = target_of(source)
    physical = target.physical_tile is not None
    graphs = {name: text for name, text in GRAPHS.items() if name != "map" or physical}
    comparing = target_report is not None
    options: list[Any] = [
        toggle("mem_max", "Show tile capacity", state.show_max, on="1", off="0"),
        toggle("mem_ipus", "Plot by IPU", state.by_ipu),
    ]
    if physical:
        title = "Sort tiles by physical id within each IPU"
        options.insert(1, toggle("mem_order", "Hardware order", state.order == "hardware", on="hardware", title=title))
    if comparing:
        options.append(toggle("mem_diff", "Show the difference", state.difference, title="Target − source"))
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
        html.Div(
            toggle("mem_nogaps", "Gaps", state.gaps, on="0", off="1", title="Show memory up to the highest address"),
            id="mem-gaps-field",
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
    """The choice of a replica; all replicas run the same program."""
    if count < 2:
        return []
    options = {str(each): f"{each} of {count}" for each in range(count)} | {"all": f"All {count}"}
    return [select("mem_replica", "Replica", options, "all" if replica is None else str(replica))]


def register(app: Dash, library: Library) -> None:
    """Callbacks of the page and rows of its tables."""
    register_plot(app, "mem")
    register_part(app, library, "mem", "plot", _OUTPUTS, _plot_part)
    register_tabs(app, library, TAB_SET, tab_content)
    register_row_choice(app, "mem", ClientsideFunction("plots", "rows"), "memory-variables")
    for rows, choose in _CHOOSE.items():
        register_row_choice(app, "mem", ClientsideFunction("memory", choose), rows)
    for tab, rows in ROWS.items():
        register_pair_rows(app, library, rows, partial(table_of, tab))
    register_pair_rows(app, library, "memory-details", details_rows)
    register_pair_rows(app, library, "memory-variables", all_variables)
    register_pair_rows(app, library, "memory-tiles", tiles_table)
    register_pair_rows(app, library, "memory-peak", peak_rows)
    register_rows(app, library, "memory-lowered", lowered)
    register_memory_routes(app, library)


_OUTPUTS = (
    "mem-plot.figure",
    "mem-config.data",
    "mem-reading.children",
    "mem-range.children",
    "mem-headline.children",
    "mem-by-field.hidden",
    "mem-part-field.hidden",
    "mem-gaps-field.hidden",
    "mem-tiles-field.hidden",
    "mem-ipu-field.hidden",
)


def _plot_part(context: ViewContext) -> tuple[Any, ...]:
    """The outputs above: the drawing and what stands around it, then which fields the toolbar hides."""
    source = context.source
    state = memory_state(source, context.params)
    hidden = (state.graph != "total", state.graph != "map", state.graph != "total", state.by_ipu, not state.by_ipu)
    drawn = plot_parts(source, state, context.theme, context.target)
    return *drawn, memory_headline(context, state), *hidden


VIEW = View(
    id="memory",
    title="Memory Report",
    icon="memory",
    layout=layout,
    register=register,
    missing=needs(lambda source: memory_by_tile(source, None)),
    draws=("plot",),
)
