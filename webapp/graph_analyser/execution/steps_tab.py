"""The Steps tab of the execution trace: every step of the window. The server sorts, filters and exports them.

The window is the selected cycles, else the visible ones: a row selects its step (assets/execution/step_rows.js) and the
rows stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.steps import COMPARED, compared_headings, steps_of_both
from popvision.analysis.execution.step_details import STEP_FIGURES, steps_in_window
from popvision.analysis.report.figure import Table, headings
from webapp.base.query import number_of
from webapp.base.view import ViewContext
from webapp.components import help_text, long_table, register_pair_rows, register_rows
from webapp.components.figure_columns import Layout, figure_columns
from webapp.graph_analyser.execution.state import scope_line, selected_ipu, window_in, window_query, without_step

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

#: What a step took and the tile that ended it come first; how it was matched stands at the end.
_STEPS = ("step", "name", "type", "cycles", "max_cycles", "last_tile", "tile_balance", "active_tiles", "mean_cycles")
_BOTH = ("step", "target_step", "name", "cycles", "last_tile", "target_last_tile", *COMPARED, "type")
_LAYOUT: Layout = {"last_tile": {"width": 170}, "target_last_tile": {"width": 140}}

_LISTED = (
    "A step is listed when a tile is busy in it within the window or its bar overlaps it. Figures are those of whole"
    " steps, not cut to the window. Click a row, or press Enter on it, to select its step."
)
_MATCHED = (
    "A step of the source stands beside its match in the target, wherever that lies; then come steps of the target's"
    " window without a match in the source's. A step that one report lacks counts 0 there, so the differences add up to"
    " those of the totals. Figures are those of whole steps. Click a row, or press Enter on it, to select its step."
)
_EARLY = (
    "The bar of a step begins when its last tile enters and ends when its last tile ends. Tiles may enter before "
    "and spend more cycles in the step than its bar is long: Max and the means may exceed Cycles."
)


def register(app: Dash, library: Library) -> None:
    """Rows of both tables."""
    register_rows(app, library, "steps-in-window", rows)
    register_pair_rows(app, library, "steps-of-both", compared)


def table_query(context: ViewContext) -> dict[str, str]:
    """The table's query: IPU and window."""
    return {"ipu": str(selected_ipu(context.selection)), **window_query(without_step(context))}


def content(context: ViewContext) -> Component:
    """The table of the window."""
    key, query = context.key, table_query(context)
    if "vs" in query:
        columns = figure_columns(compared_headings(), _LAYOUT, order=_BOTH)
        table = long_table("steps-of-both", key, query, columns, selectable=True)
    else:
        columns = figure_columns(headings("window_steps", STEP_FIGURES), _LAYOUT, order=_STEPS)
        table = long_table("steps-in-window", key, query, columns, selectable=True)
    if "vs" in query:
        line: list[Any] = ["Steps of both windows", help_text("Steps of both reports", _MATCHED, _EARLY)]
    else:
        line = ["Steps of the window", help_text("Steps", _LISTED, _EARLY)]
    scope = scope_line(without_step(context))
    if "vs" in query and scope is not None:  # one line for both: the rows need the room
        head: list[Component | None] = [html.Div([scope, line[1]], className="trace-steps-head")]
    else:
        head = [scope, html.Div(line, className="trace-steps-head")]
    parts = [*head, html.Div(table)]
    return html.Div(parts, className="trace-steps")


def rows(source: ReportSource, query: Mapping[str, str]) -> Table:
    """Rows of the table; see `steps_in_window`."""
    return steps_in_window(source, number_of(query, "ipu"), *window_in(query))


def compared(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """Rows of the comparison; see `steps_of_both`. Raises ValueError without a target."""
    if target is None:
        raise ValueError("There is no report to compare with.")
    return steps_of_both(source, target, number_of(query, "ipu"), window_in(query), window_in(query, "vs"))
