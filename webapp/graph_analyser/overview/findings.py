"""Findings with what each could save, its formula, its places as links, one change to try, and a button to dismiss it.

Dismissed findings stand in the URL (`dismissed`), so a link shows what its sender saw; assets/overview/overview.js puts
them there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from popvision.analysis.insights.finding import TITLES, Evidence, Finding, Insights
from webapp.base.formats import bytes_text, cycles_text, head_tail, in_units, percent_text
from webapp.base.problems import LOST
from webapp.components import empty_hint, loading
from webapp.components.attributes import attributes
from webapp.components.section import meter, section

#: Selection key of the dismissed findings.
DISMISSED = "dismissed"
#: View and selection key of the link of a place.
_VIEWS = {"program": ("program_tree", "program"), "variable": ("memory", "variable"), "tile": ("memory", "tiles")}
_CAUSES = 3
_BOUNDS = "Best-case savings. They overlap, so don't add them up."
#: Letters of a name in a sentence; the whole is its title, and is what is copied.
_LETTERS = 44
_LONG_NAME = re.compile(rf"(\S{{{_LETTERS + 1},}})")


def place(side: str = "") -> Component:
    """The place of the section, with a note until it is there. `side` begins its hint: whose figures these are."""
    body = html.Div(loading(), id="overview-findings")
    return section("findings", "What stands out", body, hint=side + _BOUNDS)


def dismissed_of(selection: Mapping[str, str] | None) -> tuple[str, ...]:
    """The keys of a selection's dismissed findings."""
    return tuple(filter(None, (selection or {}).get(DISMISSED, "").split(",")))


def causes(found: Insights) -> list[Component]:
    """The causes that cost most cycles, in a line each."""
    costly = [each for each in found.findings if each.unit == "cycles" and each.saves][:_CAUSES]
    if not costly:
        return [html.P("No cause of lost time stands out.", className="dim")]
    rows = [
        html.Li([html.Span(_shortened(_cause(each, costly)), title=in_units(each.sentence)), ", ", *_bound(each)])
        for each in costly
    ]
    return [html.Ol(rows, className="overview-top")]


def _cause(finding: Finding, listed: list[Finding]) -> str:
    """The rule's title, with the first place where the list has several findings of the rule."""
    title = TITLES[finding.rule]
    if not finding.evidence or sum(each.rule == finding.rule for each in listed) < 2:
        return title
    return f"{title} ({finding.evidence[0].name})"


def findings_list(
    key: str, found: Insights, dismissed: tuple[str, ...] = (), lost: Sequence[str] = ()
) -> list[Component]:
    """The findings that are not dismissed, or the sentence that there is none; then what was not looked at. `lost` is
    what the bar at the top of the page says of damage."""
    listed = [each for each in found.findings if each.key not in dismissed]
    hidden = len(found.findings) - len(listed)
    parts: list[Component] = [html.Ol([_finding(key, each) for each in listed], className="findings")]
    if not found.findings:
        parts = [empty_hint(found.sentence)]
    notes = [f"{TITLES[rule]}: {count:,} more." for rule, count in found.further.items()]
    reasons: dict[str, list[str]] = {}
    for each in found.not_looked_at:
        is_lost = any(loss in each.reason for loss in lost)
        reasons.setdefault(LOST if is_lost else each.reason, []).append(TITLES[each.rule])
    notes += [f"Not looked at ({'; '.join(rules)}): {reason}" for reason, rules in reasons.items()]
    parts += [html.P(text, className="note") for text in notes]
    if hidden:
        again = html.Button("Show again", className="button", **attributes(data_dismiss=""))
        parts.append(html.P([f"{hidden:,} dismissed. ", again], className="note"))
    return parts


def _shortened(text: str) -> list[Any]:
    """A text with its long names cut in the middle; assets/overview/overview.js copies them whole."""
    parts: list[Any] = []
    for number, part in enumerate(_LONG_NAME.split(text)):
        cut = head_tail(part, _LETTERS)
        parts.append(html.Span(cut, title=part, **attributes(data_whole=part)) if number % 2 else part)
    return parts


def _finding(key: str, finding: Finding) -> Component:
    """A card: the sentence, a bar of the saving, the link to the first place; the rest unfolds."""
    sentence = in_units(finding.sentence)
    button = html.Button(
        "Dismiss",
        className="button dismiss",
        title="Fold this finding away; the address keeps it",
        **attributes(aria_label=f"Dismiss: {sentence}", data_dismiss=finding.key),
    )
    head = [button, html.Strong(_shortened(sentence), title=finding.sentence), " ", *_bound(finding)]
    bar = []
    if finding.saves:
        bar = [meter(finding.share, f"{percent_text(finding.share)}: the saving as a share {finding.share_of}")]
    first, *others = [_place(key, each) for each in finding.evidence] or [[]]
    more: list[Component] = []
    if others:
        places = [part for each in others for part in (", ", *each)][1:]
        more.append(html.P(["Also: ", *places, "."]))
    if finding.change:
        more.append(html.P(["Try: ", finding.change]))
    rest = [html.Details([html.Summary("More"), *more], className="finding-more dim")] if more else []
    see = [html.Div(["See ", *first, "."], className="dim finding-place")] if first else []
    return html.Li([html.Div(head), *bar, *see, *rest], **attributes(data_rule=finding.rule))


def _bound(finding: Finding) -> list[Any]:
    if not finding.saves:
        return []
    saved = _amount(finding.saves, finding.unit)
    text = f"saves up to {saved} ({percent_text(finding.share)})"
    return [html.Span(text, title=f"{finding.formula}; the share is {finding.share_of}", className="bound")]


def _place(key: str, evidence: Evidence) -> list[Any]:
    amount = f" ({_amount(evidence.value, evidence.unit)})"
    parts: list[Any] = _shortened(evidence.name)
    if evidence.kind in _VIEWS and evidence.id >= 0:
        view, param = _VIEWS[evidence.kind]
        parts = [html.A(parts, href=f"/r/{key}/{view}?{param}={evidence.id}", **attributes(data_nav="to"))]
    if evidence.file:
        query = urlencode({"src_file": evidence.file, "src_line": evidence.line})
        name = f"{evidence.file.rsplit('/', 1)[-1]}:{evidence.line}"
        link = html.A(name, href=f"/r/{key}/source?{query}", title=evidence.file, **attributes(data_nav="to"))
        return [*parts, amount, " at ", link]
    return [*parts, amount]


def _amount(value: int, unit: str) -> str:
    return cycles_text(value) + " cycles" if unit == "cycles" else bytes_text(value)
