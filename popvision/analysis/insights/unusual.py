"""One line on what is unusual in a report: a run cut short or far longer than the others, or a finding of no bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import set_apart
from popvision.analysis.insights.finding import Insights
from popvision.analysis.report.not_recorded import if_recorded

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: A run is unusual from this many times the median of all runs; fewer runs than this have no usual length.
_LONGER, _LEAST_RUNS = 1.5, 3


def unusual(source: ReportSource, found: Insights) -> str:
    """The sentence, "" where nothing is unusual."""
    runs = if_recorded(source.reader.runs)
    if runs is not None and len(runs.cycles):
        if np.any(runs.truncated):
            row = int(np.argmax(runs.truncated))
            return f"Run {row:,} is cut short: its later steps are not in the report."
        counted = np.flatnonzero(~set_apart(source).runs)
        cycles = np.asarray(runs.cycles, np.int64)[counted]
        median, row = float(np.median(cycles)), int(cycles.argmax())
        if len(cycles) >= _LEAST_RUNS and median > 0 and cycles[row] > _LONGER * median:
            return (
                f"Run {int(counted[row]):,} took {int(cycles[row]):,} cycles, {cycles[row] / median:.1f} times the "
                f"median of {len(cycles):,} runs ({median:,.0f})."
            )
    return next((each.sentence for each in found.findings if not each.saves), "")
