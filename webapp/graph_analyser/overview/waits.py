"""Who makes the tiles wait: the tile and the program behind each wait at a sync, most waiting first."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, html
from dash.development.base_component import Component

from popvision.analysis.insights.late import CostsOfWaiting, costs_of_waiting
from popvision.analysis.insights.steps import line_of_program
from popvision.analysis.memory.capacity import memory_excess
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.source_code.lines import busiest_ipu
from webapp.components import Column, data_table, empty_hint
from webapp.components.section import section
from webapp.view import ViewContext

#: Rows of the table; of more, those with most waiting.
MOST = 200

_COLUMNS = (
    Column("tile", "Last tile", "integer", "The tile that arrives last, counted over all IPUs", width=105),
    Column(
        "name",
        "After",
        path=True,
        help="The step since the sync before in which it is most above the mean; its type where it has no name",
        flex=1,
    ),
    Column("line", "Line", path=True, help="Of the user's source that made the program", width=150),
    Column("syncs", "Syncs", "integer", "Syncs at which it is last for this reason, all recorded runs", width=90),
    Column(
        "mean",
        "Mean wait",
        "cycles",
        "Cycles that all tiles wait, idle ones too / tiles of the IPU, over the syncs",
        width=115,
    ),
    Column("share", "Of the run", "percent", "Mean wait / device cycles of all recorded runs", width=110),
    Column("longest", "Longest wait", "cycles", "The longest wait of a tile at one of these syncs", width=130),
    Column("program", "Program", "integer", "Id in the program tree", hide=True),
    Column("step", "First sync", "integer", "The first of these syncs as an execution step", hide=True),
)


def place(side: str = "") -> Component:
    """The place of the section, with a note until it is there. `side` begins its hint: whose figures these are."""
    body = [html.Div(html.P("Adding up waits …", className="note"), id="overview-waits"), html.P(id="overview-wait")]
    hint = side + "cost of waiting for the last tile at each sync, on the IPU whose steps take longest"
    return section("waits", "Who makes the tiles wait", body, hint=hint)


def contents(context: ViewContext) -> Component:
    """The contents of the section."""
    source = context.source
    unknown = tiles_unknown(source)
    if memory_excess(source) is not None:
        unknown = "The program does not fit, so it never ran."
    if unknown:
        return empty_hint(unknown)
    try:
        costs = costs_of_waiting(source, busiest_ipu(source))
    except NotRecordedError as problem:
        return empty_hint(str(problem))
    if not len(costs.tile):
        return empty_hint("No tile waits for another at a sync.")
    return waits_table(source, costs)


def register(app: Dash) -> None:
    """The links of a selected row."""
    app.clientside_callback(
        ClientsideFunction("overview", "links"),
        Output("overview-wait", "children"),
        Input("overview-waits-table", "selectedRows"),
        State("overview-wait", "children"),
        prevent_initial_call=True,
    )


def waits_table(source: Any, costs: CostsOfWaiting) -> Component:
    """A row per tile and program: the program by its name, or by its type where it has none."""
    programs = source.reader.programs()
    rows = []
    for row in range(min(len(costs.tile), MOST)):
        program = int(costs.program[row])
        file, line = line_of_program(source, program) if program >= 0 else ("", 0)
        rows.append(
            {
                "tile": int(costs.tile[row]),
                "name": programs.name[program] or programs.type[program]
                if program >= 0
                else "(no step between two syncs)",
                "line": f"{file.rsplit('/', 1)[-1]}:{line}" if file else "",
                "syncs": int(costs.syncs[row]),
                "mean": int(costs.mean[row]),
                "share": int(costs.mean[row]) / costs.total if costs.total else 0.0,
                "longest": int(costs.longest[row]),
                "program": program if program >= 0 else None,
                "step": int(costs.first_step[row]),
                "ipu": costs.ipu,
            }
        )
    table = data_table("overview-waits-table", rows, _COLUMNS, name="waits", height=260, selectable=True)
    if len(costs.tile) <= MOST:
        return table
    return html.Div([table, html.P(f"The {MOST} largest of {len(costs.tile):,} rows.", className="note")])
