"""Questions as named columns of equal length, for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.report.figure import plain_values
from popvision.analysis.report.figure_titles import opened_column

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.questions import Answer, Question

Column = Sequence[Any] | np.ndarray[Any, Any]
Table = dict[str, Column]


def exported(question: Question[..., Answer], source: ReportSource, arguments: Mapping[str, Any]) -> Table:
    """The rows of an answer under the names that its frame has; what is missing is None, in CSV an empty cell."""
    table = question(source, **arguments).table
    return {opened_column(table, figure): _plain(figure.values) for figure in table}


def _plain(values: Any) -> Column:
    """An array of whole numbers as it is; else a list with None for what is missing."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return values
    return plain_values(values)
