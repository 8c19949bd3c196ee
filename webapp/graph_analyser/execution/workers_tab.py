"""The Workers tab of the execution trace: the worker contexts of one tile during the selected compute step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.matching import match_steps
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
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.report.tiles import target_of
from webapp.base.comparison import target_keys
from webapp.base.formats import cycles_text, integer_text, percent_text
from webapp.base.query import number_of
from webapp.base.selection import Selection
from webapp.base.view import ViewContext
from webapp.components import (
    Column,
    empty_hint,
    figure,
    help_text,
    long_table,
    register_pair_rows,
    register_row_selection,
    segments,
)
from webapp.components.attributes import attributes
from webapp.components.figure_columns import figure_columns
from webapp.components.long_table import PairFrameOf
from webapp.graph_analyser.execution.state import selected_ipu
from webapp.graph_analyser.execution.worker_plot import worker_plot

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

_NOTHING = "Select a compute step (OnTileExecute) in the trace to see the workers of one tile."

#: The part of a query that names the source.
_SOURCE: Mapping[str, str] = {}

IDLE = "idle share = 1 - sum of thread cycles / (contexts x thread cycles of the fullest context)"
_UNITS = (
    "A worker context issues one instruction every six tile cycles. A worker vertex of n thread cycles takes 6 x n "
    "tile cycles. Supervisor and multi vertices take the whole tile, so their cycles are tile cycles. Reports do not"
    " record when these run; the plot shows them after the workers."
)
_CRITICAL = (
    "The longest vertex of the context with most work. Without it, and with all others unmoved, the tile would finish"
    " earlier by the cycles under Held up by."
)


def vertex_columns() -> list[Column]:
    """Columns of the vertices of a tile."""
    return figure_columns(headings("worker_vertices", VERTEX_FIGURES), {"type": {"flex": 2}})


def tile_columns() -> list[Column]:
    """Columns of the tiles of a compute set."""
    return figure_columns(headings("workers_by_tile", TILE_FIGURES), {"length": {"sort": "desc"}})


def register(app: Dash, library: Library) -> None:
    """Rows of both tables; a selected row of the second selects its tile."""
    register_pair_rows(app, library, "vertices-on-workers", _of_side(vertex_rows))
    register_pair_rows(app, library, "workers-by-tile", _of_side(tile_rows))
    register_row_selection(app, ("workers-by-tile",), lambda row, _: {"tiles": str(row["tile"])})


def _of_side(rows: Callable[[ReportSource, Mapping[str, str]], Table]) -> PairFrameOf:
    """The rows of the target where `of` of the query says so, else those of the source."""

    def of_side(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
        return rows(target if target is not None and query.get("of") == "target" else source, query)

    return of_side


def content(context: ViewContext) -> Component:
    """Facts, lanes and tables of one tile, in a comparison of the step in either report. Raises NotRecordedError for
    what the report lacks."""
    source, selection, target = context.source, context.selection, context.target
    if selection.step is None:
        return empty_hint(_NOTHING)
    if target is None:
        return _one(context, source, context.key, selection.step)
    is_target = selection.extras.get("wr") == "target"
    switch = segments("wr", "Report", {"": "Source", "target": "Target"}, "target" if is_target else "")
    bar = html.Div([switch, html.Span(f"{source.label} vs {target.label}", className="dim")], className="trace-sides")
    name = f"Target {target.label}: " if is_target else f"Source {source.label}: "
    try:
        shown = _of_target(context, target, selection.step, name) if is_target else _of_source(context, name)
    except (NotRecordedError, ValueError) as lacking:
        shown = empty_hint(f"{name}{lacking}")
    return html.Div([bar, shown], className="trace-workers-both")


def _of_source(context: ViewContext, name: str) -> Component:
    return _one(context, context.source, context.key, context.selection.step or 0, name)


def _of_target(context: ViewContext, target: ReportSource, step: int, name: str) -> Component:
    """The step of the target that matches one of the source."""
    partner = int(match_steps(context.source, target).target_rows()[step])
    if partner < 0:
        return empty_hint("The target has no step that matches this one.")
    key = target_keys(context.params)[0]
    return _one(context, target, key, partner, name, {"of": "target", "vs": key})


def _one(
    context: ViewContext, source: ReportSource, key: str, step: int, whose: str = "", of: Mapping[str, str] = _SOURCE
) -> Component:
    """The workers of one report's step; `whose` names the report in a comparison, `of` is its part of a query."""
    theme, selection = context.theme, context.selection
    ipu = min(selected_ipu(selection), target_of(source).num_ipus - 1)
    facts = step_facts(source, ipu, step)
    tile = _tile(source, facts, selection)
    lanes = worker_lanes(source, facts.compute_set, tile)
    which = selection.extras.get("wl", "")
    query = {"cs": str(facts.compute_set), **of}
    if which == "tiles":
        table = long_table(
            "workers-by-tile", context.key, query | {"ipu": str(facts.ipu)}, tile_columns(), selectable=True
        )
    else:
        table = long_table("vertices-on-workers", context.key, query | {"tile": str(tile)}, vertex_columns())
    drawn = worker_plot(lanes, source.reader.vertex_types().name, theme)
    plot = figure("execution-worker-plot", drawn, theme, image_name=f"step-{facts.step}-tile-{tile}-workers")
    choice = segments("wl", "Table", {"": "Vertices of the tile", "tiles": "Tiles"}, which)
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
    """`whose` names the report in a comparison."""
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
