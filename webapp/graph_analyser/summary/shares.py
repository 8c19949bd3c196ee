"""Where the time goes: a bar of tile cycles by phase, with a legend."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from popvision.analysis.summary.headline import Headline
from webapp.base.formats import percent_text
from webapp.base.problems import LOST
from webapp.components import empty_hint, help_text
from webapp.components.section import section
from webapp.graph_analyser.summary.headline import CardContext

PHASE_NAMES = {
    "compute": ("Compute", "compute", "OnTileExecute: compute sets running"),
    "exchange": ("Exchange", "exchange", "DoExchange: data between tiles of one IPU"),
    "global exchange": ("Global exchange", "global", "GlobalExchange: data between IPUs"),
    "host": ("Host", "host", "StreamCopy begin, mid and end: waiting for the host and moving its data"),
    "sync": ("Sync", "sync", "Sync, Sans and SyncAns, waiting at barriers, and the tail of each run"),
}


def time_shares(named: list[tuple[str, Headline]], cards: CardContext, why_none: str) -> Component:
    """The section of one or more reports: a bar of phases each, with a legend; `why_none` where no run was recorded."""
    about = help_text(
        "Where the time goes",
        "Cycles of all tiles by phase. Waiting at a barrier counts as sync, waiting for the host before a stream copy "
        "as host. The shares add up to 100 %.",
        formula="sum over tiles of cycles in the phase / (tiles x total cycles)",
    )
    if all(headline.shares is None for _, headline in named):
        sentence = LOST if "shares" in named[0][1].lost else why_none
        return section(
            "shares",
            "Where the time goes",
            empty_hint(sentence),
        )
    body: list[Component] = []
    for name, each in named:
        if name:
            why = "lost, the file is damaged" if "shares" in each.lost else "no run was recorded"
            body.append(html.Div(name if each.shares else f"{name}: {why}", className="share-name"))
        if each.shares is None:
            continue
        rows = share_rows(each)
        evidence = [] if body[1:] else [cards.link("execution trace", "execution"), about]
        body += [share_bar(each), html.Div([*rows, *evidence], className="share-legend")]
        if each.not_recorded:
            body.append(html.Div(each.not_recorded, className="note", role="note"))
    return section("shares", "Where the time goes", body, hint="share of tile cycles, all tiles, all recorded runs")


def share_rows(of: Headline) -> list[Component]:
    """The legend of the bar: each phase with its share."""
    return [_share_row(phase, share) for phase, share in (of.shares or {}).items()]


def share_bar(of: Headline, labels: bool = True) -> Component:
    """The bar of phases of a report that has shares; `labels` write a share that has room into its part."""
    shares = of.shares or {}
    bar = [_share_part(phase, share, labels) for phase, share in shares.items() if share > 0]
    if of.not_recorded:
        rest = max(0.0, 1 - sum(shares.values()))
        title = f"Not recorded {percent_text(rest)}"
        label = title if labels and rest > 0.12 else ""
        bar.append(html.Div(label, className="share-part share-rest", style={"flexGrow": rest}, title=title))
    return html.Div(bar, className="share-bar")


def _share_part(phase: str, share: float, labels: bool) -> Component:
    title, family, _ = PHASE_NAMES[phase]
    text = f"{title} {percent_text(share)}"
    label = text if labels and share > 0.12 else ""
    return html.Div(label, className=f"share-part step-{family}", style={"flexGrow": share}, title=text)


def _share_row(phase: str, share: float) -> Component:
    title, family, meaning = PHASE_NAMES[phase]
    swatch = html.Span(className=f"swatch step-{family}")
    return html.Div([swatch, title, html.Strong(percent_text(share))], className="share-entry", title=meaning)
