"""The programs, variables, tiles and vertex types that differ between two reports or that only one of them has.

Comparing large reports row by row takes seconds, so a callback fills these sections after the page is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from flask import Response

from popvision.analysis.compare.changes import Changes
from popvision.analysis.compare.not_attributed import program_label
from popvision.analysis.compare.report_diff import ReportDiff, compare_reports
from popvision.export.cells import safe_cell
from popvision.export.diff_json import diff_document
from webapp.base.library import Library
from webapp.base.view import ViewContext, page_key
from webapp.components import empty_hint, loading
from webapp.components.attributes import attributes
from webapp.components.difference import difference_mark, figure_text
from webapp.components.section import section
from webapp.graph_analyser.summary.compared_figures import scrolled

#: Rows of each list on the page; the saved file has more.
MOST_ROWS = 25

#: Rows of each list in the file that is saved.
MOST_SAVED = 1_000

#: View and selection key of the link of a row.
_VIEWS = {"programs": ("program_tree", "program"), "variables": ("memory", "variable"), "tiles": ("memory", "tiles")}


def changes_place(context: ViewContext) -> Component:
    """The place of the sections, with a note until they are there."""
    return html.Div(
        [
            dcc.Store(id="summary-compared", data=list(context.targets)),
            html.Div(loading(), id="summary-changes", className="section-stack"),
        ]
    )


def register(app: Dash, library: Library) -> None:
    @app.callback(Output("summary-changes", "children"), Input("summary-compared", "data"), State("url", "pathname"))
    def fill(targets: list[str] | None, pathname: str | None) -> list[Component]:
        key = page_key(pathname)
        source = library.report(key)
        sections: list[Component] = []
        for target in targets or []:
            diff = compare_reports(source, library.report(target))
            sections += _sections(diff, key, target, several=len(targets or []) > 1)
        return sections

    def save(key: str, target: str, kind: str) -> Response:
        diff = compare_reports(library.report(key), library.report(target))
        if kind == "csv":
            return Response(_csv(diff), mimetype="text/csv")
        import orjson

        return Response(orjson.dumps(diff_document(diff, [], MOST_SAVED)), mimetype="application/json")

    app.server.add_url_rule("/data/<key>/compare/<target>.<any(csv, json):kind>", "compare", save)


def _csv(diff: ReportDiff) -> str:
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["metric", "unit", "source", "target", "difference", "relative", "formula"])
    for each in diff.figures:
        metric = each.metric
        row = [metric.name, metric.kind, each.source, each.target, each.difference, each.relative, metric.formula]
        writer.writerow("" if value is None else safe_cell(value) for value in row)
    return stream.getvalue()


def _sections(diff: ReportDiff, key: str, target: str, *, several: bool) -> list[Component]:
    name = f" – {diff.target.label}" if several else ""
    sections = [_section(changes, key, target, name) for changes in diff.changes if _counts(changes)]
    if not sections:
        sections.append(empty_hint(f"No program, variable, tile, vertex type or compute set differs{name}."))
    if diff.steps is not None:
        text = (
            f"{diff.steps.matched:,} execution steps match, {diff.steps.only_source:,} are only in the source, "
            f"{diff.steps.only_target:,} only in the target."
        )
        sections.append(html.P(text, className="note"))
    return sections


def _counts(changes: Changes) -> str:
    parts = (
        (len(changes.changed), "changed"),
        (len(changes.renamed), "renamed"),
        (len(changes.only_source), "only in the source"),
        (len(changes.only_target), "only in the target"),
    )
    return ", ".join(f"{count:,} {text}" for count, text in parts if count)


def _section(changes: Changes, key: str, target: str, name: str) -> Component:
    heads = [
        html.Th(text, scope="col", className="number" if index > 1 else "")
        for index, text in enumerate(("In", "Name", "Source", "Target", "Difference"))
    ]
    parts = (
        ("changed", changes.changed),
        ("renamed", changes.renamed),
        ("source", changes.only_source),
        ("target", changes.only_target),
    )
    rows = [
        _row(changes, row, what, key, target)
        for what, frame in parts
        for row in frame.head(MOST_ROWS).to_dict("records")
    ]
    cut = any(len(frame) > MOST_ROWS for _, frame in parts)
    hint = f"{_counts(changes)}; {changes.about}" + (f"; the first {MOST_ROWS} of each" if cut else "")
    title = f"{changes.title.capitalize()}{name}"
    body = scrolled(html.Tr(heads), rows, title, even=True)
    return section(f"compare-{changes.what.replace(' ', '-')}", title, body, hint=hint)


def _row(changes: Changes, row: Mapping[Any, Any], what: str, key: str, target: str) -> Component:
    before, after = (_known(row[name]) for name in ("value_source", "value_target"))
    shown = row["name_target"] or row["name_source"] or "–"
    if what == "renamed":
        shown = f"{row['name_source']} → {row['name_target']}"
    label = program_label(row["type"], "" if shown == "–" else shown) or "–"
    return html.Tr(
        [
            html.Td(row["in_report"], className="dim"),
            html.Td(_link(changes.what, row, label, key, target)),
            html.Td(figure_text(before, changes.kind), className="number"),
            html.Td(figure_text(after, changes.kind), className="number"),
            html.Td(difference_mark(before, after, changes.kind), className="number"),
        ],
        **attributes(data_change=what),
    )


def _link(what: str, row: Mapping[Any, Any], label: str, key: str, target: str) -> Component | str:
    """A link to the view of the row, in the comparison; a row of the target alone opens in the target."""
    if what not in _VIEWS:
        return label
    view, param = _VIEWS[what]
    alone = row["source"] < 0
    href = f"/r/{target if alone else key}/{view}?{param}={row['target'] if alone else row['source']}"
    return html.A(label, href=href if alone else f"{href}&vs={target}", **attributes(data_nav="to"))


def _known(value: float) -> float | None:
    if value != value:
        return None
    return int(value) if value == int(value) else value
