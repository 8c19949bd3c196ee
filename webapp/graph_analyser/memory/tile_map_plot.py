"""The tile map: bytes of each tile on the floor plan of its IPU, for all IPUs of a replica side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from popvision.analysis.compare.memory import by_position, replica_of_target
from popvision.analysis.memory.usage import breakdown, category_by_tile, memory_by_tile
from popvision.analysis.report.floor_plan import floor_plan, on_floor_plan
from popvision.analysis.report.memory_labels import CATEGORY_LABELS, REGION_LABELS
from popvision.analysis.report.range_statistics import statistics
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.base.arrays import Float64Array, Int64Array
from webapp.base.formats import bytes_text
from webapp.base.theme import diverging_scale, sequential_scale, tokens
from webapp.graph_analyser.memory.state import MemoryState
from webapp.graph_analyser.plots.bytes_axis import both_units, byte_ticks
from webapp.graph_analyser.plots.drawing import Drawing
from webapp.graph_analyser.plots.stepped_plot import Series, SteppedPlot

#: Quantities of the map, besides single regions and categories.
PARTS = {
    "excluding": "Excluding gaps",
    "total": "Including gaps",
    "gaps": "Gaps",
    "always": "Always live",
    "peak": "Not always live",
}

#: Empty cells between two IPUs.
_GAP = 3


def map_parts() -> dict[str, str]:
    """Values and labels of the quantities of the map."""
    return PARTS | REGION_LABELS | CATEGORY_LABELS


def draw_tile_map(source: ReportSource, state: MemoryState, theme: str, target: ReportSource | None = None) -> Drawing:
    """The map of a replica; in a comparison that of target - source. Raises NotRecordedError without physical tile ids
    or a graph profile."""
    machine = target_of(source)
    values, tiles, label = _values(source, state)
    known = np.ones(len(values), dtype=np.bool_)
    before = values
    if target is not None:
        other, _, _ = _values(target, replace(state, replica=replica_of_target(target, state.replica)))
        after = by_position(source, target, other, state.replica)
        known = after >= 0
        values, label = np.where(known, after - before, 0), f"Target − source, {label.lower()}"
    image, number = _images(source, np.where(known, values, np.nan), tiles)
    plan = floor_plan(machine)
    colours = tokens(theme)
    heat = {
        "type": "heatmap",
        "customdata": _cells(number, whole=True),
        "text": _texts(image, number, source, target is not None),
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1 if image.shape[1] < 200 else 0,
        "ygap": 1 if image.shape[1] < 200 else 0,
    } | _colouring(image, values[known], state, theme, label, machine.bytes_per_tile, target is not None)
    layout = _layout(plan.width, plan.height, _ipus(tiles, machine.tiles_per_ipu), image.shape)
    layout["shapes"] = _marks(number, state.tiles, colours["bad"])
    ids = np.arange(tiles.start, tiles.stop, dtype=np.int64)
    figure = {"data": [heat], "layout": layout}
    figures = statistics(values[known]) if known.any() else None
    series = Series(label, values, colours["accent"], known=None if known.all() else known)
    mark = None if state.mark is None else state.mark - tiles.start
    read = SteppedPlot([series], lambda positions: [], "", "", mark=mark)
    return Drawing(figure, ids, figures, label.lower(), (0, len(ids) - 1), plot=read, whole=len(ids))


def _ipus(tiles: range, per_ipu: int) -> list[int]:
    return list(range(tiles.start // per_ipu, tiles.stop // per_ipu))


def _images(source: ReportSource, values: Float64Array, tiles: range) -> tuple[Float64Array, Float64Array]:
    """(values, tile numbers) on the floor plans of all IPUs side by side, NaN between them."""
    machine = target_of(source)
    plan, per_ipu = floor_plan(machine), machine.tiles_per_ipu
    blank = np.full((plan.height, _GAP), np.nan)
    images, numbers = [], []
    for ipu in _ipus(tiles, per_ipu):
        first = ipu * per_ipu - tiles.start
        images += [on_floor_plan(plan, values[first : first + per_ipu]), blank]
        numbers += [on_floor_plan(plan, np.arange(ipu * per_ipu, (ipu + 1) * per_ipu)), blank]
    return np.concatenate(images[:-1], axis=1), np.concatenate(numbers[:-1], axis=1)


def _colouring(
    image: Float64Array,
    values: Int64Array,
    state: MemoryState,
    theme: str,
    label: str,
    capacity: int,
    signed: bool,
) -> dict[str, Any]:
    """Cells, scale and colour bar. A logarithmic scale shows log10 of bytes, 0 bytes as the lowest colour."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    bar: dict[str, Any] = {"thickness": 12, "outlinewidth": 0, "title": {"text": label}}
    if signed:
        top = max(abs(low), abs(high), 1)
        ticks, texts = byte_ticks(top, 3)
        bar |= {
            "tickvals": [*(-tick for tick in ticks[:0:-1]), *ticks],
            "ticktext": [*(f"−{text}" for text in texts[:0:-1]), texts[0], *(f"+{text}" for text in texts[1:])],
        }
        scale = {"zmin": -top, "zmax": top, "colorscale": diverging_scale(theme)}
        return scale | {"z": _cells(image), "colorbar": bar}
    if state.scale == "log":
        top = max(high, 10)
        steps = np.unique(np.round(np.linspace(0, np.log10(top), 6), 1))
        bar |= {"tickvals": steps.tolist(), "ticktext": [bytes_text(round(10**each)) for each in steps.tolist()]}
        scale = {"zmin": 0, "zmax": float(np.log10(top)), "colorscale": sequential_scale(theme)}
        return scale | {"z": _cells(np.log10(np.maximum(image, 1))), "colorbar": bar}
    bottom = low if state.scale == "range" and high > low else 0
    top = max(capacity if state.scale == "capacity" else high, bottom + 1)
    ticks, texts = byte_ticks(top, 8, bottom)
    bar |= {"tickvals": ticks, "ticktext": texts}
    scale = {"zmin": bottom, "zmax": top, "colorscale": sequential_scale(theme)}
    return scale | {"z": _cells(image), "colorbar": bar}


