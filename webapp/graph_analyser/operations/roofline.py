"""The roofline plot: each operation's FLOPs per cycle over its FLOPs per byte received, with the machine's limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.operations.roofline import Roofline, roofline
from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.components import empty_hint, figure, help_text, plain
from webapp.graph_analyser.operations.state import OperationState
from webapp.graph_analyser.operations.tables import FIGURES
from webapp.theme import tokens

if TYPE_CHECKING:
    from popvision.analysis.operations.table import OperationGroups
    from popvision.analysis.report.source import ReportSource

#: Points drawn: those with most of the selected figure.
MOST_POINTS = 2_000


def roofline_part(source: ReportSource, state: OperationState, theme: str) -> Component:
    """The plot, or a sentence about what the report lacks."""
    groups = state.groups(source)
    try:
        found = roofline(source, groups)
    except NotRecordedError as lacking:
        return empty_hint(str(lacking))
    if state.find:
        found = replace(found, **_matching(found, groups.name, state.find))
    if not len(found.row):
        return empty_hint("No operation shown has FLOPs, cycles and received bytes, so there is nothing to draw.")
    by = state.by if state.by in groups.columns and groups.totals[state.by] > 0 else "cycles"
    drawn = figure("ops-roofline", _figure(groups, found, by, theme), theme, image_name="roofline")
    return html.Div([html.Div(drawn, className="ops-roof"), _note(found, by)], className="ops-column")


def _matching(found: Roofline, names: list[str], text: str) -> dict[str, Any]:
    """The columns of the points whose name contains a text."""
    inside = [text.lower() in names[row].lower() for row in found.row.tolist()]
    mask = np.array(inside, bool)
    return {"row": found.row[mask], "intensity": found.intensity[mask], "rate": found.rate[mask]}


def _figure(groups: OperationGroups, found: Roofline, by: str, theme: str) -> dict[str, Any]:
    colours = tokens(theme)
    values = groups.columns[by][found.row].clip(min=0)
    shown = (-values).argsort(kind="stable")[:MOST_POINTS]
    rows = found.row[shown]
    names = [plain(groups.name[row]) for row in rows.tolist()]
    share = values[shown] / max(1, groups.totals[by])
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "Operations",
        "x": found.intensity[shown],
        "y": found.rate[shown],
        "text": names,
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
        "hovertemplate": "%{text}<br>%{x:,.3f} FLOP / byte received<br>%{y:,.2f} FLOP / cycle<br>"
        f"%{{customdata[2]:.2%}} of all {FIGURES[by][0].lower()}<extra></extra>",
    }
    low, high = float(found.intensity.min()) / 3, float(found.intensity.max()) * 3
    lines = []
    for at, (peak, name) in enumerate(((found.half, "peak in half"), (found.float32, "peak in float"))):
        if peak:
            ridge = peak / found.exchange
            high = max(high, ridge * 3)
            lines.append((min(low, ridge / 3), ridge, peak, name, "solid" if at == 0 else "dash"))
    roofs = [_roof(found.exchange, line, high, colours["ink"]) for line in lines]
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


def _note(found: Roofline, by: str) -> Component:
    size = f"The size of a point is its share of all {FIGURES[by][0].lower()}. "
    parts: list[Any] = [size, "Click a point to select its operation; the table has the same figures."]
    if found.without_bytes:
        parts.append(f" {found.without_bytes:,} operations with FLOPs receive no data and are not drawn.")
    if not found.half:
        parts.append(" The peak rate of this architecture is unknown, so no roof is drawn.")
    about = help_text(
        "The roofline",
        "Tiles work on data in their own memory, so the limiting bandwidth is that of the exchange: "
        f"{found.exchange:,.0f} bytes per cycle when all tiles of an IPU receive at once.",
        "The slanted line is the exchange limit, FLOPs per byte x exchange bandwidth: an operation exceeds it only "
        "where tiles that share a bus receive the same data at once. The horizontal lines are the peak rates of the "
        "data sheet, which no operation exceeds.",
        formula="x = FLOPs / bytes received; y = FLOPs / cycles",
    )
    return html.Div([html.Span(parts), about], className="ops-note")
