"""A page of a table as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Page:
    """Rows `offset` to `offset + limit`."""

    offset: int = 0
    limit: int = 50


def page_of(table: pd.DataFrame, page: Page) -> dict[str, Any]:
    """units (column -> unit), total (rows in all), offset, next_offset (None on the last page), rows (dicts)."""
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
    """A dict per row with int, float, str, bool or None."""
    columns = {str(name): [plain(value) for value in table[name].tolist()] for name in table.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def plain(value: Any) -> Any:
    """The value as JSON holds it; NA, NaN and infinity are None."""
    import pandas as pd

    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def named(table: pd.DataFrame, text: str, columns: tuple[str, ...] = ("name",)) -> pd.DataFrame:
    """The rows in which one of the columns contains the text, case aside; all for "". Attributes stay."""
    if not text:
        return table
    wanted = text.lower()
    hits = [table[each].astype(str).str.lower().str.contains(wanted, regex=False) for each in columns]
    chosen = hits[0]
    for other in hits[1:]:
        chosen = chosen | other
    found = table[chosen]
    found.attrs = dict(table.attrs)
    return found
