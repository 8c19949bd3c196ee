"""Comparison controls of the frame: "Source vs Target" in the header, tick boxes and lists on the first page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.summary.report_list import Card
from webapp.base.comparison import MOST_TARGETS
from webapp.base.library import Entry
from webapp.components.attributes import attributes
from webapp.components.icon import icon


def versus(source: str, targets: Sequence[str], problems: Sequence[str], *, with_all: bool = True) -> Component:
    """The names of the reports that a page compares, with buttons to swap them and to stop; the name of the source
    alone when `targets` and `problems` are empty. A page that does not compare with all of several targets names the
    first, which it compares with, and says so."""
    name = html.Span(source, className="report-name", title=source)
    if not targets and not problems:
        return name
    parts: list[Any] = [_role("Source", "before"), name, html.Span("vs", className="versus-word")]
    if targets:
        text = " · ".join(targets if with_all else targets[:1])
        role = (
            "Target" if len(targets) == 1 else f"{len(targets)} targets" if with_all else f"Target 1 of {len(targets)}"
        )
        about = text
        if len(targets) > 1 and not with_all:
            alone = f"This page compares with {targets[0]} alone."
            about = f"{alone} Summary and Overview compare with all: {', '.join(targets)}"
        parts += [
            _role(role, "after", about),
            html.Span(text, className="report-name", title=about),
        ]
    parts += [html.Span([icon("warning"), each], className="versus-problem", title=each) for each in problems]
    if targets:
        parts.append(_button("swap", "Swap source and target", "swap"))
    parts.append(_button("close", "Stop comparing", "stop"))
    return html.Div(parts, className="versus", role="group", **attributes(aria_label="Reports compared"))


def _role(role: str, moment: str, about: str = "") -> Component:
    """The role of a report, with its place in time: differences are those of the report after from the one before."""
    text = f"{role} ({moment})"
    return html.Span(text, className="versus-role", title=about or text)


def _button(name: str, title: str, action: str) -> Component:
    more = attributes(data_compare_action=action, aria_label=title)
    return html.Button(icon(name), type="button", className="button icon-button", title=title, **more)


def tick(entry: Entry, card: Card) -> Component | str:
    """The tick box that adds a report or a trace to a comparison; "" for those that do not open."""
    if not card.opens:
        return ""
    title = f"Choose {card.label} to compare"
    more = attributes(data_compare=entry.key, data_kind=entry.kind, data_label=card.label, aria_label=title)
    more["aria-checked"] = "false"
    more["data-time"] = repr(card.modified if card.compiled is None else card.compiled)
    return html.Button(
        html.Span(className="tick-mark"),
        type="button",
        role="checkbox",
        className="tick",
        title="Choose to compare; of two, the earlier one is the source",
        **more,
    )


def compare_bar() -> Component:
    """The selected reports and the button that compares them; assets/shell/compare.js shows it after the first tick."""
    return html.Div(
        [
            html.Span("", className="compare-chosen", **attributes(data_compare_chosen="")),
            html.Button(
                [icon("swap"), "Swap"], type="button", className="button", **attributes(data_compare_action="turn")
            ),
            html.Button("Clear", type="button", className="button", **attributes(data_compare_action="clear")),
            html.Button(
                "Open in one timeline",
                type="button",
                className="button",
                hidden=True,
                **attributes(data_compare_action="join"),
            ),
            html.Button(
                "Compare",
                type="button",
                className="button button-primary",
                disabled=True,
                **attributes(data_compare_action="compare", data_most=str(1 + MOST_TARGETS)),
            ),
        ],
        className="compare-bar",
        hidden=True,
        role="region",
        **attributes(aria_label="Compare reports", aria_live="polite"),
    )


def recent_lists() -> Component:
    """Places for recent reports and comparisons, which the browser remembers and lists."""
    rooms = (("reports", "Recent reports"), ("comparisons", "Recent comparisons"))
    return html.Div(
        [
            html.Section(
                [html.H2(title), html.Ul(className="recent-list", **attributes(data_recent=name))],
                className="recent",
                hidden=True,
            )
            for name, title in rooms
        ],
        className="recents",
    )
