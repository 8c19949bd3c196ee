"""The aggregation of two reports side by side: groups of the same name in one row, 0 in the report that lacks one.

Programs of the target are called as their partners in the source (`match_programs`), so that a program that was only
renamed or renumbered stays in its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from popvision.analysis.compare.join import join, most_different_first
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.execution.aggregation import GROUP_FIGURES, Names, aggregate, own_names
from popvision.analysis.report.figure import Table, headings

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figures that are set side by side, in this order.
COMPARED = ("count", "self_cycles", "total_cycles", "total_tile_cycles")


_IDS = ("name", *COMPARED)


def compared_headings() -> Table:
    """`aggregate_both` without rows."""
    nothing = headings("step_groups", GROUP_FIGURES).select(_IDS)
    return join(nothing, nothing, "name")


def aggregate_both(
    reports: tuple[ReportSource, ReportSource],
    ipus: Sequence[int],
    windows: tuple[tuple[int, int], tuple[int, int]],
    by: str,
) -> Table:
    """One row per group of either report: `name`, and each of COMPARED of both, 0 in the report that lacks the group;
    largest change of total cycles first. Raises what `aggregate` raises."""
    source, target = reports
    shared_ipus = [ipu for ipu in ipus if ipu < target.reader.target().num_ipus]
    rows = aggregate(source, ipus, *windows[0], by).select(_IDS)
    others = aggregate(target, shared_ipus, *windows[1], by, _partners_names(source, target)).select(_IDS)
    ran = bool(source.reader.runs().name), bool(target.reader.runs().name)
    return most_different_first(join(rows, others, "name", recorded=ran), "total_cycles")


def _partners_names(source: ReportSource, target: ReportSource) -> Names:
    source_names, target_names = own_names(source), own_names(target)
    partner = match_programs(source, target).source_rows().tolist()
    label = [source_names.label[one] if one >= 0 else target_names.label[row] for row, one in enumerate(partner)]
    number = [
        source_names.number[one] if one >= 0 else f"target {target_names.number[row]}"
        for row, one in enumerate(partner)
    ]
    return Names(label, number)
