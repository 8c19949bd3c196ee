"""Escape CSV cells that a spreadsheet would run as formulas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

#: First characters of formulas, also in full width; some spreadsheets drop tabs and line ends before them.
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

#: Places where a spreadsheet would split the comment line into a cell that begins like a formula.
_IN_COMMENT = re.compile(r"""([,;]\s*["']?\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])""")


def safe_comment(text: str) -> str:
    """One line of text without formulas after commas and semicolons."""
    return _IN_COMMENT.sub(r"\1'", " ".join(text.split()))


def safe_cell(value: Any) -> Any:
    """The value; a text that begins like a formula gets an apostrophe in front. Numbers stay.

    webapp/assets/shared/table.js keeps the same rule."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_STARTS) else value


def safe_frame(frame: DataFrame) -> DataFrame:
    """The frame with safe texts in its columns and titles; columns of numbers stay."""
    import pandas as pd

    texts = [each for each in frame.columns if not pd.api.types.is_numeric_dtype(frame[each])]
    cells = {name: frame[name].map(safe_cell) for name in texts}
    return frame.assign(**cells).rename(columns=safe_cell)
