"""Overview: why the program is slow, what fills the memory, with `vs` what changed; each sentence with its number.

The first lines come with the page. Callbacks fill the rest, because places of source need the debug information and
waits the cycles of single tiles.

    dismissed   keys of findings that are folded away, comma between them
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component

from popvision.analysis.insights.rules import insights
from popvision.analysis.insights.unusual import unusual
from popvision.analysis.memory.capacity import memory_excess
from popvision.analysis.memory.usage import breakdown
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.summary.headline import Headline, headline
from webapp.components import empty_hint
from webapp.components.attributes import attributes
from webapp.components.section import section
from webapp.formats import bytes_text, cycles_phrase, in_units, percent_text, seconds_text
from webapp.graph_analyser.overview import findings, memory_use, waits
from webapp.graph_analyser.summary.headline import CardContext
from webapp.graph_analyser.summary.shares import share_bar, share_rows
from webapp.graph_analyser.summary.waterfalls import what_changed
from webapp.library import Library
from webapp.view import View, ViewContext, page_key

_TOP = 3


def layout(context: ViewContext) -> Component:
    figures = headline(context.source)
    target = if_recorded(context.source.reader.target)
    cards = CardContext(context.key, 0.0 if target is None else target.clock_hz, ",".join(context.targets))
    return html.Div(
        [
            html.Div([_time(figures, cards), _memory(context, figures, cards)], className="section-columns"),
            html.P(id="overview-unusual", className="note", role="status"),
            *(what_changed(context) if context.targets else []),
            findings.place(context),
            _pins(context),
            waits.place(context),
            memory_use.place(context),
        ],
        className="page-of-facts",
    )


def register(app: Dash, library: Library) -> None:
    findings.register(app, library)
    waits.register(app, library)
    memory_use.register(app, library)

    @app.callback(
        Output("overview-causes", "children"),
        Output("overview-unusual", "children"),
        Input("overview-looked", "data"),
        State("url", "pathname"),
    )
    def fill(_: str | None, pathname: str | None) -> tuple[list[Component], str]:
        source = library.report(page_key(pathname))
        found = insights(source)
        line = unusual(source, found)
        return findings.causes(found), f"Unusual: {in_units(line)}" if line else ""


def _pins(context: ViewContext) -> Component:
    """The place of statements that the SQL page pinned; assets/sql/pins.js fills it and hides it without any."""
    body = html.Div(id="overview-pins", **attributes(data_key=context.key))
    return section("pins", "Pinned questions", body, hint="pinned on the SQL page, kept in this browser")


def _time(figures: Headline, cards: CardContext) -> Component:
    """Total cycles, the bar of phases, and the place of the three causes that cost most."""
    if figures.total_cycles is None:
        lost = empty_hint(figures.lost.get("cycles") or "No run was recorded.")
        return section("overview-time", "Time", [lost, html.Div(id="overview-causes", hidden=True)])
    runs = f"{figures.runs:,} recorded run{'' if figures.runs == 1 else 's'}"
    head: list[Any] = [
        html.Strong(cycles_phrase(figures.total_cycles, cards.clock_hz)),
        f" ({seconds_text(figures.device_seconds)} of device time) in ",
        cards.link(runs, "execution"),
    ]
    body: list[Component] = [html.P(head, className="overview-line")]
    if figures.shares is not None:
        body += [share_bar(figures, labels=False), html.Div(share_rows(figures), className="share-legend")]
    if figures.not_recorded:
        body.append(html.Div(figures.not_recorded, className="note", role="note"))
    body.append(html.Div(html.P("Looking for causes …", className="note"), id="overview-causes"))
    return section(
        "overview-time", "Time", body, hint="device cycles, all recorded runs; the bar: share of tile cycles"
    )


def _memory(context: ViewContext, figures: Headline, cards: CardContext) -> Component:
    """Whether the program fits and by how much, and the three categories that take most."""
    if figures.tile_bytes is None or figures.used_bytes is None:
        return section(
            "overview-memory", "Memory", empty_hint(figures.lost.get("memory") or "Memory was not recorded.")
        )
    excess = memory_excess(context.source)
    if excess is not None:
        fits: list[Any] = [
            html.Strong("Does not fit: ", className="bad"),
            f"{excess.tiles_over:,} of {excess.tiles:,} tiles are over their memory, ",
            cards.link(f"tile {excess.tile:,}", "memory", tiles=excess.tile),
            f" by {bytes_text(excess.excess)}.",
        ]
    else:
        tile, size = figures.fullest or (figures.worst_tile or 0, figures.tile_bytes)
        share = f" of {bytes_text(figures.tile_capacity)}" if figures.tile_capacity else ""
        fits = [
            html.Strong("Fits: "),
            "the fullest tile, ",
            cards.link(f"{tile:,}", "memory", tiles=tile),
            f", uses {bytes_text(size)}{share}.",
        ]
    used = f"{bytes_text(figures.used_bytes)} in use on all tiles"
    if figures.total_capacity:
        used += f", {percent_text(figures.used_share)} of their memory"
    body: list[Component] = [html.P(fits, className="overview-line"), html.P(f"{used}; most of it:", className="dim")]
    parts = if_recorded(partial(breakdown, context.source, "category", None))
    if parts is not None:
        sums = sorted(
            ((int(v.sum()), label) for v, label in zip(parts.values, parts.labels, strict=True)), reverse=True
        )
        rows = [
            html.Li([cards.link(label, "memory", mem_by="category"), f" {bytes_text(size)}, ", _part(size, figures)])
            for size, label in sums[:_TOP]
        ]
        shared = "Bytes that several variables share count once here, so one variable can be larger than its category."
        body += [html.Ol(rows, className="overview-top"), html.P(shared, className="dim")]
    return section("overview-memory", "Memory", body, hint="gaps excluded")


def _part(size: int, figures: Headline) -> Component:
    used = figures.used_bytes or 0
    share = size / used if used else 0.0
    title = f"{size:,} B of {used:,} B in use"
    return html.Span(percent_text(share), title=title, className="bound")


VIEW = View(id="overview", title="Overview", icon="overview", layout=layout, register=register, draws=("table",))
