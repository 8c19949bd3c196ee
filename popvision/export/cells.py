"""Texts of CSV cells that a spreadsheet does not take for a formula."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

#: What a formula begins with, also in full width; tab and line ends in front of one are dropped by some spreadsheets.
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

#: Where the comment line above a table would become a cell of its own that begins like one.
_IN_COMMENT = re.compile(r"""([,;]\s*["']?\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])""")


def safe_comment(text: str) -> str:
    """One line of text whose parts behind commas are no formulas either."""
    return _IN_COMMENT.sub(r"\1'", " ".join(text.split()))


def safe_cell(value: Any) -> Any:
    """A text that begins like a formula, behind an apostrophe; all else, numbers above all, as it is.

    webapp/assets/shared/table.js keeps the same rule."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_STARTS) else value


def safe_frame(frame: DataFrame) -> DataFrame:
    """The frame with safe texts in its columns and their titles; columns of numbers are not touched."""
    import pandas as pd

    texts = [each for each in frame.columns if not pd.api.types.is_numeric_dtype(frame[each])]
    cells = {name: frame[name].map(safe_cell) for name in texts}
    return frame.assign(**cells).rename(columns=safe_cell)
