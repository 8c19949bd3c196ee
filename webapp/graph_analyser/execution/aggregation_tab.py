"""The Aggregation tab: sums over the steps of the window by name, type, program or vertex type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.aggregation import FIELDS, aggregate_both
from popvision.analysis.execution.aggregation import LEVELS, aggregate, aggregate_vertices
from webapp.components import (
    Column,
    help_text,
    long_table,
    register_pair_rows,
    register_row_selection,
    register_rows,
    select,
)
from webapp.components.difference import difference_columns
from webapp.graph_analyser.execution.state import ipus_of, window_in, window_query
from webapp.query import numbers_of
from webapp.selection import Selection
from webapp.view import ViewContext

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

GROUPINGS = {
    "": "Name part (bottom-up)",
    "name": "Whole name",
    **{f"level{depth}": f"Name to level {depth}" for depth in range(1, LEVELS + 1)},
    "type": "Step type",
    "program": "Program",
    "vertex": "Vertex type",
}

_SELF = "cycles of the flat bars of the steps with exactly this name (or last part)"
_TOTAL = "cycles of the flat bars of all steps under this name"
_COLUMNS = (
    Column("name", "Name", flex=3),
    Column("count", "Steps", "integer", "steps with time in the window", 80),
    Column("self_cycles", "Self cycles", "cycles", _SELF, 110),
    Column("self_share", "Self share", "percent", "self cycles / (window x IPUs)", 95),
    Column("cumulative", "Cumulative", "percent", "self share of this row plus all rows with more self cycles", 105),
    Column("total_cycles", "Total cycles", "cycles", _TOTAL, 110),
    Column("share", "Total share", "percent", "total cycles / (window x IPUs)", 100),
    Column("mean", "Mean", "decimal", "total cycles / steps", 100),
    Column("min", "Min", "cycles", "shortest step, clipped to the window", 90),
    Column("max", "Max", "cycles", "longest step, clipped to the window", 90),
    Column("self_tile_cycles", "Self tile cycles", "cycles", "sum over tiles of their cycles in the self steps", 130),
    Column(
        "total_tile_cycles",
        "Total tile cycles",
        "cycles",
        "sum over tiles of their cycles in all steps under this name",
        130,
    ),
)
VERTEX_COLUMNS = (
    Column("name", "Vertex type", flex=3),
    Column("kind", "Kind", width=110),
    Column("compute_sets", "Compute sets", "integer", "compute sets with this vertex type that ran in the window", 110),
    Column(
        "executions",
        "Executions",
        "integer",
        "executions of those compute sets; steps that cross the edge of the window count fully",
        105,
    ),
    Column("instances", "Vertices run", "integer", "vertices x executions", 120),
    Column("thread_cycles", "Thread cycles", "integer", "worker vertices: cycles of one worker context", 130),
    Column("thread_cycles_share", "Of all thread cycles", "percent", width=140),
    Column("tile_cycles", "Tile cycles", "cycles", "supervisor and multi vertices: cycles of the whole tile", 120),
    Column("tile_cycles_share", "Of all tile cycles", "percent", width=130),
)
_DIFFERENCES = (
    Column("name", "Name", flex=3),
    *(
        column
        for field, title in zip(FIELDS, ("Steps", "Self cycles", "Total cycles", "Total tile cycles"), strict=True)
        for column in difference_columns(field, title, "integer" if field == "count" else "cycles")
    ),
)
_HELP = (
    "Every step counts with the part of its flat bar inside the window, so the self cycles of all rows add up to the"
    " window. Tile cycles are sums over tiles, a different measure; the two are never added."
)


def register(app: Dash, library: Library) -> None:
    """Rows of both tables; a selected row searches for its steps."""
    register_rows(app, library, "steps-added-up", rows)
    register_pair_rows(app, library, "steps-compared", compared)
    register_row_selection(app, ("steps-added-up", "steps-compared"), _search)


def _search(row: dict[str, Any], selection: Selection) -> dict[str, str] | None:
    by = selection.extras.get("agg", "")
    return None if by == "vertex" else {"find": found_by(str(row["name"]), by)}


def found_by(name: str, by: str) -> str:
    """The search text that finds the steps of a row."""
    if by == "type":
        return f"type:{name}"
    return f"program:{name.partition(':')[0]}" if by == "program" else name


def content(context: ViewContext) -> Component:
    """The table of the window under the choice of its grouping."""
    key, query = context.key, table_query(context)
    by = query["by"]
    head = html.Div(
        [select("agg", "Group by", GROUPINGS, "" if by == "part" else by), help_text("Aggregation", _HELP)],
        className="trace-aggregate-head",
    )
    if "vs" in query and by != "vertex":
        table = long_table("steps-compared", key, query, _DIFFERENCES, selectable=True)
    else:
        columns = VERTEX_COLUMNS if by == "vertex" else _COLUMNS
        table = long_table("steps-added-up", key, query, columns, selectable=True)
    return html.Div([head, html.Div(table, className="trace-aggregate-table")], className="trace-aggregate")


def table_query(context: ViewContext) -> dict[str, str]:
    """The table's query: grouping, IPUs and window."""
    by = context.params.get("agg", "") or "part"
    ipus = ",".join(map(str, ipus_of(context.source, context.selection)))
    return {"by": by if by in GROUPINGS else "part", "ipus": ipus, **window_query(context)}


def rows(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """Rows of the table; see `aggregate` and `aggregate_vertices`."""
    ipus, by = _ipus(source, query), query.get("by", "part")
    if by == "vertex":
        return aggregate_vertices(source, ipus, *window_in(query))
    return aggregate(source, ipus, *window_in(query), by)


def compared(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> DataFrame:
    """Rows of the comparison; see `aggregate_both`. Raises ValueError without a target."""
    if target is None:
        raise ValueError("There is no report to compare with.")
    windows = (window_in(query), window_in(query, "vs"))
    return aggregate_both((source, target), _ipus(source, query), windows, query.get("by", "part"))


def _ipus(source: ReportSource, query: Mapping[str, str]) -> Sequence[int]:
    count = source.reader.target().num_ipus
    return numbers_of(query, "ipus", count) or range(count)
