"""Tables of dash-ag-grid with sorting, filters, export and aligned numbers.

    data_table("vertices", frame, [Column("name", "Vertex type"), Column("bytes", "Bytes", "bytes")])

A frame is a pandas DataFrame or a list of dicts. Above MOST_ROWS rows use `long_table` (long_table.py), which sends
blocks of rows as the user scrolls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dash_ag_grid as dag
from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.difference_key import short_difference_key
from webapp.components.download_link import save_button
from webapp.components.empty_tables import empty_sentence
from webapp.components.icon import icon

#: Rows of a table that is sent to the browser at once.
MOST_ROWS = 5_000

_ROW_HEIGHT = 26  #: pixels

#: Kinds that are shown in the user's unit; exports have plain numbers and name the unit (assets/shared/table.js).
UNITS = {"bytes": "bytes", "cycles": "cycles", "signed_bytes": "bytes", "signed_cycles": "cycles"}

#: Kinds with a sign and a colour by sign: differences of shares in percentage points, relative changes in percent.
_SIGNED = {"signed", "signed_bytes", "signed_cycles", "signed_decimal", "signed_points", "signed_percent"}

_NUMERIC = {*UNITS, *_SIGNED, "integer", "bytes", "cycles", "percent", "decimal", "us", "number"}


@dataclass(frozen=True)
class Column:
    """`kind`: "text", "integer", "cycles", "bytes", "percent" (of a share 0..1), "decimal", "number" (whole or not),
    "us" (host microseconds), or a difference (components/difference.py): "signed", "signed_bytes", "signed_cycles",
    "signed_decimal", "signed_points" (of shares), "signed_percent" (a relative change). Bytes and cycles are shown in
    the user's unit, exact on hover. `help` is the tooltip of the header: state the unit and the formula."""

    field: str
    title: str
    kind: str = "text"
    help: str = ""
    width: int | None = None
    flex: int | None = None
    sort: str | None = None
    hide: bool = False
    path: bool = False  #: a text whose end tells it apart: cut at its beginning where it is too long
    group: str = ""  #: adjacent columns with the same group share a heading
    missing: str = ""  #: of a number: why a cell is a dash, as its tooltip


def data_table(
    id: Any,
    frame: Any,
    columns: Sequence[Column],
    *,
    name: str = "table",
    height: int | str | None = None,
    filter_box: bool = True,
    selectable: bool = False,
    options: Mapping[str, Any] | None = None,
    filter_param: str = "",
    filter_text: str = "",
    row_id: str = "",
    grid: Mapping[str, Any] | None = None,
) -> Component:
    """A table with all its rows in the browser. `height` None grows with the rows, "100%" fills the box. `name` is the
    name of exported files. `filter_param` is the selection key of the filter, `filter_text` its value. `row_id` names
    the field whose text tells a row from all others: it stays selected, and in sight, when all rows are set anew.
    `grid` has further properties of AgGrid. Raises ValueError above MOST_ROWS rows."""
    is_frame = hasattr(frame, "to_dict")  # what is missing in it is null in the browser
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records") if is_frame else list(frame)
    if len(rows) > MOST_ROWS:
        raise ValueError(f"{len(rows)} rows in table {name!r}: use long_table above {MOST_ROWS}")
    all_options = grid_options(selectable) | dict(options or {})
    if height is None:
        all_options["domLayout"] = "autoHeight"
    elif isinstance(height, int) and _is_longer(rows, height):
        all_options["alwaysShowVerticalScroll"] = True  # else columns are laid out, found too wide, and laid out again
    if filter_text:
        all_options["quickFilterText"] = filter_text
    if row_id:
        all_options["suppressScrollOnNewData"] = True
    drawn = dag.AgGrid(
        id=id,
        rowData=rows,
        columnDefs=definitions(columns),
        defaultColDef=DEFAULT_COLUMN,
        dashGridOptions=all_options,
        **({"getRowId": f"params.data.{row_id}"} if row_id else {}),
        className="grid",
        style={"height": None if height is None else "100%", "width": "100%"},
        **(grid or {}),
    )
    box = [_filter_box(name, filter_param, filter_text)] if filter_box else []
    return framed_grid(drawn, name, height, box, [*difference_key_of(columns), *_client_export()])


def _is_longer(rows: Sequence[Any], height: int) -> bool:
    """Whether rows fill more than a table of this height, its bar and headings aside."""
    return len(rows) * _ROW_HEIGHT > height


