"""The Workers tab of the execution trace: the worker contexts of one tile during the selected compute step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.execution.step_details import StepFacts, step_facts, step_tiles
from popvision.analysis.execution.worker_lanes import (
    NO_CONTEXT,
    TILE_FIGURES,
    VERTEX_FIGURES,
    WorkerLanes,
    lane_table,
    lanes_by_tile,
    worker_lanes,
)
from popvision.analysis.report.figure import Table, headings
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.report.tiles import target_of
from webapp.components import (
    Column,
    empty_hint,
    figure,
    help_text,
    long_table,
    register_row_selection,
    register_rows,
    segments,
)
from webapp.components.attributes import attributes
from webapp.components.figure_columns import Layout, figure_columns
from webapp.formats import cycles_text, integer_text, percent_text
from webapp.graph_analyser.execution.state import selected_ipu
from webapp.graph_analyser.execution.worker_plot import worker_plot
from webapp.query import number_of
from webapp.selection import Selection
from webapp.view import ViewContext

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

_NOTHING = "Select a compute step (OnTileExecute) in the trace to see the workers of one tile."

IDLE = "idle share = 1 - sum of thread cycles / (contexts x thread cycles of the fullest context)"
_UNITS = (
    "A worker context issues one instruction every six tile cycles, so a worker vertex of n thread cycles takes 6 x n"
    " tile cycles. Supervisor and multi vertices take the whole tile, so their cycles are tile cycles. Reports do not"
    " record when these run; the plot shows them after the workers."
)
_CRITICAL = (
    "The longest vertex of the context with most work. Without it, and with all others unmoved, the tile would finish"
    " earlier by the cycles under Held up by."
)
_VERTEX_LAYOUT: Layout = {
    "vertex": {"width": 80},
    "type": {"flex": 2},
    "context": {"width": 100},
    "begin": {"width": 90},
    "end": {"width": 90},
    "thread_cycles": {"width": 110},
    "tile_cycles": {"width": 100},
}
_TILE_LAYOUT: Layout = {
    "tile": {"width": 80},
    "vertices": {},
    "length": {"width": 110, "sort": "desc"},
    "worker_part": {"width": 110},
    "alone": {"width": 90},
    "thread_cycles": {"width": 110},
    "idle_share": {"width": 100},
}


def vertex_columns() -> list[Column]:
    """Columns of the vertices of a tile."""
    return figure_columns(headings("worker_vertices", VERTEX_FIGURES), _VERTEX_LAYOUT)


def tile_columns() -> list[Column]:
    """Columns of the tiles of a compute set."""
    return figure_columns(headings("workers_by_tile", TILE_FIGURES), _TILE_LAYOUT)


def register(app: Dash, library: Library) -> None:
    """Rows of both tables; a selected row of the second selects its tile."""
    register_rows(app, library, "vertices-on-workers", vertex_rows)
    register_rows(app, library, "workers-by-tile", tile_rows)
    register_row_selection(app, ("workers-by-tile",), lambda row, _: {"tiles": str(row["tile"])})


def content(context: ViewContext) -> Component:
    """Facts, lanes and tables of one tile. Raises NotRecordedError for what the report lacks."""
    source, key, theme, selection = context.source, context.key, context.theme, context.selection
    if selection.step is None:
        return empty_hint(_NOTHING)
    facts = step_facts(source, selected_ipu(selection), selection.step)
    tile = _tile(source, facts, selection)
    lanes = worker_lanes(source, facts.compute_set, tile)
    which = selection.extras.get("wl", "")
    query = {"cs": str(facts.compute_set)}
    if which == "tiles":
        table = long_table("workers-by-tile", key, query | {"ipu": str(facts.ipu)}, tile_columns(), selectable=True)
    else:
        table = long_table("vertices-on-workers", key, query | {"tile": str(tile)}, vertex_columns())
    drawn = worker_plot(lanes, source.reader.vertex_types().name, theme)
    plot = figure("execution-worker-plot", drawn, theme, image_name=f"step-{facts.step}-tile-{tile}-workers")
    choice = segments("wl", "Table", {"": "Vertices of the tile", "tiles": "Tiles"}, which)
    whose = "" if context.target is None else f"Source {source.label}: "
    parts = [
        html.Div(_facts(source, key, facts, lanes, whose), className="trace-facts"),
        html.Div(plot, className="trace-plot"),
        html.Div([html.Div(choice, className="trace-workers-choice"), table], className="trace-tiles"),
    ]
    return html.Div(parts, className="trace-workers")


def _tile(source: ReportSource, facts: StepFacts, selection: Selection) -> int:
    """The first selected tile on the step's IPU, else the tile whose vertices take longest."""
    first = facts.ipu * facts.tiles
    mine = [tile for tile in selection.tiles if first <= tile < first + facts.tiles]
    if mine:
        return mine[0]
    rows = lanes_by_tile(source, facts.compute_set, facts.ipu)
    return int(rows["tile"][int(np.argmax(rows["length"]))])


