"""The Summary and Related tabs of the panel below the program tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.exchange.programs import EXCHANGE_TYPES
from popvision.analysis.operations.owners import NO_OPERATION, owners
from popvision.analysis.programs.details import ProgramFacts
from popvision.analysis.programs.related_programs import related_programs
from popvision.analysis.programs.table import column_totals, program_columns, program_table
from popvision.analysis.report.columns import liveness, programs_of
from popvision.analysis.report.figure import PROVENANCE_MEANS
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from webapp.base.formats import bytes_text, cycles_text, integer_text, percent_text
from webapp.components import Column, Tab, data_table
from webapp.components.attributes import attributes
from webapp.components.difference import difference_columns, difference_rows
from webapp.components.figure_columns import figure_columns, figure_frame
from webapp.components.section import facts
from webapp.graph_analyser.programs.tables import COLUMNS

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: What the classes of figures mean.
CLASS_HELP = {str(name): text for name, text in PROVENANCE_MEANS.items()}

#: Rows of the table of related programs: those with most cycles.
_MOST_RELATED = 1_000
_RELATED = ("id", "type", "name", "self", "executions", "received")
_MOST_LINKS = 8


def summary_tab(source: ReportSource, program: ProgramFacts, key: str, target: ReportSource | None) -> Component:
    """Facts and figures of the program, with shares and links to other views; in a comparison also differences."""
    columns = [
        html.Div([html.H2("Program"), facts(_what(source, program, key))]),
        html.Div([html.H2("Figures"), facts(_figures(source, program)), _links(source, program, key)]),
    ]
    if target is not None:
        columns.append(html.Div([html.H2("Compared with the target"), _compared(source, target, program.program)]))
    else:
        data = _data(program)
        if data:
            columns.append(html.Div([html.H2("Data and work"), facts(data)]))
    return html.Div(columns, className="detail-columns compares" if target is not None else "detail-columns")


def related_tab(source: ReportSource, program: int, rule: str) -> Tab | None:
    """Programs related by a rule, most cycles first; None when there are no others."""
    ids = related_programs(source, program, rule)
    if len(ids) < 2:
        return None
    table = program_table(source)
    shown = table.take(np.isin(table["id"], ids)).take(slice(_MOST_RELATED)).select(_RELATED)
    grid = data_table("pt-related", figure_frame(shown), figure_columns(shown), name="related-programs", height="100%")
    return Tab("related", "Related", grid, f"{len(ids):,}")


def _what(source: ReportSource, program: ProgramFacts, key: str) -> list[tuple[Any, Any]]:
    what: list[tuple[Any, Any]] = [("Id", str(program.program)), ("Type", program.type), ("Name", program.name or "–")]
    what += [
        ("List", "Control programs" if program.owner == "control" else "Functions"),
        ("Phase", program.phase or "none (takes no time)"),
    ]
    if program.repeat_count:
        what.append(("Trips", integer_text(program.repeat_count)))
    if program.trips >= 0:
        what.append(("Recorded trips", f"{integer_text(program.trips)} in {integer_text(program.entered)} entries"))
    if program.sync_type:
        what.append(("Sync", program.sync_type))
    if program.children:
        what.append(("Children", integer_text(program.children)))
    if program.compute_set >= 0:
        what.append(("Compute set", f"{program.compute_set}: {program.compute_set_name}"))
    return what + _calls(source, program.program, key)


def _calls(source: ReportSource, program: int, key: str) -> list[tuple[Any, Any]]:
    """The function of a Call, and the callers of a function."""
    programs = programs_of(source)
    if programs.callee is None:
        return [("Calls", "not recorded (format 1.0)")] if programs.type[program] == "Call" else []
    callee = np.asarray(programs.callee)
    rows: list[tuple[Any, Any]] = []
    if callee[program] >= 0:
        rows.append(("Calls", _program_link(key, int(callee[program]))))
    callers = np.flatnonzero(callee == program).tolist()
    if callers:
        links: list[Any] = []
        for caller in callers[:_MOST_LINKS]:
            links += [_program_link(key, caller), " "]
        rest = f"and {len(callers) - _MOST_LINKS:,} more" if len(callers) > _MOST_LINKS else ""
        rows.append(("Called by", html.Span([*links, rest])))
    return rows


def _program_link(key: str, program: int) -> Component:
    return html.A(f"#{program}", href=f"/r/{key}/program_tree?program={program}", **attributes(data_nav="to"))


def _figures(source: ReportSource, program: ProgramFacts) -> list[tuple[Any, Any]]:
    clock = source.reader.target().clock_hz
    columns, totals = program_columns(source), column_totals(source)
    rows: list[tuple[Any, Any]] = []
    for field, (title, kind, help) in COLUMNS.items():
        value = int(columns[field][program.program])
        if value < 0:
            continue
        text = {"cycles": cycles_text(value, clock), "bytes": _bytes(value)}.get(kind, integer_text(value))
        share = value / totals[field] if totals.get(field) else None
        shown = f"{text} ({percent_text(share)})" if share is not None else text
        rows.append((html.Span(title, title=help), shown))
    if program.executions:
        of_all_runs = program.self_cycles + max(0, int(columns["apart"][program.program]))
        rows.insert(1, ("Self cycles per execution", f"{of_all_runs / program.executions:,.1f}"))
    return rows


def _data(program: ProgramFacts) -> list[tuple[Any, Any]]:
    rows: list[tuple[Any, Any]] = []
    if program.bytes_received or program.bytes_sent:
        rows += [
            ("Received, own steps", _bytes(program.bytes_received)),
            ("Sent, own steps", _bytes(program.bytes_sent)),
        ]
    if program.flops >= 0:
        rows.append(("FLOPs per execution", integer_text(program.flops)))
    if program.provenance:
        rows.append(("Source of figures", _provenance(program.provenance)))
    return rows


def _bytes(size: int) -> str:
    exact, short = f"{size:,} B", bytes_text(size)
    return exact if exact == short else f"{exact} ({short})"


def _provenance(name: str) -> Component:
    return html.Span([html.Span(name, className=f"class class-{name}"), f" {CLASS_HELP.get(name, '')}"])


def _links(source: ReportSource, program: ProgramFacts, key: str) -> Component:
    links = []
    if program.executions:
        href = f"/r/{key}/execution?program={program.program}"
        links.append(html.A("Show in the execution trace", href=href, **attributes(data_nav="to")))
    if program.type in EXCHANGE_TYPES:
        href = f"/r/{key}/exchange?program={program.program}"
        links.append(html.A("Traffic between tiles", href=href, **attributes(data_nav="to")))
    operation = if_recorded(lambda: owners(source))
    if operation is not None and operation.program[program.program] != NO_OPERATION:
        href = f"/r/{key}/operations?program={program.program}"
        links.append(html.A("Its operation", href=href, **attributes(data_nav="to")))
    index = _fullest_index(source, program.program)
    if index is not None:
        href = f"/r/{key}/liveness?liveness={index}"
        links.append(html.A(f"Its peak, liveness index {index:,}", href=href, **attributes(data_nav="to")))
    return html.Div(links, className="detail-links")


def _fullest_index(source: ReportSource, program: int) -> int | None:
    """The liveness index of the program with most live bytes; None where the program has no index."""
    try:
        stored = liveness(source)
    except NotRecordedError:
        return None
    places = np.flatnonzero(np.asarray(stored.program) == program)
    return int(places[np.asarray(stored.bytes)[places].argmax()]) if len(places) else None


def _compared(source: ReportSource, target: ReportSource, program: int) -> Component:
    other = int(match_programs(source, target).target_rows()[program])
    if other < 0:
        return html.P("The target has no matching program.", className="dim")
    ours, theirs = program_columns(source), program_columns(target)
    rows = [
        {
            "figure": title,
            "value_source": _known(int(ours[field][program])),
            "value_target": _known(int(theirs[field][other])),
        }
        for field, (title, _, _) in COLUMNS.items()
    ]
    columns = [Column("figure", "Figure", width=110), *difference_columns("value", "Program and its match", "integer")]
    table = data_table(
        "pt-compared", difference_rows(rows, "value"), columns, name="program-compared", filter_box=False
    )
    return html.Div([html.P(f"Matched with target program #{other}", className="dim"), table])


def _known(value: int) -> int | None:
    return None if value < 0 else value
