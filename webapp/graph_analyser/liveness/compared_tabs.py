"""The tabs of the liveness page in a comparison: source, target, difference and relative change."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.liveness import (
    always_live_pair,
    curve_pair,
    cycles_pair,
    flops_pair,
    live_pair,
    match_indices,
    vertices_pair,
)
from popvision.analysis.liveness.curve import curve
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.base.formats import bytes_text
from webapp.components import data_table, empty_hint, long_table
from webapp.components.difference import difference_mark
from webapp.components.figure_columns import HIDE, Layout, figure_columns, figure_frame
from webapp.graph_analyser.liveness.state import LivenessState, where_text
from webapp.graph_analyser.liveness.tables import MOST_PAIRED, query_of

_VARIABLES: Layout = {"target_variable": HIDE}
_STEPS: Layout = {"step": {"flex": 3}, "program": HIDE, "target_program": HIDE}


def pair_tab(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    """The tab of a state. Raises NotRecordedError when a report lacks it, ValueError when the target lacks the place
    shown."""
    curve(target, state.where)
    if state.tab == "always":
        return _always(source, target, key, vs, state)
    if state.tab == "steps":
        return _steps(source, target, key, vs, state)
    if state.tab == "not_always":
        return _live(source, target, key, vs, state)
    return {"vertices": _vertices, "cycles": _cycles, "flops": _flops}[state.tab](source, target, state)


def _always(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    totals = [_totals("Total", *(curve(report, state.where).always_live for report in (source, target)))]
    columns = figure_columns(always_live_pair(source, target, state.where), _VARIABLES)
    table = long_table("liveness-always", key, _query(state, vs, indices=False), columns, selectable=True)
    return _framed(totals, f"Variables that are always live on {_place(source, state)}", table)


def _live(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    indices = state.indices[:MOST_PAIRED]
    ours, theirs = curve(source, state.where), curve(target, state.where)
    paired = match_indices(source, target, state.by)
    totals, places = [], {}
    for index in indices:
        there = int(paired[index])
        after = int(theirs.not_always_live[there]) if there >= 0 else None
        totals.append(_totals(_heading(index, there), int(ours.not_always_live[index]), after))
        places[str(index)] = _partners(index, there)
    left = len(state.indices) - len(indices)
    note = "Select a row to draw its lifetime over the curve" + (f"; {left} more selected" if left else "")
    columns = figure_columns(live_pair(source, target, indices, state.where, state.by), _VARIABLES, places)
    table = long_table("liveness-live", key, _query(state, vs), columns, selectable=True)
    return _framed(totals, note, table)


def _steps(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    columns = figure_columns(curve_pair(source, target, state.where, state.by), _STEPS)
    query = _query(state, vs, indices=False) | ({"filter": state.filter} if state.filter.strip() else {})
    how = "by matched programs" if state.by == "programs" else "by their number"
    note = f"Indices are paired {how}; those without a partner are listed too. Select a row to select its index."
    return _framed([], note, long_table("liveness-steps", key, query, columns, selectable=True))


def _vertices(source: ReportSource, target: ReportSource, state: LivenessState) -> Component:
    index = state.indices[0]
    tiles = (curve(source, state.where).tiles, curve(target, state.where).tiles)
    vertices = vertices_pair(source, target, index, tiles, state.by)
    if not len(vertices):
        return empty_hint("No vertices run at this index in either report.")
    columns = figure_columns(vertices)
    frame = figure_frame(vertices)
    table = data_table("live-vertices", frame, columns, name="liveness-vertices", height="100%")
    return _framed([], _first_only(source, target, state), table)


def _cycles(source: ReportSource, target: ReportSource, state: LivenessState) -> Component:
    tiles = (curve(source, state.where).tiles, curve(target, state.where).tiles)
    estimates = cycles_pair(source, target, state.indices, tiles, state.by)
    columns, frame = figure_columns(estimates, {"step": {"flex": 2}}), figure_frame(estimates)
    table = data_table("live-cycles", frame, columns, name="liveness-cycles", height="100%", filter_box=False)
    return _framed([], f"Estimates for one execution on {_place(source, state)}", table)


def _flops(source: ReportSource, target: ReportSource, state: LivenessState) -> Component:
    flops = flops_pair(source, target, state.indices[0], state.by)
    columns, frame = figure_columns(flops), figure_frame(flops)
    note = (
        f"{_first_only(source, target, state)} One execution over all tiles. A dash means that it is not "
        "recorded: compile with profiler.includeFlopEstimates=true, and codelets must offer an estimate."
    )
    table = data_table("live-flops", frame, columns, name="liveness-flops", height="100%", filter_box=False)
    return _framed([], note, table)


def _query(state: LivenessState, vs: str, indices: bool = True) -> dict[str, str]:
    query = query_of(state, vs)
    return query if indices else {name: value for name, value in query.items() if name != "indices"}


def _place(source: ReportSource, state: LivenessState) -> str:
    return where_text(state.where, target_of(source).num_replicas)


def _heading(index: int, there: int) -> str:
    return f"Index {_partners(index, there)}"


def _partners(index: int, there: int) -> str:
    if there == index:
        return f"{index:,}"
    return f"{index:,} and target's {there:,}" if there >= 0 else f"{index:,}, none in the target"


def _first_only(source: ReportSource, target: ReportSource, state: LivenessState) -> str:
    index = state.indices[0]
    there = int(match_indices(source, target, state.by)[index])
    more = f" (the first of {len(state.indices)} selected)" if len(state.indices) > 1 else ""
    return f"{_heading(index, there)}{more}."


def _totals(label: str, before: int, after: int | None) -> Component:
    text = f"{bytes_text(before)} → {bytes_text(after)}"
    parts: list[Any] = [
        html.Span(label, className="range-label"),
        html.B(text),
        " ",
        difference_mark(before, after, "bytes"),
    ]
    exact = f"{before:,} B in the source, " + ("not in the target" if after is None else f"{after:,} B in the target")
    return html.Span(parts, title=exact, className="total")


def _framed(totals: list[Component], note: str, table: Component) -> Component:
    bar = html.Div([*totals, html.Span(note, className="tab-note")], className="tab-bar")
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")
