"""The Tiles tab: cycles, bytes and code of one program on every tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.programs.details import TileFigures
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.programs.tiles import program_tiles, program_tiles_pair
from popvision.analysis.report.decimate import min_max_positions
from webapp.arrays import Int64Array
from webapp.components import Column, figure, long_table, register_pair_rows
from webapp.components.difference import add_difference, difference_columns
from webapp.formats import integer_text
from webapp.library import Library
from webapp.query import number_of
from webapp.selection import Selection
from webapp.theme import tokens

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


_MOST_POINTS = 4_000


#: Name of a figure -> (kind, what it says).
_COLUMNS = {
    "Estimate": ("cycles", "Estimated cycles of one execution"),
    "Recorded": ("cycles", "Cycles in the last recorded step of the program"),
    "Received": ("bytes", "Bytes received in one execution"),
    "Sent": ("bytes", "Bytes sent in one execution"),
    "Exchange code": ("bytes", "Bytes of exchange code of the program itself"),
    "Control code": ("bytes", "Bytes of control code of the program itself"),
}


def register_tiles(app: Dash, library: Library) -> None:
    """Rows of the table of tiles."""
    register_pair_rows(app, library, "program-tiles", _rows)


def _rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> pd.DataFrame:
    program = number_of(query, "program")
    if not 0 <= program < len(programs_of(source).type):
        raise ValueError(f"There is no program {program} in this report.")
    if target is None:
        return program_tiles(source, program)
    pair = program_tiles_pair(source, target, program)
    return add_difference(pair, *[name for name in _COLUMNS if f"{name}_source" in pair])


def _table(source: ReportSource, key: str, selection: Selection, target: ReportSource | None) -> Component:
    """A row per tile, with a second report the differences to the matched program."""
    program = selection.program
    assert program is not None
    query = {"program": str(program)}
    columns = [Column("Tile", "Tile", "integer", width=90), Column("IPU", "IPU", "integer", width=80)]
    if target is None:
        held = program_tiles(source, program)
        columns += [
            Column(name, name, kind, help=help, width=130) for name, (kind, help) in _COLUMNS.items() if name in held
        ]
    else:
        query["vs"] = selection.extras.get("vs", "")
        pair = program_tiles_pair(source, target, program)
        for name, (kind, help) in _COLUMNS.items():
            if f"{name}_source" in pair:
                columns += difference_columns(name, name, kind, help=f"{help}:")
    return html.Div(long_table("program-tiles", key, query, columns, height=300), className="tile-table")


def tiles_tab(
    source: ReportSource,
    tiles: TileFigures,
    selection: Selection,
    theme: str,
    key: str,
    target: ReportSource | None = None,
) -> Component:
    """One plot for cycles, one for bytes where there are any, with the sums beside them; below them every tile."""
    cycles = [("Cycles, estimate", tiles.estimated), (f"Cycles, execution step {tiles.recorded_step}", tiles.recorded)]
    moved = [("Bytes received", tiles.received), ("Bytes sent", tiles.sent)]
    code = [("Exchange code", tiles.exchange_code), ("Control code", tiles.control_code)]
    plots = []
    for name, unit, series in (
        ("cycles", "cycles", cycles),
        ("bytes", "bytes per execution", moved),
        ("code", "bytes", code),
    ):
        present = [(label, values) for label, values in series if values is not None]
        if present:
            plots.append(tile_plot(f"pt-{name}", unit, present, selection, theme))
    owner = [] if target is None else [html.P("Plots show the source; the table compares.", className="dim")]
    return html.Div([html.Div([*owner, *plots], className="tile-plots"), _table(source, key, selection, target)])


def tile_plot(
    name: str, unit: str, series: list[tuple[str, Int64Array]], selection: Selection, theme: str
) -> Component:
    """Figures of every tile as lines, with their sums, means and extremes beside them; `name` is the plot's id."""
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
    rows = [_statistics(label, values) for label, values in series]
    head = html.Tr(
        [html.Th(text) for text in ("Figure", "Sum", "Tiles > 0", "Smallest > 0", "Mean", "Largest", "at tile")]
    )
    return html.Div(
        [
            html.Div(
                figure(name, {"data": traces, "layout": layout}, theme, image_name=name),
                className="tile-figure",
            ),
            html.Table([html.Thead(head), html.Tbody(rows)], className="statistics"),
        ],
        className="tile-plot",
    )


def _marker(tile: int, colour: str) -> dict[str, Any]:
    line = {"color": colour, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": tile, "x1": tile, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _statistics(label: str, values: Int64Array) -> Component:
    """Over all tiles of all IPUs; the mean counts tiles with 0 too."""
    positive = values[values > 0]
    cells = [
        integer_text(int(values.sum())),
        integer_text(len(positive)),
        integer_text(int(positive.min()) if len(positive) else None),
        f"{values.mean():,.1f}" if len(values) else "–",
        integer_text(int(values.max(initial=0))),
        integer_text(int(values.argmax()) if len(positive) else None),
    ]
    return html.Tr([html.Th(label, scope="row"), *[html.Td(cell) for cell in cells]])
