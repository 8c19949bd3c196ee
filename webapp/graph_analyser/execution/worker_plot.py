"""The lanes of a tile's worker contexts as a Plotly figure. Beyond MOST_BARS vertices, neighbours share a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from popvision.analysis.execution.worker_lanes import NO_CONTEXT, WorkerLanes
from webapp.base.arrays import Int64Array
from webapp.base.theme import tokens
from webapp.components import plain

MOST_BARS = 1_400
_SERIES = 6


def lane_bars(lanes: WorkerLanes, order: Int64Array) -> Int64Array:
    """Positions in `order` (vertices sorted by lane and time) at which a bar begins: every vertex, or with more than
    MOST_BARS the first vertex of each lane and time bucket. The critical vertex always has a bar of its own."""
    if len(order) <= MOST_BARS:
        return np.arange(len(order))
    stretch = lanes.begin[order] * (MOST_BARS // (lanes.contexts + 1) - 2) // max(1, lanes.length)
    lane = lanes.worker[order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (lane[1:] != lane[:-1]) | (stretch[1:] != stretch[:-1])
    alone = np.flatnonzero(order == lanes.critical)
    fresh[alone] = True
    fresh[np.minimum(alone + 1, len(order) - 1)] = True
    return np.flatnonzero(fresh)


def worker_plot(lanes: WorkerLanes, names: Sequence[str], theme: str) -> dict[str, Any]:
    """A lane per worker context, and one for vertices that take the whole tile where there are any."""
    order = np.lexsort((lanes.begin, lanes.worker))
    first = lane_bars(lanes, order)
    last = np.append(first[1:], len(order)) - 1
    rows = order[first]
    with_alone = bool((lanes.worker == NO_CONTEXT).any())
    labels = [f"worker {context}" for context in range(lanes.contexts)] + ["whole tile"] * with_alone
    place = np.where(lanes.worker[rows] == NO_CONTEXT, lanes.contexts, lanes.worker[rows])
    colours = tokens(theme)
    kinds = list(dict.fromkeys(lanes.vertex_type[rows].tolist()))
    bars = [
        _trace(
            lanes, names[kind], colours[f"series-{at % _SERIES + 1}"], labels, (order, first, last, place, rows), kind
        )
        for at, kind in enumerate(kinds)
    ]
    return {"data": bars, "layout": _layout(lanes, labels, colours)}


def _trace(
    lanes: WorkerLanes,
    name: str,
    colour: str,
    labels: list[str],
    drawn: tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array],
    kind: int,
) -> dict[str, Any]:
    order, first, last, place, rows = drawn
    mine = np.flatnonzero(lanes.vertex_type[rows] == kind)
    begin, end = lanes.begin[rows[mine]], lanes.end[order[last[mine]]]
    count = last[mine] - first[mine] + 1
    texts = [
        f"vertex {row}: {lanes.thread_cycles[row]:,} {'tile' if lanes.worker[row] == NO_CONTEXT else 'thread'} cycles"
        if many == 1
        else f"{many:,} vertices from {row} on, merged; the table lists them"
        for row, many in zip(rows[mine].tolist(), count.tolist(), strict=True)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": plain(name),
        "y": [labels[each] for each in place[mine].tolist()],
        "base": begin,
        "x": end - begin,
        "text": texts,
        "textposition": "none",
        "marker": {"color": colour, "line": {"width": 0.5, "color": "rgba(0,0,0,0.45)"}},
        "opacity": 0.85,
        "hovertemplate": plain(name) + "<br>%{text}<br>tile cycles %{base:,} to %{x:,}<extra>%{y}</extra>",
    }


def _layout(lanes: WorkerLanes, labels: list[str], colours: dict[str, str]) -> dict[str, Any]:
    row = lanes.critical
    shapes = []
    if row >= 0:
        at = lanes.contexts if lanes.worker[row] == NO_CONTEXT else int(lanes.worker[row])
        box = {"x0": int(lanes.begin[row]), "x1": int(lanes.end[row]), "y0": at - 0.46, "y1": at + 0.46}
        shapes = [box | {"type": "rect", "line": {"width": 2.5, "color": colours["ink"]}}]
    return {
        "barmode": "overlay",
        "bargap": 0.18,
        "shapes": shapes,
        "xaxis": {"title": {"text": "Tile cycles from the begin of the compute set"}, "rangemode": "tozero"},
        "yaxis": {"categoryorder": "array", "categoryarray": labels, "range": [len(labels) - 0.5, -0.5]},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 74, "r": 12, "t": 26, "b": 40},
    }
