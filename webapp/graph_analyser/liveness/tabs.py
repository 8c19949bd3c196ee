"""The tabs of the liveness page: variables, vertices, cycle and FLOP estimates, and steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.steps import (
    curve_table,
    cycles_table,
    flops_table,
    program_at,
    program_label,
    vertices_table,
)
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.variable_parts import parts_table
from popvision.analysis.report.columns import variables
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from webapp.base.comparison import KEY
from webapp.base.formats import bytes_text
from webapp.base.view import ViewContext
from webapp.components import data_table, empty_hint, help_text, long_table, unavailable
from webapp.components.figure_columns import HIDE, Layout, figure_columns, figure_frame
from webapp.graph_analyser.liveness.compared_tabs import pair_tab
from webapp.graph_analyser.liveness.state import MOST_INDICES, LivenessState, liveness_state, where_text
from webapp.graph_analyser.liveness.tables import query_of
from webapp.graph_analyser.plots.bytes_axis import both_units

_AT_PEAK = "At the peak, index {:,}, as no index is selected. Click the plot to select one; shift-click adds more."

#: Tabs that show the same whatever index is selected.
_OF_NO_INDEX = ("always", "steps")

_PARTS: Layout = {"name": {"flex": 2}, "ipu": HIDE}


def tab_content(context: ViewContext, tab: str) -> Component:
    """The content of a tab, in a comparison of both reports; at the peak where no index is selected, which it says.
    Raises NotRecordedError for what a report lacks."""
    state = liveness_state(context.source, context.params)
    if state.indices or tab in _OF_NO_INDEX:
        return _content(context, tab, state)
    highest = peak(curve(context.source, state.where)).index
    content = _content(context, tab, replace(state, indices=(highest,)))
    note = html.Div(_AT_PEAK.format(highest), className="tab-hint")
    return html.Div([note, html.Div(content, className="tab-fill")], className="tab-column")


def _content(context: ViewContext, tab: str, state: LivenessState) -> Component:
    source, target, key = context.source, context.target, context.key
    if tab == "steps" and state.graph == "heat" and state.tile is not None:
        state = replace(state, where=Where("tile", state.tile))  # the row of the cursor
    if target is not None:
        try:
            return pair_tab(source, target, key, context.params.get(KEY, ""), replace(state, tab=tab))
        except ValueError as problem:  # the target lacks the place
            raise ValueError(f"Target: {problem}") from problem
    if tab == "always":
        return _always(source, key, state)
    if tab == "steps":
        return _steps_table(source, key, state)
    return {"not_always": _live, "vertices": _vertices, "cycles": _cycles, "flops": _flops}[tab](source, key, state)


def _always(source: ReportSource, key: str, state: LivenessState) -> Component:
    line = curve(source, state.where)
    columns = figure_columns(always_live_table(source, state.where))
    return _with_total(
        [_total("Total", line.always_live)],
        f"Variables that are always live on {where_text(state.where, target_of(source).num_replicas)}; "
        "temporaries of an index are under Not-always-live variables",
        _with_parts(
            "always",
            long_table("liveness-always", key, query_of(state), columns, selectable=True),
            parts(source, key, state),
        ),
    )


def _live(source: ReportSource, key: str, state: LivenessState) -> Component:
    indices = state.indices[:MOST_INDICES]
    line = curve(source, state.where)
    totals = [_total(f"Index {index:,}", int(line.not_always_live[index])) for index in indices]
    totals += [
        _total(
            f"Change {index:,} − {indices[0]:,}",
            int(line.not_always_live[index]) - int(line.not_always_live[indices[0]]),
            signed=True,
        )
        for index in indices[1:]
    ]
    columns = figure_columns(live_table(source, indices, state.where))
    table = long_table("liveness-live", key, query_of(state), columns, selectable=True)
    note = "Select a row to plot its lifetime and list its parts"
    return _with_total(totals, note, _with_parts("not_always", table, parts(source, key, state)))


def _steps_table(source: ReportSource, key: str, state: LivenessState) -> Component:
    where = state.where
    query = query_of(replace(state, indices=()))
    query |= {"filter": state.filter} if state.filter.strip() else {}
    matching = " that matches the filter" if state.filter.strip() else ""
    place = where_text(where, target_of(source).num_replicas)
    note = f"Every step{matching} on {place}. Select a row to select its index."
    columns = figure_columns(curve_table(source, where, state.filter), {"step": {"flex": 3}})
    return _with_total([], note, long_table("liveness-steps", key, query, columns, selectable=True))


def _total(label: str, value: int, signed: bool = False) -> Component:
    text = (
        bytes_text(value) if not signed else ("+" if value > 0 else "−" if value < 0 else "") + bytes_text(abs(value))
    )
    exact = both_units(value) if not signed else f"{value:+,} B"
    return html.Span([html.Span(label, className="range-label"), html.B(text)], title=exact, className="total")


def _with_parts(tab: str, table: Component, beside: Any) -> Component:
    """A table of variables beside the box of the selected one's `parts`."""
    box = html.Div(beside, id={"live-parts": tab}, className="live-parts")
    return html.Div([html.Div(table, className="live-whole"), box], className="live-beside")


