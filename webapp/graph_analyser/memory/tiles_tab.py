"""The Tiles tab: all tiles ranked by memory, and a histogram of their memory."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.memory import replica_of_target
from popvision.analysis.memory.tile_ranking import Histogram, histogram
from popvision.analysis.memory.usage import MemoryByTile, memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.source import ReportSource
from webapp.base.theme import tokens
from webapp.components import figure, help_text, long_table
from webapp.components.attributes import attributes
from webapp.components.figure_columns import HIDE, figure_columns
from webapp.graph_analyser.memory.state import MemoryPage
from webapp.graph_analyser.memory.tables import tiles_table
from webapp.graph_analyser.plots.bytes_axis import both_units, byte_ticks
from webapp.graph_analyser.plots.category_colours import translucent
from webapp.graph_analyser.plots.page import save_plot


def tiles_tab(page: MemoryPage, theme: str) -> Component:
    """The histogram beside the table. Raises NotRecordedError without a graph profile."""
    memory = memory_by_tile(page.source, page.state.replica)
    columns = figure_columns(tiles_table(page.source, page.target, page.query), {"capacity_bytes": HIDE})
    query = {name: value for name, value in page.query.items() if name in ("replica", "vs")}
    table = long_table("memory-tiles", page.key, query, columns, selectable=True)
    plot: Any = figure("mem-bins", _draw(page, memory, theme), theme, image_name="tiles-by-memory")
    plot.config = plot.config | {"displayModeBar": False}
    over = len(memory.over_capacity)
    fits = "All tiles fit into their memory." if not over else f"{with_noun(over, 'tile')} beyond the memory of a tile."
    bar = [
        html.Span(f"{fits} Select a row to select its tile.", className="tab-note"),
        help_text(
            "Histogram",
            "Number of tiles of the replica by memory including gaps. The width of a bin is a power of two.",
            formula="bin of a tile = floor(memory including gaps / width)",
        ),
        html.Div(className="spacer"),
        save_plot("mem-bins", "tiles-by-memory"),
    ]
    label = "Histogram of tiles by memory including gaps; the table has the same figures"
    box = html.Div(plot, className="bins-plot", **attributes(aria_label=label), role="group")
    return html.Div(
        [
            html.Div(bar, className="tab-bar"),
            html.Div([box, html.Div(table, className="peak-table")], className="tab-fill peak-halves"),
        ],
        className="tab-column",
    )


def _draw(page: MemoryPage, memory: MemoryByTile, theme: str) -> dict[str, Any]:
    colours = tokens(theme)
    sides: list[tuple[str, Histogram, str]] = [
        ("Source" if page.target is not None else "Tiles", histogram(memory.including_gaps), colours["series-2"])
    ]
    theirs = _of_target(page.target, page.state.replica)
    if theirs is not None:
        sides.append(("Target", histogram(theirs.including_gaps), colours["series-1"]))
    top = max(int(each.edges[-1]) for _, each, _ in sides)
    low = min(int(each.edges[0]) for _, each, _ in sides)
    if memory.capacity < 1.4 * top:
        top = max(top, int(memory.capacity * 1.04))
    ticks, texts = byte_ticks(top, 5, low)
    layout = {
        "barmode": "overlay",
        "bargap": 0.02,
        "showlegend": len(sides) > 1,
        "margin": {"l": 46, "r": 14, "t": 24, "b": 40},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        "xaxis": {
            "tickvals": ticks,
            "ticktext": texts,
            "range": [low, top],
            "title": {"text": "Memory including gaps"},
        },
        "yaxis": {"title": {"text": "Tiles"}, "rangemode": "tozero", "tickformat": ",d"},
        "shapes": [
            {
                "type": "line",
                "x0": memory.capacity,
                "x1": memory.capacity,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": colours["bad"], "width": 1.5, "dash": "dash"},
            }
        ]
        if memory.capacity <= top
        else [],
    }
    return {"data": [_bars(*side) for side in sides], "layout": layout}


def _bars(name: str, bins: Histogram, colour: str) -> dict[str, Any]:
    edges = bins.edges.tolist()
    return {
        "type": "bar",
        "name": name,
        "x": [edge + bins.width / 2 for edge in edges[:-1]],
        "width": bins.width,
        "y": bins.tiles.tolist(),
        "marker": {"color": translucent(colour, 0.55), "line": {"color": colour, "width": 1}},
        "customdata": [f"{both_units(low)} to below {both_units(low + bins.width)}" for low in edges[:-1]],
        "hovertemplate": "%{y:,} tiles use %{customdata}<extra></extra>",
    }


def _of_target(target: ReportSource | None, replica: int | None) -> MemoryByTile | None:
    if target is None:
        return None
    try:
        return memory_by_tile(target, replica_of_target(target, replica))
    except NotRecordedError:
        return None
