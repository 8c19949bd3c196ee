"""Summary: headline figures, shares of time, target, graph, runs, options and files of the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.metrics import measure
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.report_files import FileRow, JsonFile, file_rows, json_files
from popvision.analysis.summary.facts import RunRow, Summary, summarise
from popvision.analysis.summary.headline import headline
from webapp.base.formats import bytes_text, integer_text
from webapp.base.library import Library
from webapp.base.problems import LOST
from webapp.base.view import View, ViewContext
from webapp.components import Column, data_table, empty_hint, icon
from webapp.components.row_export import exportable, row_values
from webapp.components.section import facts, section
from webapp.graph_analyser.summary import changes
from webapp.graph_analyser.summary.changes import changes_place
from webapp.graph_analyser.summary.compared_figures import comparison, names_of, scrolled
from webapp.graph_analyser.summary.headline import CardContext, headline_cards
from webapp.graph_analyser.summary.shares import time_shares
from webapp.graph_analyser.summary.waterfalls import what_changed

#: Selection key of the filter over the engine options.
_FILTER = "su_options"

#: Labels and values of a card.
Rows = list[tuple[str, Any]]


def layout(context: ViewContext) -> Component:
    summary = summarise(context.source)
    compared = list(context.targets.values())
    others = _Others(names_of(context), [summarise(each) for each in compared])
    cards = CardContext(
        context.key,
        0.0 if summary.target is None else summary.target.clock_hz,
        ",".join(context.targets),
        measure(context.source) if compared else {},
        measure(compared[0]) if compared else None,
        1 if summary.target is None else summary.target.replicas,
        if_recorded(partial(headline, compared[0])) if compared else None,
    )
    named = [("Source" if compared else "", summary.headline)]
    for name, each in zip(names_of(context), compared, strict=True):
        figures = if_recorded(partial(headline, each))
        named += [] if figures is None else [(name, figures)]
    return html.Div(
        [
            headline_cards(summary.headline, cards),
            *(what_changed(context) if compared else []),
            time_shares(named, cards, why_no_run(context.source)),
            *([*comparison(context), changes_place(context)] if compared else []),
            html.Div(
                [
                    _device(summary, others),
                    html.Div([_graph(summary, others), _provenance(summary, others)], className="section-stack"),
                ],
                className="section-columns",
            ),
            _runs(summary.runs, LOST if "runs" in summary.lost else why_no_run(context.source)),
            _options(summary, context.params.get(_FILTER, "")),
            *[_json_file(each) for each in json_files(context.source)],
            _files(file_rows(context.source), str(context.source.folder), summary.missing),
        ],
        className="page-of-facts",
    )


def register(app: Dash, library: Library) -> None:
    changes.register(app, library)


@dataclass(frozen=True)
class _Others:
    """Headings and facts of the reports that the page compares with; empty without a comparison."""

    names: list[str]
    summaries: list[Summary]

    def facts(self, title: str, rows_of: Callable[[Summary], Rows], summary: Summary) -> Component:
        """The rows of the report; in a comparison a column for each report, a row for every label of any."""
        if not self.names:
            return facts(rows_of(summary))
        columns = [dict(rows_of(each)) for each in (summary, *self.summaries)]
        labels = dict.fromkeys(label for column in columns for label in column)
        heads = [html.Th(text, scope="col") for text in ("Fact", "Source", *self.names)]
        rows: list[Component] = []
        for label in labels:
            values = [column.get(label, "–") for column in columns]
            cells = [html.Td(each, className="" if str(each) == str(values[0]) else "differs") for each in values]
            rows.append(html.Tr([html.Td(label, className="dim"), *cells]))
        return scrolled(html.Tr(heads), rows, f"{title}, side by side")


def _device(summary: Summary, others: _Others) -> Component:
    if summary.target is None and not any(each.target for each in others.summaries):
        sentence = LOST if "target" in summary.lost else "This report does not describe the device."
        return section("device", "Device", empty_hint(sentence))
    return section("device", "Device", others.facts("Device", _device_rows, summary))


def _device_rows(summary: Summary) -> Rows:
    target = summary.target
    if target is None:
        return []
    rows: Rows = [
        ("Type", target.type),
        ("Architecture", target.architecture),
        ("Clock", f"{target.clock_hz / 1e6:,.1f} MHz" if target.clock_hz > 0 else "unknown"),
        ("Tiles per IPU", integer_text(target.tiles_per_ipu)),
    ]
    if target.replicas > 1:
        rows += [
            ("IPUs per replica", integer_text(target.ipus_per_replica)),
            ("Replicas", integer_text(target.replicas)),
        ]
    rows += [
        ("Total IPUs", integer_text(target.total_ipus)),
        ("Total tiles", integer_text(target.total_tiles)),
        ("Memory per tile", _exact_bytes(target.bytes_per_tile)),
        ("Memory per IPU", _exact_bytes(target.bytes_per_ipu)),
    ]
    if target.replicas > 1:
        rows.append(("Memory per replica", _exact_bytes(target.bytes_per_replica)))
    rows += [
        ("Total memory", _exact_bytes(target.bytes_total)),
        ("Compute set instrumentation", target.compute_instrumentation or "–"),
        ("External exchange instrumentation", target.external_exchange_instrumentation or "–"),
    ]
    return rows


def _exact_bytes(size: int) -> Component:
    return html.Span(bytes_text(size), title=f"{size:,} B")


def _graph(summary: Summary, others: _Others) -> Component:
    return section("graph", "Graph", others.facts("Graph", _graph_rows, summary))


def _graph_rows(summary: Summary) -> Rows:
    labels = {
        "num_compute_sets": "Compute sets",
        "num_vertices": "Vertices",
        "num_edges": "Edges",
        "num_variables": "Variables",
    }
    return [(label, integer_text(summary.graph.get(name))) for name, label in labels.items()]


def _provenance(summary: Summary, others: _Others) -> Component:
    return section("provenance", "Provenance", others.facts("Provenance", lambda each: list(each.provenance), summary))


def _runs(runs: list[RunRow], why_none: str) -> Component:
    if not runs:
        return section("runs", "Runs", empty_hint(why_none))
    rows = [
        {
            "run": row.run,
            "program": row.program_index,
            "name": row.name or "–",
            "steps": row.steps,
            "cycles": row.cycles,
            "device_us": row.device_us,
            "host_start": _host_time(row.host_start_us),
            "host_us": row.host_us,
            "state": "truncated" if row.truncated else "complete",
        }
        for row in runs
    ]
    columns = [
        Column("run", "Run", "integer", width=70),
        Column("program", "Program", "integer", "Index of the control program passed to Engine.run", width=100),
        *([Column("name", "Name", flex=1)] if any(row.name for row in runs) else []),
        Column("steps", "Steps", "integer", "Execution steps recorded", width=100, group="Device time (modelled)"),
        Column("cycles", "Cycles", "cycles", "Device cycles of the run", width=130, group="Device time (modelled)"),
        Column("device_us", "Time, µs", "decimal", "Cycles / clock", width=120, group="Device time (modelled)"),
        Column("host_start", "Start", width=210, help="On the host's clock, UTC", group="Host time (measured)"),
        Column(
            "host_us", "Duration, µs", "us", "End - start on the host's clock", width=120, group="Host time (measured)"
        ),
        Column("state", "State", width=100),
    ]
    height = None if len(rows) <= 12 else 380
    return section(
        "runs",
        "Runs",
        data_table("summary-runs", rows, columns, name="runs", height=height, filter_box=len(rows) > 12),
        hint="device cycles and host time come from different clocks and are never added",
    )


def _host_time(microseconds: int) -> str:
    if microseconds <= 0:
        return "–"
    when = datetime.fromtimestamp(microseconds // 1_000_000, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}.{microseconds % 1_000_000:06d}"


def _options(summary: Summary, filter_text: str) -> Component:
    if not summary.options:
        sentence = LOST if "meta" in summary.lost else "The report lists no options."
        return section("options", "Engine options", empty_hint(sentence))
    rows = [{"kind": kind, "name": name, "value": value} for kind, name, value in summary.options]
    columns = [Column("name", "Option", flex=2), Column("value", "Value", flex=3)]
    if any(kind != "engine" for kind, _, _ in summary.options):
        columns.insert(0, Column("kind", "Group", width=90))
    height = None if len(rows) <= 14 else 420
    table = data_table(
        "summary-options", rows, columns, name="options", height=height, filter_param=_FILTER, filter_text=filter_text
    )
    return section("options", "Engine options", table)


def _json_file(file: JsonFile) -> Component:
    body = empty_hint(file.problem) if file.problem else json_tree(file.content)
    return section(f"json-{file.name}", file.label, body, hint=file.name)


def _files(files: list[FileRow], folder: str, missing: list[str]) -> Component:
    rows = [html.Tr(_file_cells(each), className=each.state, **row_values(_file_values(each))) for each in files]
    table = html.Table(html.Tbody(rows), className="file-list")
    body: list[Any] = [exportable(table, "report-files", "the report files")]
    if any(each.state == "stale" for each in files):
        notice = "Stale files belong to another run than profile.pop and are not used."
        body.append(html.P(notice, className="note note-warn"))
    if missing:
        body.append(html.P(f"Missing in profile.pop: {', '.join(missing)}.", className="note note-warn"))
    return section("files", "Report files", body, hint=folder)


def _file_values(file: FileRow) -> dict[str, str | float | None]:
    return {"content": file.label, "file": file.name, "bytes": file.bytes, "state": file.state}


def _file_cells(file: FileRow) -> list[Component]:
    marks = {"found": icon("check"), "missing": html.Span("–", className="file-mark")}
    marks |= {"stale": icon("warning"), "damaged": icon("warning")}
    hint = {
        "found": "",
        "stale": "stale: belongs to another run",
        "missing": f"not found; {file.option}=true writes it",
    }
    hint["damaged"] = "damaged: the losses are listed above"
    return [
        html.Td(marks[file.state], className="file-state"),
        html.Td(file.label),
        html.Td(html.Code(file.name)),
        html.Td("" if file.bytes is None else bytes_text(file.bytes), className="number"),
        html.Td(hint[file.state], className="dim"),
    ]


VIEW = View(id="summary", title="Summary", icon="summary", layout=layout, register=register, draws=("table",))


# ---- files of a framework ----

#: Entries of one file on the page; the rest is only counted.
MOST_ENTRIES = 1_000

#: Levels that are expanded at first.
OPEN_LEVELS = 2

_DEEPEST = 40


def json_tree(value: Any) -> Component:
    """A value as a tree; objects and lists fold."""
    return html.Div(_Tree().entries(value, 0), className="json-tree")


class _Tree:
    def __init__(self) -> None:
        self._left = MOST_ENTRIES

    def entries(self, value: Any, level: int) -> list[Component]:
        if not isinstance(value, (dict, list)) or not value:
            return [_leaf("", value)]
        pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        elements: list[Component] = []
        for place, (name, part) in enumerate(pairs):
            if self._left <= 0:
                elements.append(html.Div(f"… {len(pairs) - place:,} more", className="json-leaf dim"))
                break
            self._left -= 1
            elements.append(self._entry(str(name), part, level))
        return elements

    def _entry(self, name: str, part: Any, level: int) -> Component:
        if not isinstance(part, (dict, list)) or not part or level >= _DEEPEST:
            return _leaf(name, part if level < _DEEPEST else "…")
        size = f"{{{len(part)}}}" if isinstance(part, dict) else f"[{len(part)}]"
        head = html.Summary([html.Span(name, className="json-key"), " ", html.Span(size, className="dim")])
        return html.Details([head, *self.entries(part, level + 1)], open=level + 1 < OPEN_LEVELS)


def _leaf(name: str, value: Any) -> Component:
    text = value if isinstance(value, str) else json.dumps(value)
    key = [html.Span(f"{name}: ", className="json-key")] if name else []
    return html.Div([*key, text], className="json-leaf")
