"""The tab "Occurrences": durations of the events of one label over time, to find those that take longer than usual.

Shown is what the search finds, since a search selects its first match; where the selected event is not among that, or
without a search, the label of the selected event. The window is the selected one, else the whole trace:
choosing a point moves the visible window, and the picture stays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.occurrences import Occurrence, Occurrences, is_match, label_of_event, occurrences
from webapp.base.theme import tokens
from webapp.base.view import ViewContext
from webapp.components import Column, data_table, empty_hint, figure, plain
from webapp.system_analyser.timeline.measured import length_text, measured_columns
from webapp.system_analyser.timeline.routes import parse_event
from webapp.system_analyser.timeline.scope_line import scope_line

_LONGEST = (
    Column("duration_us", "Duration µs", "decimal", width=120),
    Column("of_median", "x median", "decimal", "Duration / median of the events of the window", width=105),
    Column("start_us", "Begin µs", "decimal", "Time since the first event of the trace", width=130),
    Column("thread", "Thread"),
)

_NOTHING = (
    "Select an event, or type into the search box: this shows how long each event of that label took, over time, and "
    "lists the longest."
)


def wanted_of(context: ViewContext) -> int | str | None:
    """The text of the search or the name of the selected event, None without either."""
    text = context.params.get("tl_find") or None
    try:
        place = parse_event(context.params.get("tl_event", ""))
        name = label_of_event(context.trace, *place)
        return text if text is not None and is_match(context.trace, text, *place) else name
    except (ValueError, IndexError):
        return text


def occurrences_content(context: ViewContext, begin: int, end: int, window: str) -> Component:
    """The drawing beside the list of the longest."""
    source, wanted = context.trace, wanted_of(context)
    if source.samples:
        return empty_hint("The spans of a sampled profile are no calls: how long single ones took is not known.")
    if wanted is None:
        return empty_hint(_NOTHING)
    try:
        found = occurrences(source, wanted, begin, end)
    except ValueError as problem:
        return empty_hint(f"{problem}.")
    what = f"'{wanted}'" if isinstance(wanted, str) else source.names.label[wanted]
    if found is None:
        return empty_hint(f"No event of {what} that takes time begins in the {window}.")
    some = found.total > len(found.cells)
    scope = (
        f"{found.total:,} event{'s' if found.total > 1 else ''} of {what} begin{'' if found.total > 1 else 's'} in the "
        f"{window}; durations on a logarithmic scale"
        + (f", {len(found.cells):,} points, of which larger ones stand for several events" if some else "")
        + f". The {len(found.longest)} longest are listed" * (found.total > len(found.longest))
    )
    query = f"{wanted}-{context.params.get('tl_sel', '')}"
    drawing = _drawing(source, found, context.theme)
    drawing["layout"]["uirevision"] = query  # a zoom of the user's stays while the trace grows
    drawn = figure(
        {"plot": "tl-occurrences", "query": query},
        drawing,
        context.theme,
        class_name="figure tl-occurrences-plot",
        image_name="occurrences",
    )
    rows = [_row(source, each, found.percentiles[50]) for each in found.longest]
    table = data_table(
        {"rows": "tl-longest", "query": query},
        rows,
        measured_columns(source, _LONGEST),
        name="longest",
        height="100%",
        selectable=True,
        row_id="row",
    )
    body = html.Div([drawn, html.Div(table, className="tl-occurrences-list")], className="tl-occurrences")
    return html.Div([scope_line(scope, "occurrences"), body], className="tl-table")


def _event_of(source: HostTrace, each: Occurrence) -> dict[str, int]:
    """What timeline.js needs to show an event."""
    return {
        "thread": each.thread,
        "depth": each.depth,
        "position": each.position,
        "start": each.start - source.begin,
        "duration": each.duration,
    }


def _row(source: HostTrace, each: Occurrence, median: int) -> dict[str, Any]:
    return {
        "row": f"{each.thread}.{each.depth}.{each.position}",
        "duration_us": each.duration / 1e3,
        "of_median": each.duration / median if median else None,
        "start_us": (each.start - source.begin) / 1e3,
        "thread": _thread(source, each.thread),
        "event": _event_of(source, each),
    }


def _thread(source: HostTrace, thread: int) -> str:
    row = source.threads[thread].row
    return row.name or f"Thread {row.tid}"


def _drawing(source: HostTrace, found: Occurrences, theme: str) -> dict[str, Any]:
    """A point per cell at its event: seconds since the first event of the trace, microseconds, logarithmic; of what
    is no time its unit in both."""
    colours = tokens(theme)
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": [(each.start - source.begin) / (1e3 if source.unit else 1e9) for each in found.cells],
        "y": [max(each.duration, 1) / 1e3 for each in found.cells],
        "customdata": [_event_of(source, each) for each in found.cells],
        "text": [_hint(source, each) for each in found.cells],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": [5 + 2 * min(len(str(each.count)) - 1, 5) + (each.count > 1) for each in found.cells],
            "color": colours["series-1"],
            "opacity": 0.75,
        },
        "name": "events",
    }
    lines = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": y,
            "y1": y,
            "line": _LINE | {"color": colours["axis"]},
        }
        for y in (max(value, 1) / 1e3 for value in found.percentiles.values())
    ]
    least, most = (end(each.duration for each in found.cells) for end in (min, max))
    layout = {
        "margin": {"l": 60, "r": 14, "t": 18, "b": 40},
        "showlegend": False,
        "hovermode": "closest",
        "shapes": lines,
        "annotations": _names_of_lines(found.percentiles, colours),
        "xaxis": {
            "title": {"text": f"Begin, {source.unit or 's'} since the first event ({source.clock})"},
            "nticks": 7,
            "tickangle": 0,
        },
        "yaxis": {
            "title": {"text": f"Duration, {source.figure_unit}"},
            "type": "log",
            "range": [_log(least) - 0.1, _log(most) + 0.15],
            **_ticks(_log(least) - 0.1, _log(most) + 0.15),
        },
    }
    return {"data": [points], "layout": layout}


def _names_of_lines(percentiles: Mapping[int, int], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """The percentiles on their lines at the right. Each has its own place from left to right, so that close ones do not
    overlap whatever the size of the drawing; equal ones are one."""
    shares: dict[int, list[str]] = {}
    for share, value in percentiles.items():
        shares.setdefault(value, []).append(str(share))
    names, right = [], 0
    for value, equal in shares.items():
        text = " and ".join([", ".join(equal[:-1]), equal[-1]] if len(equal) > 1 else equal) + " %"
        place = {"xref": "paper", "x": 1, "xanchor": "right", "xshift": -right, "y": _log(value), "yanchor": "bottom"}
        font = {"size": _NAME_SIZE, "color": colours["axis"]}
        names.append(place | {"text": text, "showarrow": False, "bgcolor": colours["surface"], "font": font})
        right += round(0.75 * _NAME_SIZE * len(text)) + 8
    return names


_NAME_SIZE = 10

_LINE = {"width": 1, "dash": "dot"}


def _ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks of an axis from 10^low to 10^high: at 1, 2 and 5 of each decade, or over many decades fewer."""
    steps = (1, 2, 5) if high - low <= 2 else (1, 3) if high - low <= 3 else (1,)
    every = math.ceil((high - low) / _MOST_TICKS)
    decades = [each for each in range(math.floor(low), math.ceil(high) + 1) if each % every == 0]
    values = [step * 10.0**each for each in decades for step in steps if low <= math.log10(step) + each <= high]
    return {"tickvals": values, "ticktext": [f"{value:,.9f}".rstrip("0").rstrip(".") for value in values]}


_MOST_TICKS = 6


def _log(duration: int) -> float:
    """The place of a duration on the logarithmic axis of microseconds."""
    return math.log10(max(duration, 1) / 1e3)


def _hint(source: HostTrace, each: Occurrence) -> str:
    more = f"<br>one of {each.count:,} events here" if each.count > 1 else ""
    begin = each.start - source.begin
    at = length_text(source, begin) if source.unit else f"{begin / 1e9:.6f} s"
    duration = length_text(source, each.duration) if source.unit else f"{each.duration / 1e3:,.3f} µs"
    return f"{duration}<br>at {at}<br>{plain(_thread(source, each.thread))}{more}"
