"""Step plots over integer positions (tiles, liveness indices) for the memory and liveness pages.

Position p is drawn from p - 0.5 to p + 0.5. A curve with too many positions is decimated to the minimum and maximum of
each bucket: coarse buckets over the entire range for the overview strip, finer ones in the visible window.
`SteppedPlot.draw` returns whether the visible part is decimated. Values at the cursor are always exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from popvision.analysis.report.decimate import min_max_positions
from webapp.base.arrays import Int64Array
from webapp.base.theme import tokens
from webapp.graph_analyser.plots.bytes_axis import bytes_axis
from webapp.graph_analyser.plots.stepped_traces import (
    MOST_IN_LINE,
    Series,
    band,
    flag,
    label_trace,
    legend,
    limit_trace,
    outlines,
    peaks_trace,
    points_trace,
    series_trace,
)

__all__ = ["MOST_IN_LINE", "Series", "SteppedPlot", "difference_series", "legend"]

#: Positions drawn in the window and in the overview strip, and points of all curves together.
WINDOW_POSITIONS = 2000
OVERVIEW_POSITIONS = 600
MOST_POINTS = 24_000

#: Distance of a triangle above its peak, as a share of the visible height.
_ABOVE = 0.03


@dataclass(frozen=True)
class SteppedPlot:
    """`labels(positions)` names positions in the hover box; `marked` positions are highlighted; `bands` are ranges
    [first, last) drawn over the curves; `limit` is a horizontal line (value, name); `mark` is the position that
    differences are measured from; `peaks` have a triangle above them."""

    series: Sequence[Series]
    labels: Callable[[Int64Array], list[str]]
    noun: str
    x_title: str
    window: tuple[int, int] | None = None  #: first and last position shown, both included
    marked: Sequence[int] = ()
    bands: Sequence[tuple[int, int]] = ()
    limit: tuple[int, str] | None = None
    points: Sequence[int] | Int64Array = field(default_factory=tuple)  #: positions with a tick mark under the axis
    mark: int | None = None
    split: bool = False  #: draw the curves of side "target" in their own plot below
    peaks: Sequence[int] = ()

    @property
    def count(self) -> int:
        return len(self.series[0].values)

    @property
    def shown(self) -> tuple[int, int]:
        """The first and last visible position, clipped to the series."""
        if self.window is None:
            return 0, self.count - 1
        first = min(max(self.window[0], 0), self.count - 1)
        return first, max(first, min(self.window[1], self.count - 1))

    def draw(self, theme: str) -> tuple[dict[str, Any], bool]:
        """(Plotly figure, whether the visible part is decimated)."""
        positions, decimated = self._positions()
        colours = tokens(theme)
        first, last = self.shown
        traces = [label_trace(self.labels(positions), positions)]
        entries = {each.group or each.name for each in self.series}
        apart = self.split and any(series.side == "target" for series in self.series)
        for series in self.series:
            traces.append(series_trace(series, positions, theme, "y2" if apart and series.side == "target" else "y"))
        traces += self._extra_traces(colours, first, last)
        layout: dict[str, Any] = {
            "hovermode": "x unified",
            "dragmode": "zoom",
            "showlegend": True,
            "uirevision": "kept",
            "margin": {"l": 70, "r": 18, "t": 38, "b": 34},
            "legend": legend(len(entries), sum(map(len, entries))),
            "xaxis": self._x_axis(first, last, colours),
            "yaxis": _y_axis(*self._extent(first, last)),
            "shapes": self._shapes(colours),
        }
        if apart:
            layout["xaxis"] = {**layout["xaxis"], "anchor": "y2"}
            layout["yaxis2"] = {**layout["yaxis"], "domain": [0, 0.46], "title": {"text": "Target"}}
            layout["yaxis"] = {**layout["yaxis"], "domain": [0.54, 1], "title": {"text": "Source"}}
        return {"data": traces, "layout": layout}, decimated

    def _extra_traces(self, colours: dict[str, str], first: int, last: int) -> list[dict[str, Any]]:
        traces = []
        if self.limit is not None:
            traces.append(limit_trace(*self.limit, self.count, colours["ink"]))
        if len(self.points):
            points = np.asarray(self.points, dtype=np.int64)
            inside = points[(points >= first) & (points <= last)]
            traces.append(points_trace(inside, colours["warn"], "matching steps"))
        if len(self.peaks):
            at = np.asarray([each for each in self.peaks if first <= each <= last], dtype=np.int64)
            highest = np.max(outlines(self.series, self.count), axis=0)
            top, low = self._extent(first, last)
            traces.append(peaks_trace(at, highest[at] + (top - low) * _ABOVE, colours["muted"]))
        return traces

    def _positions(self) -> tuple[Int64Array, bool]:
        """(positions to draw, whether decimated): extremes of every curve, finer in the window; marked positions."""
        first, last = self.shown
        most = min(WINDOW_POSITIONS, MOST_POINTS // len(self.series))
        decimated = last - first + 1 > most
        always = [*self.marked, *self.peaks, *([] if self.mark is None else [self.mark])]
        chosen = [np.asarray(sorted(always), dtype=np.int64)]
        if not decimated:
            chosen.append(np.arange(first, last + 1, dtype=np.int64))
        lines = outlines(self.series, self.count)
        for curve in lines:
            if decimated:
                inside = min_max_positions(curve[first : last + 1], max(4, most // len(lines)))
                chosen.append(inside.positions + first)
            if last - first + 1 < self.count:
                chosen.append(min_max_positions(curve, max(4, OVERVIEW_POSITIONS // len(lines))).positions)
        positions = np.unique(np.concatenate(chosen))
        return positions[(positions >= 0) & (positions < self.count)], decimated

    def _extent(self, first: int, last: int) -> tuple[int, int]:
        """Highest and lowest value of the window, of 0 and of the limit."""
        lines = [curve[first : last + 1] for curve in outlines(self.series, self.count)]
        limits = [0] if self.limit is None else [0, self.limit[0]]
        return max(*limits, *(int(curve.max()) for curve in lines)), min(0, *(int(curve.min()) for curve in lines))

    def _x_axis(self, first: int, last: int, colours: dict[str, str]) -> dict[str, Any]:
        lines = outlines(self.series, self.count)
        lowest, highest = (min(0, *(int(c.min()) for c in lines)), max(1, *(int(c.max()) for c in lines)))
        return {
            "range": [first - 0.5, last + 0.5],
            "title": {"text": self.x_title},
            "tickformat": ",d",
            "dtick": 1 if last - first < 12 else None,
            "unifiedhovertitle": {"text": self.noun},
            "showspikes": True,
            "spikemode": "across",
            "spikethickness": 1,
            "spikedash": "solid",
            "spikecolor": colours["line-strong"],
            "zeroline": False,
            "rangeslider": {
                "visible": self.count > 1,
                "range": [-0.5, self.count - 0.5],
                "thickness": 0.1,
                "bgcolor": colours["sunken"],
                "bordercolor": colours["line"],
                "borderwidth": 1,
                "yaxis": {"rangemode": "fixed", "range": [lowest, highest]},
            },
        }

    def _shapes(self, colours: dict[str, str]) -> list[dict[str, Any]]:
        shapes = [band(start, end, colours["series-4"], 0.22) for start, end in self.bands]
        shapes += [band(position, position + 1, colours["accent"], 0.28) for position in self.marked]
        if self.mark is not None:
            shapes.append(flag(self.mark, colours["ink"], "mark"))
        return shapes


def _y_axis(top: int, low: int) -> dict[str, Any]:
    """An axis of bytes from `low` (0 or less) to `top`; ticks below 0 mirror those above."""
    axis = bytes_axis(max(top, -low))
    if low < 0:
        ticks = list(zip(axis["tickvals"], axis["ticktext"], strict=True))
        room = 0.06 * (top - low)
        mirrored = [(-value, f"−{text}") for value, text in reversed(ticks) if value] + ticks
        inside = [tick for tick in mirrored if low - room <= tick[0] <= top + room]
        axis |= {"range": [low - room, top + room], "zeroline": True}
        axis |= {"tickvals": [value for value, _ in inside], "ticktext": [text for _, text in inside]}
    return axis


def difference_series(source: Series, target: Series, theme: str) -> list[Series]:
    """Target - source as three curves: increases and decreases as areas in two colours, the difference as a line. It
    has no value where one of the two has none."""
    colours = tokens(theme)
    known = None
    if source.known is not None or target.known is not None:
        everywhere = np.ones(len(source.values), dtype=np.bool_)
        known = everywhere & (True if source.known is None else source.known)
        known = known & (True if target.known is None else target.known)
    change = target.values - source.values
    if known is not None:
        change = np.where(known, change, 0)
    return [
        Series("Target is higher", np.maximum(change, 0), colours["diff-more"], silent=True),
        Series("Target is lower", np.minimum(change, 0), colours["diff-less"], silent=True),
        Series("Difference (Target − Source)", change, colours["ink"], filled=False, known=known),
    ]
