"""Operations of two reports side by side, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.compare.join import join, most_different_first
from popvision.analysis.compare.programs import in_whole_numbers
from popvision.analysis.operations.table import BY_NAME, EACH, FIELDS, operation_table

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Table
    from popvision.analysis.report.source import ReportSource


def compared_operations(
    source: ReportSource,
    target: ReportSource,
    field: str = "cycles",
    layer: str = "",
    ipu: int | None = None,
    level: int = BY_NAME,
    under: str = "",
) -> Table:
    """A row per name that groups of either report have: name, and of either side operations and the field; the most
    different first. Single operations have no identity across reports: EACH compares as BY_NAME.

    Raises as `operation_table` and, for a layer that the target lacks, ValueError."""
    if field not in FIELDS:
        raise ValueError(f"field must be one of {', '.join(FIELDS)}, not {field[:50]!r}")
    level = BY_NAME if level == EACH else level
    tables = [
        operation_table(report, layer, ipu, level, under, field).select(["name", "operations", field])
        for report in (source, target)
    ]
    return in_whole_numbers(most_different_first(join(tables[0], tables[1], "name"), field))
