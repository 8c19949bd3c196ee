"""Who makes the tiles wait: the tile and the program behind each wait at a sync, most waiting first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import ClientsideFunction, Dash, Input, Output, State, html
from dash.development.base_component import Component

from popvision.analysis.insights.late import CostsOfWaiting, costs_of_waiting, waits_table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.source_code.lines import busiest_ipu
from webapp.base.view import ViewContext
from webapp.components import data_table, empty_hint, loading, unavailable
from webapp.components.figure_columns import HIDE, Layout, figure_columns, figure_frame
from webapp.components.section import section

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Rows of the table; of more, those with most waiting.
MOST = 200

_LAYOUT: Layout = {"name": {"flex": 1}, "line": {"width": 150}, "program": HIDE, "step": HIDE, "ipu": HIDE}


def place(side: str = "") -> Component:
    """The place of the section, with a note until it is there. `side` begins its hint: whose figures these are."""
    body = [html.Div(loading(), id="overview-waits"), html.P(id="overview-wait")]
    hint = side + "cost of waiting for the last tile at each sync, on the IPU whose steps take longest"
    return section("waits", "Who makes the tiles wait", body, hint=hint)


def contents(context: ViewContext) -> Component:
    """The contents of the section."""
    source = context.source
    unknown = tiles_unknown(source)
    if unknown:
        return empty_hint(unknown)
    try:
        costs = costs_of_waiting(source, busiest_ipu(source))
    except NotRecordedError as problem:
        return unavailable(problem)
    if not len(costs.tile):
        return empty_hint("No tile waits for another at a sync.")
    return _grid(source, costs)


def register(app: Dash) -> None:
    """The links of a selected row."""
    app.clientside_callback(
        ClientsideFunction("overview", "links"),
        Output("overview-wait", "children"),
        Input("overview-waits-table", "selectedRows"),
        State("overview-wait", "children"),
        prevent_initial_call=True,
    )


def _grid(source: ReportSource, costs: CostsOfWaiting) -> Component:
    """A row per tile and program: the program by its name, or by its type where it has none."""
    waits = waits_table(source, costs, MOST)
    columns = figure_columns(waits, _LAYOUT)
    table = data_table("overview-waits-table", figure_frame(waits), columns, name="waits", height=260, selectable=True)
    if len(costs.tile) <= MOST:
        return table
    return html.Div([table, html.P(f"The {MOST} largest of {len(costs.tile):,} rows.", className="note")])
