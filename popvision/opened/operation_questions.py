"""The operations of a software layer as a frame.

An operation is an outermost call of a software layer, such as one poplin::matMul; everything created under it belongs
to it (analysis/operations/owners.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.analysis.operations import operations as summed
from popvision.analysis.operations.table import EACH, FIELDS, operation_table
from popvision.analysis.report.figure_titles import column_of, opened_frame
from popvision.analysis.report.source import ReportSource
from popvision.opened.frames import report_table

if TYPE_CHECKING:
    import pandas as pd

#: Columns that rows can be sorted by -> figure of `operation_table`.
OPERATION_ORDERS = {column_of("operations", each): each for each in FIELDS}


def operations(
    source: ReportSource,
    layer: str = "",
    *,
    level: int = EACH,
    under: str = "",
    by: str = "total_cycles",
    ipu: int | None = None,
) -> pd.DataFrame:
    """A row per operation of a layer (the framework's by default, else PopLibs), largest `by` first: name, context (id
    of its debug context, missing for groups), operations (how many the row groups), total_cycles (over all recorded
    runs, summed over IPUs) without apart_cycles (runs that happen once per attachment), code_bytes and its parts, flops
    (of all executions), once_flops (of one), received_bytes, sent_bytes, always_live_bytes, not_always_live_bytes,
    peak_live_bytes (at the report's peak), programs, compute_sets, variables, steps; for each of these
    "<column>_percent" of the report's total; cumulative_percent of `by`; first_index and last_index (liveness indices,
    inclusive). The row "(not attributed)" holds the rest, so that columns add up to the report's totals.

    `level` 1, 2 ... groups by so many parts of the name; `under` keeps names that begin with these parts. `attrs`:
    layer, missing (sentences about what the report lacks), apart (what happened once per attachment, or "").

    Raises NotRecordedError without debug information."""
    if by not in OPERATION_ORDERS:
        raise ValueError(f"operations cannot be sorted by {by!r}; use one of {', '.join(OPERATION_ORDERS)}")
    sums = summed.operations(source, layer, ipu)
    table = operation_table(source, layer, ipu, level, under, OPERATION_ORDERS[by])
    facts: dict[str, Any] = {"layer": sums.owners.layer, "missing": list(sums.missing), "apart": sums.apart}
    return report_table(source, opened_frame(table), **facts)
