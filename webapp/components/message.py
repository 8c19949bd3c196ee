"""What stands where a page has nothing to show: it is loading, empty, not recorded, never ran, damaged or too large.

The bars at the top of a page say what damage took, and what does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.memory.capacity import MemoryExcess
from popvision.analysis.report.nouns import with_noun
from webapp.base.formats import bytes_text
from webapp.base.problems import reason
from webapp.components.attributes import attributes

#: What is shown of a damaged report.
CHECKED_PART = "Only data with correct checksums is shown."

#: Losses that a banner lists before they are folded.
_SHOWN = 3


def empty_hint(sentence: str) -> Component:
    """A quiet line in an empty tab or panel, such as "Select a tile to see its details"."""
    return html.Div(sentence, className="empty-hint")


def loading() -> Component:
    """The line in the place of what is still worked out."""
    return html.Div("Loading …", className="empty-hint", role="status")


def unavailable(problem: Exception) -> Component:
    """The line in the place of what a question could not answer."""
    return empty_hint(reason(problem))


def missing_note(reasons: Mapping[str, str]) -> Component | None:
    """Lines above columns of dashes: their titles and why the report holds none of their figures, by title; None where
    nothing is missing."""
    titles: dict[str, list[str]] = {}
    for title, why in reasons.items():
        titles.setdefault(why, []).append(title)
    if not titles:
        return None
    lines = [html.P([html.B(", ".join(shown)), f": {why}"]) for why, shown in titles.items()]
    return html.Div(lines, className="missing-note", role="note")


def noted(note: Component | None, content: Component) -> Component:
    """Content that fills a box, below a note where there is one."""
    if note is None:
        return content
    return html.Div([note, html.Div(content, className="tab-fill")], className="tab-column")


def message_page(title: str, sentence: str, *more: Any) -> Component:
    """A page of one sentence, with links."""
    return html.Section([html.H2(title), html.P(sentence), *[html.P(each) for each in more]], className="message-page")


def damage_banner(
    lost: Sequence[str], name: str = "This report", state: str = "is damaged", shown: str = CHECKED_PART
) -> Component | None:
    """A bar that lists the losses of a damaged report or trace and says what is `shown`, a long list folded; None
    without losses."""
    if not lost:
        return None
    head: list[Component | str] = [
        html.Strong(f"{name} {state}."),
        f" {shown} Lost: ",
        "; ".join(each.rstrip(".") for each in lost[:_SHOWN]),
        "." if len(lost) <= _SHOWN else "; and more.",
    ]
    parts: list[Component] = [html.P(head)]
    if len(lost) > _SHOWN:
        rows = html.Ul([html.Li(each) for each in lost])
        parts.append(html.Details([html.Summary(f"All {len(lost):,} losses"), rows]))
    return html.Div(parts, className="damage", role="status")


def excess_banner(
    excess: MemoryExcess | None, key: str, name: str = "This program", *, did_run: bool = False
) -> Component | None:
    """A bar with what does not fit and by how much, and links to the evidence in report `key`; None when all fits. The
    IPU Model runs what does not fit (`did_run`)."""
    if excess is None:
        return None
    of_all = "All" if excess.tiles_over == excess.tiles else f"{excess.tiles_over:,} of"
    size = bytes_text(excess.capacity)
    head: list[Component | str] = [
        html.Strong(f"{name} does not fit: {'only a model can run it' if did_run else 'it cannot run'}."),
        f" {of_all} {with_noun(excess.tiles, 'tile')} need more than their {size}. Tile {excess.tile:,} needs most: "
        f"{bytes_text(excess.needed)}, {bytes_text(excess.excess)} too much.",
    ]
    if excess.largest is not None:
        head.append(
            f" Its largest category: {excess.largest[0]}, {bytes_text(excess.largest[1])}, overlapped bytes included."
        )
    for text, query in (("Memory of this tile", "details"), ("What is live at its peak", "peak")):
        href = f"/r/{key}/memory?tiles={excess.tile}&mem_tab={query}"
        head += [" ", html.A(text, href=href, **attributes(data_nav="to"))]
    return html.Div(html.P(head), className="damage unfit", role="status")
