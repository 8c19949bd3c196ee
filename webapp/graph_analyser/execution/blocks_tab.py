"""The Blocks tab: executions that lightweight profiling recorded, by program and tile."""

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
    Column("tile", "Tile", "integer", "the recording tile", 80),
    Column("count", "Executions", "integer", "blocks that overlap the window; each counts fully", 100),
    Column("min", "Min", "cycles", "shortest execution", 90),
    Column("median", "Median", "decimal", "half of the executions take no longer than this", 100),
    Column("mean", "Mean", "decimal", width=100),
    Column("max", "Max", "cycles", "longest execution", 90),
    Column(
        "total", "Total cycles", "cycles", "sum over executions; nested blocks count in each block around them", 120
    ),
)
_HELP = (
    "Lightweight profiling records the begin and end of every execution of selected programs on one tile per IPU, and"
    " of stream copies on every tile that moves bytes. An overflow is a time in which the tile's buffer was full, so"
    " blocks are missing."
)


def register(app: Dash, library: Library) -> None:
    """Rows of the table."""
    register_rows(app, library, "blocks", rows)


def table_query(context: ViewContext) -> dict[str, str]:
    """The table's query: IPUs and window."""
    return {"ipus": ",".join(map(str, ipus_of(context.source, context.selection))), **window_query(context)}


def content(context: ViewContext) -> Component:
    """The table of the window."""
    key, query = context.key, table_query(context)
    title = "Blocks of the source" if "vs" in query else "Blocks"
    head = html.Div([title, help_text("Blocks", _HELP)], className="trace-aggregate-head")
    table = html.Div(long_table("blocks", key, query, _COLUMNS), className="trace-aggregate-table")
    return html.Div([head, table], className="trace-aggregate")


def rows(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """Rows of the table; see `block_statistics`."""
    count = source.reader.target().num_ipus
    return block_statistics(source, numbers_of(query, "ipus", count) or range(count), *window_in(query))
