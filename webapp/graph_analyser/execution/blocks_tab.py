"""The Blocks tab: what lightweight profiling recorded, by program and tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.execution.blocks import block_statistics
from webapp.components import Column, help_text, long_table, register_rows
from webapp.graph_analyser.execution.state import ipus_of, window_in, window_query
from webapp.query import numbers_of
from webapp.view import ViewContext

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

_COLUMNS = (
    Column("name", "Name", flex=3),
    Column("kind", "Kind", width=110),
    Column("tile", "Tile", "integer", "the tile that recorded it", 80),
    Column("count", "Executions", "integer", "blocks with a part in the window; each counts whole", 100),
    Column("min", "Min", "cycles", "shortest execution", 90),
    Column("median", "Median", "decimal", "half of the executions take no longer", 100),
    Column("mean", "Mean", "decimal", width=100),
    Column("max", "Max", "cycles", "longest execution", 90),
    Column("total", "Total cycles", "cycles", "all executions together; blocks within a block count in both", 120),
)
_HELP = (
    "Lightweight profiling records when chosen programs begin and end, each time, on one tile of each IPU, and stream"
    " copies wherever they move bytes. During an overflow a tile's buffer was full, and blocks are missing."
)


def register(app: Dash, library: Library) -> None:
    """The rows of the table."""
    register_rows(app, library, "blocks", rows)


def table_query(context: ViewContext) -> dict[str, str]:
    """IPUs and window of the table."""
    return {"ipus": ",".join(map(str, ipus_of(context.source, context.selection))), **window_query(context)}


def content(context: ViewContext) -> Component:
    """The table of the window."""
    key, query = context.key, table_query(context)
    title = "Blocks of the source" if "vs" in query else "Blocks"
    head = html.Div([title, help_text("Blocks", _HELP)], className="trace-aggregate-head")
    table = html.Div(long_table("blocks", key, query, _COLUMNS), className="trace-aggregate-table")
    return html.Div([head, table], className="trace-aggregate")


def rows(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """Rows of one query; see `block_statistics`."""
    count = source.reader.target().num_ipus
    return block_statistics(source, numbers_of(query, "ipus", count) or range(count), *window_in(query))
