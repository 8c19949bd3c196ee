"""Trend over commits: the reports that differ only in their commit, in the order of the commits' times. The last of
each series is compared with the one before, or with the first, within limits.

The order of reports without a commit is that of their files' times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from popvision.analysis.compare.limits import Limit, Outcome, check_limits
from popvision.analysis.compare.metrics import METRICS
from popvision.analysis.compare.report_diff import Figure
from popvision.catalogue.report_row import AXIS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Change:
    """One series: its coordinates, the reports compared, all values of each metric in order, the outcomes of limits."""

    series: dict[str, Any]  #: axis -> value, without the commit
    reports: list[str]
    commits: list[str]
    values: dict[str, list[float | None]]
    before: str  #: the report compared with
    outcomes: list[Outcome]


def check_trend(frame: pd.DataFrame, limits: Sequence[Limit], *, against_first: bool = False) -> list[Change]:
    """The series of a catalogue's rows, those of one report left out. A limit reads as in `popvision diff`: source is
    the report before (or the first), target the last."""
    axes = [name for name in frame.columns if name.startswith(AXIS) and name != f"{AXIS}commit"]
    frame = frame.assign(_time=frame["commit_time_s"].fillna(frame["modified_s"]))
    groups: list[tuple[Any, pd.DataFrame]] = (
        list(frame.groupby(axes, dropna=False, sort=True)) if axes else [((), frame)]
    )
    changes = []
    for key, group in groups:
        if len(group) < 2:
            continue
        ordered = group.sort_values(["_time", "report"], kind="stable")
        values = {metric.name: [_value(each) for each in ordered[metric.name]] for metric in METRICS}
        start = 0 if against_first else -2
        figures = [Figure(metric, values[metric.name][start], values[metric.name][-1]) for metric in METRICS]
        series = {
            axis.removeprefix(AXIS): _coordinate(each) for axis, each in zip(axes, key, strict=True) if each == each
        }
        reports = list(ordered["report"])
        commits = list(ordered["commit"])
        changes.append(Change(series, reports, commits, values, reports[start], check_limits(list(limits), figures)))
    return changes


def _value(cell: float) -> float | None:
    return None if cell != cell else float(cell)


def _coordinate(cell: Any) -> Any:
    """A number that is whole without its fraction."""
    return cell if isinstance(cell, str) else int(cell) if float(cell).is_integer() else float(cell)
