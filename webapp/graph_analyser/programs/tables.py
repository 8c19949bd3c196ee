"""The flat table of the program tree: every program in one sorted table; in a comparison, the differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import Dash, Input, Output, State, no_update

from popvision.analysis.programs.table import FIELDS, compared_frame, program_frame
from webapp.comparison import target_of_page
from webapp.components import Column, long_table, register_pair_rows, register_row_selection
from webapp.components.difference import add_difference, difference_columns
from webapp.library import Library
from webapp.query import whole_number
from webapp.selection import Selection
from webapp.view import page_key

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: (heading, kind, help) of each field.
COLUMNS = {
    "self": ("Self cycles", "cycles", "Device cycles of its own steps, all recorded runs"),
    "total": ("Total cycles", "cycles", "Self cycles plus those of all programs below and of the functions called"),
    "executions": ("Executions", "integer", "How often the program ran in all recorded runs"),
    "received": ("Received", "bytes", "Bytes received by its own steps and all below"),
    "live": ("Peak live", "bytes", "Maximum of the liveness curve (of the first replica) while it runs"),
    "code": ("Code", "bytes", "Exchange and control code of the program itself"),
    "trips": ("Trips", "integer", "Iterations of a Repeat per execution"),
    "sent": ("Sent", "bytes", "Bytes sent by its own steps and all below"),
}

_FIRST = (
    Column("id", "Id", "integer", width=80),
    Column("type", "Type", width=130),
    Column("name", "Name", flex=3),
)


def register_table(app: Dash, library: Library) -> None:
    """Rows of the table, the callback that shows it instead of the tree, and the selection by a row."""

    register_pair_rows(app, library, "programs", _rows)
    register_row_selection(app, ("programs",), _select)

    @app.callback(
        Output("pt-table", "children"),
        Output("pt-table", "hidden"),
        Output("pt-tree", "hidden"),
        Output("pt-table-query", "data"),
        Input("selection", "data"),
        State("url", "pathname"),
        State("pt-table-query", "data"),
    )
    def show(params: dict[str, str] | None, pathname: str, before: Any) -> tuple[Any, ...]:
        params = params or {}
        if params.get("pt_view") != "table":
            return no_update, True, False, no_update
        query = {name: params[name] for name in ("ipu", "vs", "pt_metric") if params.get(name)}
        if before == [pathname, query]:
            return no_update, False, True, no_update
        columns = _columns(_field(query) if target_of_page(library, query) is not None else "")
        table = long_table("programs", page_key(pathname), query, columns, selectable=True)
        return table, False, True, [pathname, query]


def _select(row: dict[str, Any], _selection: Selection) -> dict[str, str] | None:
    """The program of a row; None for a row of the target alone."""
    return None if row.get("id") is None else {"program": str(row["id"])}


def _rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    ipu = whole_number(query.get("ipu", ""), 0, source.reader.target().num_ipus - 1)
    if target is None:
        return program_frame(source, ipu)
    field = _field(query)
    return add_difference(compared_frame(source, target, field, ipu), field)


def _field(query: Mapping[str, str]) -> str:
    wanted = query.get("pt_metric", "total")
    return wanted if wanted in FIELDS else "total"


def _columns(compared: str) -> list[Column]:
    if compared:
        title, kind, help = COLUMNS[compared]
        place = [
            Column("id", "Source Id", "integer", width=100),
            Column("target_id", "Target Id", "integer", width=100),
            *_FIRST[1:],
            Column(
                "matched", "Matched by", width=120, help="Rule that matched the pair, or the only report that has it"
            ),
        ]
        return [*place, *difference_columns(compared, title, kind, help=help)]
    figures = [Column(field, title, kind, help=help, width=118) for field, (title, kind, help) in COLUMNS.items()]
    return [*_FIRST, *figures]
