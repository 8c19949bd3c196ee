"""What changed between two reports: signed bars that add up to the whole difference of cycles and of bytes."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.what_changed import Part, Waterfall, nothing_changed, waterfalls
from webapp.base.formats import in_units
from webapp.base.view import ViewContext
from webapp.components import empty_hint
from webapp.components.attributes import attributes
from webapp.components.difference import direction_class, figure_text, signed_text
from webapp.components.row_export import exportable, row_values
from webapp.components.section import section
from webapp.graph_analyser.summary.compared_figures import versus_query

#: Bars of each waterfall; the last one adds up the others.
MOST_BARS = 7

#: The view that shows what a waterfall is split by.
_VIEWS = {"phase": "execution", "operation": "operations", "source line": "source", "category": "memory"}


def what_changed(context: ViewContext) -> list[Component]:
    """A section for each target: its waterfalls, or the sentence that nothing changed."""
    several = len(context.targets) > 1
    return [
        _section(context, waterfalls(context.source, each), f" – {each.label}" if several else "")
        for each in context.targets.values()
    ]


def _section(context: ViewContext, of_both: list[Waterfall], name: str) -> Component:
    title = f"What changed{name}"
    if not of_both:
        return section(
            "compare-waterfall", title, empty_hint("Neither cycles nor memory are recorded in both reports.")
        )
    if not any(each.parts for each in of_both):
        return section("compare-waterfall", title, empty_hint(nothing_changed(of_both)))
    columns = [[each for each in of_both if each.kind == kind] for kind in ("cycles", "bytes")]
    body = [html.Div([_waterfall(context, each) for each in column]) for column in columns if column]
    hint = "target - source; the bars of each list add up to its total difference"
    return section("compare-waterfall", title, html.Div(body, className="waterfalls"), hint=hint)


def _waterfall(context: ViewContext, waterfall: Waterfall) -> Component:
    query = {"mem_by": "category"} if waterfall.by == "category" else {}
    href = f"/r/{context.key}/{_VIEWS[waterfall.by]}?{versus_query(context, **query)}"
    heading = html.H3([f"{waterfall.measure} by ", html.A(waterfall.by, href=href, **attributes(data_nav="to"))])
    if not waterfall.parts:
        total = figure_text(waterfall.total.source, waterfall.kind)
        return html.Div([heading, html.P(f"Nothing changed: {total} in both, part by part.", className="note")])
    shown = [*waterfall.with_at_most(MOST_BARS).parts, waterfall.total]
    largest = max(abs(each.difference) for each in shown)
    rows = [_row(each, waterfall.kind, largest) for each in shown]
    label = attributes(aria_label=f"What changed: {waterfall.title}")
    note = [html.P(in_units(waterfall.note), className="waterfall-note")] if waterfall.note else []
    table = html.Table(html.Tbody(rows), className="waterfall", **label)
    name = f"what-changed-{waterfall.kind}-by-{waterfall.by.replace(' ', '-')}"
    return html.Div([heading, exportable(table, name, "these bars"), *note])


def _row(part: Part, kind: str, largest: int) -> Component:
    width = 50 * abs(part.difference) / largest
    is_more = part.difference > 0
    style = {"width": f"{width:.2f}%", "left" if is_more else "right": "50%"}
    bar = html.Div(html.Div(className="more" if is_more else "less", style=style), className="waterfall-bar")
    both = [figure_text(value, kind) for value in (part.source, part.target)]
    values = {f"source_{kind}": part.source, f"target_{kind}": part.target, f"difference_{kind}": part.difference}
    return html.Tr(
        [
            html.Th(html.Span(part.label, className="cut", title=part.label), scope="row"),
            html.Td(bar),
            html.Td(html.Span(signed_text(part.difference, kind), className=direction_class(part.difference))),
            html.Td(f"{both[0]} → {both[1]}", className="number dim"),
        ],
        **row_values({"part": part.label, **values}),
    )
