"""The Details tab of the execution trace: one step, tile by tile."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any
from urllib.parse import urlencode

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.execution.step_details import StepFacts, StepTiles, step_estimate, step_facts, step_tiles
from popvision.analysis.execution.waits import sync_waits
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.source_code.lines import NOWHERE, places
from webapp.arrays import Int64Array
from webapp.components import Column, data_table, empty_hint, figure, help_text
from webapp.components.attributes import attributes
from webapp.components.partner_links import host_run_links
from webapp.formats import bytes_text, cycles_text, percent_text
from webapp.graph_analyser.execution.state import selected_ipu
from webapp.graph_analyser.execution.step_links import step_links
from webapp.theme import step_style, tokens
from webapp.view import ViewContext

_NOTHING = "Select a step in the trace (click it, or press n for the next one) to see its cycles on each tile."

_COLUMNS = (
    Column("tile", "Tile", "integer", "tile, counted over all IPUs", flex=2),
    Column("begin", "Begin", "cycles", "device cycle at which the tile begins the step", flex=3),
    Column("cycles", "Cycles", "cycles", "cycles of the tile in the step; 0 = takes no part", flex=3),
    Column("end", "End", "cycles", "begin + cycles", flex=3),
    Column("waits", "Waits", "cycles", "last end over all tiles - own end; empty = takes no part", flex=3),
    Column("estimate", "Estimate", "cycles", "compiler's estimate of one execution; empty = not stored", flex=3),
)


def content(context: ViewContext) -> Component:
    """Facts of the selected step; its cycles by tile as a plot and a table. Raises ValueError for an unknown step."""
    source, key, theme = context.source, context.key, context.theme
    ipu, step = selected_ipu(context.selection), context.selection.step
    if step is None:
        return empty_hint(_NOTHING)
    facts, tiles = step_facts(source, ipu, step), step_tiles(source, ipu, step)
    clock = source.reader.target().clock_hz
    hosts, links = host_run_links(context, facts.run), step_links(source, key, facts)
    if unknown := tiles_unknown(source):
        parts = [html.Div(_facts(key, facts, None, clock, hosts, links), className="trace-facts"), empty_hint(unknown)]
        return html.Div(parts, className="trace-details")
    estimate = step_estimate(source, ipu, step)
    table = data_table(
        "execution-tiles", _rows(facts, tiles, estimate), _COLUMNS, name=f"step-{step}-tiles", height="100%"
    )
    plot = figure(
        "execution-tile-plot", _plot(facts, tiles, estimate, theme), theme, image_name=f"step-{step}-cycles-by-tile"
    )
    parts = [
        html.Div(
            [*_facts(key, facts, tiles, clock, hosts, links), *_last_to_arrive(context, facts)], className="trace-facts"
        ),
        html.Div(plot, className="trace-plot"),
        html.Div(table, className="trace-tiles"),
    ]
    return html.Div(parts, className="trace-details")


def _facts(
    key: str,
    facts: StepFacts,
    tiles: StepTiles | None,
    clock: float,
    hosts: list[Component],
    links: list[tuple[str, str]],
) -> list[Component]:
    """`tiles` is None when the report has no figures of single tiles; `hosts` are links to the host's side of the
    run, `links` (text, address) pairs."""
    swatch = html.Span(className=f"trace-swatch step-{step_style(facts.type, 'light').family}")
    tree = html.A(f"program {facts.program}", href=f"/r/{key}/program_tree", **attributes(data_nav="view"))
    where: list[Any] = [f"step {facts.step} · ", tree, f" · run #{facts.run} · IPU {facts.ipu}"]
    for link in hosts:
        where += [" · ", link]
    for text, href in links:
        where += [" · ", html.A(text, href=href, **attributes(data_nav="to"))]
    if facts.data_in or facts.data_out:
        traffic = html.A("traffic", href=f"/r/{key}/exchange?step={facts.step}", **attributes(data_nav="to"))
        where += [" · ", traffic]
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


def _last_to_arrive(context: ViewContext, facts: StepFacts) -> list[Component]:
    """Of a sync at which tiles wait: who came last, how long the others waited, and the step that made it late."""
    if facts.phase != "sync":
        return []
    source, key = context.source, context.key
    waits = sync_waits(source, facts.ipu)
    row = waits.of_step(facts.step)
    if row is None:
        return [html.P("No tile waits for another at this sync.", className="note")]
    clock = source.reader.target().clock_hz
    tile, cause, program = (int(each[row]) for each in (waits.last_tile, waits.cause_step, waits.cause_program))
    mean, longest = int(waits.waited[row]) // waits.tiles, int(waits.longest[row])
    words: list[Any] = [
        html.A(f"Tile {tile:,}", href=f"/r/{key}/memory?tiles={tile}", **attributes(data_nav="to")),
        f" comes last: the tiles wait {cycles_text(mean, clock)} on average for it, "
        f"the first {cycles_text(longest, clock)}.",
    ]
    if cause >= 0:
        name = source.reader.programs().name[program] or f"program {program}"
        href = f"/r/{key}/execution?step={cause}&ipu={facts.ipu}&detail=details"
        words += [" It is late because of ", html.A(f"step {cause:,}", href=href, **attributes(data_nav="to"))]
        words += [f", {name}", *_line_of(context, program), "."]
    title = "the tile whose sync begins last; the step since the sync before in which it is most above the mean"
    return [html.P(words, className="note", title=title, id="execution-last")]


def _line_of(context: ViewContext, program: int) -> list[Any]:
    """The words " at train_mlp.py:80", with a link to the line; nothing where it is not known."""
    known = if_recorded(lambda: places(context.source))
    row = NOWHERE if known is None else int(known.program[program])
    if known is None or row == NOWHERE:
        return []
    file, line = known.file[row], int(known.line[row])
    query = urlencode({"src_file": file, "src_line": line})
    name = f"{PurePath(file).name}:{line}"
    return [" at ", html.A(name, href=f"/r/{context.key}/source?{query}", **attributes(data_nav="to"))]


def _of_tiles(facts: StepFacts, tiles: StepTiles, clock: float) -> list[tuple[str, Any, str]]:
    """Facts that need the cycles of every tile. Waiting: cycles in which active tiles wait for the last one."""
    waiting = facts.busy_end - (tiles.begin + tiles.cycles)[tiles.cycles > 0]
    balance = [percent_text(facts.tile_balance), _balance_help(facts, tiles)]
    return [
        ("Tile balance", balance, "mean / max of tile cycles over all tiles of the IPU"),
        ("Active balance", percent_text(facts.active_tile_balance), "mean / max of tile cycles over active tiles"),
        ("Active tiles", f"{facts.active_tiles:,} of {facts.tiles:,}", "tiles with cycles > 0"),
        *_statistics(tiles, clock),
        ("First begin", cycles_text(facts.busy_begin, clock), "over active tiles"),
        ("Last end", cycles_text(facts.busy_end, clock), "over active tiles"),
        ("Waiting", cycles_text(int(waiting.sum()), clock), "sum over active tiles of last end - own end"),
    ]


def _statistics(tiles: StepTiles, clock: float) -> list[tuple[str, str, str]]:
    active = tiles.active
    if not len(active):
        return []
    text = "over active tiles"
    return [
        ("Min", cycles_text(int(active.min()), clock), f"minimum of cycles {text}"),
        ("Mean", f"{active.mean():,.1f}", f"mean of cycles {text}"),
        (
            "Max",
            cycles_text(int(active.max()), clock),
            f"maximum of cycles {text}, on tile {tiles.cycles.argmax()} of the IPU",
        ),
        ("Std", f"{active.std():,.1f}", f"standard deviation of cycles {text} (population)"),
    ]


def _balance_help(facts: StepFacts, tiles: StepTiles) -> Component:
    longest = int(tiles.cycles.max(initial=0))
    filled = f"{tiles.cycles.sum() / facts.tiles:,.1f} / {longest:,}" if longest else "no active tile"
    return help_text(
        "Tile balance",
        f"Over all {facts.tiles:,} tiles of the IPU.",
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
