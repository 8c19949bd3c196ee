"""The Blocks tab: executions that lightweight profiling recorded, by program and tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.execution.blocks import BLOCK_FIGURES, block_statistics
from popvision.analysis.report.figure import Table, headings
from webapp.base.query import numbers_of
from webapp.base.view import ViewContext
from webapp.components import help_text, long_table, register_rows
from webapp.components.figure_columns import HIDE, figure_columns
from webapp.graph_analyser.execution.state import ipus_of, window_in, window_query

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

_HELP = (
    "Lightweight profiling records when selected programs begin and end, on one tile per IPU. Stream copies are "
    "recorded on every tile that moves bytes. An overflow is a time in which the tile's buffer was full, so"
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
    columns = figure_columns(headings("blocks", BLOCK_FIGURES), {"program": HIDE})
    table = html.Div(long_table("blocks", key, query, columns), className="trace-aggregate-table")
    return html.Div([head, table], className="trace-aggregate")


def rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """Rows of the table; see `block_statistics`."""
    count = source.reader.target().num_ipus
    return block_statistics(source, numbers_of(query, "ipus", count) or range(count), *window_in(query))
