"""The liveness curves of two reports over the indices of the source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.compare.liveness import match_indices, only_target
from popvision.analysis.liveness.curve import Curve, curve
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from webapp.base.arrays import BoolArray, Int64Array
from webapp.base.theme import tokens
from webapp.graph_analyser.liveness.state import LivenessState
from webapp.graph_analyser.plots.stepped_plot import Series, difference_series


@dataclass(frozen=True)
class PairedCurve:
    """Position i is index i of the source; with indices paired by number, further indices of the target follow.
    `partner[i]` is the target's index, -1 for none; `alone` are indices of the target without a position."""

    source: Curve
    target: Curve
    partner: Int64Array
    alone: Int64Array

    @property
    def count(self) -> int:
        return len(self.partner)

    def of_source(self, always: bool) -> tuple[Int64Array, BoolArray]:
        """(bytes, whether they are known) by position; with `always` including always-live bytes."""
        values = np.zeros(self.count, dtype=np.int64)
        rows = len(self.source.program)
        values[:rows] = self.source.not_always_live + (self.source.always_live if always else 0)
        return values, np.arange(self.count) < rows

    def of_target(self, always: bool) -> tuple[Int64Array, BoolArray]:
        known = self.partner >= 0
        values = self.target.not_always_live + (self.target.always_live if always else 0)
        return np.where(known, values[np.maximum(self.partner, 0)], 0), known


def paired_curve(source: ReportSource, target: ReportSource, where: Where, by: str) -> PairedCurve:
    """Both curves of a place. Raises NotRecordedError or ValueError when one of the reports lacks it."""
    partner, alone = match_indices(source, target, by), only_target(source, target, by)
    if by == "index":  # further indices of a longer target keep their numbers
        partner, alone = np.concatenate([partner, alone]), alone[:0]
    return PairedCurve(curve(source, where), curve(target, where), partner, alone)


def pair_series(pair: PairedCurve, state: LivenessState, theme: str) -> list[Series]:
    """Always-live and not-always-live bytes of both reports as four curves, or their difference."""
    colours = tokens(theme)
    sides = {"source": pair.of_source(False), "target": pair.of_target(False)}
    if state.difference:
        both = {"source": pair.of_source(state.always), "target": pair.of_target(state.always)}
        one, other = (Series(side, values, "", known=known) for side, (values, known) in both.items())
        return difference_series(one, other, theme)
    paint = {"source": ("series-1", "series-2"), "target": ("series-3", "series-5")}
    series = []
    for side, (values, known) in sides.items():
        below, above = (colours[name] for name in paint[side])
        title = side.capitalize()
        always = pair.source.always_live if side == "source" else pair.target.always_live
        constant = np.where(known, always, 0)
        if state.always:
            series.append(Series(f"{title}: always live", constant, below, stacked=True, side=side, known=known))
        series.append(Series(f"{title}: not always live", values, above, stacked=True, side=side, known=known))
    return series
