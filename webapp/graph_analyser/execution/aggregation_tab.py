"""The Aggregation tab: sums over the steps of the window by name, type, program or vertex type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.aggregation import aggregate_both, compared_headings
from popvision.analysis.execution.aggregation import (
    GROUP_FIGURES,
    LEVELS,
    VERTEX_FIGURES,
    aggregate,
    aggregate_vertices,
)
from popvision.analysis.report.figure import Table, headings
from webapp.base.query import numbers_of
from webapp.base.selection import Selection
from webapp.base.view import ViewContext
from webapp.components import (
    Column,
    help_text,
    long_table,
    register_pair_rows,
    register_row_selection,
    register_rows,
    select,
)
from webapp.components.figure_columns import figure_columns
from webapp.graph_analyser.execution.state import ipus_of, scope_line, window_in, window_query

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

GROUPINGS = {
    "": "Name part (bottom-up)",
    "name": "Whole name",
    **{f"level{depth}": f"Name to level {depth}" for depth in range(1, LEVELS + 1)},
    "type": "Step type",
    "program": "Program",
    "vertex": "Vertex type",
}

#: Self cycles, which add up to the window, come first with their shares.
_FIRST = ("name", "count", "self_cycles", "self_share", "cumulative", "total_cycles", "share", "mean", "min", "max")
_HELP = (
    "A step counts with the part of its flat bar inside the window. The self cycles of all rows add up to the "
    "window. Tile cycles are sums over tiles, a different measure; the two are never added."
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
    if by == "vertex":
        name, columns = "steps-added-up", vertex_columns()
    elif "vs" in query:
        name, columns = "steps-compared", figure_columns(compared_headings())
    else:
        name, columns = "steps-added-up", figure_columns(headings("step_groups", GROUP_FIGURES), order=_FIRST)
    table = long_table(name, key, query, columns, selectable=True)
    scope = scope_line(context)
    return html.Div([scope, head, html.Div(table, className="trace-aggregate-table")], className="trace-aggregate")


def vertex_columns() -> list[Column]:
    """Columns of the aggregation by vertex type."""
    return figure_columns(headings("vertex_groups", VERTEX_FIGURES))


def table_query(context: ViewContext) -> dict[str, str]:
    """The table's query: grouping, IPUs and window."""
    by = context.params.get("agg", "") or "part"
    ipus = ",".join(map(str, ipus_of(context.source, context.selection)))
    return {"by": by if by in GROUPINGS else "part", "ipus": ipus, **window_query(context)}


def rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """Rows of the table; see `aggregate` and `aggregate_vertices`."""
    ipus, by = _ipus(source, query), query.get("by", "part")
    if by == "vertex":
        return aggregate_vertices(source, ipus, *window_in(query))
    return aggregate(source, ipus, *window_in(query), by)


def compared(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """Rows of the comparison; see `aggregate_both`. Raises ValueError without a target."""
    if target is None:
        raise ValueError("There is no report to compare with.")
    windows = (window_in(query), window_in(query, "vs"))
    return aggregate_both((source, target), _ipus(source, query), windows, query.get("by", "part"))


def _ipus(source: ReportSource, query: Mapping[str, str]) -> Sequence[int]:
    count = source.reader.target().num_ipus
    return numbers_of(query, "ipus", count) or range(count)
