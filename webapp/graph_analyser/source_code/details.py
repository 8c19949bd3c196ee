"""The programs and variables that a line of the source creates, with links to other views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.source_code.lines import at_line, programs_of_line, variables_of_line
from popvision.analysis.source_code.rows import same_file, source_rows
from webapp.components import data_table, empty_hint
from webapp.components.attributes import attributes
from webapp.components.figure_columns import figure_columns, figure_frame

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Table
    from popvision.analysis.report.source import ReportSource

#: Rows of each table: those with most cycles or bytes; the heading counts all.
_MOST = 500


def line_parts(source: ReportSource, key: str, file: str, line: int, target: ReportSource | None) -> Component:
    """Two tables; in a comparison also the counts of the same line in the target."""
    programs, variables = at_line(source, file, line)
    if not len(programs) and not len(variables):
        return empty_hint(f"Line {line:,} creates no program and no variable.")
    note = _note(source, file, line, target, len(programs), len(variables)) if target is not None else None
    tables = [_programs(key, programs_of_line(source, file, line))]
    known = if_recorded(lambda: variables_of_line(source, file, line))
    tables += [] if known is None else [_variables(key, known)]
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


def _programs(key: str, programs: Table) -> Component:
    links = [
        ("Longest in the program tree", f"/r/{key}/program_tree"),
        ("in the execution trace", f"/r/{key}/execution"),
    ]
    return _part("programs", programs, "program", links)


def _variables(key: str, variables: Table) -> Component:
    links = [("Largest in the liveness report", f"/r/{key}/liveness"), ("on the tiles", f"/r/{key}/memory")]
    return _part("variables", variables, "variable", links)


def _part(name: str, table: Table, id: str, views: list[tuple[str, str]]) -> Component:
    """The first rows of a table under a heading with links for the first one."""
    rest = f", the first {_MOST}" if len(table) > _MOST else ""
    head: list[Any] = [f"{name.capitalize()} ({len(table):,}{rest})"]
    if len(table):
        head += [_link(text, f"{view}?{id}={int(table[id][0])}") for text, view in views]
    shown = figure_frame(table.take(slice(_MOST)))
    columns = figure_columns(table, order=[id])
    grid = data_table(f"source-{name}", shown, columns, name=f"line-{name}", height="100%", filter_box=False)
    return html.Section([html.H2(head), grid])
