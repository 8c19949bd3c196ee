"""The programs and variables that a line of the source creates, with links to other views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of, stored_variables
from popvision.analysis.source_code.lines import at_line
from popvision.analysis.source_code.rows import same_file, source_rows
from webapp.components import Column, data_table, empty_hint
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Rows of each table: those with most cycles or bytes; the heading counts all.
_MOST = 500


def line_parts(source: ReportSource, key: str, file: str, line: int, target: ReportSource | None) -> Component:
    """Two tables; in a comparison also the counts of the same line in the target."""
    programs, variables = at_line(source, file, line)
    if not len(programs) and not len(variables):
        return empty_hint(f"Line {line:,} creates no program and no variable.")
    note = _note(source, file, line, target, len(programs), len(variables)) if target is not None else None
    tables = [_programs(source, key, programs), _variables(source, key, variables)]
    return html.Div([note, html.Div(tables, className="source-parts fill")], className="column-page")


def _note(source: ReportSource, file: str, line: int, target: ReportSource, programs: int, variables: int) -> Component:
    rows = source_rows(source, file, target)
    at = np.flatnonzero(rows.source == line)
    other = int(rows.target[at[0]]) if len(at) else 0
    if not other:
        return html.Div("The target has no matching line.", className="source-note")
    theirs = at_line(target, same_file(target, file), other)
    text = (
        f"Source line {line:,}: {programs:,} programs, {variables:,} variables. Target line {other:,}: "
        f"{len(theirs[0]):,} programs, {len(theirs[1]):,} variables."
    )
    return html.Div(text, className="source-note")


def _link(text: str, href: str) -> Component:
    return html.A(text, href=href, **attributes(data_nav="to"))


def _programs(source: ReportSource, key: str, ids: Any) -> Component:
    program_sums, columns = figures(source), programs_of(source)
    ids = ids[np.argsort(-program_sums.self_cycles[ids], kind="stable")]
    rows = [
        {
            "id": p,
            "type": columns.type[p],
            "name": columns.name[p],
            "cycles": int(program_sums.self_cycles[p]),
            "executions": int(program_sums.executions[p]),
            "received": int(program_sums.bytes_received[p]),
        }
        for p in ids[:_MOST].tolist()
    ]
    head: list[Any] = [f"Programs ({len(ids):,}{f', the first {_MOST}' if len(ids) > _MOST else ''})"]
    if rows:
        first = rows[0]["id"]
        head += [
            _link("Longest in the program tree", f"/r/{key}/program_tree?program={first}"),
            _link("in the execution trace", f"/r/{key}/execution?program={first}"),
        ]
    table = data_table(
        "source-programs",
        rows,
        [
            Column("id", "Id", "integer", width=70),
            Column("type", "Type", width=120),
            Column("name", "Name", flex=2, path=True),
            Column("cycles", "Self cycles", "cycles", "Cycles of its own steps, all recorded runs", width=110),
            Column("executions", "Executions", "integer", width=95),
            Column("received", "Received", "bytes", "Bytes received by its own steps, all recorded runs", width=100),
        ],
        name="line-programs",
        height="100%",
        filter_box=False,
    )
    return html.Section([html.H2(head), table])


def _variables(source: ReportSource, key: str, ids: Any) -> Component:
    known = stored_variables(source)
    rows: list[dict[str, Any]] = []
    if known is not None:
        sizes = np.asarray(known.bytes)
        ids = ids[np.argsort(-sizes[ids], kind="stable")]
        live = np.asarray(known.always_live)
        rows = [
            {"id": v, "name": known.name[v], "bytes": int(sizes[v]), "live": "always" if live[v] else "at times"}
            for v in ids[:_MOST].tolist()
        ]
    head: list[Any] = [f"Variables ({len(ids):,}{f', the first {_MOST}' if len(ids) > _MOST else ''})"]
    if rows:
        head.append(_link("Largest in the liveness report", f"/r/{key}/liveness?variable={rows[0]['id']}"))
        head.append(_link("on the tiles", f"/r/{key}/memory?variable={rows[0]['id']}"))
    table = data_table(
        "source-variables",
        rows,
        [
            Column("id", "Id", "integer", width=70),
            Column("name", "Name", flex=2, path=True),
            Column("bytes", "Size", "bytes", "Bytes over all tiles", width=100),
            Column("live", "Live", width=90),
        ],
        name="line-variables",
        height="100%",
        filter_box=False,
    )
    return html.Section([html.H2(head), table])
