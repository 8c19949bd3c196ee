"""What stands out: findings with what each could save, its formula, its places as links, and one change to try.

A callback fills the section after the page is shown, because places of source need the debug information.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from popvision.analysis.insights.finding import Evidence, Finding, Insights
from popvision.analysis.insights.rules import insights
from webapp.components import empty_hint
from webapp.components.attributes import attributes
from webapp.components.section import section
from webapp.formats import bytes_text, cycles_text, percent_text
from webapp.library import Library
from webapp.view import ViewContext, page_key

#: View and selection key of the link of a place.
_VIEWS = {"program": ("program_tree", "program"), "variable": ("memory", "variable"), "tile": ("memory", "tiles")}


def findings_place(context: ViewContext) -> Component:
    """The place of the section, with a note until it is there."""
    wait = html.P("Looking for causes …", className="note", role="status")
    body = html.Div(wait, id="summary-findings")
    hint = "upper bounds: the cost if the cause vanished and nothing else changed; they overlap"
    return html.Div(
        [dcc.Store(id="summary-looked", data=context.key), section("findings", "What stands out", body, hint=hint)]
    )


def register(app: Dash, library: Library) -> None:
    @app.callback(Output("summary-findings", "children"), Input("summary-looked", "data"), State("url", "pathname"))
    def fill(_: str | None, pathname: str | None) -> list[Component]:
        key = page_key(pathname)
        return findings_list(key, insights(library.report(key)))


def findings_list(key: str, found: Insights) -> list[Component]:
    """The findings, or the sentence that there is none; then what was not looked at."""
    parts: list[Component] = [html.Ol([_finding(key, each) for each in found.findings], className="findings")]
    if not found.findings:
        parts = [empty_hint(found.sentence)]
    reasons: dict[str, list[str]] = {}
    for each in found.not_looked_at:
        reasons.setdefault(each.reason, []).append(each.rule.replace("_", " "))
    notes = [f"Not looked at ({', '.join(rules)}): {reason}" for reason, rules in reasons.items()]
    return [*parts, *(html.P(text, className="note") for text in notes)]


def _finding(key: str, finding: Finding) -> Component:
    bound: list[Any] = []
    if finding.saves:
        saved = _amount(finding.saves, finding.unit)
        bound = [
            html.Span(f"at most {saved} ({percent_text(finding.share)})", title=finding.formula, className="bound")
        ]
    places: list[Any] = []
    for each in finding.evidence:
        places += [", ", *_place(key, each)] if places else _place(key, each)
    return html.Li(
        [
            html.Div([html.Strong(finding.sentence), " ", *bound]),
            html.Div(["See ", *places, "."], className="dim"),
            html.Div(["Try: ", finding.change], className="dim"),
        ],
        **attributes(data_rule=finding.rule),
    )


def _place(key: str, evidence: Evidence) -> list[Any]:
    amount = f" ({_amount(evidence.value, evidence.unit)})"
    parts: list[Any] = [evidence.name]
    if evidence.kind in _VIEWS and evidence.id >= 0:
        view, param = _VIEWS[evidence.kind]
        parts = [html.A(evidence.name, href=f"/r/{key}/{view}?{param}={evidence.id}", **attributes(data_nav="to"))]
    if evidence.file:
        query = urlencode({"src_file": evidence.file, "src_line": evidence.line})
        name = f"{evidence.file.rsplit('/', 1)[-1]}:{evidence.line}"
        link = html.A(name, href=f"/r/{key}/source?{query}", title=evidence.file, **attributes(data_nav="to"))
        return [*parts, amount, " at ", link]
    return [*parts, amount]


def _amount(value: int, unit: str) -> str:
    return cycles_text(value) + " cycles" if unit == "cycles" else bytes_text(value)
