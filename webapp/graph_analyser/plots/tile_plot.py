"""Figures of every tile as lines, with their sums, means and extremes beside them."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.decimate import min_max_positions
from webapp.base.arrays import Int64Array
from webapp.base.formats import integer_text
from webapp.base.selection import Selection
from webapp.base.theme import tokens
from webapp.components import figure
from webapp.components.row_export import exportable, row_values

#: Points drawn of one line.
_MOST_POINTS = 4_000


def tile_plot(
    name: str, unit: str, series: list[tuple[str, Int64Array]], selection: Selection, theme: str
) -> Component:
    """Lines of one `unit`, each a label and a value per tile, over a table of statistics; `name` is the plot's id. The
    selected tiles are marked."""
    colours = tokens(theme)
    traces: list[dict[str, Any]] = []
    for index, (label, values) in enumerate(series, start=1):
        drawn = min_max_positions(values, _MOST_POINTS)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": label,
                "x": drawn.positions,
                "y": values[drawn.positions],
                "line": {
                    "shape": "hvh",
                    "width": 1.2,
                    "color": colours[f"series-{index}"],
                    "dash": "solid" if index == 1 else "dot",
                },
                "hovertemplate": f"tile %{{x:,}}: %{{y:,}}<extra>{label}</extra>",
            }
        )
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "Tile"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": unit}, "rangemode": "tozero", "separatethousands": True},
        "shapes": [_marker(tile, colours["accent"]) for tile in selection.tiles[:50]],
        "showlegend": len(series) > 1,
        "hovermode": "x",
        "legend": {"x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        "margin": {"l": 64, "r": 12, "t": 24, "b": 36},
    }
    rows = [_statistics(label, values, unit) for label, values in series]
    head = html.Tr(
        [html.Th(text) for text in ("Figure", "Sum", "Tiles > 0", "Smallest > 0", "Mean", "Largest", "at tile")]
    )
    return html.Div(
        [
            html.Div(
                figure(name, {"data": traces, "layout": layout}, theme, image_name=name),
                className="tile-figure",
            ),
            exportable(
                html.Table([html.Thead(head), html.Tbody(rows)], className="statistics"),
                f"{name}-statistics",
                "these statistics",
            ),
        ],
        className="tile-plot",
    )


def _marker(tile: int, colour: str) -> dict[str, Any]:
    line = {"color": colour, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": tile, "x1": tile, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _statistics(label: str, values: Int64Array, unit: str) -> Component:
    """A row of statistics over all tiles of all IPUs; the mean includes tiles with 0."""
    positive = values[values > 0]
    mean = float(values.mean()) if len(values) else None
    figures: dict[str, int | float | None] = {
        f"sum_{unit}": int(values.sum()),
        "tiles_above_0": len(positive),
        f"smallest_above_0_{unit}": int(positive.min()) if len(positive) else None,
        f"mean_{unit}": mean,
        f"largest_{unit}": int(values.max(initial=0)),
        "at_tile": int(values.argmax()) if len(positive) else None,
    }
    texts = [f"{each:,.1f}" if isinstance(each, float) else integer_text(each) for each in figures.values()]
    cells = [html.Th(label, scope="row"), *[html.Td(text) for text in texts]]
    return html.Tr(cells, **row_values({"figure": label, **figures}))
