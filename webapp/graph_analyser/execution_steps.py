"""The Steps tab of the execution trace: every step of the window, sorted, filtered and exported by the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from popvision.analysis.step_details import steps_in_window
from webapp.components import Column, long_table, register_rows
from webapp.graph_analyser.execution_window import selected_ipu, window_of
from webapp.selection import Selection
from webapp.view import page_key

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.source import ReportSource
    from webapp.library import Library

_BALANCE = "mean(tile cycles) / max(tile cycles) over all tiles of the IPU"

_COLUMNS = (
    Column("step", "Step", "integer", "execution step, counted over all runs", 90),
    Column("name", "Name", flex=2),
    Column("type", "Type", width=140),
    Column("program", "Program", "integer", "lowered program, as in the program tree", 90),
    Column("run", "Run", "integer", "engine run", 70),
    Column("begin", "From", "cycles", "largest begin over all tiles, absolute cycles", 120),
    Column("end", "To", "cycles", "largest end over all tiles, absolute cycles", 120),
    Column("cycles", "Cycles", "cycles", "to - from; lengths add up to the total", 100),
    Column("active_tiles", "Active tiles", "integer", "tiles with cycles > 0", 100),
    Column("mean_cycles", "Mean cycles", "decimal", "mean of cycles over all tiles of the IPU", 110),
    Column("max_cycles", "Max cycles", "cycles", "maximum of cycles over all tiles of the IPU", 110),
    Column("tile_balance", "Tile balance", "percent", _BALANCE, 110),
    Column("data_in", "Data in", "bytes", "bytes received", 100),
    Column("data_out", "Data out", "bytes", "bytes sent", 100),
)


def panel() -> Component:
    """The tab's content, filled by a callback."""
    return html.Div(id="execution-steps", className="trace-steps")


def register(app: Dash, library: Library) -> None:
    """The rows, and the callback that shows them for the window."""
    register_rows(app, library, "steps-in-window", rows)

    @app.callback(
        Output("execution-steps", "children"),
        Output("execution-steps", "data-query"),
        Input("selection", "data"),
        State("url", "pathname"),
        State("execution-steps", "data-query"),
    )
    def fill(params: Mapping[str, str] | None, pathname: str, shown: str | None) -> Any:
        selection = Selection.parse(params)
        if selection.extras.get("detail") != "steps":
            return no_update, no_update
        key = page_key(pathname)
        window = window_of(library.report(key), selection)
        query = {"ipu": str(selected_ipu(selection)), "from": str(window.begin), "to": str(window.end)}
        text = f"{key} {query}"
        if text == shown:
            return no_update, no_update
        return long_table("steps-in-window", key, query, _COLUMNS), text


def rows(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """Rows of one query; see `steps_in_window`."""
    return steps_in_window(source, int(query["ipu"]), int(query["from"]), int(query["to"]))
