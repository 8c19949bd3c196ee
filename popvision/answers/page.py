"""A page of a table as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.report.figure import plain_values

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Page:
    """Rows `offset` to `offset + limit`."""

    offset: int = 0
    limit: int = 50


def page_of(table: pd.DataFrame, page: Page) -> dict[str, Any]:
    """units (column -> unit), total (number of rows), offset, next_offset (None on the last page), rows (dicts)."""
    total = len(table)
    rows = records(table.iloc[page.offset : page.offset + page.limit])
    end = page.offset + len(rows)
    return {
        "units": dict(table.attrs.get("units", {})),
        "total": total,
        "offset": page.offset,
        "next_offset": end if rows and end < total else None,
        "rows": rows,
    }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A dict per row with int, float, str, bool or None (NA, NaN and infinity)."""
    columns = {str(name): plain_values(table[name]) for name in table.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def with_name(table: pd.DataFrame, text: str, columns: tuple[str, ...] = ("name",)) -> pd.DataFrame:
    """Keep the rows in which one of the columns contains the text, in any case. `attrs` stay."""
    if not text:
        return table
    contains = [table[each].astype(str).str.lower().str.contains(text.lower(), regex=False) for each in columns]
    rows = table[np.logical_or.reduce(contains)]
    rows.attrs = dict(table.attrs)
    return rows