def _facts(source: ReportSource, key: str, facts: StepFacts, lanes: WorkerLanes, whose: str) -> list[Component]:
    """`whose` names the report in a comparison, where the tab shows the source alone."""
    names, row = source.reader.vertex_types().name, lanes.critical
    if row < 0:
        return [html.H2(whose + facts.name), html.P(f"Tile {lanes.tile} has no vertices in this compute set.")]
    unknown, text = tiles_unknown(source), partial(cycles_text, clock_hz=target_of(source).clock_hz)
    own = int(step_tiles(source, facts.ipu, facts.step).cycles[lanes.tile - facts.ipu * facts.tiles])
    on = "the whole tile" if lanes.worker[row] == NO_CONTEXT else f"context {lanes.worker[row]}"
    critical: list[Any] = [f"vertex {row}, {names[lanes.vertex_type[row]]}", help_text("Critical vertex", _CRITICAL)]
    rows: list[tuple[str, Any, str]] = [
        ("Vertices", f"{len(lanes.worker):,}", "vertices of the compute set on this tile"),
        ("Thread cycles", integer_text(int(lanes.load.sum())), "sum over worker vertices; never shown as time"),
        ("Worker part", text(lanes.worker_part), "tile cycles: contexts x thread cycles of the fullest context"),
        ("Alone", text(lanes.alone), "tile cycles of supervisor and multi vertices"),
        ("Beyond vertices", text(lanes.beyond), "tile cycles of the estimate for launching and reading counters"),
        ("Estimate", text(lanes.estimate), "compiler's estimate of one execution, in tile cycles"),
        ("Recorded", "unknown" if unknown else text(own), unknown or "tile cycles of this tile in this step"),
        ("Idle slots", [percent_text(lanes.idle_share), _idle_help(lanes)], IDLE),
        ("Held up by", text(lanes.held_up), "tile cycles saved without the critical vertex"),
    ]
    listing = html.Dl(
        [part for name, value, title in rows for part in (html.Dt(name, title=title), html.Dd(value, title=title))]
    )
    tile = html.A(f"tile {lanes.tile}", href=f"/r/{key}/memory?tiles={lanes.tile}", **attributes(data_nav="to"))
    where: list[Any] = [tile, f" · step {facts.step} · IPU {facts.ipu} · estimated cycles"]
    where.append(help_text("Thread cycles and tile cycles", _UNITS, formula="tile cycles = 6 x thread cycles"))
    return [html.H2(whose + facts.name), html.P(where, className="where"), html.P([*critical, f" on {on}"]), listing]


def _idle_help(lanes: WorkerLanes) -> Component:
    longest = int(lanes.load.max(initial=0))
    filled = f"1 - {int(lanes.load.sum()):,} / ({lanes.contexts} x {longest:,})" if longest else "no worker vertices"
    return help_text(
        "Idle slots", "Share of the worker part's issue slots that no vertex uses.", formula=f"{IDLE}\n= {filled}"
    )


def vertex_rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """One row per vertex of a tile, in issue order."""
    return lane_table(source, worker_lanes(source, number_of(query, "cs"), number_of(query, "tile")))


def tile_rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """One row per tile with vertices; see `lanes_by_tile`."""
    return lanes_by_tile(source, number_of(query, "cs"), number_of(query, "ipu"))
