"""The plot area of the memory page: figure, values at the cursor, statistics and notes."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.liveness.curve import fullest_tile
from popvision.analysis.report.not_recorded import FormatError, NotRecordedError
from popvision.analysis.report.source import ReportSource
from webapp.components import themed, unavailable
from webapp.graph_analyser.memory.plot import draw_memory
from webapp.graph_analyser.memory.state import MemoryState
from webapp.graph_analyser.memory.tile_map_plot import draw_tile_map
from webapp.graph_analyser.plots.drawing import Drawing
from webapp.graph_analyser.plots.headline import range_line
from webapp.graph_analyser.plots.page import NOTHING
from webapp.graph_analyser.plots.reading import reading


def plot_parts(
    source: ReportSource, state: MemoryState, theme: str, target: ReportSource | None = None
) -> tuple[Any, ...]:
    """(figure, configuration for assets/shared/plots/axis.js, values at the cursor, statistics below it)."""
    try:
        draw = draw_tile_map if state.graph == "map" else draw_memory
        drawing = draw(source, state, theme, target)
    except (NotRecordedError, ValueError, FormatError) as problem:
        return themed(NOTHING, theme), {"name": "mem", "count": 0}, "", unavailable(problem)
    first = int(drawing.ids[0])
    in_order = state.graph == "map" or bool((drawing.ids[1:] > drawing.ids[:-1]).all())
    config = {
        "name": "mem",
        "view": "mem_view" if state.graph != "map" and not state.by_ipu else "",
        "pick": "ipu" if state.by_ipu else "tiles",
        "also": "",
        "count": len(drawing.ids),
        "first": first if in_order else 0,
        "order": None if in_order else drawing.ids.tolist(),
        "mark": "" if state.by_ipu else "mem_mark",
        "peak": None if state.by_ipu else fullest_tile(source, state.replica),
    }
    return themed(drawing.figure, theme), config, _reading(drawing, state), _below(drawing, state)


def _reading(drawing: Drawing, state: MemoryState) -> Any:
    """Values of the last selected tile, and its differences from the mark."""
    if drawing.plot is None:
        return ""
    chosen, noun = (state.ipus, "IPU") if state.by_ipu else (state.tiles, "tile")
    rows = np.flatnonzero(drawing.ids == chosen[-1]).tolist() if chosen else []
    hint = f"Select {'an' if state.by_ipu else 'a'} {noun} to see its values here: click it, or use the arrow keys"
    hint += "." if state.by_ipu else "; p selects the fullest tile."
    name = f"{noun[0].upper()}{noun[1:]}"
    return reading(drawing.plot, lambda at: f"{name} {int(drawing.ids[at]):,}", rows[0] if rows else None, hint)


def _below(drawing: Drawing, state: MemoryState) -> list[Component]:
    lines: list[Component] = [html.Div(problem, className="range-problem") for problem in state.problems]
    if drawing.statistics is None:
        return lines
    noun = "IPU" if state.by_ipu else "tile"
    first, last = drawing.shown
    where = f"{drawing.quantity[0].upper()}{drawing.quantity[1:]}"
    every = noun if drawing.whole == 1 else f"{noun}s"
    name = every if last - first + 1 == drawing.whole else f"of {drawing.whole:,} {noun}s shown"
    drawn = "The plot shows minima and maxima only; zoom in to see every tile" if drawing.decimated else ""

    def position(at: int) -> str:
        return f"{noun} {int(drawing.ids[first + at]):,}"

    lines.append(
        range_line(drawing.statistics, where, name, position=position, decimated=drawing.decimated, drawn=drawn)
    )
    if len(drawing.also) > 1:
        each = [
            range_line(figures, title, name, position=position, decimated=False, drawn="")
            for title, figures in drawing.also
            if figures is not None
        ]
        lines.append(html.Details([html.Summary(f"Statistics of each of the {len(each)} curves"), *each]))
    if state.graph == "map":
        lines.append(
            html.Div(
                "Tiles are placed by physical id. The exact floor plan is not public, so this layout is a guess.",
                className="range-note",
            )
        )
    return lines
