"""How the tables of the memory page are laid out: names take the room that figures leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from popvision.analysis.report.figure import Table
from webapp.components import Column
from webapp.components.figure_columns import figure_columns

_WIDTHS = {"live": {"width": 90}, "in_report": {"width": 90}}


def table_columns(table: Table) -> list[Column]:
    """Columns of a table over tiles: names and ids, the report that has the row, then figures by place."""
    plain = [figure.id for figure in table if not figure.place and figure.id != "in_report"]
    has_many = sum(bool(figure.place) for figure in table) > len(table.placed_ids())
    layout: dict[str, Mapping[str, Any]] = {id: _WIDTHS.get(id, {}) for id in [*plain, "in_report"]}
    return figure_columns(table, layout | {"name": {"width": 280} if has_many else {"flex": 3}})
