"""What the tabs of the liveness page hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.liveness.curve import Where, curve
from popvision.analysis.liveness.steps import cycles_table, flops_table, program_at, program_label, vertices_table
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.lowered import variables
from popvision.analysis.memory.variable_parts import parts_table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.comparison import KEY
from webapp.components import Column, data_table, empty_hint, help_text, long_table
from webapp.components.figure_columns import Layout, figure_columns
from webapp.formats import bytes_text
from webapp.graph_analyser.liveness.compared_tabs import pair_tab
from webapp.graph_analyser.liveness.frames import query_of
from webapp.graph_analyser.liveness.state import MOST_INDICES, LivenessState, liveness_state, where_text
from webapp.graph_analyser.plots.bytes_axis import both_units
from webapp.view import ViewContext

_NOTHING = "Select a step in the plot (shift-click adds more) to see its {}."
_CYCLES = (
    Column("Index", "Index", "integer", width=90),
    Column("Step", "Step", flex=1),
    Column("Program", "Program", "integer", help="Id in the program tree", width=115),
    Column("Maximum", "Max cycles", "cycles", help="Cycles of the longest tile: the length of the step", width=130),
    Column("Mean", "Mean cycles", "decimal", help="Cycles summed over all these tiles / number of tiles", width=135),
    Column("Minimum", "Min cycles", "cycles", help="Cycles of the shortest tile", width=125),
    Column("Tile", "Longest tile", "integer", help="The tile that has the maximum", width=130),
    Column("Balance", "Balance", "percent", help="mean / maximum over all these tiles", width=110),
    Column("Time us", "Device µs", "decimal", help="Device time = maximum / clock; modelled, not measured", width=115),
    Column("Basis", "Basis", help="Least certain source of the vertices' cycles: exact, fitted or guess", width=95),
)


_STEPS = (
    Column("Index", "Index", "integer", width=90, help="Liveness index: place in the static order of the program"),
    Column("Step", "Step", flex=3),
    Column("Program", "Program", "integer", help="Id in the program tree", width=115),
    Column("Not always live", "Not always live", "bytes", width=150, help="Bytes live at this index, not always"),
    Column("Total", "Total", "bytes", width=130, help="Not always live + always live"),
)


def tab_content(context: ViewContext, tab: str) -> Component:
    """The chosen tab, compared with the target if there is one. Raises NotRecordedError for what a report lacks."""
    source, target, key = context.source, context.target, context.key
    state = liveness_state(source, context.params)
    if tab == "steps" and state.graph == "heat" and state.tile is not None:
        state = replace(state, where=Where("tile", state.tile))  # the row of the cursor
    if target is not None and (state.indices or tab in ("always", "steps")):
        try:
            return pair_tab(source, target, key, context.params.get(KEY, ""), replace(state, tab=tab))
        except ValueError as problem:  # the target has no such place
            raise ValueError(f"Target: {problem}") from problem
    if tab == "always":
        return _always(source, key, state)
    if tab == "steps":
        return _steps_table(source, key, state)
    if not state.indices:
        noun = {"not_always": "live variables", "vertices": "vertices", "cycles": "cycle estimate"}
        return empty_hint(_NOTHING.format(noun.get(tab, "floating point operations")))
    return {"not_always": _live, "vertices": _vertices, "cycles": _cycles, "flops": _flops}[tab](source, key, state)


def _always(source: ReportSource, key: str, state: LivenessState) -> Component:
    line = curve(source, state.where)
    columns = [
        Column("Variable", "Variable", flex=4),
        Column("Id", "Id", "integer", width=80),
        Column("Bytes", "Bytes", "bytes", help="On the tiles of the source", width=150),
    ]
    always_live_table(source, state.where)
    return _with_total(
        [_total("Total", line.always_live)],
        f"Live all the time on {where_text(state.where, target_of(source).num_replicas)}",
        _with_parts("always", long_table("liveness-always", key, query_of(state), columns, selectable=True)),
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
    columns = [
        Column("Variable", "Variable", flex=3),
        Column("Id", "Id", "integer", width=80),
        Column("Live", "Live (indices)", width=140, help="Liveness indices at which it is live, last included"),
        *[Column(f"Index {i}", f"Index {i:,}", "bytes", width=130, help="Bytes live there") for i in indices],
        *[
            Column(
                f"Change {i} - {indices[0]}",
                f"{i:,} − {indices[0]:,}",
                "signed_bytes",
                width=150,
                help=f"Bytes at index {i} less bytes at index {indices[0]}",
            )
            for i in indices[1:]
        ],
    ]
    live_table(source, indices, state.where)
    table = long_table("liveness-live", key, query_of(state), columns, selectable=True)
    note = "Select a row to draw its lifetime over the curve and to list its parts"
    return _with_total(totals, note, _with_parts("not_always", table))


def _steps_table(source: ReportSource, key: str, state: LivenessState) -> Component:
    where = state.where
    query = query_of(replace(state, indices=()))
    query |= {"filter": state.filter} if state.filter.strip() else {}
    matching = " that the filter matches" if state.filter.strip() else ""
    place = where_text(where, target_of(source).num_replicas)
    note = f"Every step{matching}, on {place}. Select a row to select its index."
    curve(source, where)
    return _with_total([], note, long_table("liveness-steps", key, query, _STEPS, selectable=True))


def _total(label: str, value: int, signed: bool = False) -> Component:
    text = (
        bytes_text(value) if not signed else ("+" if value > 0 else "−" if value < 0 else "") + bytes_text(abs(value))
    )
    exact = both_units(value) if not signed else f"{value:+,} B"
    return html.Span([html.Span(label, className="range-label"), html.B(text)], title=exact, className="total")


_PARTS: Layout = {
    "tile": {"width": 85},
    "name": {"flex": 2},
    "address": {"width": 110},
    "size_bytes": {"width": 105},
    "ipu": {"hide": True},
}


def _with_parts(tab: str, table: Component) -> Component:
    """A table of variables and, beside it, the box that `parts` fills."""
    box = html.Div(id={"live-parts": tab}, className="live-parts")
    return html.Div([html.Div(table, className="live-whole"), box], className="live-beside")


def parts(source: ReportSource, key: str, state: LivenessState) -> Any:
    """The allocations that the selected variable is lowered to; nothing when none is selected."""
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
        return empty_hint(str(problem))
    place = where_text(state.where, target_of(source).num_replicas)
    title = html.Div([html.B(name[state.variable]), f" on {place}"], className="live-parts-title")
    return html.Div([title, long_table("liveness-parts", key, query, columns)], className="tab-column")


def _with_total(totals: list[Component], note: str, table: Component) -> Component:
    bar = html.Div([*totals, html.Span(note, className="tab-note")], className="tab-bar")
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")


def _vertices(source: ReportSource, key: str, state: LivenessState) -> Component:
    indices = state.indices[:MOST_INDICES]
    frame = vertices_table(source, indices, curve(source, state.where).tiles)
    if frame.empty:
        return empty_hint("No vertices run here: " + _steps(source, indices) + ".")
    columns = [Column("Vertex type", "Vertex type", flex=3), Column("Kind", "Kind", width=110)]
    for index in indices:
        columns.append(Column(f"Instances, index {index}", f"Instances at {index:,}", "integer", width=150))
        columns.append(
            Column(
                f"State, index {index}",
                f"State at {index:,}",
                "bytes",
                width=150,
                help="Bytes: instances x state of one instance",
            )
        )
    columns += [
        Column(f"Change of state {i} - {indices[0]}", f"State {i:,} − {indices[0]:,}", "signed_bytes", width=150)
        for i in indices[1:]
    ]
    note = html.Div("Vertex state is always live: it lies on the tile at every index.", className="tab-hint")
    return html.Div(
        [note, data_table("live-vertices", frame, columns, name="liveness-vertices", height="100%")],
        className="tab-column",
    )


def _steps(source: ReportSource, indices: tuple[int, ...]) -> str:
    return ", ".join(program_label(source, program_at(source, index)) for index in indices[:3])


def _cycles(source: ReportSource, key: str, state: LivenessState) -> Component:
    frame = cycles_table(source, state.indices, curve(source, state.where).tiles)
    about = help_text(
        "Cycle estimates",
        "What the compiler expects one execution to take on the tiles of the source. Vertices carry their "
        "certainty: exact (a public formula), fitted (a constant fitted to public figures) or guess.",
        formula="device time = maximum over tiles / clock",
    )
    place = where_text(state.where, target_of(source).num_replicas)
    bar = html.Div(
        [html.Span(f"Estimates for one execution on {place}", className="tab-note"), about], className="tab-bar"
    )
    table = data_table("live-cycles", frame, _CYCLES, name="liveness-cycles", height="100%", filter_box=False)
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")


def _flops(source: ReportSource, key: str, state: LivenessState) -> Component:
    frame = flops_table(source, state.indices[:MOST_INDICES])
    columns = [Column("Vertex type", "Vertex type", flex=3)]
    columns += [
        Column(name, name.replace("FLOP, index", "FLOP at index"), "integer", width=160) for name in frame.columns[1:]
    ]
    note = (
        "Floating point operations of one execution over all tiles. A dash means that the report does not know: "
        "compile with profiler.includeFlopEstimates=true, and codelets must offer an estimate."
    )
    bar = html.Div(html.Span(note, className="tab-note"), className="tab-bar")
    table = data_table("live-flops", frame, columns, name="liveness-flops", height="100%", filter_box=False)
    return html.Div([bar, html.Div(table, className="tab-fill")], className="tab-column")
