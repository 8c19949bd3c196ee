"""Plotly traces and shapes of a step plot (stepped_plot.py): curves, limits, marks and bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webapp.base.arrays import BoolArray, Float64Array, Int64Array
from webapp.components import plain
from webapp.graph_analyser.plots.category_colours import translucent

#: Letters of all names of a legend that fit side by side above a plot, beside the buttons of its navigation.
MOST_LETTERS = 90

#: Entries of the legend that fit side by side above a plot.
MOST_IN_LINE = 6

#: Marks below the axis; more would overlap.
_MOST_POINTS = 500


@dataclass(frozen=True)
class Series:
    """One curve. Stacked curves lie on the stacked curves of the same `side` before them; in a comparison "source" and
    "target" are separate stacks, and lines of the target are dotted. `known` is False where the curve has no value; its
    `values` there count as 0."""

    name: str
    values: Int64Array
    colour: str
    stacked: bool = False
    filled: bool = True
    side: str = ""
    known: BoolArray | None = None
    silent: bool = False  #: not in the hover box and the reading line
    signed: bool = False  #: a difference: positive values have a plus sign
    group: str = ""  #: name of the legend entry that several curves share

    def at(self, position: int) -> int | None:
        """The value at a position, None where there is none."""
        if not 0 <= position < len(self.values) or (self.known is not None and not self.known[position]):
            return None
        return int(self.values[position])


def series_trace(series: Series, positions: Int64Array, theme: str, axis: str = "y") -> dict[str, Any]:
    """The trace of a curve at some positions; `axis` is its y axis."""
    name = plain(series.name)
    values = series.values[positions].tolist()
    if series.known is not None:
        known = series.known[positions].tolist()
        values = [value if there else None for value, there in zip(values, known, strict=True)]
    is_target = series.side == "target"
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "yaxis": axis,
        "x": to_edges(positions),
        "y": [values[0], *values, values[-1]],
        "line": {"shape": "hvh", "width": 1.4, "color": series.colour, "dash": "dot" if is_target else "solid"},
        "hovertemplate": "%{y:,} B<extra>" + name + "</extra>",
    }
    if series.group:
        trace |= {"name": plain(series.group), "legendgroup": series.group, "showlegend": not is_target}
    if series.silent:
        trace["hoverinfo"] = "skip"
        del trace["hovertemplate"]
    if series.stacked:
        alpha = 0.2 if is_target else 0.55 if theme == "light" else 0.5
        trace |= {"stackgroup": series.side or "all", "fillcolor": translucent(series.colour, alpha)}
    elif series.filled:
        trace |= {"fill": "tozeroy", "fillcolor": translucent(series.colour, 0.16)}
    return trace


def label_trace(texts: Sequence[str], positions: Int64Array) -> dict[str, Any]:
    """An invisible curve whose entry in the hover box names the position."""
    safe = [plain(text) for text in texts]
    return {
        "type": "scatter",
        "x": to_edges(positions),
        "y": [0] * (len(positions) + 2),
        "mode": "lines",
        "line": {"width": 0, "color": "rgba(0,0,0,0)"},
        "customdata": [safe[0], *safe, safe[-1]],
        "hovertemplate": "%{customdata}<extra></extra>",
        "showlegend": False,
    }


def limit_trace(value: int, name: str, count: int, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(name),
        "x": [-0.5, count - 0.5],
        "y": [value, value],
        "line": {"width": 1.5, "color": colour},
        "hoverinfo": "skip",
    }


def points_trace(inside: Int64Array, colour: str, name: str) -> dict[str, Any]:
    """Small triangles below the axis, thinned evenly beyond _MOST_POINTS."""
    inside = inside[:: max(1, len(inside) // _MOST_POINTS)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(name),
        "x": inside.tolist(),
        "y": [0] * len(inside),
        "marker": {"symbol": "triangle-up", "size": 8, "color": colour},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def peaks_trace(peaks: Int64Array, heights: Float64Array, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Peaks",
        "x": peaks.tolist(),
        "y": heights.tolist(),
        "marker": {"symbol": "triangle-down", "size": 9, "color": colour},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def band(start: float, end: float, colour: str, alpha: float) -> dict[str, Any]:
    """The positions [start, end) shaded over the full height."""
    return {
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


def flag(position: int, colour: str, text: str) -> dict[str, Any]:
    """A dashed line with a small label at its top: the mark."""
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": position,
        "x1": position,
        "y0": 0,
        "y1": 1,
        "line": {"width": 1.5, "color": colour, "dash": "dash"},
        "layer": "above",
        "label": {
            "text": text,
            "textposition": "end",
            "textangle": 0,
            "xanchor": "left",
            "font": {"size": 11, "color": colour},
        },
    }


def legend(entries: int, letters: int = 0) -> dict[str, Any]:
    """A line above the plot, or a column beside it for many entries, or for names of many letters in all."""
    if entries <= MOST_IN_LINE and letters <= MOST_LETTERS:
        return {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom"}
    return {"orientation": "v", "x": 1.01, "xanchor": "left", "y": 1.0, "yanchor": "top", "tracegroupgap": 0}


def to_edges(positions: Int64Array) -> list[float]:
    """The positions with the outer edges of the first and last step; the edges round to those positions."""
    numbers = positions.tolist()
    return [numbers[0] - 0.499, *numbers, numbers[-1] + 0.499]


def outlines(series: Iterable[Series], count: int) -> list[Int64Array]:
    """The visible outline of each curve: running totals of the stacked curves of a side, others unchanged."""
    totals: dict[str, Int64Array] = {}
    lines = []
    for each in series:
        if each.stacked:
            totals[each.side] = totals.get(each.side, np.zeros(count, dtype=np.int64)) + each.values
        lines.append(totals[each.side] if each.stacked else each.values)
    return lines
