"""The tile map: bytes of each tile on the floor plan of its IPU, all IPUs of a replica side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.floor_plan import floor_plan, on_floor_plan
from popvision.analysis.memory import category_by_tile, memory_by_tile
from popvision.analysis.memory_labels import CATEGORY_LABELS
from popvision.analysis.range_statistics import statistics
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import target_of
from webapp.graph_analyser.bytes_axis import binary_ticks, both_units
from webapp.graph_analyser.category_colours import mix
from webapp.graph_analyser.drawing import Drawing
from webapp.graph_analyser.memory_state import MemoryState
from webapp.theme import tokens

#: What the map can show, beside one category.
PARTS = {"total": "Including gaps", "excluding": "Excluding gaps", "always": "Always live", "peak": "Not always live"}

#: Empty cells between two IPUs.
_GAP = 3


def map_parts() -> dict[str, str]:
    """Values and labels of the choice of what the map shows."""
    return PARTS | CATEGORY_LABELS


def draw_tile_map(source: ReportSource, state: MemoryState, theme: str) -> Drawing:
    """The map of a replica. Raises NotRecordedError without physical tile ids or a graph profile."""
    target = target_of(source)
    values, tiles, label = _values(source, state)
    plan = floor_plan(target)
    per_ipu = target.tiles_per_ipu
    ipus = range(tiles.start // per_ipu, tiles.stop // per_ipu)
    blank = np.full((plan.height, _GAP), np.nan)
    images, numbers = [], []
    for ipu in ipus:
        first = ipu * per_ipu - tiles.start
        images += [on_floor_plan(plan, values[first : first + per_ipu]), blank]
        numbers += [on_floor_plan(plan, np.arange(ipu * per_ipu, (ipu + 1) * per_ipu)), blank]
    image, number = np.concatenate(images[:-1], axis=1), np.concatenate(numbers[:-1], axis=1)
    colours = tokens(theme)
    top = int(values.max(initial=0))
    ticks, texts = binary_ticks(max(top, 1), 8)
    heat = {
        "type": "heatmap",
        "z": _cells(image),
        "customdata": _cells(number, whole=True),
        "text": _texts(image, number, source),
        "hovertemplate": "%{text}<extra></extra>",
        "xgap": 1 if image.shape[1] < 200 else 0,
        "ygap": 1 if image.shape[1] < 200 else 0,
        "zmin": 0,
        "zmax": max(top, 1),
        "colorscale": _scale(colours),
        "colorbar": {
            "tickvals": ticks,
            "ticktext": texts,
            "thickness": 12,
            "outlinewidth": 0,
            "title": {"text": label},
        },
    }
    layout = _layout(plan.width, plan.height, list(ipus), image.shape)
    layout["shapes"] = _marks(number, state.tiles, colours["bad"])
    ids = np.arange(tiles.start, tiles.stop, dtype=np.int64)
    figure = {"data": [heat], "layout": layout}
    return Drawing(figure, ids, statistics(values), label.lower(), (0, len(ids) - 1), whole=len(ids))


def _values(source: ReportSource, state: MemoryState) -> tuple[npt.NDArray[np.int64], range, str]:
    memory = memory_by_tile(source, state.replica)
    totals = {
        "total": memory.including_gaps,
        "excluding": memory.excluding_gaps,
        "always": memory.always_live,
        "peak": memory.not_always_live,
    }
    if state.part in CATEGORY_LABELS:
        return category_by_tile(source, state.part, state.replica), memory.tiles, CATEGORY_LABELS[state.part]
    part = state.part if state.part in totals else "total"
    return totals[part], memory.tiles, PARTS[part]


def _cells(image: npt.NDArray[np.float64], whole: bool = False) -> list[list[Any]]:
    return [[None if v != v else (int(v) if whole else v) for v in row] for row in image.tolist()]


def _texts(image: npt.NDArray[np.float64], number: npt.NDArray[np.float64], source: ReportSource) -> list[list[str]]:
    target = target_of(source)
    physical = [] if target.physical_tile is None else np.asarray(target.physical_tile).tolist()
    return [
        [
            ""
            if value != value
            else f"tile {int(tile):,}, physical {physical[int(tile) % target.tiles_per_ipu]}"
            f"<br>{both_units(int(value))}"
            for value, tile in zip(values, tiles, strict=True)
        ]
        for values, tiles in zip(image.tolist(), number.tolist(), strict=True)
    ]


def _scale(colours: dict[str, str]) -> list[list[Any]]:
    """From the surface through the accent's hue to the ink: lightness alone orders the values."""
    accent, ink, surface = colours["series-1"], colours["ink"], colours["surface"]
    return [
        [0.0, mix(accent, surface, 0.08)],
        [0.35, mix(accent, surface, 0.45)],
        [0.7, accent],
        [1.0, mix(accent, ink, 0.45)],
    ]


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


def _marks(number: npt.NDArray[np.float64], tiles: tuple[int, ...], colour: str) -> list[dict[str, Any]]:
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
