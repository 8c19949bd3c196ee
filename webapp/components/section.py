"""Foldable sections, figure cards, meters, and lists of labels and values: the parts of a page of facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.icon import icon


def section(name: str, title: str, content: Any, *, hint: str = "") -> Component:
    """A section that folds at its heading; assets/shared/fold.js remembers its state by `name`."""
    heading: list[Any] = [html.Span(className="icon icon-chevron fold-mark"), html.H2(title)]
    if hint:
        heading.append(html.Span(hint, className="section-hint"))
    return html.Details(
        [html.Summary(heading, className="section-title"), html.Div(content, className="section-body")],
        open=True,
        className="section",
        **attributes(data_fold=name),
    )


def folded_when_low(title: str, content: Component) -> Component:
    """Content that a low window folds to its title, for the sake of the plot below it (assets/shared/fold.js); other
    windows show the content alone."""
    return html.Details(
        [html.Summary([icon("chevron"), title]), content],
        open=True,
        className="low-fold",
        **attributes(data_low_fold=""),
    )


def figure_card(label: str, value: str, *details: Any, help: Any = None, tone: str = "") -> Component:
    """One headline figure. `tone` "bad" or "warn" colours the value; the details must state the reason in words."""
    head = [html.Span(label, className="figure-label")] + ([] if help is None else [help])
    return html.Div(
        [
            html.Div(head, className="figure-head"),
            html.Div(value, className=f"figure-value {tone}".strip()),
            *[html.Div(each, className="figure-detail") for each in details],
        ],
        className="figure-card",
    )


def meter(share: float, label: str) -> Component:
    """A bar of a share 0..1; a larger share is clipped at 1 and marked."""
    over = " over" if share > 1 else ""
    fill = html.Div(className=f"share-meter-fill{over}", style={"width": f"{min(share, 1):.2%}"})
    return html.Div(fill, className="share-meter", role="img", **attributes(aria_label=label))


def facts(rows: Sequence[tuple[Any, Any]]) -> Component:
    """Label and value pairs."""
    return html.Dl([html.Div([html.Dt(label), html.Dd(value)]) for label, value in rows], className="facts-list")
