"""The plot of the memory page: total memory and its breakdowns, and chosen variables, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.lowered import variables
from popvision.analysis.memory import Breakdown, MemoryByTile, breakdown, memory_by_tile
from popvision.analysis.range_statistics import statistics
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import physical_id, target_of, tiles_in_order
from popvision.analysis.variable_tiles import variable_bytes_by_tile
from webapp.graph_analyser.category_colours import mix, part_colour
from webapp.graph_analyser.drawing import Drawing
from webapp.graph_analyser.memory_ipu_plot import draw_ipus
from webapp.graph_analyser.memory_state import MemoryState, shown_tiles
from webapp.graph_analyser.stepped_plot import Series, SteppedPlot
from webapp.theme import tokens

Int64Array = npt.NDArray[np.int64]


def draw_memory(source: ReportSource, state: MemoryState, theme: str) -> Drawing:
    """The drawing of a state whose graph is "total" or "variables". Raises NotRecordedError, ValueError."""
    if state.graph == "variables":
        return _draw_variables(source, state, theme)
    memory = memory_by_tile(source, state.replica)
    parts = breakdown(source, state.by, state.replica) if state.by != "none" else None
    if state.by_ipu:
        return draw_ipus(memory, parts, state, theme)
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
        mark=place.get(-1 if state.mark is None else state.mark),
    )
    drawn, decimated = plot.draw(theme)
    _number_ticks(drawn, ids, plot.shown)
    first, last = plot.shown
    return Drawing(drawn, ids, statistics(main[first : last + 1]), quantity, plot.shown, decimated, plot, len(ids))


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
