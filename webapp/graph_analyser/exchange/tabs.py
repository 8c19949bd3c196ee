"""The tabs of the exchange page: programs, one tile, heaviest pairs, fan-out, IPUs and host copies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.exchange import compared_exchanges, compared_pairs, partner_of
from popvision.analysis.exchange.host import host_copies
from popvision.analysis.exchange.messages import (
    between_ipus,
    fan_out_table,
    messages_of,
    partners,
    sendings_of,
    sendings_table,
)
from popvision.analysis.exchange.table import MOST_PAIRS, exchange_programs_table, pairs_table
from popvision.analysis.exchange.tiles import ExchangeTiles, exchange_of, exchange_tiles
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.report.figure import Table
from popvision.analysis.report.not_recorded import CODE_SIZES, NotRecordedError
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.tiles import physical_id, target_of
from webapp.base.formats import bytes_text, cycles_text, integer_text
from webapp.base.theme import tokens
from webapp.base.view import ViewContext
from webapp.components import Column, data_table, empty_hint, long_table, missing_note, noted, unavailable
from webapp.components.attributes import attributes
from webapp.components.difference import difference_mark, figure_text
from webapp.components.figure_columns import figure_columns, figure_frame, why_missing
from webapp.components.row_export import exportable, row_values
from webapp.components.section import facts
from webapp.graph_analyser.exchange.compared_tabs import fan_pair, host_pair, ipu_pair
from webapp.graph_analyser.exchange.tables import COMPARED_PROGRAMS, programs_layout
from webapp.graph_analyser.plots.category_colours import mix

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_NO_SENDINGS = "This report has format 1.0 and no multicast figures. Compile the program again to record them."
_PARTNER_ROWS = 5_000

#: Figures of recorded runs.
_OF_RUNS = ("total", "share", "cycles", "executions", "all_cycles", "achieved", "use", "dictated")

_COMPARED = (
    ("received", "Received", "bytes"),
    ("sent", "Sent", "bytes"),
    ("code", "Exchange code", "bytes"),
    ("fan_in", "Receives from", "integer"),
    ("fan_out", "Sends to", "integer"),
    ("moving", "Time for its own bytes", "cycles"),
    ("estimated", "Estimate", "cycles"),
    ("recorded", "Last recorded", "cycles"),
)

#: A box that scrolls must be reachable by keyboard.
_REGION: dict[str, Any] = {"tabIndex": "0", "role": "region", **attributes(aria_label="Exchange details")}

#: Bars of the histogram of fan-outs; beyond, values share a bar.
_MOST_BARS = 16


NOTHING = "This report has no program that moves data between tiles, IPUs or the host."


def tab_content(context: ViewContext, tab: str) -> Component:
    """The content of a tab; a sentence where the report lacks it."""
    source, target, key, theme = context.source, context.target, context.key, context.theme
    selection = context.selection
    program, step = exchange_of(source, selection.program, selection.step)
    if program is None:
        return empty_hint(NOTHING)
    tile = selection.tiles[0] if selection.tiles else None
    contents = {
        "programs": partial(_programs, source, key, target),
        "tile": partial(tile_tab, source, program, step, tile, key, target),
        "pairs": partial(_pairs, source, key, program, target),
        "fan": partial(fan_tab, source, program),
        "ipus": partial(ipu_tab, source, program, theme),
        "host": partial(host_tab, source),
    }
    if target is not None:
        contents["fan"] = partial(fan_pair, source, target, program)
        contents["ipus"] = partial(ipu_pair, source, target, program)
        contents["host"] = partial(host_pair, source, target)
    return contents[tab]()


def _programs(source: ReportSource, key: str, target: ReportSource | None) -> Component:
    if target is None:
        programs = exchange_programs_table(source)
        columns = figure_columns(programs, programs_layout(source))
        return noted(_missing(source, programs), long_table("exchange-programs", key, {}, columns, selectable=True))
    table = compared_exchanges(source, target)
    frame, columns = figure_frame(table), figure_columns(table, COMPARED_PROGRAMS)
    grid = {"rows": "exchange-programs", "query": "compared"}
    return data_table(grid, frame, columns, name="exchange-compared", height="100%", selectable=True)


def _missing(source: ReportSource, table: Table) -> Component | None:
    """Why no row has the figures of runs, or those of code."""
    reasons = {} if len(source.reader.runs().name) else dict.fromkeys(_OF_RUNS, why_no_run(source))
    return missing_note(why_missing(table, reasons | {"code": CODE_SIZES}))


def _pairs(source: ReportSource, key: str, program: int, target: ReportSource | None) -> Component:
    try:
        all_messages = messages_of(source, program)
        if target is not None:
            changed = compared_pairs(source, target, program)
            frame, columns = figure_frame(changed), figure_columns(changed)
            grid = {"rows": "exchange-pairs", "query": "compared"}
            table = data_table(grid, frame, columns, name="pairs-compared", height="100%", selectable=True)
            return html.Div(
                [
                    html.Div(
                        f"Target - source: the {len(frame):,} pairs with the largest change.",
                        className="exchange-sentence",
                    ),
                    table,
                ],
                className="exchange-tab",
            )
    except NotRecordedError as lacking:
        return unavailable(lacking)
    heaviest = pairs_table(source, program)
    total, shown = int(all_messages.bytes.sum()), int(heaviest["bytes"].sum())
    text = f"The {len(heaviest):,} heaviest of {len(all_messages.src):,} messages: {shown:,} B of {total:,} B"
    text += f", {shown / total:.1%}."
    if len(all_messages.src) <= MOST_PAIRS:
        text = f"All {len(all_messages.src):,} messages, {total:,} B."
    table = long_table("exchange-pairs", key, {"program": str(program)}, figure_columns(heaviest), selectable=True)
    return html.Div([html.Div(text, className="exchange-sentence"), table], className="exchange-tab")


def tile_tab(
    source: ReportSource,
    program: int,
    step: int | None,
    tile: int | None,
    key: str,
    other: ReportSource | None = None,
) -> Component:
    """Figures, senders and receivers of one tile in the program; in a comparison also its differences."""
    target = target_of(source)
    if tile is None or tile >= target.num_tiles:
        return empty_hint("Select a tile: click in the drawing, or move its cursor with the arrow keys.")
    traffic = exchange_tiles(source, program, step)
    rows: list[tuple[Any, Any]] = [("Tile", f"{tile:,} on IPU {tile // target.tiles_per_ipu}")]
    physical = physical_id(target, tile)
    if physical is not None:
        rows.append(("Physical id", integer_text(physical)))
    rows += [
        ("Received", _both(traffic.received[tile])),
        ("Sent", _both(traffic.sent[tile])),
        ("Exchange code", "–" if traffic.code is None else _both(traffic.code[tile])),
    ]
    if traffic.moving is not None:
        rows.append(
            (
                "Time for its own bytes",
                f"{traffic.moving[tile]:,} cycles at {target.exchange_bytes_per_cycle:g} B per cycle",
            )
        )
    for label, values in (("Estimate", traffic.estimated), (f"Recorded, step {traffic.step:,}", traffic.recorded)):
        if values is not None:
            rows.append((label, f"{cycles_text(int(values[tile]), target.clock_hz)}" + _of_longest(values, tile)))
    columns: list[Any] = [html.Div([html.H2("In this program"), facts(rows), _links(key, program, traffic.step, tile)])]
    if other is not None:
        columns.append(_compared_tile(source, other, traffic, tile))
    try:
        who = partners(source, program, tile)
    except NotRecordedError as lacking:
        return html.Div([*columns, unavailable(lacking)], className="exchange-columns", **_REGION)
    columns.append(
        _partner_table("from", f"Receives from {with_noun(len(who.sources), 'tile')}", who.sources, who.received)
    )
    columns.append(
        _partner_table("to", f"Sends to {with_noun(len(who.destinations), 'tile')}", who.destinations, who.sent)
    )
    columns.append(_sendings("Multicast of this tile", who.receivers, who.multicast))
    return html.Div(columns, className="exchange-columns", **_REGION)


def _compared_tile(source: ReportSource, other: ReportSource, traffic: ExchangeTiles, tile: int) -> Component:
    """Source, target and difference of each figure of a tile."""
    title = html.H2("Source, target, difference")
    try:
        theirs = exchange_tiles(other, partner_of(source, other, traffic.program))
    except NotRecordedError as lacking:
        return html.Div([title, unavailable(lacking)])
    if tile >= target_of(other).num_tiles:
        return html.Div([title, empty_hint(f"The target has no tile {tile:,}.")])
    rows = []
    for field, label, kind in _COMPARED:
        before, after = getattr(traffic, field), getattr(theirs, field)
        if before is not None and after is not None:
            one, two = int(before[tile]), int(after[tile])
            mark = difference_mark(one, two, kind)
            rows.append((label, [f"{figure_text(one, kind)} → {figure_text(two, kind)}  ", mark]))
    return html.Div([title, facts(rows)])


def _both(size: Any) -> str:
    size = int(size)
    return f"{size:,} B" if size < 1024 else f"{size:,} B ({bytes_text(size)})"


def _of_longest(values: Any, tile: int) -> str:
    longest = int(values.max(initial=0))
    return f" of {longest:,} on tile {int(values.argmax()):,}" if longest else ""


def _links(key: str, program: int, step: int, tile: int) -> Component:
    links = [
        ("Memory of the tile", f"/r/{key}/memory?tiles={tile}&mem_tab=exchanges"),
        ("Liveness of the tile", f"/r/{key}/liveness?tiles={tile}&program={program}"),
        ("Program in the tree", f"/r/{key}/program_tree?program={program}"),
    ]
    if step >= 0:
        links.append(("Step in the execution trace", f"/r/{key}/execution?step={step}"))
    items = [html.Div(html.A(text, href=href, **attributes(data_nav="to"))) for text, href in links]
    return html.Div(items, className="exchange-links")


def _partner_table(name: str, title: str, tiles: Any, size: Any) -> Component:
    rows = [
        {"tile": tile, "bytes": count}
        for tile, count in zip(tiles[:_PARTNER_ROWS].tolist(), size[:_PARTNER_ROWS].tolist(), strict=True)
    ]
    cut = f", the {_PARTNER_ROWS:,} heaviest below" if len(tiles) > _PARTNER_ROWS else ""
    columns = [Column("tile", "Tile", "integer", width=110), Column("bytes", "Bytes", "bytes", width=130)]
    table = data_table(f"xch-{name}", rows, columns, name=f"exchange-{name}", height=230, filter_box=False)
    return html.Div([html.H2(f"{title}, {int(size.sum()):,} B{cut}"), table])


def _sendings(title: str, receivers: Any, size: Any) -> Component:
    if not len(receivers):
        return html.Div([html.H2(title), empty_hint("The tile sends nothing, or the report has format 1.0.")])
    sent = sendings_table(receivers, size)
    table = data_table(
        "xch-sendings", figure_frame(sent), figure_columns(sent), name="multicast", height=230, filter_box=False
    )
    return html.Div([html.H2(title), table])


def fan_tab(source: ReportSource, program: int) -> Component:
    """The distributions of fan-out and of receivers per multicast."""
    try:
        fan = fan_out_table(messages_of(source, program))
    except NotRecordedError as lacking:
        return unavailable(lacking)
    columns = figure_columns(fan)
    histogram = data_table("xch-fan", figure_frame(fan), columns, name="fan-out", height=230, filter_box=False)
    parts: list[Component] = [
        html.Div([html.H2("Fan-out of sending tiles"), _bars(fan["receivers"], fan["tiles"])]),
        html.Div([html.H2("Fan-out as a table"), histogram]),
    ]
    spread, size = sendings_of(source, program)
    if len(spread):
        parts.append(_sendings("Bytes sent by number of receivers", spread, size))
    else:
        parts.append(html.Div([html.H2("Multicast"), empty_hint(_NO_SENDINGS)]))
    return html.Div(parts, className="exchange-columns", **_REGION)


def _bars(receivers: Any, tiles: Any) -> Component:
    """A histogram of tiles by fan-out; many different values share ranges of equal width."""
    low, high = int(receivers.min()), int(receivers.max())
    width = -(-(high - low + 1) // _MOST_BARS)
    counts = np.bincount((receivers - low) // width, weights=tiles).astype(int)
    most = max(1, int(counts.max()))
    rows = []
    for index, count in enumerate(counts.tolist()):
        first, last = low + index * width, min(low + (index + 1) * width - 1, high)
        label = f"{first:,}" if first == last else f"{first:,} – {last:,}"
        bar = html.Span(className="exchange-bar", style={"width": f"{180 * count / most:.0f}px"})
        text = with_noun(count, "tile")
        rows.append(html.Tr([html.Th(label, scope="row"), html.Td([bar, text])]))
    return html.Table(html.Tbody(rows), className="exchange-histogram")


def ipu_tab(source: ReportSource, program: int, theme: str) -> Component:
    """Bytes from IPU to IPU."""
    target = target_of(source)
    if target.num_ipus < 2:
        return empty_hint("This report has one IPU, so no data moves between IPUs.")
    try:
        sums = between_ipus(messages_of(source, program), target)
    except NotRecordedError as lacking:
        return unavailable(lacking)
    colours, most = tokens(theme), max(1, int(sums.max()))
    head = html.Tr([html.Th("from \\ to"), *[html.Th(f"IPU {ipu}", scope="col") for ipu in range(target.num_ipus)]])
    body = []
    for ipu, row in enumerate(sums.tolist()):
        shades = [mix(colours["series-1"], colours["surface"], 0.35 * value / most) for value in row]
        cells = [
            html.Td(f"{value:,} B", style={"background": shade} if value else {}, title=bytes_text(value))
            for value, shade in zip(row, shades, strict=True)
        ]
        values = {"from_ipu": ipu} | {f"to_ipu_{other}_bytes": value for other, value in enumerate(row)}
        body.append(html.Tr([html.Th(f"IPU {ipu}", scope="row"), *cells], **row_values(values)))
    note = f"One execution moves {int(sums.sum()):,} B, of which {int(sums.sum() - np.trace(sums)):,} B between IPUs."
    table = exportable(
        html.Table([html.Thead(head), html.Tbody(body)], className="exchange-ipus"),
        "bytes-between-ipus",
        "bytes between IPUs",
    )
    return html.Div(
        html.Div([html.H2("Bytes between IPUs"), table, html.P(note, className="dim")]), className="exchange-columns"
    )


def host_tab(source: ReportSource) -> Component:
    """Copies to and from the host over all recorded runs."""
    copies = host_copies(source)
    if not len(copies):
        return empty_hint("This report has no copies to or from the host.")
    frame, columns = figure_frame(copies), figure_columns(copies)
    return noted(_missing(source, copies), data_table("xch-host", frame, columns, name="host-copies", height="100%"))