DEFAULT_COLUMN = {"sortable": True, "resizable": True, "filter": True, "minWidth": 70}


def grid_options(selectable: bool) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "theme": {"function": "popvisionGridTheme(themeQuartz)"},
        "animateRows": False,
        "rowHeight": _ROW_HEIGHT,
        "headerHeight": 30,
        "suppressCellFocus": False,
        "enableCellTextSelection": True,
        "ensureDomOrder": True,
        "tooltipShowDelay": 400,
        # A grid drawn before it has a width has a header row without cells, which confuses screen readers.
        "suppressColumnVirtualisation": True,
        "suppressNoRowsOverlay": True,  # the sentence of empty_tables.py stands there instead
    }
    if selectable:
        chosen["rowSelection"] = {
            "mode": "multiRow",
            "checkboxes": False,
            "enableClickSelection": True,
            "headerCheckbox": False,
        }
    return chosen


def definitions(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """ag-grid's columnDefs."""
    columns_and_groups: list[dict[str, Any]] = []
    for column in columns:
        if not column.group:
            columns_and_groups.append(_definition(column))
        elif columns_and_groups and columns_and_groups[-1].get("groupId") == f"group {column.group}":
            columns_and_groups[-1]["children"].append(_definition(column))
        else:
            definition = {"groupId": f"group {column.group}", "headerName": column.group}
            columns_and_groups.append(definition | {"children": [_definition(column)]})
    return columns_and_groups


def _definition(column: Column) -> dict[str, Any]:
    definition: dict[str, Any] = {"field": column.field, "headerName": column.title}
    if column.kind in _NUMERIC:
        definition |= {
            "type": "rightAligned",
            "filter": "agNumberColumnFilter",
            "cellClass": "ag-right-aligned-cell number",
            "valueFormatter": {"function": f'popvisionFormat(params.value, "{column.kind}", params.data)'},
            "width": column.width or 120,
            "context": {"kind": column.kind},
        }
        if column.kind in UNITS or column.missing:
            call = f"popvisionExact(params.value, {json.dumps(column.kind)}, {json.dumps(column.missing)})"
            definition["tooltipValueGetter"] = {"function": call}
        if column.kind in _SIGNED:
            definition["cellClassRules"] = {"diff-more": "params.value > 0", "diff-less": "params.value < 0"}
            definition["cellStyle"] = {"function": "popvisionDifferenceStyle(params)"}
    else:
        definition |= {"filter": "agTextColumnFilter", "tooltipField": column.field}
        if column.path:
            definition["cellClass"] = "path"
        definition |= {"width": column.width} if column.width else {"flex": column.flex or 1, "minWidth": 140}
    if column.flex:
        definition["flex"] = column.flex
    if column.help:
        definition["headerTooltip"] = column.help
    if column.sort:
        definition["sort"] = column.sort
    if column.hide:
        definition["hide"] = True
    return definition


def difference_key_of(columns: Sequence[Column]) -> list[Component]:
    """What the colours mean, where a column has differences."""
    return [short_difference_key()] if any(each.kind in _SIGNED for each in columns) else []


def framed_grid(
    grid: Component, name: str, height: int | str | None, boxes: list[Component], buttons: list[Component]
) -> Component:
    bar: list[Any] = [*boxes]
    bar += [html.Div(className="spacer"), html.Span(className="row-count", **attributes(data_row_count="")), *buttons]
    style = {"height": height} if height is not None else {}
    return html.Div(
        [html.Div(bar, className="table-bar"), html.Div(grid, className="table-grid")],
        className="table" + ("" if height is None else " table-fills"),
        style=style,
        **attributes(data_table=name, data_empty=empty_sentence(name)),
    )


def _filter_box(name: str, param: str, text: str) -> Component:
    """A filter box; with `param` the text is stored under that key of the selection, hence in the URL."""
    from dash import dcc

    box = dcc.Input(
        id={"filter": name},
        type="text",
        value=text,
        placeholder="Filter rows",
        className="box",
        autoComplete="off",
        spellCheck="false",
    )
    more = attributes(data_quick_filter="", data_search="") | (attributes(data_param=param) if param else {})
    return html.Div([icon("search"), box], className="search", **more)


def _client_export() -> list[Component]:
    return [save_button(kind, f"Save the rows shown as {kind.upper()}", data_export=kind) for kind in ("csv", "json")]
