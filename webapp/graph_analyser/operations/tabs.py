"""The tabs below the operations: figures, programs, code, cycles, FLOPs, memory and debug information of the selected
operation or group; without a selection the totals of the layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.operations.derived import library_call
from popvision.analysis.operations.parts import program_rows, variable_rows
from popvision.analysis.operations.table import OperationGroups
from popvision.analysis.programs.debug_chain import debug_chain
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.base.formats import bytes_text, cycles_text, integer_text, percent_text
from webapp.base.view import ViewContext
from webapp.components import data_table, empty_hint
from webapp.components.attributes import attributes
from webapp.components.debug_chain import debug_chain_list
from webapp.components.difference import difference_mark
from webapp.components.figure_columns import figure_columns
from webapp.components.section import facts
from webapp.components.sides import side_mark
from webapp.components.table import MOST_ROWS
from webapp.graph_analyser.operations.plot_tabs import code_tab, cycles_tab, flops_tab
from webapp.graph_analyser.operations.state import Chosen, OperationState, chosen_operations
from webapp.graph_analyser.operations.tables import FIGURES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

TABS = {
    "summary": "Summary",
    "programs": "Program tree",
    "code": "Code",
    "cycles": "Cycles",
    "flops": "FLOPs",
    "memory": "Memory",
    "debug": "Debug",
}

NOTHING = "Select an operation above to see its details."

#: Operations of a group whose debug contexts are listed.
_MOST_CONTEXTS = 20


def panel_title(context: ViewContext) -> Any:
    """The name of what the tabs describe: the selected operation or group, else the layer."""
    try:
        state = OperationState.read(context.source, context.params)
        chosen = chosen_operations(context.source, state, context.params)
    except NotRecordedError:
        return ""
    side = [side_mark("Source", context.source.label)] if context.targets else []
    if chosen is None:
        return [html.Strong("Entire layer"), html.Span(state.layer, className="panel-name"), *side]
    return [*_title(context.source, state, chosen), *side]


def tab_content(context: ViewContext, tab: str) -> Component:
    """The content of a tab. Raises NotRecordedError without debug information."""
    source, target, params = context.source, context.target, context.params
    state = OperationState.read(source, params)
    chosen = chosen_operations(source, state, params)
    if chosen is None:
        return _whole(source, state) if tab == "summary" else empty_hint(NOTHING)
    content = _content(context, tab, state, chosen)
    if tab == "summary" and target is not None:
        content = html.Div([content, _compared(source, target, state, chosen, params)])
    return content


def _content(context: ViewContext, tab: str, state: OperationState, chosen: Chosen) -> Component:
    source, key = context.source, context.key
    sums = state.groups(source).sums
    if tab == "programs":
        return _programs(source, state, chosen)
    if tab == "memory":
        return _variables(source, state, chosen)
    if tab == "debug":
        return _debug(source, key, sums.owners.context[chosen.rows].tolist())
    drawn = {"code": code_tab, "cycles": cycles_tab, "flops": flops_tab}
    if tab in drawn:
        return drawn[tab](source, state, chosen, context.selection, context.theme)
    return _summary(source, key, state, chosen)


def _title(source: ReportSource, state: OperationState, chosen: Chosen) -> Any:
    count = sum(1 for row in chosen.rows if row)
    call = library_call(source, chosen.context) if chosen.context >= 0 else ""
    badge = f"context {chosen.context}" if chosen.context >= 0 else f"{count:,} operations"
    shown = [html.Strong(chosen.title, className="cut", title=chosen.title)]
    return [*shown, html.Span(call, className="panel-name"), html.Span(badge, className="badge")]


def _whole(source: ReportSource, state: OperationState) -> Component:
    """Totals of the report, and the part that belongs to operations of the layer."""
    sums = state.groups(source).sums
    clock = source.reader.target().clock_hz
    rows: list[tuple[Any, Any]] = [("Operations", integer_text(len(sums.owners.context) - 1))]
    rows += [("Layer", sums.owners.layer)]
    recorded = sums.columns()
    attributed = []
    for field in ("cycles", "code", "flops", "always_live", "not_always_live", "programs"):
        if field in recorded:
            title, kind, help, _ = FIGURES[field]
            known = recorded[field].clip(min=0) if field.startswith("flops") else recorded[field]
            total, own = int(known.sum()), int(known[1:].sum())
            rows.append((html.Span(_of_report(field, title), title=help), _text(total, kind, clock)))
            share = percent_text(own / total) if total > 0 else "–"
            attributed.append((title, f"{_text(own, kind, clock)} ({share})"))
    columns = [
        html.Div([html.H2("Report"), facts(rows)]),
        html.Div([html.H2("Share in operations"), facts(attributed)]),
        html.Div([html.H2("Not recorded"), *[html.P(each) for each in sums.missing]] if sums.missing else []),
    ]
    return html.Div([html.P(NOTHING, className="ops-hint dim"), html.Div(columns, className="detail-columns")])


def _of_report(field: str, title: str) -> str:
    """The title of a total. Cycles of several IPUs add up, so they are not the device cycles of the Summary."""
    if field == "cycles":
        return "Cycles of all IPUs"
    return f"Total {title}" if title.isupper() or title == "FLOPs" else f"Total {title[0].lower()}{title[1:]}"


def _summary(source: ReportSource, key: str, state: OperationState, chosen: Chosen) -> Component:
    sums = state.groups(source).sums
    clock = source.reader.target().clock_hz
    sides: list[list[tuple[Any, Any]]] = [[], []]
    for field, values in sums.columns().items():
        title, kind, help, _ = FIGURES[field]
        known = values.clip(min=0) if field.startswith("flops") else values
        if field.startswith("flops") and (values[chosen.rows] < 0).all():
            continue
        own, total = int(known[chosen.rows].sum()), int(known.sum())
        share = f" ({percent_text(own / total)})" if total > 0 else ""
        formula = f"{help}. Share: {own:,} / {total:,} of the report"
        is_count = field in ("programs", "compute_sets", "variables", "steps", "flops", "flops_once", "cycles")
        side = sides[0 if is_count else 1]
        side.append((html.Span(title, title=formula), html.Span(f"{_text(own, kind, clock)}{share}", title=formula)))
    first, last = _indices(sums, chosen)
    if last >= 0:
        sides[0].append(("Liveness indices", f"{first:,} to {last:,}"))
    if len(chosen.rows) == 1 and sums.tiles[chosen.rows[0]] >= 0:
        sides[0].append(("Tiles with its vertices", integer_text(int(sums.tiles[chosen.rows[0]]))))
    links = _links(source, key, state, chosen, first, last)
    return html.Div(
        [
            html.Div([html.H2("Programs and work"), facts(sides[0])]),
            html.Div([html.H2("Code, data and memory"), facts(sides[1])]),
            html.Div([html.H2("See also"), links]),
        ],
        className="detail-columns",
    )


def _indices(sums: Any, chosen: Chosen) -> tuple[int, int]:
    firsts = [int(sums.first_index[row]) for row in chosen.rows if sums.first_index[row] >= 0]
    return min(firsts, default=-1), max((int(sums.last_index[row]) for row in chosen.rows), default=-1)


def _links(source: ReportSource, key: str, state: OperationState, chosen: Chosen, first: int, last: int) -> Component:
    programs = program_rows(source, state.groups(source).sums.owners, chosen.rows, state.ipu)
    links: list[tuple[str, str, dict[str, Any]]] = []
    if len(programs):
        top = int(programs["id"][int(np.argmax(programs["cycles"]))])
        layer = {"pt_layer": state.layer}
        links.append((f"Its longest program, {top}, in the program tree", "program_tree", {"program": top, **layer}))
        if int(np.max(programs["cycles"])):
            links.append((f"Program {top} in the execution trace", "execution", {"program": top}))
    if last >= 0:
        links.append((f"Liveness from its first index, {first:,}", "liveness", {"liveness": first}))
    items = [
        html.Div(html.A(text, href=f"/r/{key}/{view}?{urlencode(query)}", **attributes(data_nav="to")))
        for text, view, query in links
    ]
    return html.Div(items)


def _compared(
    source: ReportSource, target: ReportSource, state: OperationState, chosen: Chosen, params: Mapping[str, Any]
) -> Component:
    """Every figure that both reports have, for the same name in the target."""
    try:
        theirs = OperationState.read(target, params)
        groups = theirs.groups(target)
    except NotRecordedError as lacking:
        return empty_hint(f"Target: {lacking}")
    mine = state.groups(source)
    rows = [at for at, name in enumerate(groups.name) if name == chosen.title]
    if not rows:
        return empty_hint(f"The target has no operation named {chosen.title}.")
    clock = source.reader.target().clock_hz
    shown: list[tuple[Any, Any]] = []
    for field, (title, kind, _, _) in FIGURES.items():
        one, two = mine.sums.columns().get(field), groups.columns.get(field)
        if one is None or two is None:
            continue
        before, after = int(one[chosen.rows].clip(min=0).sum()), int(two[rows].clip(min=0).sum())
        mark = difference_mark(before, after, kind, clock)
        shown.append((title, [f"{_text(before, kind, clock)} → {_text(after, kind, clock)}  ", mark]))
    heading = html.H2(f"Source, target and difference of {chosen.title}")
    return html.Div(html.Div([heading, facts(shown)]), className="detail-columns compares")


def _text(value: int, kind: str, clock: float) -> str:
    if kind == "bytes":
        exact, short = f"{value:,} B", bytes_text(value)
        return exact if exact == short else f"{exact} ({short})"
    return cycles_text(value, clock) if kind == "cycles" else integer_text(value)


def _programs(source: ReportSource, state: OperationState, chosen: Chosen) -> Component:
    groups: OperationGroups = state.groups(source)
    programs = program_rows(source, groups.sums.owners, chosen.rows, state.ipu)
    if not len(programs):
        return empty_hint("This operation creates variables only, no programs.")
    frame = viewer_frame(programs)
    cut = len(frame) > MOST_ROWS
    if cut:
        frame = frame.nlargest(MOST_ROWS, "cycles").sort_values("id")
    indent = [" " * 2 * min(int(depth), 20) + type_ for depth, type_ in zip(frame["depth"], frame["type"], strict=True)]
    rows = frame.assign(type=indent).drop(columns="depth")
    recorded = ["cycles", "share", "steps"] if groups.sums.cycles is not None else []
    code = ["exchange_code", "control_code"] if groups.sums.code is not None else []
    shown = programs.select(["id", "type", "name", *recorded, *code, "first_index"])
    columns = figure_columns(shown, {"type": {"width": 190}})
    table = data_table(
        {"ops": "programs"},
        rows,
        columns,
        name="operation-programs",
        height="100%",
        selectable=True,
    )
    if not cut:
        return table
    note = html.P(f"The {MOST_ROWS:,} programs with most cycles are listed.", className="dim ops-hint")
    return html.Div([note, table], className="ops-column")


def _variables(source: ReportSource, state: OperationState, chosen: Chosen) -> Component:
    variables = variable_rows(source, state.groups(source).sums.owners, chosen.rows)
    if not len(variables):
        return empty_hint("This operation creates no variables.")
    rows, columns = viewer_frame(variables).head(MOST_ROWS), figure_columns(variables)
    return data_table({"ops": "variables"}, rows, columns, name="operation-variables", height="100%", selectable=True)


def _debug(source: ReportSource, key: str, contexts: list[int]) -> Component:
    known = [each for each in contexts if each >= 0]
    if not known:
        return empty_hint("Programs and variables outside all operations have no debug context of this layer.")
    parts: list[Component] = []
    if len(known) > _MOST_CONTEXTS:
        parts.append(
            html.P(f"The first {_MOST_CONTEXTS} of {len(known):,} operations are listed.", className="dim ops-hint")
        )
    for context in known[:_MOST_CONTEXTS]:
        parts.append(debug_chain_list(debug_chain(source, context), key))
    return html.Div(parts)
