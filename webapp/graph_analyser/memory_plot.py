"""The plot of the memory page: total memory and its breakdowns per tile or per IPU, and chosen variables per tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.lowered import variables
from popvision.analysis.memory import Breakdown, MemoryByTile, breakdown, by_ipu, memory_by_tile
from popvision.analysis.range_statistics import Statistics, statistics
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import physical_id, target_of, tiles_in_order
from popvision.analysis.variable_tiles import variable_bytes_by_tile
from webapp.components import plain
from webapp.graph_analyser.bytes_axis import bytes_axis
from webapp.graph_analyser.category_colours import mix, part_colour, translucent
from webapp.graph_analyser.memory_state import MemoryState, shown_tiles
from webapp.graph_analyser.stepped_plot import Series, SteppedPlot, legend
from webapp.theme import tokens

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawing:
    """A figure and what the page says about it. `ids` are the tiles (or IPUs) by position, `statistics` those of the
    visible range of the quantity called `quantity`."""

    figure: dict[str, Any]
    ids: Int64Array
    statistics: Statistics | None
    quantity: str
    shown: tuple[int, int]
    decimated: bool = False
    whole: int = 0  #: positions in all


def draw_memory(source: ReportSource, state: MemoryState, theme: str) -> Drawing:
    """The drawing of a state whose graph is "total" or "variables". Raises NotRecordedError, ValueError."""
    if state.graph == "variables":
        return _draw_variables(source, state, theme)
    memory = memory_by_tile(source, state.replica)
    parts = breakdown(source, state.by, state.replica) if state.by != "none" else None
    if state.by_ipu:
        return _draw_ipus(memory, parts, state, theme)
    ids = tiles_in_order(target_of(source), memory.tiles, state.order)
    order = ids - memory.tiles.start
    series = _series(memory, parts, theme, state.gaps, order)
    main = memory.including_gaps if state.gaps else memory.excluding_gaps
    quantity = "memory including gaps" if state.gaps else "memory excluding gaps"
    return _stepped(source, state, theme, ids, series, main[order], quantity, memory.capacity)


def _series(memory: MemoryByTile, parts: Breakdown | None, theme: str, gaps: bool, order: Int64Array) -> list[Series]:
    colours = tokens(theme)
    faint = mix(colours["series-1"], colours["surface"], 0.75)
    series = [Series("Including gaps", memory.including_gaps[order], faint, filled=False)] if gaps else []
    if parts is None:
        return [*series, Series("Excluding gaps", memory.excluding_gaps[order], colours["series-2"])]
    rows = zip(parts.keys, parts.labels, parts.values, strict=True)
    return series + [Series(label, values[order], part_colour(key, theme), stacked=True) for key, label, values in rows]


def _stepped(
    source: ReportSource,
    state: MemoryState,
    theme: str,
    ids: Int64Array,
    series: list[Series],
    main: Int64Array,
    quantity: str,
    capacity: int,
) -> Drawing:
    target = target_of(source)
    place = {tile: position for position, tile in enumerate(ids.tolist())}

    hardware = state.order == "hardware"

    def labels(positions: Int64Array) -> list[str]:
        texts = []
        for tile in ids[positions].tolist():
            physical = physical_id(target, tile)
            known = "" if physical is None else f", physical {physical}"
            texts.append(
                f"{'tile ' + format(tile, ',') + ' ' if hardware else ''}on IPU {tile // target.tiles_per_ipu}{known}"
            )
        return texts

    plot = SteppedPlot(
        series,
        labels,
        "Position %{x:,.0f}" if hardware else "Tile %{x:,.0f}",
        "Tiles (hardware order: by physical id within each IPU)" if hardware else "Tiles (software order)",
        window=state.window,
        marked=[place[tile] for tile in state.tiles if tile in place][:40],
        limit=(capacity, "Memory of a tile") if state.show_max else None,
    )
    drawn, decimated = plot.draw(theme)
    _number_ticks(drawn, ids, plot.shown)
    first, last = plot.shown
    return Drawing(drawn, ids, statistics(main[first : last + 1]), quantity, plot.shown, decimated, len(ids))


def _number_ticks(drawn: dict[str, Any], ids: Int64Array, shown: tuple[int, int]) -> None:
    """Tile numbers under positions that are not the tile numbers themselves."""
    if len(ids) and (ids == np.arange(len(ids))).all():
        return
    at = np.unique(np.linspace(shown[0], shown[1], 12).astype(np.int64))
    drawn["layout"]["xaxis"] |= {"tickvals": at.tolist(), "ticktext": [f"{tile:,}" for tile in ids[at].tolist()]}


def _draw_variables(source: ReportSource, state: MemoryState, theme: str) -> Drawing:
    target = target_of(source)
    tiles = shown_tiles(source, state)
    ids = tiles_in_order(target, tiles, state.order)
    names = variables(source).name
    chosen = [variable for variable in state.variables if variable < len(names)][:6]
    if not chosen:
        return Drawing({"data": [], "layout": _hint("Choose up to six variables in the Variables tab below.")}, ids,
                       None, "", (0, len(ids) - 1))  # fmt: skip
    values = variable_bytes_by_tile(source, chosen, state.replica)[:, ids - tiles.start]
    colours = tokens(theme)
    series = [
        Series(names[variable], values[row], colours[f"series-{row + 1}"], filled=len(chosen) == 1)
        for row, variable in enumerate(chosen)
    ]
    quantity = f"bytes of {names[chosen[0]]}" if len(chosen) == 1 else "bytes of the chosen variables together"
    unlimited = MemoryState(**{**state.__dict__, "show_max": False})
    return _stepped(source, unlimited, theme, ids, series, values.sum(axis=0), quantity, target.bytes_per_tile)


def _hint(sentence: str) -> dict[str, Any]:
    return {
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "annotations": [{"text": sentence, "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}],
    }


def _draw_ipus(memory: MemoryByTile, parts: Breakdown | None, state: MemoryState, theme: str) -> Drawing:
    """One bar per IPU: sums over its tiles."""
    per_ipu = memory.tiles_per_ipu
    ids = np.arange(memory.tiles.start // per_ipu, memory.tiles.stop // per_ipu, dtype=np.int64)
    colours = tokens(theme)
    bars = [("Excluding gaps", memory.excluding_gaps, colours["series-2"])]
    if parts is not None:
        rows = zip(parts.keys, parts.labels, parts.values, strict=True)
        bars = [(label, values, part_colour(key, theme)) for key, label, values in rows]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": plain(name),
            "x": ids.tolist(),
            "y": by_ipu(values, per_ipu).tolist(),
            "marker": {"color": translucent(colour, 0.75), "line": {"color": colour, "width": 1}},
            "hovertemplate": "%{y:,} B<extra>" + plain(name) + "</extra>",
        }
        for name, values, colour in bars
    ]
    including = by_ipu(memory.including_gaps, per_ipu)
    top = int(by_ipu(memory.excluding_gaps, per_ipu).max())
    if state.gaps:
        top = max(top, int(including.max()))
        traces.append(_line("Including gaps", ids, including, colours["series-1"]))
    if state.show_max:
        top = max(top, memory.capacity * per_ipu)
        traces.append(_line("Memory of an IPU", ids, np.full(len(ids), memory.capacity * per_ipu), colours["ink"]))
    layout = {
        "barmode": "stack",
        "bargap": 0.35,
        "hovermode": "x unified",
        "showlegend": True,
        "margin": {"l": 70, "r": 18, "t": 34, "b": 40},
        "legend": legend(len(bars)),
        "xaxis": {
            "title": {"text": "IPU"},
            "dtick": max(1, len(ids) // 16),
            "range": [ids[0] - 0.5, ids[-1] + 0.5],
            "unifiedhovertitle": {"text": "IPU %{x}"},
        },
        "yaxis": bytes_axis(top),
        "shapes": [_mark(ipu, colours["accent"]) for ipu in state.ipus],
    }
    main = including if state.gaps else by_ipu(memory.excluding_gaps, per_ipu)
    quantity = "memory including gaps" if state.gaps else "memory excluding gaps"
    return Drawing(
        {"data": traces, "layout": layout}, ids, statistics(main), quantity, (0, len(ids) - 1), whole=len(ids)
    )


def _line(name: str, ids: Int64Array, values: npt.NDArray[Any], colour: str) -> dict[str, Any]:
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
        "type": "rect", "xref": "x", "yref": "paper", "x0": ipu - 0.5, "x1": ipu + 0.5, "y0": 0, "y1": 1,
        "fillcolor": translucent(colour, 0.16), "line": {"width": 1, "color": translucent(colour, 0.8)},
    }  # fmt: skip
