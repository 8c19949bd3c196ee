"""The liveness curve as a figure: always-live bytes with the others stacked on top, over the static program order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from popvision.analysis.liveness.curve import Curve, curve
from popvision.analysis.liveness.peaks import peaks
from popvision.analysis.liveness.steps import indices_of_program, matching_indices, program_label
from popvision.analysis.liveness.variables import lifetime
from popvision.analysis.report.range_statistics import Statistics, statistics
from popvision.analysis.report.source import ReportSource
from webapp.base.arrays import Int64Array
from webapp.base.theme import tokens
from webapp.graph_analyser.liveness.paired_curve import PairedCurve, pair_series, paired_curve
from webapp.graph_analyser.liveness.state import LivenessState
from webapp.graph_analyser.plots.stepped_plot import Series, SteppedPlot

#: Characters of a program's name in the hover box: its end, which is most specific.
_NAME = 90


@dataclass(frozen=True)
class LivenessDrawing:
    """The figure of a state. `matching` are the indices that match the filter, None without one."""

    figure: dict[str, Any]
    plot: SteppedPlot
    curve: Curve
    pair: PairedCurve | None
    statistics: Statistics
    shown: tuple[int, int]
    decimated: bool
    matching: Int64Array | None
    lifetime: list[tuple[int, int]] | None
    peaks: list[int]


def draw_liveness(
    source: ReportSource, state: LivenessState, theme: str, target: ReportSource | None = None
) -> LivenessDrawing:
    """The drawing of a state; in a comparison with the curve of `target`. Raises NotRecordedError when the report lacks
    the curve, ValueError for a variable or place that does not exist."""
    line = curve(source, state.where)
    matching = _matching(source, state)
    ranges = lifetime(source, state.variable) if state.variable is not None else None
    high = peaks(line.not_always_live).tolist()
    pair = None if target is None else paired_curve(source, target, state.where, state.by)
    plot = SteppedPlot(
        _series(line, state, theme) if pair is None else pair_series(pair, state, theme),
        lambda positions: [_label(source, line, target, pair, position) for position in positions.tolist()],
        "Liveness index %{x:,.0f}",
        "Liveness index (static program order, not time)",
        window=state.window,
        marked=state.indices[:40],
        bands=ranges or (),
        limit=(line.capacity, "Capacity of " + _place(line)) if state.show_max and not state.difference else None,
        points=matching if matching is not None else (),
        mark=state.mark,
        peaks=high if state.peaks and not (pair is not None and (state.difference or state.split)) else (),
        split=state.split,
    )
    figure, decimated = plot.draw(theme)
    first, last = plot.shown
    total = line.not_always_live + (line.always_live if state.always else 0)
    seen = total[first : last + 1] if first < len(total) else total[-1:]
    return LivenessDrawing(figure, plot, line, pair, statistics(seen), plot.shown, decimated, matching, ranges, high)


def _matching(source: ReportSource, state: LivenessState) -> Int64Array | None:
    """The indices that match the filter, else those of the selected program; None without either."""
    if state.filter.strip():
        return matching_indices(source, state.filter)
    return indices_of_program(source, state.program) if state.program is not None else None


def _series(line: Curve, state: LivenessState, theme: str) -> list[Series]:
    colours = tokens(theme)
    live = Series("Not always live", line.not_always_live, colours["series-2"], stacked=True)
    if not state.always:
        return [live]
    always = np.full(len(line.program), line.always_live, dtype=np.int64)
    return [Series("Always live", always, colours["series-1"], stacked=True), live]


def _label(
    source: ReportSource, line: Curve, target: ReportSource | None, pair: PairedCurve | None, position: int
) -> str:
    if position < len(line.program):
        return _named(source, int(line.program[position]))
    assert target is not None
    assert pair is not None
    return "only in the target: " + _named(target, int(pair.target.program[position]))


def _named(source: ReportSource, program: int) -> str:
    text = program_label(source, program)
    text = text if len(text) <= _NAME else "…" + text[-_NAME:]
    return f"{text}, Id {program}"


def _place(line: Curve) -> str:
    return {"all": "these tiles", "ipu": "the IPU", "tile": "the tile"}[line.where.kind]
