"""The roofline plot: each operation's FLOPs per cycle over its FLOPs per byte received, with the machine's limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.operations.roofline import Roofline, roofline
from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.base.arrays import Float64Array
from webapp.base.theme import tokens
from webapp.components import empty_hint, figure, help_text, plain, unavailable
from webapp.graph_analyser.operations.state import OperationState
from webapp.graph_analyser.operations.tables import FIGURES

if TYPE_CHECKING:
    from popvision.analysis.operations.table import OperationGroups
    from popvision.analysis.report.source import ReportSource

#: Points whose names stand beside them: those with most of the selected figure.
NAMED_POINTS = 8

#: Points drawn: those with most of the selected figure.
MOST_POINTS = 2_000


def roofline_part(source: ReportSource, state: OperationState, theme: str) -> Component:
    """The plot, or a sentence about what the report lacks."""
    groups = state.groups(source)
    try:
        figures = roofline(source, groups)
    except NotRecordedError as lacking:
        return unavailable(lacking)
    if state.find:
        figures = replace(figures, **_matching(figures, groups.name, state.find))
    if not len(figures.row):
        return empty_hint("No operation shown has FLOPs, cycles and received bytes, so there is nothing to draw.")
    by = state.by if state.by in groups.columns and groups.totals[state.by] > 0 else "cycles"
    drawn = figure("ops-roofline", _figure(groups, figures, by, theme), theme, image_name="roofline")
    return html.Div([html.Div(drawn, className="ops-roof"), _note(figures, by)], className="ops-column")


def _matching(figures: Roofline, names: list[str], text: str) -> dict[str, Any]:
    """The columns of the points whose name contains a text."""
    inside = [text.lower() in names[row].lower() for row in figures.row.tolist()]
    mask = np.array(inside, bool)
    return {"row": figures.row[mask], "intensity": figures.intensity[mask], "rate": figures.rate[mask]}


def _figure(groups: OperationGroups, figures: Roofline, by: str, theme: str) -> dict[str, Any]:
    colours = tokens(theme)
    values = groups.columns[by][figures.row].clip(min=0)
    shown = (-values).argsort(kind="stable")[:MOST_POINTS]
    rows = figures.row[shown]
    names = [plain(groups.name[row]) for row in rows.tolist()]
    share = values[shown] / max(1, groups.totals[by])
    x, y, size = figures.intensity[shown], figures.rate[shown], 7 + 26 * share**0.5
    low, high = float(figures.intensity.min()) / 3, float(figures.intensity.max()) * 3
    lines = []
    for at, (peak, name) in enumerate(((figures.half, "peak in half"), (figures.float32, "peak in float"))):
        if peak:
            ridge = peak / figures.exchange
            high = max(high, ridge * 3)
            lines.append((min(low, ridge / 3), ridge, peak, name, "solid" if at == 0 else "dash"))
    across = (min([low, *(line[0] for line in lines)]), high)
    up = (float(figures.rate.min()) / 2, max([float(figures.rate.max()), *(line[2] for line in lines)]) * 2)
    points = {
        "type": "scatter",
        "mode": "markers+text",
        "name": "Operations",
        "x": x,
        "y": y,
        **names_beside((_shares(x, across), _shares(y, up)), size / 2, names, _along(lines, figures, across, up)),
        "textfont": {"size": 11, "color": colours["ink"]},
        "cliponaxis": False,
        "hovertext": names,
        "customdata": [
            [int(groups.context[row]), groups.name[row], float(part)]
            for row, part in zip(rows.tolist(), share, strict=True)
        ],
        "marker": {
            "color": colours["series-1"],
            "opacity": 0.8,
            "line": {"color": colours["surface"], "width": 1},
            "size": size,
        },
        "hovertemplate": "%{hovertext}<br>%{x:,.3f} FLOP / byte received<br>%{y:,.2f} FLOP / cycle<br>"
        f"%{{customdata[2]:.2%}} of all {FIGURES[by][0].lower()}<extra></extra>",
    }
    roofs = [_roof(figures.exchange, line, high, colours["ink"]) for line in lines]
    axis = {"type": "log", "exponentformat": "power", "minor": {"showgrid": False}}
    layout = {
        "xaxis": {**axis, "range": np.log10(across).tolist(), "title": {"text": "FLOPs per byte received"}},
        "yaxis": {**axis, "range": np.log10(up).tolist(), "title": {"text": "FLOPs per cycle of one IPU"}},
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 70, "r": 24, "t": 34, "b": 48},
    }
    return {"data": [*roofs, points], "layout": layout}


def _shares(values: Float64Array, ends: tuple[float, float]) -> Float64Array:
    """The places of values along a logarithmic axis, 0..1."""
    low, high = np.log10(ends)
    return np.asarray((np.log10(values) - low) / (high - low))


#: Points along a line that names keep away from: eight pixels apart in a large window.
_ALONG = 200


def _along(
    lines: Sequence[tuple[float, float, float, str, str]],
    figures: Roofline,
    across: tuple[float, float],
    up: tuple[float, float],
) -> list[tuple[float, float]]:
    """Points along the roofs."""
    x = np.geomspace(*across, _ALONG)
    roofs = [np.minimum(x * figures.exchange, line[2]) for line in lines]
    return [each for y in roofs for each in zip(_shares(x, across).tolist(), _shares(y, up).tolist(), strict=True)]


#: Where a name may stand: its place in Plotly's words, and the direction of its middle from the point.
_PLACES = (
    ("middle right", 1, 0),
    ("middle left", -1, 0),
    ("top center", 0, 1),
    ("bottom center", 0, -1),
    ("top right", 1, 1),
    ("top left", -1, 1),
    ("bottom right", 1, -1),
    ("bottom left", -1, -1),
)

#: Width and height in pixels of the drawing in a low, a usual and a large window.
_WINDOWS = ((850, 175), (1150, 300), (1650, 420))

#: Pixels of a letter, and of a line, of 11 px.
_LETTER, _LINE = 6.6, 14


def names_beside(
    places: tuple[Float64Array, Float64Array],
    radius: Float64Array,
    names: list[str],
    lines: Sequence[tuple[float, float]] = (),
) -> dict[str, list[str]]:
    """Names of the first points, each at the first place where it covers no point, no line and no name before it in a
    window of any size; none where each place is taken. `places` and points along `lines` are shares of the width and of
    the height, upwards; `radius` is in pixels."""
    texts, chosen = [""] * len(names), ["middle right"] * len(names)
    boxes = [
        [(x * width, y * height, r, r) for x, y, r in zip(*places, radius.tolist(), strict=True)]
        + [(x * width, y * height, 1, 1) for x, y in lines]
        for width, height in _WINDOWS
    ]
    for at, name in enumerate(names[:NAMED_POINTS]):
        for place, side, above in _PLACES:
            found = [_box(window[at], len(name) * _LETTER / 2, side, above) for window in boxes]
            if all(_is_free(box, window[:at] + window[at + 1 :]) for box, window in zip(found, boxes, strict=True)):
                texts[at], chosen[at] = name, place
                for box, window in zip(found, boxes, strict=True):
                    window.append(box)
                break
    return {"text": texts, "textposition": chosen}


#: Middle, half the width and half the height of a point or a name.
_Box = tuple[float, float, float, float]


def _box(point: _Box, half: float, side: int, above: int) -> _Box:
    """Where Plotly draws a name of a point: beyond its radius / 0.8 + 1 pixels."""
    x, y, radius, _ = point
    away = radius / 0.8 + 1
    return x + side * (away + half), y + above * (away + _LINE / 2), half, _LINE / 2


def _is_free(box: _Box, others: list[_Box]) -> bool:
    return not any(abs(box[0] - x) < box[2] + wide and abs(box[1] - y) < box[3] + high for x, y, wide, high in others)


def _roof(exchange: float, line: tuple[float, float, float, str, str], high: float, colour: str) -> dict[str, Any]:
    low, ridge, peak, name, dash = line
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"Exchange, then {name}: {peak:,.0f} FLOP / cycle",
        "x": [low, ridge, high],
        "y": [low * exchange, peak, peak],
        "line": {"color": colour, "width": 1.4, "dash": dash},
        "hoverinfo": "skip",
    }


def _note(figures: Roofline, by: str) -> Component:
    size = f"The size of a point is its share of all {FIGURES[by][0].lower()}. "
    parts: list[Any] = [size, "Click a point to select its operation; the table has the same figures."]
    if figures.without_bytes:
        parts.append(f" {figures.without_bytes:,} operations with FLOPs receive no data and are not drawn.")
    if not figures.half:
        parts.append(" The peak rate of this architecture is unknown, so no roof is drawn.")
    about = help_text(
        "The roofline",
        "Tiles work on data in their own memory, so the limiting bandwidth is that of the exchange: "
        f"{figures.exchange:,.0f} bytes per cycle when all tiles of an IPU receive at once.",
        "The slanted line is the exchange limit, FLOPs per byte x exchange bandwidth: an operation exceeds it only "
        "where tiles that share a bus receive the same data at once. The horizontal lines are the peak rates of the "
        "data sheet, which no operation exceeds.",
        formula="x = FLOPs / bytes received; y = FLOPs / cycles",
    )
    return html.Div([html.Span(parts), about], className="ops-note")
