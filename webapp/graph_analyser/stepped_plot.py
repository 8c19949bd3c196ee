"""Stepped curves over whole-numbered positions (tiles, liveness indices): the plot of the memory and liveness pages.

Position p is drawn as the step from p - 0.5 to p + 0.5. A curve of more positions than can be drawn is decimated: the
minimum and maximum of each bucket over the whole range, for the overview strip, and in finer buckets inside the visible
window. `SteppedPlot.draw` says whether the visible part is decimated. Values under the pointer are always exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.decimate import min_max_positions
from webapp.components import plain
from webapp.graph_analyser.bytes_axis import bytes_axis
from webapp.graph_analyser.category_colours import translucent
from webapp.theme import tokens

#: Positions drawn in the window and in the overview strip, and points of all curves together.
WINDOW_POSITIONS = 2000
OVERVIEW_POSITIONS = 600
MOST_POINTS = 24_000

#: Names of curves that stand side by side above a plot.
MOST_IN_LINE = 6

Values = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """One curve. Stacked curves lie on the stacked ones before them."""

    name: str
    values: Values
    colour: str
    stacked: bool = False
    filled: bool = True


@dataclass(frozen=True)
class SteppedPlot:
    """`labels(positions)` names positions for the hover box; `marked` positions are highlighted; `bands` are ranges
    [first, last) drawn over the curves; `limit` is a horizontal line (value, name)."""

    series: Sequence[Series]
    labels: Callable[[Values], list[str]]
    noun: str
    x_title: str
    window: tuple[int, int] | None = None  #: first and last position shown, both included
    marked: Sequence[int] = ()
    bands: Sequence[tuple[int, int]] = ()
    limit: tuple[int, str] | None = None
    points: Sequence[int] = field(default_factory=tuple)  #: positions that get a tick mark under the axis

    @property
    def count(self) -> int:
        return len(self.series[0].values)

    @property
    def shown(self) -> tuple[int, int]:
        """The visible positions, both included, inside the series."""
        if self.window is None:
            return 0, self.count - 1
        first = min(max(self.window[0], 0), self.count - 1)
        return first, max(first, min(self.window[1], self.count - 1))

    def draw(self, theme: str) -> tuple[dict[str, Any], bool]:
        """(Plotly figure, whether the visible part is decimated)."""
        positions, decimated = self._positions()
        colours = tokens(theme)
        first, last = self.shown
        traces = [self._label_trace(positions)]
        traces += [self._trace(series, positions, theme) for series in self.series]
        if self.limit is not None:
            traces.append(self._limit_trace(colours["ink"]))
        if len(self.points):
            traces.append(self._points_trace(colours["warn"], first, last))
        layout = {
            "hovermode": "x unified",
            "dragmode": "zoom",
            "showlegend": True,
            "uirevision": "kept",
            "margin": {"l": 70, "r": 18, "t": 34 if len(self.series) <= MOST_IN_LINE else 12, "b": 34},
            "legend": legend(len(self.series)),
            "xaxis": self._x_axis(first, last, colours),
            "yaxis": bytes_axis(self._top(first, last)),
            "shapes": self._shapes(colours),
        }
        return {"data": traces, "layout": layout}, decimated

    def _positions(self) -> tuple[Values, bool]:
        """Positions to draw: extremes of every curve in the window, coarser ones everywhere, and the marked ones."""
        first, last = self.shown
        most = min(WINDOW_POSITIONS, MOST_POINTS // len(self.series))
        decimated = last - first + 1 > most
        chosen = [np.asarray(sorted(self.marked), dtype=np.int64)]
        if not decimated:
            chosen.append(np.arange(first, last + 1, dtype=np.int64))
        outlines = self._outlines()
        for curve in outlines:
            if decimated:
                inside = min_max_positions(curve[first : last + 1], max(4, most // len(outlines)))
                chosen.append(inside.positions + first)
            if last - first + 1 < self.count:
                chosen.append(min_max_positions(curve, max(4, OVERVIEW_POSITIONS // len(outlines))).positions)
        positions = np.unique(np.concatenate(chosen))
        return positions[(positions >= 0) & (positions < self.count)], decimated

    def _outlines(self) -> list[Values]:
        """What the eye sees: running totals of stacked curves, the others as they are."""
        total, outlines = np.zeros(self.count, dtype=np.int64), []
        for series in self.series:
            if series.stacked:
                total = total + series.values
            outlines.append(total if series.stacked else series.values)
        return outlines

    def _top(self, first: int, last: int) -> int:
        highest = max(int(curve[first : last + 1].max()) for curve in self._outlines())
        return max(highest, self.limit[0]) if self.limit is not None else highest

    def _label_trace(self, positions: Values) -> dict[str, Any]:
        """An invisible curve whose line in the hover box names the position."""
        texts = [plain(text) for text in self.labels(positions)]
        return {
            "type": "scatter",
            "x": _to_edges(positions),
            "y": [0] * (len(positions) + 2),
            "mode": "lines",
            "line": {"width": 0, "color": "rgba(0,0,0,0)"},
            "customdata": [texts[0], *texts, texts[-1]],
            "hovertemplate": "%{customdata}<extra></extra>",
            "showlegend": False,
        }

    def _trace(self, series: Series, positions: Values, theme: str) -> dict[str, Any]:
        name = plain(series.name)
        values = series.values[positions].tolist()
        trace: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": _to_edges(positions),
            "y": [values[0], *values, values[-1]],
            "line": {"shape": "hvh", "width": 1.4, "color": series.colour},
            "hovertemplate": "%{y:,} B<extra>" + name + "</extra>",
        }
        if series.stacked:
            trace |= {"stackgroup": "all", "fillcolor": translucent(series.colour, 0.55 if theme == "light" else 0.5)}
        elif series.filled:
            trace |= {"fill": "tozeroy", "fillcolor": translucent(series.colour, 0.16)}
        return trace

    def _limit_trace(self, colour: str) -> dict[str, Any]:
        assert self.limit is not None
        value, name = self.limit
        return {
            "type": "scatter",
            "mode": "lines",
            "name": plain(name),
            "x": [-0.5, self.count - 0.5],
            "y": [value, value],
            "line": {"width": 1.5, "color": colour},
            "hoverinfo": "skip",
        }

    def _points_trace(self, colour: str, first: int, last: int) -> dict[str, Any]:
        points = np.asarray(self.points, dtype=np.int64)
        inside = points[(points >= first) & (points <= last)]
        inside = inside[:: max(1, len(inside) // 500)]
        return {
            "type": "scatter",
            "mode": "markers",
            "name": "matching steps",
            "x": inside.tolist(),
            "y": [0] * len(inside),
            "marker": {"symbol": "triangle-up", "size": 8, "color": colour},
            "cliponaxis": False,
            "hoverinfo": "skip",
        }

    def _x_axis(self, first: int, last: int, colours: dict[str, str]) -> dict[str, Any]:
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
                "yaxis": {"rangemode": "fixed", "range": [0, max(1, *(int(c.max()) for c in self._outlines()))]},
            },
        }

    def _shapes(self, colours: dict[str, str]) -> list[dict[str, Any]]:
        ranges = [(start, end, colours["series-4"], 0.22) for start, end in self.bands]
        ranges += [(position, position + 1, colours["accent"], 0.28) for position in self.marked]
        return [
            {
                "type": "rect",
                "xref": "x",
                "yref": "paper",
                "x0": start - 0.5,
                "x1": end - 0.5,
                "y0": 0,
                "y1": 1,
                "fillcolor": translucent(colour, alpha),
                "line": {"width": 1, "color": translucent(colour, 0.8)},
                "layer": "above",
            }
            for start, end, colour, alpha in ranges
        ]


def legend(entries: int) -> dict[str, Any]:
    """A line above the plot, or a column beside it for many entries."""
    if entries <= MOST_IN_LINE:
        return {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom"}
    return {"orientation": "v", "x": 1.01, "xanchor": "left", "y": 1.0, "yanchor": "top", "tracegroupgap": 0}


def _to_edges(positions: Values) -> list[float]:
    """The positions with the outer edges of the first and last step, which round to those positions."""
    numbers = positions.tolist()
    return [numbers[0] - 0.499, *numbers, numbers[-1] + 0.499]
