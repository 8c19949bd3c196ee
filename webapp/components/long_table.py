"""Tables of any length: the browser requests blocks of rows, the server sorts and filters the entire table.

`register_rows(app, library, "variables", frame)` once, then `long_table("variables", key, {"tile": "5"}, columns)` in
a page: `frame(source, query)` returns the rows for that query. The server has no state of the page; it caches a few
recent tables for speed. CSV and JSON of all rows come from `/data/<key>/table/<name>.csv?...`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import dash_ag_grid as dag
from dash import ALL, MATCH, Dash, Input, Output, State, callback_context, no_update
from dash.development.base_component import Component
from flask import Response, request

from popvision.analysis.report.figure import Table
from popvision.export.cells import safe_frame
from webapp.base.comparison import targets_of
from webapp.base.data_routes import answered
from webapp.base.selection import Selection
from webapp.base.view import page_key
from webapp.components.download_link import table_links
from webapp.components.figure_columns import figure_frame
from webapp.components.table import (
    DEFAULT_COLUMN,
    UNITS,
    Column,
    definitions,
    difference_key_of,
    framed_grid,
    grid_options,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource
    from popvision.kept import Kept
    from webapp.base.library import Library

#: Rows of a report or trace for a query; a pair also has the report compared with, None without one.
FrameOf = Callable[[Any, Mapping[str, str]], "DataFrame | Table"]
PairFrameOf = Callable[["ReportSource", "ReportSource | None", Mapping[str, str]], "DataFrame | Table"]

#: Query key of an export that states the units of its columns.
_UNITS_KEY = "units_of"


def long_table(
    name: str,
    key: str,
    query: Mapping[str, str],
    columns: Sequence[Column],
    *,
    height: int | str = "100%",
    selectable: bool = False,
) -> Component:
    """The table of the rows registered under `name`, for report `key` and one query."""
    text = urlencode(sorted(query.items()))
    grid = dag.AgGrid(
        id={"rows": name, "query": text},
        rowModelType="infinite",
        columnDefs=definitions(columns),
        defaultColDef={**DEFAULT_COLUMN, "floatingFilter": True},
        dashGridOptions=grid_options(selectable)
        | {"cacheBlockSize": 200, "maxBlocksInCache": 20, "maxConcurrentDatasourceRequests": 2}
        | {"alwaysShowVerticalScroll": True},  # its width is known before the rows are: columns are laid out once
        className="grid",
        style={"height": "100%", "width": "100%"},
    )
    units = ",".join(f"{each.field}:{UNITS[each.kind]}" for each in columns if each.kind in UNITS)
    href = urlencode(sorted({**query, _UNITS_KEY: units}.items())) if units else text
    what = "all rows, filtered or not,"
    links = table_links(f"/data/{key}/table/{name}", f"?{href}" if href else "", name, what)
    return framed_grid(grid, name, height, [], [*difference_key_of(columns), *links])


def register_rows(app: Dash, library: Library, name: str, frame: FrameOf) -> None:
    """Serve the rows of `frame` under `name`, with a callback for blocks and a route for exports."""
    register_pair_rows(app, library, name, lambda source, _target, query: frame(source, query))


def register_pair_rows(app: Dash, library: Library, name: str, frame: PairFrameOf) -> None:
    """The same for rows that also depend on the report that `vs` of the query names."""
    frames = _Frames(library, name, frame)
    _add_export(app, frames, name)

    @app.callback(
        Output({"rows": name, "query": MATCH}, "getRowsResponse"),
        Input({"rows": name, "query": MATCH}, "getRowsRequest"),
        State({"rows": name, "query": MATCH}, "id"),
        State("url", "pathname"),
        prevent_initial_call=True,
    )
    def block(wanted: dict[str, Any] | None, id: dict[str, str], pathname: str) -> Any:
        if not wanted:
            return no_update
        rows = ordered(frames.get(page_key(pathname), id["query"]), wanted)
        return {
            "rowData": rows.iloc[wanted["startRow"] : wanted["endRow"]].to_dict("records"),
            "rowCount": len(rows),
        }


def register_export(app: Dash, library: Library, name: str, frame: PairFrameOf) -> None:
    """The route of exports alone, for rows that a page draws itself."""
    _add_export(app, _Frames(library, name, frame), name)


def _add_export(app: Dash, frames: _Frames, name: str) -> None:
    def exported(key: str, kind: str) -> Response:
        query = dict(request.args.items())
        names = _export_names(query.pop(_UNITS_KEY, ""))
        rows = frames.get(key, urlencode(sorted(query.items()))).rename(columns=names)
        text = safe_frame(rows).to_csv(index=False) if kind == "csv" else rows.to_json(orient="records")
        answer = Response(text, mimetype="text/csv" if kind == "csv" else "application/json")
        answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
        return answer

    def export(key: str, kind: str) -> Response:
        return answered(lambda: exported(key, kind))

    app.server.add_url_rule(f"/data/<key>/table/{name}.<any(csv,json):kind>", f"table-{name}", export)


def register_row_selection(
    app: Dash, names: Sequence[str], patch: Callable[[dict[str, Any], Selection], dict[str, str] | None]
) -> None:
    """Apply `patch(row, selection)` to the selection when a row of one of the tables is selected; None = no change."""

    @app.callback(
        Output("select", "data", allow_duplicate=True),
        [Input({"rows": name, "query": ALL}, "selectedRows") for name in names],
        State("selection", "data"),
        prevent_initial_call=True,
    )
    def select(*_: Any) -> Any:
        chosen = next((each["value"] for each in callback_context.triggered if each["value"]), None)
        if not chosen:
            return no_update
        patched = patch(chosen[-1], Selection.parse(callback_context.states["selection.data"]))
        return no_update if patched is None else patched


class _Frames:
    """The frames of one table; recent ones are kept with the report and the targets it is compared with."""

    def __init__(self, library: Library, name: str, frame: PairFrameOf) -> None:
        self._library, self._name, self._frame = library, name, frame

    def get(self, key: str, query: str) -> DataFrame:
        entry, params = self._library.entry(key), dict(parse_qsl(query))
        source = self._library.report(key) if entry.kind == "report" else self._library.trace(key)
        frames: Kept = source.kept
        targets = targets_of(self._library, params)
        for target in targets:
            frames = frames.beside(target)
        first = targets[0] if targets else None

        def read() -> DataFrame:
            rows = self._frame(source, first, params)
            return figure_frame(rows) if isinstance(rows, Table) else rows

        return frames.recent(("frame", self._name, query), read)


def _export_names(stated: str) -> dict[str, str]:
    """ "data_in:bytes,begin:cycles" -> new names of those columns: an export says the unit of its plain numbers."""
    pairs = (each.rpartition(":") for each in stated.split(","))
    return {
        field: f"{field}_{unit}" for field, _, unit in pairs if unit in UNITS.values() and unit not in field.lower()
    }


def ordered(frame: DataFrame, wanted: Mapping[str, Any]) -> DataFrame:
    """The frame filtered by ag-grid's filterModel and sorted by its sortModel. Unknown columns are ignored."""
    for field, model in (wanted.get("filterModel") or {}).items():
        if field in frame.columns:
            frame = frame[_passes(frame[field], model)]
    sorts = [each for each in wanted.get("sortModel") or [] if each["colId"] in frame.columns]
    if sorts:
        frame = frame.sort_values(
            [each["colId"] for each in sorts], ascending=[each["sort"] == "asc" for each in sorts], kind="stable"
        )
    return frame


