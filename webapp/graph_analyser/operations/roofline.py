"""The roofline plot: each operation's FLOPs per cycle over its FLOPs per byte received, with the machine's limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.operations.roofline import Roofline, roofline
from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.arrays import Float64Array
from webapp.components import empty_hint, figure, help_text, plain
from webapp.graph_analyser.operations.state import OperationState
from webapp.graph_analyser.operations.tables import FIGURES
from webapp.theme import tokens

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
        return empty_hint(str(lacking))
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
    points = {
        "type": "scatter",
        "mode": "markers+text",
        "name": "Operations",
        "x": figures.intensity[shown],
        "y": figures.rate[shown],
        **_names_beside(figures.intensity[shown], figures.rate[shown], names),
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
            "size": 7 + 26 * share**0.5,
        },
        "hovertemplate": "%{hovertext}<br>%{x:,.3f} FLOP / byte received<br>%{y:,.2f} FLOP / cycle<br>"
        f"%{{customdata[2]:.2%}} of all {FIGURES[by][0].lower()}<extra></extra>",
    }
    low, high = float(figures.intensity.min()) / 3, float(figures.intensity.max()) * 3
    lines = []
    for at, (peak, name) in enumerate(((figures.half, "peak in half"), (figures.float32, "peak in float"))):
        if peak:
            ridge = peak / figures.exchange
            high = max(high, ridge * 3)
            lines.append((min(low, ridge / 3), ridge, peak, name, "solid" if at == 0 else "dash"))
    roofs = [_roof(figures.exchange, line, high, colours["ink"]) for line in lines]
    axis = {"type": "log", "exponentformat": "power", "minor": {"showgrid": False}}
    layout = {
        "xaxis": {**axis, "title": {"text": "FLOPs per byte received"}},
        "yaxis": {**axis, "title": {"text": "FLOPs per cycle of one IPU"}},
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 70, "r": 24, "t": 34, "b": 48},
    }
    return {"data": [*roofs, points], "layout": layout}


#: Where a name may stand: its place in Plotly's words, and its middle from the point, in halves of its size.
_PLACES = (("middle right", 1, 0), ("middle left", -1, 0), ("top center", 0, 1), ("bottom center", 0, -1))

#: Pixels of a decade of either axis, about; of a letter; between point and name; of a line.
_DECADE, _LETTER, _GAP, _LINE = (365, 66), 6.5, 12, 14


def _names_beside(x: Float64Array, y: Float64Array, names: list[str]) -> dict[str, list[str]]:
    """Names of the first points, each at the first place where it covers no point and no name before it; none where
    each place is taken."""
    across, up = (np.log10(values) * size for values, size in zip((x, y), _DECADE, strict=True))
    texts, places = [""] * len(names), ["middle right"] * len(names)
    boxes: list[tuple[float, float, float, float]] = [(*point, 4, 4) for point in zip(across, up, strict=True)]
    for at, name in enumerate(names[:NAMED_POINTS]):
        half = _LETTER * len(name) / 2
        for place, side, above in _PLACES:
            middle = (across[at] + side * (half + _GAP), up[at] + above * _LINE)
            if not any(
                abs(middle[0] - left) < half + wide and abs(middle[1] - low) < _LINE / 2 + high
                for left, low, wide, high in boxes
            ):
                texts[at], places[at] = name, place
                boxes.append((*middle, half, _LINE / 2))
                break
    return {"text": texts, "textposition": places}


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
