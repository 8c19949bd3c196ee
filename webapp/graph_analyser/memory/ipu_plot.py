"""Memory by IPU as bars: sums over the tiles of each IPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from popvision.analysis.compare.memory import BreakdownPair
from popvision.analysis.memory.usage import Breakdown, MemoryByTile, by_ipu
from popvision.analysis.report.range_statistics import statistics
from webapp.base.arrays import AnyArray, Int64Array
from webapp.base.theme import tokens
from webapp.components import plain
from webapp.graph_analyser.memory.state import MemoryState
from webapp.graph_analyser.plots.bytes_axis import bytes_axis
from webapp.graph_analyser.plots.category_colours import part_colour, translucent
from webapp.graph_analyser.plots.drawing import Drawing
from webapp.graph_analyser.plots.stepped_plot import Series, SteppedPlot, legend

#: Offsets of the bars of source and target from their IPU.
_MOVED = (-0.2, 0.2)


def draw_ipus(
    memory: MemoryByTile,
    parts: Breakdown | None,
    state: MemoryState,
    theme: str,
    theirs: MemoryByTile | None = None,
    pair: BreakdownPair | None = None,
) -> Drawing:
    """Bars of the IPUs of a replica, split like `parts`, with lines for gaps and capacity as the state asks; with
    `theirs` bars of both reports side by side, or of target - source, split like `pair`."""
    if theirs is not None:
        return _draw_both(memory, theirs, state, theme, pair)
    per_ipu = memory.tiles_per_ipu
    ids = np.arange(memory.tiles.start // per_ipu, memory.tiles.stop // per_ipu, dtype=np.int64)
    colours = tokens(theme)
    traces = [_bar(ids, *bar) for bar in _bars(memory, parts, theme)]
    including, excluding = by_ipu(memory.including_gaps, per_ipu), by_ipu(memory.excluding_gaps, per_ipu)
    lines = []
    if state.gaps:
        lines.append(("Including gaps", including, colours["series-1"]))
    if state.show_max:
        lines.append(("Capacity of an IPU", np.full(len(ids), memory.capacity * per_ipu), colours["ink"]))
    top = max(int(values.max()) for values in (excluding, *(values for _, values, _ in lines)))
    layout = _layout(ids, len(traces), top)
    layout["shapes"] = [_mark(ipu, colours["accent"]) for ipu in state.ipus]
    main = including if state.gaps else excluding
    quantity = "memory including gaps" if state.gaps else "memory excluding gaps"
    figure = {"data": traces + [_line(ids, *line) for line in lines], "layout": layout}
    curves = [("Including gaps", including), ("Excluding gaps", excluding)]
    read = _read(curves, len(ids))
    return Drawing(figure, ids, statistics(main), quantity, (0, len(ids) - 1), plot=read, whole=len(ids))


def _draw_both(
    memory: MemoryByTile, theirs: MemoryByTile, state: MemoryState, theme: str, pair: BreakdownPair | None
) -> Drawing:
    """IPUs are compared by number; an IPU that the target lacks has no target bar and no difference."""
    sums = [
        by_ipu(each.including_gaps if state.gaps else each.excluding_gaps, each.tiles_per_ipu)
        for each in (memory, theirs)
    ]
    first = memory.tiles.start // memory.tiles_per_ipu
    ids = np.arange(first, first + len(sums[0]), dtype=np.int64)
    shared = min(len(sums[0]), len(sums[1]))
    colours = tokens(theme)
    what = "memory including gaps" if state.gaps else "memory excluding gaps"
    if state.difference:
        change = sums[1][:shared] - sums[0][:shared]
        fills = [colours["diff-more"] if each > 0 else colours["diff-less"] for each in change.tolist()]
        bar = _bar(ids[:shared], "Difference (Target − Source)", change, colours["diff-more"])
        bar["marker"] = {"color": fills}
        bars, shown, quantity = [bar], change, f"target − source, {what}"
    else:
        bars = [
            _bar(ids, "Tile memory (Source)", sums[0], colours["series-2"]),
            _bar(ids[:shared], "Tile memory (Target)", sums[1][:shared], colours["series-1"]),
        ]
        shown, quantity = sums[1][:shared], f"{what} of the target"
    bars = bars if pair is None else _parts_of_both(pair, memory.tiles_per_ipu, ids, shared, state, theme)
    highest = _highest(bars)
    layout = _layout(ids, len({each["name"] for each in bars}), highest)
    layout["barmode"] = "group" if pair is None else "relative"
    if pair is not None and not state.difference:
        layout["xaxis"] |= _sides(ids)
    if state.difference and any(value < 0 for each in bars for value in each["y"]):
        layout["yaxis"] = layout["yaxis"] | {"range": [-highest * 1.06, highest * 1.06], "zeroline": True}
    layout["shapes"] = [_mark(ipu, colours["accent"]) for ipu in state.ipus]
    figure = {"data": bars, "layout": layout}
    figures = statistics(shown) if len(shown) else None
    curves = [(bar.pop("title", bar["name"]), np.asarray(bar["y"], dtype=np.int64)) for bar in bars]
    return Drawing(figure, ids, figures, quantity, (0, len(ids) - 1), plot=_read(curves, len(ids)), whole=len(ids))


def _parts_of_both(
    pair: BreakdownPair, per_ipu: int, ids: Int64Array, shared: int, state: MemoryState, theme: str
) -> list[dict[str, Any]]:
    """A stacked bar per part and report, the source on the left, or per difference. `title` names it."""
    parts = []
    for key, label, before, after in zip(pair.keys, pair.labels, pair.source, pair.target, strict=True):
        colour = part_colour(key, theme)
        sums = by_ipu(before, per_ipu), by_ipu(np.maximum(after, 0), per_ipu)[:shared]
        if state.difference:
            title = f"{label} (Target − Source)"
            parts.append(_bar(ids[:shared], title, sums[1] - sums[0][:shared], colour) | {"title": title})
            continue
        for side, values in zip(("Source", "Target"), sums, strict=True):
            title = f"{label} ({side})"
            moved = _MOVED[side == "Target"]
            bar = _bar(ids[: len(values)], title, values, colour) | {
                "title": title,
                "name": plain(label),
                "width": 0.36,
            }
            bar |= {"x": (ids[: len(values)] + moved).tolist(), "legendgroup": label, "showlegend": side == "Source"}
            parts.append(bar)
    return parts


def _sides(ids: Int64Array) -> dict[str, Any]:
    """Ticks that name the report of each bar."""
    words = ("source", "target") if len(ids) <= 8 else ("s", "t")
    step = max(1, len(ids) // 16)
    ticks = [
        (ipu + moved, f"{ipu} {word}")
        for ipu in ids[::step].tolist()
        for moved, word in zip(_MOVED, words, strict=True)
    ]
    title = "IPU" if len(ids) <= 8 else "IPU (s = source, t = target)"
    return {"tickvals": [at for at, _ in ticks], "ticktext": [text for _, text in ticks], "title": {"text": title}}


def _highest(bars: list[dict[str, Any]]) -> int:
    """The largest distance of a bar or a stack of bars from 0."""
    reach: dict[tuple[float, bool], int] = {}
    for each in bars:
        for x, y in zip(each["x"], each["y"], strict=True):
            place = (x, y < 0) if "title" in each else (x, False)
            reach[place] = reach.get(place, 0) + abs(y) if "title" in each else max(reach.get(place, 0), abs(y))
    return max(reach.values(), default=0)


def _read(curves: list[tuple[str, Int64Array]], count: int) -> SteppedPlot:
    """The figures of the bars for the reading line; a shorter curve has no values at its end."""
    series = []
    for name, values in curves:
        padded = np.zeros(count, dtype=np.int64)
        padded[: len(values)] = values
        series.append(Series(name, padded, "", known=np.arange(count) < len(values)))
    return SteppedPlot(series, lambda positions: [], "", "")


def _bars(memory: MemoryByTile, parts: Breakdown | None, theme: str) -> list[tuple[str, Int64Array, str]]:
    """(name, bytes per IPU, colour) of each layer."""
    if parts is None:
        return [("Excluding gaps", by_ipu(memory.excluding_gaps, memory.tiles_per_ipu), tokens(theme)["series-2"])]
    rows = zip(parts.keys, parts.labels, parts.values, strict=True)
    return [(label, by_ipu(values, memory.tiles_per_ipu), part_colour(key, theme)) for key, label, values in rows]


def _bar(ids: Int64Array, name: str, values: Int64Array, colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": plain(name),
        "x": ids.tolist(),
        "y": values.tolist(),
        "marker": {"color": translucent(colour, 0.75), "line": {"color": colour, "width": 1}},
        "hovertemplate": "%{y:,} B<extra>" + plain(name) + "</extra>",
    }


def _layout(ids: Int64Array, layers: int, top: int) -> dict[str, Any]:
    return {
        "barmode": "stack",
        "bargap": 0.35,
        "hovermode": "x unified",
        "showlegend": True,
        "margin": {"l": 70, "r": 18, "t": 34, "b": 40},
        "legend": legend(layers),
        "xaxis": {
            "title": {"text": "IPU"},
            "dtick": max(1, len(ids) // 16),
            "range": [int(ids[0]) - 0.5, int(ids[-1]) + 0.5],
            "unifiedhovertitle": {"text": "IPU %{x}"},
        },
        "yaxis": bytes_axis(top),
    }


def _line(ids: Int64Array, name: str, values: AnyArray, colour: str) -> dict[str, Any]:
    """A short horizontal line across each bar."""
    x = np.stack([ids - 0.36, ids + 0.36, np.full(len(ids), np.nan)], axis=1).ravel()
    y = np.repeat(values.astype(float), 3)
    y[2::3] = np.nan
    missing = [None if value != value else value for value in x.tolist()]
    heights = [None if value != value else value for value in y.tolist()]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": missing,
        "y": heights,
        "line": {"color": colour, "width": 2},
        "hovertemplate": "%{y:,} B<extra>" + name + "</extra>",
    }


def _mark(ipu: int, colour: str) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": ipu - 0.5,
        "x1": ipu + 0.5,
        "y0": 0,
        "y1": 1,
        "fillcolor": translucent(colour, 0.16),
        "line": {"width": 1, "color": translucent(colour, 0.8)},
    }
