"""Source: the user's file with the cost of each line in its margin, and the programs and variables that a line creates,
with links to other views."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.source_code.lines import (
    NOWHERE,
    LineFigures,
    at_line,
    busiest_ipu,
    file_table,
    line_figures,
    programs_of_line,
    variables_of_line,
)
from popvision.analysis.source_code.rows import same_file, source_rows
from webapp.base.formats import percent_text
from webapp.base.library import Library
from webapp.base.query import whole_number
from webapp.base.view import View, ViewContext, needs
from webapp.components import (
    data_table,
    empty_hint,
    group,
    help_text,
    page_of_halves,
    part_stores,
    register_part,
    segments,
    select,
    spacer,
    toolbar,
)
from webapp.components.attributes import attributes
from webapp.components.difference import figure_text
from webapp.components.download_link import table_links
from webapp.components.figure_columns import figure_columns, figure_frame
from webapp.components.sides import ARROW, pair_text
from webapp.graph_analyser.source_code import exports, routes

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


_KEYS = (
    ("↑ ↓ Page Up / Down Home End", "Move between lines; their figures are read out"),
    (".  ,", "Next, previous line with programs or variables"),
    ("Enter", "Select the line and show its programs and variables"),
    ("Esc", "Clear the selection"),
)
#: Keys of the selection that the panel shows.
_DETAILS_KEYS = ("src_file", "src_line", "vs")


def layout(context: ViewContext) -> Component:
    line_sums = line_figures(context.source, _ipu(context.source, context.selection.ipu))
    table = file_table(context.source, _ipu(context.source, context.selection.ipu))
    chosen = chosen_file(context.source, context.params.get("src_file", ""))
    if not chosen:
        return empty_hint("No debug context of this report names a source file and line.")
    code = _code(context, chosen, line_sums)
    area = html.Div([_files(context, table, chosen, line_sums), code], className="source-area")
    details = html.Div(_hint(context, line_sums), id="source-details", className="panel")
    stores = part_stores("src", "details", _DETAILS_KEYS)
    return page_of_halves(
        "source", area, details, _KEYS, toolbar=_toolbar(context, line_sums), percent=68, stores=stores
    )


def chosen_file(source: ReportSource, wanted: str) -> str:
    """The file that the URL names, else the first of `file_table`; "" without any. Raises NotRecordedError."""
    names = [name for name in file_table(source)["file"] if name]
    return wanted if wanted in names else next(iter(names), "")


def _ipu(source: ReportSource, ipu: int | None) -> int | None:
    return ipu if ipu is not None and ipu < source.reader.target().num_ipus else None


def _toolbar(context: ViewContext, line_sums: LineFigures) -> Component:
    ipus = context.source.reader.target().num_ipus
    choices = {"": f"Busiest: IPU {busiest_ipu(context.source)}"} | {str(ipu): f"IPU {ipu}" for ipu in range(ipus)}
    ipu = _ipu(context.source, context.selection.ipu)
    left: list[Any] = [select("ipu", "IPU", choices, "" if ipu is None else str(ipu))] if ipus > 1 else []
    if context.target is not None:
        metrics = {"": "Cycles", "live": "Live at peak", "bytes": "Received"}
        left.append(group(segments("src_metric", "Figure", metrics, context.params.get("src_metric", ""))))
    about = help_text(
        "Figures of a line",
        "A program or variable belongs to the innermost line of your code in the call stack that created it. Frames of "
        "the simulator, of installed packages and of Python are skipped.",
        f"Cycles: device cycles of its programs' own steps on IPU {line_sums.ipu}, all recorded runs. Received: bytes "
        "that those steps received, all IPUs. Live: bytes of its variables, of one replica, at the "
        "liveness index where the "
        f"device holds most ({line_sums.peak_index if line_sums.peak_index >= 0 else 'not recorded'}).",
        formula="sum over lines + not attributed = total of the report",
    )
    notes = [html.Span(sentence, className="dim") for sentence in line_sums.remarks]
    links = table_links(f"/data/{context.key}/table/source-lines", "", "source-lines", "the figures of these lines")
    saves = html.Span(links, className="toolbar-group source-exports")
    return toolbar(*left, group(about), *notes, spacer(), _unattributed(context, line_sums), saves)


def _unattributed(context: ViewContext, line_sums: LineFigures) -> Component:
    """What belongs to no line; in a comparison that of both reports."""
    theirs, clock = _target_sums(context), context.source.reader.target().clock_hz
    parts = []
    for name, kind in (("cycles", "cycles"), ("live", "bytes"), ("received", "bytes")):
        values = getattr(line_sums, name)
        if context.target is not None:
            others = None if theirs is None else getattr(theirs, name)
            ours, other = (None if each is None else int(each[NOWHERE]) for each in (values, others))
            parts += [] if ours is None and other is None else [f"{name} {pair_text(ours, other, kind)}"]
        elif values is not None:
            share = int(values[NOWHERE]) / int(values.sum()) if values.sum() else None
            parts.append(f"{name} {figure_text(int(values[NOWHERE]), kind, clock)} ({percent_text(share)})")
    title = "Created by the compiler: the control program, stacks, code, and the tail of each run"
    return html.Span(["Not attributed to a line: ", "; ".join(parts)], className="dim unattributed", title=title)


def _files(context: ViewContext, table: Any, chosen: str, line_sums: LineFigures) -> Component:
    measure, sums = ("cycles", line_sums.cycles) if line_sums.cycles is not None else ("live", line_sums.live)
    total = None if sums is None else int(sums.sum())
    title = "Files, by cycles" if measure == "cycles" else "Files, by bytes live at the peak"
    items: list[Component] = [html.H2(title)]
    if context.target is not None and measure == "cycles":
        items.append(html.P("Share of cycles: source \u2192 target", className="dim"))
    for name, figure, lines in zip(table["file"], table[measure], table["lines"], strict=True):
        if not name:
            continue
        share = percent_text(int(figure) / total) if total else "–"
        if context.target is not None and measure == "cycles":
            share = f"{share} {ARROW} {_target_share(context, name)}"
        items.append(
            html.Button(
                [html.Span(PurePath(name).name, className="cut"), html.Span(share, className="share")],
                type="button",
                title=f"{name}: {lines} lines with programs or variables",
                **attributes(data_file=name, aria_current="true" if name == chosen else "false"),
            )
        )
    ipu = _ipu(context.source, context.selection.ipu)
    query = "" if ipu is None else f"?ipu={ipu}"
    links = table_links(f"/data/{context.key}/table/source-files", query, "source-files", "the figures of all files")
    items.append(html.Div(links, className="row-export"))
    has_pairs = context.target is not None and measure == "cycles"
    return html.Nav(
        items, className="source-files paired" if has_pairs else "source-files", **attributes(aria_label="Files")
    )


def _target_sums(context: ViewContext) -> LineFigures | None:
    """The figures of the target's lines; None without a target, or where it recorded none."""
    target = context.target
    if target is None:
        return None
    return if_recorded(lambda: line_figures(target, _ipu(target, context.selection.ipu)))


