"""The tabs of the liveness page where two reports are compared: source, target, signed difference and change."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.liveness import cycles_pair, flops_pair, match_indices, vertices_pair
from popvision.analysis.liveness.curve import curve
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.components import Column, data_table, empty_hint, long_table
from webapp.components.difference import add_difference, difference_columns, difference_mark
from webapp.formats import bytes_text
from webapp.graph_analyser.liveness.frames import MOST_PAIRED, query_of
from webapp.graph_analyser.liveness.state import LivenessState, where_text

_VARIABLE = [Column("Variable", "Variable", flex=3), Column("Id", "Id", "integer", width=80)]


def pair_tab(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    """The chosen tab of a state. Raises NotRecordedError when one report lacks it, ValueError when the target does not
    have the place shown."""
    curve(target, state.where)
    if state.tab == "always":
        return _always(source, target, key, vs, state)
    if state.tab == "steps":
        return _steps(key, vs, state)
    if state.tab == "not_always":
        return _live(source, target, key, vs, state)
    return {"vertices": _vertices, "cycles": _cycles, "flops": _flops}[state.tab](source, target, state)


def _always(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    totals = [_totals("Total", *(curve(report, state.where).always_live for report in (source, target)))]
    columns = [*_VARIABLE, *difference_columns("Bytes", "Bytes", "bytes")]
    table = long_table("liveness-always", key, _query(state, vs, indices=False), columns, selectable=True)
    return _framed(totals, f"Live all the time on {_place(source, state)}", table)


def _live(source: ReportSource, target: ReportSource, key: str, vs: str, state: LivenessState) -> Component:
    indices = state.indices[:MOST_PAIRED]
    ours, theirs = curve(source, state.where), curve(target, state.where)
    paired = match_indices(source, target, state.by)
    totals, columns = [], list(_VARIABLE)
    for index in indices:
        there = int(paired[index])
        after = int(theirs.not_always_live[there]) if there >= 0 else None
        totals.append(_totals(_heading(index, there), int(ours.not_always_live[index]), after))
        columns += difference_columns(f"Index {index}", _heading(index, there), "bytes")
    left = len(state.indices) - len(indices)
    note = "Select a row to draw its lifetime over the curve" + (f"; {left} more selected" if left else "")
    table = long_table("liveness-live", key, _query(state, vs), columns, selectable=True)
    return _framed(totals, note, table)


def _steps(key: str, vs: str, state: LivenessState) -> Component:
    columns = [
        Column("Index", "Index", "integer", width=90, help="Liveness index of the source; – = only in the target"),
        Column("Target index", "Target index", "integer", width=120, help="Its partner; – = only in the source"),
        Column("Step", "Step", flex=3),
        *difference_columns("Not always live", "Not always live", "bytes"),
        *difference_columns("Total", "Total, always live included", "bytes"),
    ]
    query = _query(state, vs, indices=False) | ({"filter": state.filter} if state.filter.strip() else {})
    how = "by matched programs" if state.by == "programs" else "by their number"
    note = f"Indices are paired {how}; those without a partner are listed too. Select a row to select its index."
    return _framed([], note, long_table("liveness-steps", key, query, columns, selectable=True))


def _vertices(source: ReportSource, target: ReportSource, state: LivenessState) -> Component:
    index = state.indices[0]
    tiles = (curve(source, state.where).tiles, curve(target, state.where).tiles)
    frame = vertices_pair(source, target, index, tiles, state.by)
    if frame.empty:
        return empty_hint("No vertices run here, in neither report.")
    columns = [
        Column("Vertex type", "Vertex type", flex=3),
        Column("Kind", "Kind", width=110),
        *difference_columns("Instances", "Instances", "integer"),
        *difference_columns("State", "State", "bytes", help="Instances x state of one instance."),
    ]
    frame = add_difference(frame, "Instances", "State")
    table = data_table("live-vertices", frame, columns, name="liveness-vertices", height="100%")
    return _framed([], _first_only(source, target, state), table)


def _cycles(source: ReportSource, target: ReportSource, state: LivenessState) -> Component:
    tiles = (curve(source, state.where).tiles, curve(target, state.where).tiles)
    frame = add_difference(cycles_pair(source, target, state.indices, tiles, state.by), "Maximum", "Mean", "Balance")
    columns = [
        Column("Index", "Index", "integer", width=80),
        Column("Target index", "Target index", "integer", width=110),
        Column("Step", "Step", flex=2),
        *difference_columns("Maximum", "Max cycles", "cycles", help="Cycles of the longest tile."),
        *difference_columns("Mean", "Mean cycles", "decimal", help="Sum of cycles / number of tiles."),
        *difference_columns("Balance", "Balance", "percent", help="mean / maximum over all these tiles."),
    ]
    table = data_table("live-cycles", frame, columns, name="liveness-cycles", height="100%", filter_box=False)
    return _framed([], f"Estimates for one execution on {_place(source, state)}", table)


def _flops(source: ReportSource, target: ReportSource, state: LivenessState) -> Component:
    frame = add_difference(flops_pair(source, target, state.indices[0], state.by), "FLOP")
    columns = [Column("Vertex type", "Vertex type", flex=3), *difference_columns("FLOP", "FLOP", "integer")]
    note = (
        f"{_first_only(source, target, state)} One execution over all tiles. A dash means that the report does not "
        "know: compile with profiler.includeFlopEstimates=true, and codelets must offer an estimate."
    )
    table = data_table("live-flops", frame, columns, name="liveness-flops", height="100%", filter_box=False)
    return _framed([], note, table)


def _query(state: LivenessState, vs: str, indices: bool = True) -> dict[str, str]:
    query = query_of(state, vs)
    return query if indices else {name: value for name, value in query.items() if name != "indices"}


def _place(source: ReportSource, state: LivenessState) -> str:
    return where_text(state.where, target_of(source).num_replicas)


def _heading(index: int, there: int) -> str:
    if there == index:
        return f"Index {index:,}"
    return f"Index {index:,} and target's {there:,}" if there >= 0 else f"Index {index:,}, none in the target"


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
