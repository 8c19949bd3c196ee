"""The address map of one tile: addresses upwards, liveness indices to the right, a rectangle per live range."""

from __future__ import annotations

from typing import Any

import numpy as np

from popvision.analysis.address_map import AddressMap, address_map
from popvision.analysis.lowered import address_use, lowered_names, lowered_tile
from popvision.analysis.memory import CATEGORY_KEYS
from popvision.analysis.memory_labels import CATEGORY_LABELS
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import target_of
from webapp.components import plain
from webapp.graph_analyser.bytes_axis import binary_ticks, both_units
from webapp.graph_analyser.category_colours import part_colour, translucent
from webapp.graph_analyser.stepped_plot import legend
from webapp.theme import tokens


def draw_address_map(
    source: ReportSource, tile: int, theme: str, window: tuple[int, int] | None = None
) -> tuple[dict[str, Any], str]:
    """(figure, the sentence under it) of all addresses of a tile or those of `window`; fewer addresses are drawn with
    less merging. Raises NotRecordedError without lowered variables, ValueError for a tile that does not exist."""
    low = lowered_tile(source, tile)
    names, drawn = lowered_names(source), address_map(source, tile, window)
    target = target_of(source)
    use = address_use(low)
    texts = [
        _text(drawn, index, names[int(low.name[drawn.row[index]])] if len(names) else "")
        for index in range(len(drawn.row))
    ]
    traces = [
        _bars(drawn, np.flatnonzero(drawn.category == category), texts, theme)
        for category in np.unique(drawn.category).tolist()
    ]
    bottom, top = window or (0, max(round(use.including_gaps * 1.02), 1))
    ticks, labels = binary_ticks(top, 8, bottom)
    colours = tokens(theme)
    layout = {
        "barmode": "overlay",
        "hovermode": "closest",
        "margin": {"l": 76, "r": 18, "t": 30, "b": 36},
        "legend": legend(len(traces)),
        "showlegend": True,
        "xaxis": {
            "range": [-0.5, drawn.indices - 0.5],
            "title": {"text": "Liveness index"},
            "tickformat": ",d",
            "zeroline": False,
        },
        "yaxis": {"range": [bottom, top], "tickvals": ticks, "ticktext": labels, "title": {"text": "Address"}},
        "shapes": [
            _line(
                address, drawn.indices, colours["bad"] if address == target.bytes_per_tile else colours["line-strong"]
            )
            for address in (target.region_split, target.bytes_per_tile)
            if bottom < address <= top
        ],
        "uirevision": f"map-{tile}",
    }
    return {"data": traces, "layout": layout}, _sentence(
        drawn, len(low.bytes), use.including_gaps - use.excluding_gaps, len(use.gap_starts)
    )


def _bars(drawn: AddressMap, rows: Any, texts: list[str], theme: str) -> dict[str, Any]:
    key = CATEGORY_KEYS[int(drawn.category[rows[0]])]
    colour = part_colour(key, theme)
    return {
        "type": "bar",
        "orientation": "h",
        "name": CATEGORY_LABELS[key],
        "base": (drawn.live_from[rows] - 0.5).tolist(),
        "x": (drawn.live_to[rows] - drawn.live_from[rows]).tolist(),
        "y": ((drawn.begin[rows] + drawn.end[rows]) / 2).tolist(),
        "width": (drawn.end[rows] - drawn.begin[rows]).tolist(),
        "marker": {"color": translucent(colour, 0.8), "line": {"width": 0.6, "color": colour}},
        "text": [texts[row] for row in rows.tolist()],
        "textposition": "none",
        "hovertemplate": "%{text}<extra>" + CATEGORY_LABELS[key] + "</extra>",
    }


def _text(drawn: AddressMap, index: int, name: str) -> str:
    begin, end = int(drawn.begin[index]), int(drawn.end[index])
    first, last = int(drawn.live_from[index]), int(drawn.live_to[index]) - 1
    merged = int(drawn.merged[index])
    title = plain(name) if merged == 1 else f"{merged:,} neighbours, drawn as one"
    live = "all the time" if (first, last) == (0, drawn.indices - 1) else f"indices {first:,} to {last:,}"
    return f"{title}<br>{both_units(end - begin)} at 0x{begin:x} to 0x{end:x}<br>{live}"


def _line(address: int, indices: int, colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": -0.5,
        "x1": indices - 0.5,
        "y0": address,
        "y1": address,
        "line": {"width": 1, "dash": "dash", "color": colour},
    }


def _sentence(drawn: AddressMap, allocations: int, gap_bytes: int, gaps: int) -> str:
    text = f"{allocations:,} allocations; {gaps:,} gaps of {both_units(gap_bytes)} in all are left blank."
    if drawn.cell:
        text += f" Neighbours of one category within {both_units(drawn.cell)} are drawn as one rectangle."
    return text
