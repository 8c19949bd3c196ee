"""Exports of small tables that a page draws row by row: the browser saves the values that stand beside each row.

    html.Tr(cells, **row_values({"tile": 5, "bytes": 1024}))
    exportable(table, "fullest-tiles", "the fullest tiles")

Names of values state their unit unless the value is a plain count. Hidden rows, such as those that a filter leaves out,
are not saved (assets/shared/row_export.js). Tables of dash-ag-grid have their own exports (table.py, long_table.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.download_link import save_button

#: A cell of an exported row; None = not known.
Value = str | float | None


def row_values(values: Mapping[str, Value]) -> dict[str, Any]:
    """The attribute of a row that holds its values by name."""
    plain = {name: None if isinstance(each, float) and math.isnan(each) else each for name, each in values.items()}
    return attributes(data_row=json.dumps(plain))


def exportable(table: Any, name: str, what: str) -> Component:
    """The table over its two buttons; `what` is saved as `name`.csv or `name`.json."""
    return html.Div([table, html.Div(export_buttons(name, what), className="row-export")], **exported_box())


def exported_box() -> dict[str, Any]:
    """The attribute of the box whose rows its buttons save."""
    return attributes(data_exported="")


def export_buttons(name: str, what: str, names: Mapping[str, str] | None = None) -> list[Component]:
    """Buttons that save the rows of their box. `names` chooses the values and gives their names in the file; without it
    all are saved under their own."""
    return [_button(kind, name, what, names) for kind in ("csv", "json")]


def _button(kind: str, name: str, what: str, names: Mapping[str, str] | None) -> Component:
    more = {"data_export_rows": kind, "data_save_as": name}
    if names is not None:
        more["data_names"] = json.dumps(names)
    return save_button(kind, f"Save {what} as {kind.upper()}", **more)