_NUMBER_TESTS: dict[str, Callable[[Any, float], Any]] = {
    "equals": lambda values, number: values == number,
    "notEqual": lambda values, number: values != number,
    "lessThan": lambda values, number: values < number,
    "lessThanOrEqual": lambda values, number: values <= number,
    "greaterThan": lambda values, number: values > number,
    "greaterThanOrEqual": lambda values, number: values >= number,
}

_TEXT_TESTS: dict[str, Callable[[Any, str], Any]] = {
    "contains": lambda values, text: values.str.contains(text, regex=False),
    "notContains": lambda values, text: ~values.str.contains(text, regex=False),
    "equals": lambda values, text: values == text,
    "notEqual": lambda values, text: values != text,
    "startsWith": lambda values, text: values.str.startswith(text),
    "endsWith": lambda values, text: values.str.endswith(text),
}


def _passes(values: Any, model: Mapping[str, Any]) -> Any:
    """One column's filter as a mask: ag-grid's text and number models, two conditions joined by AND or OR."""
    if "conditions" in model:
        masks = [_passes(values, each) for each in model["conditions"]]
        joined = masks[0]
        for mask in masks[1:]:
            joined = joined & mask if model.get("operator") == "AND" else joined | mask
        return joined
    kind = str(model.get("type", ""))
    if kind == "blank":
        return values.isna() | (values.astype(str) == "")
    if kind == "notBlank":
        return ~(values.isna() | (values.astype(str) == ""))
    if model.get("filterType") == "number":
        return _passes_number(values, kind, model)
    return _TEXT_TESTS[kind](values.astype(str).str.lower(), str(model.get("filter", "")).lower())


def _passes_number(values: Any, kind: str, model: Mapping[str, Any]) -> Any:
    if kind == "inRange":
        return (values > float(model["filter"])) & (values < float(model["filterTo"]))
    return _NUMBER_TESTS[kind](values, float(model["filter"]))
