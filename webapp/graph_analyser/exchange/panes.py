"""What each tab of the exchange page shows, for a selection and perhaps a target."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dash import html
from dash.development.base_component import Component

from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.tiles import exchange_of
from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.components import data_table, empty_hint, long_table
from webapp.graph_analyser.exchange.pair_tabs import fan_pair, host_pair, ipu_pair
from webapp.graph_analyser.exchange.tables import (
    MOST_PAIRS,
    PAIR_COLUMNS,
    PROGRAM_COLUMNS,
    changed_pair_columns,
    compared_columns,
    compared_frame,
    pair_difference_frame,
    pair_frame,
)
from webapp.graph_analyser.exchange.tabs import fan_tab, host_tab, ipu_tab, tile_tab
from webapp.view import ViewContext

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

NOTHING = "This report has no program that moves data between tiles, IPUs or the host."


def tab_content(context: ViewContext, tab: str) -> Component:
    """What a tab shows; a sentence where the report lacks it."""
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
        return long_table("exchange-programs", key, {}, PROGRAM_COLUMNS, selectable=True)
    frame = compared_frame(source, target)
    rows = frame.astype(object).where(frame.notna(), None)
    grid = {"rows": "exchange-programs", "query": "compared"}
    return data_table(grid, rows, compared_columns(), name="exchange-compared", height="100%", selectable=True)


def _pairs(source: ReportSource, key: str, program: int, target: ReportSource | None) -> Component:
    try:
        found = messages_of(source, program)
        if target is not None:
            frame = pair_difference_frame(source, target, program)
            grid = {"rows": "exchange-pairs", "query": "compared"}
            table = data_table(
                grid, frame, changed_pair_columns(), name="pairs-compared", height="100%", selectable=True
            )
            return html.Div(
                [
                    html.Div(
                        f"Target - source, the {len(frame):,} pairs that changed most.", className="exchange-sentence"
                    ),
                    table,
                ],
                className="exchange-tab",
            )
    except NotRecordedError as lacking:
        return empty_hint(str(lacking))
    frame = pair_frame(source, {"program": str(program)})
    whole, shown = int(found.bytes.sum()), int(frame["bytes"].sum())
    text = (
        f"The {len(frame):,} heaviest of {len(found.src):,} messages: {shown:,} B of {whole:,} B, {shown / whole:.1%}."
    )
    if len(found.src) <= MOST_PAIRS:
        text = f"All {len(found.src):,} messages, {whole:,} B."
    table = long_table("exchange-pairs", key, {"program": str(program)}, PAIR_COLUMNS, selectable=True)
    return html.Div([html.Div(text, className="exchange-sentence"), table], className="exchange-tab")