def _target_share(context: ViewContext, file: str) -> str:
    """The file's share of the target's cycles; a dash where the target has no such file or no cycles."""
    theirs = _target_sums(context)
    if context.target is None or theirs is None or theirs.cycles is None:
        return "–"
    other, total = same_file(context.target, file), int(theirs.cycles.sum())
    if not other or not total:
        return "–"
    return percent_text(int(theirs.cycles[np.asarray(theirs.places.file) == other].sum()) / total)


def _code(context: ViewContext, file: str, line_sums: LineFigures) -> Component:
    target = ""
    if context.target is not None:
        try:
            target = _totals(line_figures(context.target))
        except NotRecordedError:
            target = ",,"
    head = html.Div(className="code-head", role="row")
    scroller = html.Div(
        [head, html.Div(className="code-space", role="rowgroup")],
        className="code-scroll",
        tabIndex="0",
        role="grid",
        **attributes(aria_label="Lines of the file", aria_colcount=5),
    )
    return html.Div(
        [
            html.Div(className="code-problem", hidden=True, role="status"),
            scroller,
            html.Div(className="code-live visually-hidden", **attributes(aria_live="polite")),
        ],
        id="source-code",
        className="code-box",
        **attributes(data_key=context.key, data_file=file, data_totals=_totals(line_sums), data_target_totals=target),
    )


def _totals(line_sums: LineFigures) -> str:
    columns = (line_sums.cycles, line_sums.live, line_sums.received)
    return ",".join("" if values is None else str(int(np.sum(values))) for values in columns)


def register(app: Dash, library: Library) -> None:
    """Routes of the code, and the callback of the panel."""
    routes.register(app, library)
    exports.register(app, library)
    register_part(app, library, "src", "details", ("source-details.children",), lambda context: [_details(context)])


def _hint(context: ViewContext, line_sums: LineFigures) -> Component:
    """What the mark says, and what a click does."""
    most = "cycles" if line_sums.cycles is not None else "bytes live at the peak"
    report = "" if context.target is None else " in the source report"
    reason = "" if line_sums.cycles is not None else ": no run was recorded"
    return empty_hint(
        f"The marked line is the one of this file with most {most}{report}{reason}. Select a line to see the programs "
        "and variables that it creates."
    )


def _details(context: ViewContext) -> Component:
    """The programs and variables of the selected line."""
    line = whole_number(context.params.get("src_line", ""))
    if line is None:
        return _hint(context, line_figures(context.source, _ipu(context.source, context.selection.ipu)))
    file = chosen_file(context.source, context.params.get("src_file", ""))
    return line_parts(context.source, context.key, file, line, context.target)


VIEW = View("source", "Source Code", "source", layout, register, missing=needs(line_figures))
