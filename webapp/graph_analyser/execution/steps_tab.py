"""The Steps tab of the execution trace: every step of the window. The server sorts, filters and exports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.steps import FIELDS, steps_of_both
from popvision.analysis.execution.step_details import steps_in_window
from webapp.components import Column, long_table, register_pair_rows, register_rows
from webapp.components.difference import add_difference, difference_columns
from webapp.graph_analyser.execution.state import selected_ipu, window_in, window_query
from webapp.query import number_of
from webapp.view import ViewContext

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

_BALANCE = "mean(tile cycles) / max(tile cycles) over all tiles of the IPU"

_COLUMNS = (
    Column("step", "Step", "integer", "execution step, counted over all runs", 90),
    Column("name", "Name", flex=2),
    Column("type", "Type", width=140),
    Column("program", "Program", "integer", "Id in the program tree", 90),
    Column("run", "Run", "integer", "engine run", 70),
    Column("begin", "From", "cycles", "largest begin over all tiles, device cycle", 120),
    Column("end", "To", "cycles", "largest end over all tiles, device cycle", 120),
    Column("cycles", "Cycles", "cycles", "to - from; the lengths of all steps add up to the total", 100),
    Column("active_tiles", "Active tiles", "integer", "tiles with cycles > 0", 100),
    Column("mean_cycles", "Mean cycles", "decimal", "mean of cycles over all tiles of the IPU", 110),
    Column("max_cycles", "Max cycles", "cycles", "maximum of cycles over all tiles of the IPU", 110),
    Column("tile_balance", "Tile balance", "percent", _BALANCE, 110),
    Column("data_in", "Data in", "bytes", "bytes received", 100),
    Column("data_out", "Data out", "bytes", "bytes sent", 100),
)


_BOTH = (
    Column("step_source", "Source step", "integer", "execution step of the source; – = only in the target", 105),
    Column("step_target", "Target step", "integer", "execution step of the target; – = only in the source", 105),
    Column("name", "Name", flex=2),
    Column("type", "Type", width=130),
    Column(
        "matched",
        "Matched by",
        width=120,
        help="Rule that matched the steps: debug identity, name or order; empty = unmatched",
    ),
    *difference_columns("cycles", "Cycles", "cycles", help="Length of the flat bar, to - from."),
    *difference_columns("max_cycles", "Max tile cycles", "cycles"),
    *difference_columns("mean_cycles", "Mean tile cycles", "decimal"),
    *difference_columns("data_in", "Data in", "bytes"),
)


def register(app: Dash, library: Library) -> None:
    """Rows of both tables."""
    register_rows(app, library, "steps-in-window", rows)
    register_pair_rows(app, library, "steps-of-both", compared)


def table_query(context: ViewContext) -> dict[str, str]:
    """The table's query: IPU and window."""
    return {"ipu": str(selected_ipu(context.selection)), **window_query(context)}


def content(context: ViewContext) -> Component:
    """The table of the window."""
    key, query = context.key, table_query(context)
    name, columns = ("steps-of-both", _BOTH) if "vs" in query else ("steps-in-window", _COLUMNS)
    return html.Div(long_table(name, key, query, columns), className="trace-steps")


def rows(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """Rows of the table; see `steps_in_window`."""
    return steps_in_window(source, number_of(query, "ipu"), *window_in(query))


def compared(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> DataFrame:
    """Rows of the comparison; see `steps_of_both`. Raises ValueError without a target."""
    if target is None:
        raise ValueError("There is no report to compare with.")
    frame = steps_of_both(source, target, number_of(query, "ipu"), window_in(query), window_in(query, "vs"))
    frame = add_difference(frame, *FIELDS)
    return frame.astype(object).where(frame.notna(), None)
