"""The line of figures above a plot, and the line of statistics below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.range_statistics import Statistics
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.base.formats import bytes_text, integer_text
from webapp.components.attributes import attributes
from webapp.components.sides import ARROW, pair_text
from webapp.graph_analyser.plots.bytes_axis import both_units


@dataclass(frozen=True)
class Figure:
    """A value with its label; `detail` follows in small print (a link with `href`), `exact` shows on hover."""

    label: str
    value: str
    detail: str = ""
    exact: str = ""
    href: str = ""
    state: str = ""  #: "" or "bad"
    number: int | None = None  #: the value as a number of `kind`, for the difference of two reports
    kind: str = "bytes"


def of_replica(source: ReportSource, replica: int | None) -> str:
    """What a title adds to a figure of one of several replicas."""
    return "" if replica is None or target_of(source).num_replicas == 1 else f", replica {replica}"


def paired(source: Sequence[Figure], target: Sequence[Figure]) -> list[Figure]:
    """The figures of two reports, matched by label: source → target with the difference; the small print names the
    sides. A figure of one side only has a dash on the other."""
    sides = [{each.label: each for each in figures} for figures in (source, target)]
    pairs = []
    for label, one in (sides[1] | sides[0]).items():
        ours, theirs = (side.get(label) for side in sides)
        before, after = (None if each is None else each.number for each in (ours, theirs))
        notes = [
            f"{side}: {each.detail}" for side, each in (("source", ours), ("target", theirs)) if each and each.detail
        ]
        exact = [f"{side}: {each.exact}" for side, each in (("Source", ours), ("Target", theirs)) if each is not None]
        state = next((each.state for each in (ours, theirs) if each is not None and each.state), "")
        value = pair_text(before, after, one.kind)
        pairs.append(replace(one, value=value, detail="; ".join(notes), exact="\n".join(exact), state=state))
    return pairs


def headline(figures: Sequence[Figure]) -> Component:
    has_pairs = any(ARROW in each.value or each.label.startswith("Source: ") for each in figures)
    return html.Div([_figure(each) for each in figures], className="headline paired" if has_pairs else "headline")


def _figure(figure: Figure) -> Component:
    detail: Any = figure.detail
    if figure.href and figure.detail:
        detail = html.A(figure.detail, href=figure.href, **attributes(data_nav="jump"))
    return html.Div(
        [
            html.Span(figure.label, className="headline-label"),
            html.Span(figure.value, className=f"headline-value {figure.state}".strip(), title=figure.exact or None),
            html.Span(detail, className="headline-detail", title=figure.detail),
        ],
        className="headline-figure",
    )


def range_line(of: Statistics, where: str, name: str, *, position: Any, decimated: bool, drawn: str) -> Component:
    """Average, minimum, maximum and standard deviation of the visible values. `position(i)` names the i-th value,
    `drawn` is the note of a `decimated` plot."""
    parts = [
        ("average", bytes_text(of.mean), f"{of.mean:,.1f} B"),
        ("min", bytes_text(of.min), f"{both_units(of.min)}, {position(of.argmin)}"),
        ("max", bytes_text(of.max), f"{both_units(of.max)}, {position(of.argmax)}"),
        ("std dev", bytes_text(of.std), f"{of.std:,.1f} B, of the population"),
    ]
    spans: list[Any] = [html.Span(f"{where}: {integer_text(of.count)} {name}", className="range-where")]
    for label, text, exact in parts:
        spans.append(html.Span([html.Span(label, className="range-label"), text], title=exact, className="range-part"))
    if decimated:
        spans.append(html.Span(drawn, className="range-note", title="The figures on the left include all values."))
    return html.Div(spans, className="range-line")