def parts(source: ReportSource, key: str, state: LivenessState) -> Any:
    """The allocations of the selected variable; "" when none is selected."""
    if state.variable is None:
        return ""
    try:
        name = variables(source).name
        if state.variable >= len(name):
            return empty_hint(f"Variable {state.variable} does not exist in this report.")
        curve(source, state.where)
        query = query_of(replace(state, indices=())) | {"variable": str(state.variable)}
        columns = figure_columns(parts_table(source, state.variable, state.where), _PARTS)
    except (NotRecordedError, ValueError) as problem:
        return unavailable(problem)
    place = where_text(state.where, target_of(source).num_replicas)
    title = html.Div([html.B(name[state.variable]), f" on {place}"], className="live-parts-title")
    return html.Div([title, long_table("liveness-parts", key, query, columns)], className="tab-column")


def _with_total(totals: list[Component], note: str, table: Component) -> Component:
    bar = html.Div([*totals, html.Span(note, className="tab-note")], className="tab-bar")
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")


def _vertices(source: ReportSource, key: str, state: LivenessState) -> Component:
    indices = state.indices[:MOST_INDICES]
    vertices = vertices_table(source, indices, curve(source, state.where).tiles)
    if not len(vertices):
        return empty_hint("No vertices run in " + _steps(source, indices) + ".")
    columns = figure_columns(vertices)
    table = data_table("live-vertices", figure_frame(vertices), columns, name="liveness-vertices", height="100%")
    note = html.Div("Vertex state is always live: it occupies memory at every index.", className="tab-hint")
    return html.Div([note, table], className="tab-column")


def _steps(source: ReportSource, indices: tuple[int, ...]) -> str:
    return ", ".join(program_label(source, program_at(source, index)) for index in indices[:3])


def _cycles(source: ReportSource, key: str, state: LivenessState) -> Component:
    estimates = cycles_table(source, state.indices, curve(source, state.where).tiles)
    about = help_text(
        "Cycle estimates",
        "Cycles that the compiler estimates for one execution on the selected tiles. Each figure has a provenance: "
        "exact (a public formula), fitted (a constant fitted to public figures), given or guess.",
        formula="device time = maximum over tiles / clock",
    )
    place = where_text(state.where, target_of(source).num_replicas)
    bar = html.Div(
        [html.Span(f"Estimates for one execution on {place}", className="tab-note"), about], className="tab-bar"
    )
    columns, frame = figure_columns(estimates, {"step": {"flex": 1}}), figure_frame(estimates)
    table = data_table("live-cycles", frame, columns, name="liveness-cycles", height="100%", filter_box=False)
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")


def _flops(source: ReportSource, key: str, state: LivenessState) -> Component:
    flops = flops_table(source, state.indices[:MOST_INDICES])
    note = (
        "Floating point operations of one execution over all tiles. – = unknown: compile with "
        "profiler.includeFlopEstimates=true, and give the codelets an estimate."
    )
    bar = html.Div(html.Span(note, className="tab-note"), className="tab-bar")
    columns, frame = figure_columns(flops), figure_frame(flops)
    table = data_table("live-flops", frame, columns, name="liveness-flops", height="100%", filter_box=False)
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")
