"""The Tiles tab: cycles, bytes and code of one program by tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.programs import program_tiles_pair
from popvision.analysis.programs.details import TileFigures
from popvision.analysis.programs.table import program_tiles
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Table
from webapp.base.library import Library
from webapp.base.query import number_of
from webapp.base.selection import Selection
from webapp.components import long_table, register_pair_rows
from webapp.components.figure_columns import figure_columns
from webapp.graph_analyser.plots.tile_plot import tile_plot

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def register_tiles(app: Dash, library: Library) -> None:
    """Rows of the table."""
    register_pair_rows(app, library, "program-tiles", _rows)


def _rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    program = number_of(query, "program")
    if not 0 <= program < len(programs_of(source).type):
        raise ValueError(f"There is no program {program} in this report.")
    return program_tiles(source, program) if target is None else program_tiles_pair(source, target, program)


def _table(source: ReportSource, key: str, selection: Selection, target: ReportSource | None) -> Component:
    """A row per tile; in a comparison with the differences to the matched program."""
    query = {"program": str(selection.program)}
    columns = figure_columns(_rows(source, target, query))
    query |= {} if target is None else {"vs": selection.extras.get("vs", "")}
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
