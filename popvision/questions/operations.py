"""The operations of a software layer.

An operation is an outermost call of a software layer, such as one poplin::matMul; everything created under it belongs
to it (analysis/operations/owners.py)."""

from __future__ import annotations

from popvision.analysis.operations import operations as summed
from popvision.analysis.operations.owners import layers
from popvision.analysis.operations.table import EACH, FIELDS, OPERATION_FIGURES, operation_table
from popvision.analysis.report.figure_titles import column_of
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued
from popvision.questions.question import Answer, question

#: Columns that rows can be sorted by -> figure of `operation_table`.
OPERATION_ORDERS = {column_of("operations", field): field for field in FIELDS}


OPERATIONS = catalogued("operations", OPERATION_FIGURES)


@question(OPERATIONS, by=tuple(OPERATION_ORDERS))
def operations(
    source: ReportSource,
    layer: str = "",
    *,
    level: int = EACH,
    under: str = "",
    by: str = "total_cycles",
    ipu: int | None = None,
) -> Answer:
    """Operations of a layer, largest `by` first, each figure also in percent of the report's total
    ("<column>_percent"). The row "(not attributed)" holds the rest, so that columns add up to the report's totals.
    Facts: layer, layers (all of the report), missing (sentences about what the report lacks), apart (what happened once
    per attachment, a sentence or "").

    Raises NotRecordedError without debug information."""
    sums = summed.operations(source, layer, ipu)
    table = operation_table(source, layer, ipu, level, under, OPERATION_ORDERS[by])
    facts = {"layers": layers(source), "missing": list(sums.missing), "apart": sums.apart}
    return Answer(table, {"layer": sums.owners.layer} | facts)
