"""The summary of several reports: figures and settings side by side, with differences from the source."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.metrics import METRICS, Metric, measure_together
from popvision.analysis.compare.report_diff import notes
from popvision.analysis.compare.settings import settings
from popvision.analysis.report.tiles import target_of
from webapp.base.view import ViewContext
from webapp.components import difference_mark, empty_hint
from webapp.components.attributes import attributes
from webapp.components.difference import figure_text
from webapp.components.difference_key import difference_key
from webapp.components.row_export import exportable, row_values
from webapp.components.section import section


def comparison(context: ViewContext) -> list[Component]:
    """The sections of a comparison: figures, and options and machine."""
    return [_figures(context), _settings(context)]


def scrolled(header: Component, rows: list[Component], label: str, *, even: bool = False) -> Component:
    """A table that scrolls horizontally where it is wider than the page; `even` = equal widths of columns."""
    table = html.Table([html.Thead(header), html.Tbody(rows)], className="side-by-side" + (" even" if even else ""))
    return html.Div(table, className="table-scroll", tabIndex="0", role="region", **attributes(aria_label=label))


def versus_query(context: ViewContext, **query: Any) -> str:
    """A query string with the comparison."""
    return urlencode(query | {"vs": ",".join(context.targets)}, safe=",")


def names_of(context: ViewContext) -> list[str]:
    """Headings of the targets' columns: their labels where there are several."""
    if len(context.targets) <= 1:
        return ["Target"] * len(context.targets)
    return [f"Target {index}: {each.label}" for index, each in enumerate(context.targets.values(), start=1)]


def _figures(context: ViewContext) -> Component:
    values = measure_together((context.source, *context.targets.values()))
    clock = target_of(context.source).clock_hz
    shown = [metric for metric in METRICS if any(each[metric.name] is not None for each in values)]
    heads: list[Component] = [html.Th("Figure", scope="col"), html.Th("Source", scope="col", className="number")]
    for name in names_of(context):
        heads += [
            html.Th(name, scope="col", className="number"),
            html.Th("Difference", scope="col", className="number", title="target - source"),
        ]
    rows = [_figure_row(context, metric, [each[metric.name] for each in values], clock) for metric in shown]
    warnings = [note for each in context.targets.values() for note in notes(context.source, each)]
    saves = [_save(context, key, kind) for key in context.targets for kind in ("csv", "json")]
    body = [
        html.Ul([html.Li(note, className="note note-warn") for note in warnings], className="compare-notes"),
        scrolled(html.Tr(heads), rows, "Figures side by side"),
        difference_key(),
        html.Div(saves, className="share-legend"),
    ]
    hidden = len(METRICS) - len(shown)
    hint = "difference = target - source" + (f"; {hidden} figures are in none of the reports" if hidden else "")
    return section("compare-figures", "Figures", body, hint=hint)


def _figure_row(context: ViewContext, metric: Metric, values: list[float | None], clock: float) -> Component:
    before = values[0]
    href = f"/r/{context.key}/{metric.view}?{versus_query(context)}"
    title = html.A(metric.title, href=href, title=metric.formula, **attributes(data_nav="to"))
    cells = [
        html.Td(title if metric.view != "summary" else html.Span(metric.title, title=metric.formula)),
        html.Td(figure_text(before, metric.kind, clock), className="number"),
    ]
    for after in values[1:]:
        cells.append(html.Td(figure_text(after, metric.kind, clock), className="number"))
        cells.append(html.Td(difference_mark(before, after, metric.kind, clock), className="number"))
    same = all(after == before for after in values[1:])
    return html.Tr(cells, className="equal" if same else "", **attributes(data_metric=metric.name))


def _save(context: ViewContext, key: str, kind: str) -> Component:
    label = context.targets[key].label
    text = f"Figures, {label}: {kind.upper()}" if kind == "csv" else f"Entire comparison, {label}: {kind.upper()}"
    return html.A(text, href=f"/data/{context.key}/compare/{key}.{kind}", className="button small", download="")


def _settings(context: ViewContext) -> Component:
    columns = [settings(context.source, each) for each in context.targets.values()]
    named: dict[tuple[str, str], list[str | None]] = {}
    for index, column in enumerate(columns):
        for each in column:
            cells = named.setdefault((each.group, each.name), [each.source, *[None] * len(columns)])
            cells[index + 1] = each.target
    names = ["Source", *names_of(context)]
    rows = [
        _setting_row(group, name, values, names)
        for (group, name), values in named.items()
        if any(value != values[0] for value in values[1:])
    ]
    if not rows:
        return section("compare-settings", "Options and machine", empty_hint("All options and machines are the same."))
    heads = [html.Th(text, scope="col") for text in ("Of", "Name", *names)]
    table = scrolled(html.Tr(heads), rows, "Options and machine side by side")
    body = exportable(table, "options-that-differ", "the options that differ")
    return section(
        "compare-settings",
        "Options and machine that differ",
        body,
        hint=f"{len(named) - len(rows)} others are the same",
    )


def _setting_row(group: str, name: str, values: list[str | None], columns: list[str]) -> Component:
    cells = [
        html.Td("–" if value is None else value, className="differs" if value != values[0] else "") for value in values
    ]
    exported = {"of": group, "name": name} | dict(zip(columns, values, strict=True))
    return html.Tr([html.Td(group, className="dim"), html.Td(name), *cells], **row_values(exported))
