"""The aggregation of two reports side by side: groups of the same name in one row, unmatched ones with a missing side.

Programs of the target are called as their partners in the source (`match_programs`), so that a program that was only
renamed or renumbered stays in its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from popvision.analysis.compare.difference import relative, signed
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.execution.aggregation import Names, aggregate, own_names

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: Columns that are set side by side.
FIELDS = ("count", "self_cycles", "total_cycles", "total_tile_cycles")


def aggregate_both(
    reports: tuple[ReportSource, ReportSource],
    ipus: Sequence[int],
    windows: tuple[tuple[int, int], tuple[int, int]],
    by: str,
) -> pd.DataFrame:
    """One row per group of either report: `name`, and of each of FIELDS `<field>_source`, `_target` and `_diff` (NaN
    where a side has no such group); largest change of total cycles first. Raises what `aggregate` raises."""
    source, target = reports
    here = [ipu for ipu in ipus if ipu < target.reader.target().num_ipus]
    rows = aggregate(source, ipus, *windows[0], by)
    others = aggregate(target, here, *windows[1], by, _partners_names(source, target))
    frame = rows.merge(others, on="name", how="outer", suffixes=("_source", "_target"))
    for field in FIELDS:
        frame[f"{field}_diff"] = signed(frame[f"{field}_source"], frame[f"{field}_target"])
        frame[f"{field}_rel"] = relative(frame[f"{field}_source"], frame[f"{field}_target"])
    columns = [f"{field}_{side}" for field in FIELDS for side in ("source", "target", "diff", "rel")]
    either = frame["total_cycles_target"].fillna(0) - frame["total_cycles_source"].fillna(0)
    order = either.abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order, ["name", *columns]].reset_index(drop=True)


def _partners_names(source: ReportSource, target: ReportSource) -> Names:
    ours, theirs = own_names(source), own_names(target)
    partner = match_programs(source, target).source_rows().tolist()
    label = [ours.label[one] if one >= 0 else theirs.label[row] for row, one in enumerate(partner)]
    number = [ours.number[one] if one >= 0 else f"target {theirs.number[row]}" for row, one in enumerate(partner)]
    return Names(label, number)
