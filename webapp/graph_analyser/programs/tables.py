"""The flat table of the program tree: every program in one sorted table; in a comparison, the differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from dash import Dash, Input, Output, State, no_update

from popvision.analysis.compare.programs import compared_programs
from popvision.analysis.programs.program_tree import matching_programs
from popvision.analysis.programs.table import FIELDS, program_table
from popvision.analysis.report.figure import Table
from popvision.analysis.report.figure_titles import figure_title
from webapp.base.comparison import target_of_page
from webapp.base.library import Library
from webapp.base.query import whole_number
from webapp.base.selection import Selection
from webapp.base.view import page_key
from webapp.components import long_table, register_pair_rows, register_row_selection
from webapp.components.figure_columns import KINDS, figure_columns

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: (heading, kind, help) of each field.
COLUMNS = {
    field: (entry.title, KINDS[unit], entry.hint)
    for field, unit in FIELDS.items()
    for entry in [figure_title("programs", field)]
}


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
        query = {name: params[name] for name in ("ipu", "vs", "pt_metric", "pt_search") if params.get(name)}
        if before == [pathname, query]:
            return no_update, False, True, no_update
        key, target = page_key(pathname), target_of_page(library, query)
        columns = figure_columns(_rows(library.report(key), target, query))
        table = long_table("programs", key, query, columns, selectable=True)
        return table, False, True, [pathname, query]


def _select(row: dict[str, Any], _selection: Selection) -> dict[str, str] | None:
    """The program of a row; None for a row of the target alone."""
    return None if row.get("program") is None else {"program": str(row["program"])}


def _rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """All programs, or those that the search box names."""
    ipu = whole_number(query.get("ipu", ""), 0, source.reader.target().num_ipus - 1)
    rows = program_table(source, ipu) if target is None else compared_programs(source, target, _field(query), ipu)
    text = query.get("pt_search", "")[:200]
    return rows.take(_matches(rows, source, target, text)) if text.strip() else rows


def _matches(rows: Table, source: ReportSource, target: ReportSource | None, text: str) -> npt.NDArray[np.bool_]:
    """The rows whose program the search of the tree finds; a row of the target alone is searched there."""
    import pandas as pd

    ours = matching_programs(source, text)
    mine = pd.array(rows["id"], "Int64").to_numpy(np.int64, na_value=-1)
    found: npt.NDArray[np.bool_] = (mine >= 0) & ours[mine]
    if target is not None:
        theirs = pd.array(rows["target_id"], "Int64").to_numpy(np.int64, na_value=-1)
        found |= (mine < 0) & (theirs >= 0) & matching_programs(target, text)[theirs]
    return found


def _field(query: Mapping[str, str]) -> str:
    wanted = query.get("pt_metric", "total")
    return wanted if wanted in FIELDS else "total"
