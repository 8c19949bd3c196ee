"""The Details tab of the execution trace: one step, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.execution.last_tiles import tied_text
from popvision.analysis.execution.step_details import StepFacts, StepTiles, step_estimate, step_facts, step_tiles
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.tile_knowledge import tiles_unknown
from webapp.base.arrays import Int64Array
from webapp.base.formats import bytes_text, cycles_text, percent_text
from webapp.base.theme import step_style, tokens
from webapp.base.view import ViewContext
from webapp.components import Column, data_table, empty_hint, figure, help_text, segments
from webapp.components.partner_links import host_run_links
from webapp.graph_analyser.execution.compared_step import compared_step
from webapp.graph_analyser.execution.last_to_arrive import last_to_arrive
from webapp.graph_analyser.execution.state import selected_ipu
from webapp.graph_analyser.execution.step_links import where_line

_NOTHING = "Select a step in the trace to see its cycles on each tile: click it, or press n."

_COLUMNS = (
    Column("tile", "Tile", "integer", "tile, counted over all IPUs", flex=2),
    Column("begin", "Begin", "cycles", "device cycle at which the tile begins the step", flex=3),
    Column("cycles", "Cycles", "cycles", "cycles of the tile in the step; 0 = takes no part", flex=3),
    Column("end", "End", "cycles", "begin + cycles", flex=3),
    Column("waits", "Waits", "cycles", "last end over all tiles - own end; empty = takes no part", flex=3),
    Column("estimate", "Estimate", "cycles", "compiler's estimate of one execution; empty = not stored", flex=3),
)


def content(context: ViewContext) -> Component:
    """Facts of the selected step; its cycles by tile as a plot and a table. In a comparison those of both reports.
    Raises ValueError for an unknown step."""
    if context.target is not None:
        return compared_step(context, context.target) or empty_hint(_NOTHING)
    source, key, theme = context.source, context.key, context.theme
    ipu, step = selected_ipu(context.selection), context.selection.step
    if step is None:
        return empty_hint(_NOTHING)
    facts, tiles = step_facts(source, ipu, step), step_tiles(source, ipu, step)
    clock = source.reader.target().clock_hz
    where = where_line(source, key, facts, host_run_links(context, facts.run))
    if unknown := tiles_unknown(source):
        parts = [html.Div(_facts(facts, None, clock, where), className="trace-facts"), empty_hint(unknown)]
        return html.Div(parts, className="trace-details")
    estimate = step_estimate(source, ipu, step)
    rows, among = _rows(facts, tiles, estimate), context.selection.extras.get("among", "")
    chosen = {"last": tiles.last, "longest": tiles.longest}.get(among)
    name = f"step-{step}-tiles"
    if chosen is not None:
        rows, name = [rows[place] for place in chosen.tolist()], f"{name}-{among}"
    table = data_table("execution-tiles", rows, _COLUMNS, name=name, height="100%")
    plot = figure(
        "execution-tile-plot", _plot(facts, tiles, estimate, theme), theme, image_name=f"step-{step}-cycles-by-tile"
    )
    parts = [
        html.Div(
            [*_facts(facts, tiles, clock, where), *last_to_arrive(source, key, facts, "execution-last")],
            className="trace-facts",
        ),
        html.Div(plot, className="trace-plot"),
        html.Div([_among(facts, tiles, "" if chosen is None else among), table], className="trace-tiles"),
    ]
    return html.Div(parts, className="trace-details")


def _among(facts: StepFacts, tiles: StepTiles, among: str) -> Component:
    """The choice of the tiles that the table lists."""
    choices = {
        "": f"All {with_noun(facts.tiles, 'tile')}",
        "last": f"Last to end ({len(tiles.last):,})",
        "longest": f"Longest ({len(tiles.longest):,})",
    }
    return html.Div(segments("among", "Tiles of the table", choices, among), className="trace-tiles-choice")


def _facts(facts: StepFacts, tiles: StepTiles | None, clock: float, where: list[Any]) -> list[Component]:
    """`tiles` is None when the report has no figures of single tiles."""
    swatch = html.Span(className=f"trace-swatch step-{step_style(facts.type, 'light').family}")
    rows: list[tuple[str, Any, str]] = [
        ("Type", facts.type, facts.phase and f"phase: {facts.phase}"),
        (
            "Cycles",
            cycles_text(facts.end - facts.begin, clock),
            "to - from; the lengths of all steps add up to the total",
        ),
        ("From", cycles_text(facts.begin, clock), "largest begin over all tiles (flat bar)"),
        ("To", cycles_text(facts.end, clock), "largest end over all tiles (flat bar)"),
        *([] if tiles is None else _of_tiles(facts, tiles, clock)),
        ("Data in", bytes_text(facts.data_in), "bytes received on the device"),
        ("Data out", bytes_text(facts.data_out), "bytes sent on the device"),
    ]
    listing = html.Dl(
        [part for name, value, title in rows for part in (html.Dt(name, title=title), html.Dd(value, title=title))]
    )
    return [html.H2([swatch, facts.name]), html.P(where, className="where"), listing]


def _of_tiles(facts: StepFacts, tiles: StepTiles, clock: float) -> list[tuple[str, Any, str]]:
    """Facts that need the cycles of every tile."""
    balance = [percent_text(facts.tile_balance), _balance_help(facts, tiles)]
    return [
        ("Tile balance", balance, "mean / max of tile cycles over all tiles of the IPU"),
        ("Active balance", percent_text(facts.active_tile_balance), "mean / max of tile cycles over active tiles"),
        ("Active tiles", f"{facts.active_tiles:,} of {facts.tiles:,}", "tiles with cycles > 0"),
        *_statistics(facts, tiles, clock),
        (
            "First begin",
            cycles_text(facts.busy_begin, clock),
            "over active tiles; the outline in the trace begins here",
        ),
        ("Last end", cycles_text(facts.busy_end, clock), "over active tiles"),
        (
            "Waiting",
            f"{tiles.waiting:,} tile cycles",
            "active tiles only: sum over them of last end - own end; idle tiles are left out",
        ),
    ]


def _statistics(facts: StepFacts, tiles: StepTiles, clock: float) -> list[tuple[str, str, str]]:
    active = tiles.active
    if not len(active):
        return []
    text = "over active tiles"
    longest = tied_text(facts.ipu * facts.tiles + int(tiles.longest[0]), len(tiles.longest))
    early = f"; more than Cycles, as tiles enter before From ({facts.begin:,}), when the last tile enters"
    early = early if active.max() > facts.end - facts.begin else ""
    return [
        ("Min", cycles_text(int(active.min()), clock), f"minimum of cycles {text}"),
        ("Mean of all tiles", f"{active.sum() / facts.tiles:,.2f}", "sum of tile cycles / tiles of the IPU"),
        ("Mean of active tiles", f"{active.mean():,.2f}", "sum of tile cycles / active tiles"),
        (
            "Max",
            cycles_text(int(active.max()), clock),
            f"maximum of cycles {text}: {longest}{early}",
        ),
        ("Std", f"{active.std():,.1f}", f"standard deviation of cycles {text} (population)"),
    ]


def _balance_help(facts: StepFacts, tiles: StepTiles) -> Component:
    longest = int(tiles.cycles.max(initial=0))
    filled = f"{tiles.cycles.sum() / facts.tiles:,.1f} / {longest:,}" if longest else "no active tile"
    return help_text(
        "Tile balance",
        f"Over all {with_noun(facts.tiles, 'tile')} of the IPU.",
        f"Over the active tiles it is {percent_text(facts.active_tile_balance)}.",
        formula=f"mean(tile cycles) / max(tile cycles) = {filled}",
    )


def _rows(facts: StepFacts, tiles: StepTiles, estimate: Int64Array | None) -> list[dict[str, Any]]:
    first = facts.ipu * facts.tiles
    end = tiles.begin + tiles.cycles
    compiled = [None] * facts.tiles if estimate is None else estimate.tolist()
    columns = zip(tiles.begin.tolist(), tiles.cycles.tolist(), end.tolist(), compiled, strict=True)
    return [
        {
            "tile": first + place,
            "begin": begin,
            "cycles": cycles,
            "end": ends,
            "waits": facts.busy_end - ends if cycles else None,
            "estimate": guess,
        }
        for place, (begin, cycles, ends, guess) in enumerate(columns)
    ]


def _plot(facts: StepFacts, tiles: StepTiles, estimate: Int64Array | None, theme: str) -> dict[str, Any]:
    first = facts.ipu * facts.tiles
    line = {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 1, "shape": "hvh", "color": step_style(facts.type, theme).edge},
        "x": np.arange(first, first + facts.tiles),
        "y": tiles.cycles,
        "name": "recorded",
        "hovertemplate": "tile %{x}: %{y:,} cycles<extra></extra>",
    }
    drawn = [line]
    if estimate is not None and not np.array_equal(estimate, tiles.cycles):
        drawn.append(
            line
            | {
                "y": estimate,
                "name": "estimate",
                "line": {"width": 1, "shape": "hvh", "dash": "dot", "color": tokens(theme)["muted"]},
                "hovertemplate": "tile %{x}: estimate %{y:,} cycles<extra></extra>",
            }
        )
    return {
        "data": drawn,
        "layout": {
            "xaxis": {"title": {"text": "Tile"}},
            "yaxis": {"title": {"text": "Cycles"}, "rangemode": "tozero"},
            "showlegend": len(drawn) > 1,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 64, "r": 12, "t": 10, "b": 36},
        },
    }
