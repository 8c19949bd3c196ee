"""Rows and columns of the table of operations, of one report or of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.owners import owners
from popvision.analysis.operations.table import FIELDS, compared_operations, operation_table
from popvision.analysis.report.figure_titles import figure_title, viewer_frame
from webapp.components import Column
from webapp.components.difference import add_difference, difference_columns
from webapp.components.figure_columns import KINDS
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

_WIDTHS = {"cycles": 105, "code": 95, "flops": 135, "flops_once": 130}


def operation_rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    """The table for a query (state.py); of two reports the names with the differences of the chosen figure.
    Raises NotRecordedError without debug information."""
    state = OperationState.read(source, query)
    layer, ipu, level, under, by = state.layer, state.ipu, state.level, state.under, state.by
    if target is not None:
        compared = compared_operations(source, target, by, layer, ipu, level, under)
        return _matching(add_difference(viewer_frame(compared), by), state.find)
    frame = viewer_frame(operation_table(source, layer, ipu, level, under, by))
    for field in FIELDS:
        frame[f"{field}_share"] = frame.pop(f"{field}_percent") / 100
    frame["cumulative_share"] = frame.pop("cumulative") / 100
    frame.insert(1, "operation", _calls(source, layer, frame))
    flops, cycles, received = (frame[name].astype(float).to_numpy() for name in ("flops", "cycles", "received"))
    with np.errstate(divide="ignore", invalid="ignore"):
        frame["rate"] = np.where((flops > 0) & (cycles > 0), flops / cycles, np.nan)
        frame["intensity"] = np.where((flops > 0) & (received > 0), flops / received, np.nan)
    return _matching(frame, state.find)


def _matching(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    if not text:
        return frame
    columns = [frame[name] for name in ("name", "operation") if name in frame]
    inside = [any(text.lower() in each.lower() for each in row) for row in zip(*columns, strict=True)]
    return frame[np.array(inside, bool)]


def _calls(source: ReportSource, layer: str, frame: pd.DataFrame) -> list[str]:
    """The library call of each operation, such as "poplin::matMul"; for a group its number of operations."""
    known = owners(source, layer)
    by_context = dict(zip(known.context.tolist(), range(len(known.context)), strict=True))
    texts = []
    for context, count in zip(frame["context"].fillna(-1).tolist(), frame["operations"].tolist(), strict=True):
        single = int(context) if int(context) in by_context else -1
        texts.append(call_name(source, single) if single >= 0 else f"{count:,} operations" if count else "")
    return texts


def call_name(source: ReportSource, context: int) -> str:
    """ "library::api" of a debug context, else its category, else ""."""
    arguments = source.debug.record(context).get("arguments")
    if not isinstance(arguments, dict):
        return ""
    library, api, category = (arguments.get(name) for name in ("library", "api", "category"))
    if isinstance(api, str) and api:
        return f"{library}::{api}" if isinstance(library, str) and library else api
    return category if isinstance(category, str) else ""


def columns(source: ReportSource, state: OperationState, everything: bool) -> list[Column]:
    """Columns for the figures of the report; with `everything` also the less common ones."""
    found = operations(source, state.layer, state.ipu)
    held = found.columns()
    head = FIGURES[state.by][0]
    made = [
        Column("name", "Name", help="Name of the operation's debug context", width=250),
        Column("operation", "Operation", help="Library call, or the number of operations in the group", width=170),
    ]
    for field, (title, kind, help, is_shown) in FIGURES.items():
        if field not in held or not (is_shown or everything or field == state.by):
            continue
        made.append(Column(field, title, kind, help=help, width=_WIDTHS.get(field, 30 + 9 * len(title))))
        if field in _SHARED or field == state.by:
            made.append(_share(field, title))
        if field == state.by:
            text = f"{head} of this row and all rows with more {head.lower()} / those of the report"
            made.append(Column("cumulative_share", "Cumulative", "percent", help=text, width=112))
    if found.cycles is not None and found.flops is not None:
        made.append(Column("rate", "FLOP / cycle", "decimal", help="FLOPs / cycles", width=115))
        if everything:
            made.append(Column("intensity", "FLOP / byte", "decimal", help="FLOPs / bytes received", width=110))
    made += [
        Column("first_index", "First index", "integer", help="First liveness index of its programs", width=105),
        Column("last_index", "Last index", "integer", help="Last liveness index of its programs", width=105),
    ]
    return made


def _share(field: str, title: str) -> Column:
    return Column(f"{field}_share", "Share", "percent", help=f"{title} / {title.lower()} of the report", width=80)


def compared_columns(by: str) -> list[Column]:
    title, kind, help, _ = FIGURES[by]
    return [
        Column("name", "Name", flex=3, width=240),
        Column("matched", "In", width=120, help="Reports with operations of this name"),
        Column("operations_source", "Source", "integer", "Operations of this name", width=90, group="Operations"),
        Column("operations_target", "Target", "integer", "Operations of this name", width=90, group="Operations"),
        *difference_columns(by, title, kind, help=f"{help}:"),
    ]
