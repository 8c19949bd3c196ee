"""The Tiles tab: cycles, bytes and code of one program by tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.programs.details import TileFigures
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.programs.tiles import program_tiles, program_tiles_pair
from webapp.components import Column, long_table, register_pair_rows
from webapp.components.difference import add_difference, difference_columns
from webapp.graph_analyser.plots.tile_plot import tile_plot
from webapp.library import Library
from webapp.query import number_of
from webapp.selection import Selection

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


#: (kind, help) of each figure.
_COLUMNS = {
    "Estimate": ("cycles", "Estimated cycles of one execution"),
    "Recorded": ("cycles", "Cycles in the last recorded step of the program"),
    "Received": ("bytes", "Bytes received in one execution"),
    "Sent": ("bytes", "Bytes sent in one execution"),
    "Exchange code": ("bytes", "Bytes of exchange code of the program itself"),
    "Control code": ("bytes", "Bytes of control code of the program itself"),
}


def register_tiles(app: Dash, library: Library) -> None:
    """Rows of the table."""
    register_pair_rows(app, library, "program-tiles", _rows)


def _rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    program = number_of(query, "program")
    if not 0 <= program < len(programs_of(source).type):
        raise ValueError(f"There is no program {program} in this report.")
    if target is None:
        return program_tiles(source, program)
    pair = program_tiles_pair(source, target, program)
    return add_difference(pair, *[name for name in _COLUMNS if f"{name}_source" in pair])


def _table(source: ReportSource, key: str, selection: Selection, target: ReportSource | None) -> Component:
    """A row per tile; in a comparison with the differences to the matched program."""
    program = selection.program
    assert program is not None
    query = {"program": str(program)}
    columns = [Column("Tile", "Tile", "integer", width=90), Column("IPU", "IPU", "integer", width=80)]
    if target is None:
        held = program_tiles(source, program)
        columns += [
            Column(name, name, kind, help=help, width=130) for name, (kind, help) in _COLUMNS.items() if name in held
        ]
    else:
        query["vs"] = selection.extras.get("vs", "")
        pair = program_tiles_pair(source, target, program)
        for name, (kind, help) in _COLUMNS.items():
            if f"{name}_source" in pair:
                columns += difference_columns(name, name, kind, help=f"{help}:")
    return html.Div(long_table("program-tiles", key, query, columns, height=300), className="tile-table")


def tiles_tab(
    source: ReportSource,
    tiles: TileFigures,
    selection: Selection,
    theme: str,
    key: str,
    target: ReportSource | None = None,
) -> Component:
    """Plots of cycles, bytes and code where there are any, with their statistics; below them a table of all tiles."""
    cycles = [("Cycles, estimate", tiles.estimated), (f"Cycles, execution step {tiles.recorded_step}", tiles.recorded)]
    moved = [("Bytes received", tiles.received), ("Bytes sent", tiles.sent)]
    code = [("Exchange code", tiles.exchange_code), ("Control code", tiles.control_code)]
    plots = []
    for name, unit, series in (
        ("cycles", "cycles", cycles),
        ("bytes", "bytes per execution", moved),
        ("code", "bytes", code),
    ):
        present = [(label, values) for label, values in series if values is not None]
        if present:
            plots.append(tile_plot(f"pt-{name}", unit, present, selection, theme))
    owner = (
        []
        if target is None
        else [html.P("The plots show the source; the table compares both reports.", className="dim")]
    )
    return html.Div([html.Div([*owner, *plots], className="tile-plots"), _table(source, key, selection, target)])
