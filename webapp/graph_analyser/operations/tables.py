"""Rows and columns of the table of operations, of one report or of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.join import join
from popvision.analysis.compare.operations import compared_operations
from popvision.analysis.operations.derived import DERIVED_FIGURES, derived_table
from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.table import FIELDS, operation_table
from popvision.analysis.report.figure import headings
from popvision.analysis.report.figure_titles import figure_title, viewer_frame
from webapp.components import Column
from webapp.components.figure_columns import KINDS, Layout, figure_columns, figure_frame
from webapp.graph_analyser.operations.state import OperationState

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

_SHOWN_BY_DEFAULT = {"cycles", "code", "flops", "always_live", "not_always_live", "programs"}

#: (heading, kind, help, shown by default) of each field.
FIGURES = {
    field: (entry.title, KINDS[unit], entry.hint, field in _SHOWN_BY_DEFAULT)
    for field, unit in FIELDS.items()
    for entry in [figure_title("operations", field)]
}

#: Figures with a column for their share of the report's total.
_SHARED = ("cycles", "code", "always_live", "not_always_live", "flops")

_LAYOUT: Layout = {"name": {"width": 250}, "operation": {"width": 170}}


def operation_rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    """The table for a query (state.py); of two reports the names with the differences of the chosen figure.
    Raises NotRecordedError without debug information."""
    state = OperationState.read(source, query)
    layer, ipu, level, under, by = state.layer, state.ipu, state.level, state.under, state.by
    if target is not None:
        compared = compared_operations(source, target, by, layer, ipu, level, under)
        return _matching(figure_frame(compared), state.find)
    table = operation_table(source, layer, ipu, level, under, by)
    return _matching(viewer_frame(derived_table(source, table, layer)), state.find)


def _matching(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    if not text:
        return frame
    columns = [frame[name] for name in ("name", "operation") if name in frame]
    inside = [any(text.lower() in each.lower() for each in row) for row in zip(*columns, strict=True)]
    return frame[np.array(inside, bool)]


def shown_figures(source: ReportSource, state: OperationState, everything: bool) -> list[str]:
    """Ids of the figures of the report that are shown; with `everything` also the less common ones."""
    sums = operations(source, state.layer, state.ipu)
    recorded = sums.columns()
    ids = ["name", "operation"]
    for field, (_, _, _, is_shown) in FIGURES.items():
        wanted = is_shown or everything or field == state.by or field in sums.worth_a_column
        if field not in recorded or not wanted:
            continue
        ids.append(field)
        if field in _SHARED or field == state.by:
            ids.append(f"{field}_share")
        if field == state.by:
            ids.append("cumulative_share")
    if sums.cycles is not None and sums.flops is not None:
        ids += ["rate", "intensity"] if everything else ["rate"]
    return [*ids, "first_index", "last_index"]


def columns(source: ReportSource, state: OperationState, everything: bool) -> list[Column]:
    """The columns of these figures."""
    ids = shown_figures(source, state, everything)
    return figure_columns(headings("operations", {id: DERIVED_FIGURES[id] for id in ids}), _LAYOUT)


def compared_columns(by: str) -> list[Column]:
    """Columns of `compared_operations`."""
    nothing = headings("operations", {id: DERIVED_FIGURES[id] for id in ("name", "operations", by)})
    return figure_columns(join(nothing, nothing, "name"))