def _values(source: ReportSource, state: MemoryState) -> tuple[Int64Array, range, str]:
    memory = memory_by_tile(source, state.replica)
    if state.part in CATEGORY_LABELS:
        return category_by_tile(source, state.part, state.replica), memory.tiles, CATEGORY_LABELS[state.part]
    if state.part in REGION_LABELS:
        parts = breakdown(source, "region", state.replica)
        by_key = dict(zip(parts.keys, parts.values, strict=True))
        zero = np.zeros(len(memory.tiles), dtype=np.int64)
        return by_key.get(state.part, zero), memory.tiles, REGION_LABELS[state.part]
    totals = {
        "total": memory.including_gaps,
        "excluding": memory.excluding_gaps,
        "gaps": memory.gaps,
        "always": memory.always_live,
        "peak": memory.not_always_live,
    }
    part = state.part if state.part in totals else "excluding"
    return totals[part], memory.tiles, PARTS[part]


def _cells(image: Float64Array, whole: bool = False) -> list[list[Any]]:
    return [[None if v != v else (int(v) if whole else v) for v in row] for row in image.tolist()]


def _texts(image: Float64Array, number: Float64Array, source: ReportSource, signed: bool) -> list[list[str]]:
    target = target_of(source)
    physical = [] if target.physical_tile is None else np.asarray(target.physical_tile).tolist()

    def text(value: float, tile: float) -> str:
        if tile != tile:
            return ""
        where = f"tile {int(tile):,}, physical {physical[int(tile) % target.tiles_per_ipu]}<br>"
        if value != value:
            return f"{where}not in the target"
        return where + (f"{int(value):+,} B" if signed else both_units(int(value)))

    pairs = zip(image.tolist(), number.tolist(), strict=True)
    return [[text(value, tile) for value, tile in zip(values, tiles, strict=True)] for values, tiles in pairs]


def _layout(width: int, height: int, ipus: list[int], shape: tuple[int, ...]) -> dict[str, Any]:
    titles = [
        {"text": f"IPU {ipu}", "x": place * (width + _GAP) + width / 2 - 0.5, "y": -1.2, "showarrow": False}
        for place, ipu in enumerate(ipus)
    ]
    hidden = {"visible": False, "fixedrange": False}
    return {
        "margin": {"l": 12, "r": 12, "t": 10, "b": 8},
        "xaxis": hidden | {"range": [-0.8, shape[1] - 0.2], "constrain": "domain"},
        "yaxis": hidden | {"range": [height - 0.2, -2.4], "scaleanchor": "x", "constrain": "domain"},
        "annotations": titles,
        "uirevision": "map",
    }


def _marks(number: Float64Array, tiles: tuple[int, ...], colour: str) -> list[dict[str, Any]]:
    marks = []
    for tile in tiles[:40]:
        for y, x in np.argwhere(number == tile).tolist():
            marks.append(
                {
                    "type": "rect",
                    "x0": x - 0.5,
                    "x1": x + 0.5,
                    "y0": y - 0.5,
                    "y1": y + 0.5,
                    "line": {"color": colour, "width": 2.5},
                }
            )
    return marks
