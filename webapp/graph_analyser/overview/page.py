"""Overview: why the program is slow, what fills the memory, with `vs` what changed; each sentence with its number.

The first lines come with the page. The rest needs the debug information and the cycles of single tiles: a thread reads
them while the browser loads its scripts (`ahead`). What is there when the page is built comes with it; what is not says
so, and a callback fills it.

    dismissed   keys of findings that are folded away, comma between them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.insights.largest_users import memory_use as memory_use_of
from popvision.analysis.insights.late import costs_of_waiting
from popvision.analysis.insights.rules import insights
from popvision.analysis.insights.unusual import unusual
from popvision.analysis.memory.capacity import memory_excess, why_no_run
from popvision.analysis.memory.usage import breakdown
from popvision.analysis.report.not_recorded import GRAPH_PROFILE, FormatError, NotRecordedError, if_recorded
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.source_code.lines import busiest_ipu
from popvision.analysis.summary.headline import Headline, headline
from webapp.base.formats import bytes_text, cycles_phrase, in_units, percent_text, seconds_text
from webapp.base.library import Library
from webapp.base.problems import LOST
from webapp.base.view import View, ViewContext
from webapp.components import empty_hint, loading
from webapp.components.attributes import attributes
from webapp.components.page_parts import PartContent, part_stores, register_part
from webapp.components.section import section
from webapp.components.sides import pair_text
from webapp.graph_analyser.overview import findings, memory_use, waits
from webapp.graph_analyser.summary.headline import CardContext
from webapp.graph_analyser.summary.shares import PHASE_NAMES, share_bar, share_rows
from webapp.graph_analyser.summary.waterfalls import what_changed

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_TOP = 3

#: Between the bar and the causes, since a phase has another figure in each.
_TWO_MEASURES = (
    "The bar shares out the time of all tiles. The causes below count cycles of the critical path: steps, one after "
    "the other."
)

_READ = "overview read ahead"  #: what is kept when everything has been worked out
_LONGEST_WAIT = 0.3  #: seconds that the first lines wait for the rest


def layout(context: ViewContext) -> Component:
    figures, target_figures = headline(context.source), _target_headline(context)
    target = if_recorded(context.source.reader.target)
    side = "source: " if context.targets else ""
    cards = CardContext(context.key, 0.0 if target is None else target.clock_hz, ",".join(context.targets))
    return html.Div(
        [
            html.Div(
                [_time(context, figures, cards, target_figures), _memory(context, figures, cards, target_figures)],
                className="section-columns",
            ),
            html.P(id="overview-unusual", className="note", role="status"),
            *(what_changed(context) if context.targets else []),
            findings.place(side),
            _pins(context),
            waits.place(side),
            memory_use.place(side),
            *part_stores("overview", "causes", (findings.DISMISSED,)),
            *part_stores("overview", "waits", ()),
            *part_stores("overview", "use", ()),
        ],
        className="page-of-facts",
    )


def register(app: Dash, library: Library) -> None:
    waits.register(app)

    def add(part: str, outputs: Sequence[str], content: PartContent, seconds: float = 0.0, **more: bool) -> None:
        register_part(app, library, "overview", part, outputs, content, partial(_is_read, seconds=seconds), **more)

    found = ("overview-causes.children", "overview-unusual.children", "overview-findings.children")
    add("causes", found, _found, _LONGEST_WAIT)
    add("waits", ("overview-waits.children",), lambda context: [waits.contents(context)])
    add("use", ("overview-use.children",), lambda context: [memory_use.contents(context)], lasting=True)


def _found(context: ViewContext) -> Sequence[Any]:
    """The causes of the first lines, what is unusual, and all findings."""
    insight = insights(context.source)
    line = unusual(context.source, insight)
    listed = findings.findings_list(context.key, insight, findings.dismissed_of(context.params), context.source.lost)
    return findings.causes(insight), f"Unusual: {in_units(line)}" if line else "", listed


def _ahead(source: ReportSource) -> None:
    source.kept.recent((_READ, source.generation), lambda: _read(source))


def _read(source: ReportSource) -> bool:
    """Work out what the page shows; its parts say what a report lacks."""
    for ask in (insights, lambda each: costs_of_waiting(each, busiest_ipu(each)), memory_use_of):
        with suppress(NotRecordedError, FormatError, ValueError):
            ask(source)
    return True


def _is_read(context: ViewContext, seconds: float) -> bool:
    """Whether all has been worked out, or is within `seconds`."""
    return context.source.kept.awaited((_READ, context.source.generation), seconds) is not None


def _pins(context: ViewContext) -> Component:
    """The place of statements that the SQL page pinned; assets/sql/pins.js fills it and hides it without any."""
    body = html.Div(id="overview-pins", **attributes(data_key=context.key))
    return section("pins", "Pinned questions", body, hint="pinned on the SQL page, kept in this browser")


def _target_headline(context: ViewContext) -> Headline | None:
    target = context.target
    return None if target is None else if_recorded(lambda: headline(target))


def _both(title: str, before: float | None, after: float | None, kind: str) -> Component:
    """The figure of both reports, above the sentences, which are about the source."""
    return html.P([html.Strong(f"{title}: {pair_text(before, after, kind)}"), ", source \u2192 target. Below: source."])


def _time(context: ViewContext, figures: Headline, cards: CardContext, theirs: Headline | None) -> Component:
    """Total cycles, the bar of phases, and the place of the three causes that cost most."""
    compared = (
        [_both("Total device cycles", figures.total_cycles, theirs.total_cycles, "cycles")]
        if theirs is not None
        else []
    )
    if figures.total_cycles is None:
        lost: Component = empty_hint(LOST if "cycles" in figures.lost else why_no_run(context.source))
        if compared:
            lost = html.Div([*compared, lost])
        return section("overview-time", "Time", [lost, html.Div(id="overview-causes", hidden=True)])
    runs = with_noun(figures.runs, "recorded run")
    head: list[Any] = [
        html.Strong(cycles_phrase(figures.total_cycles, cards.clock_hz)),
        f" ({seconds_text(figures.device_seconds)} of device time) in ",
        cards.link(runs, "execution"),
    ]
    body: list[Component] = [*compared, html.P(head, className="overview-line")]
    if figures.shares is not None:
        body += [share_bar(figures, labels=False), html.Div(share_rows(figures), className="share-legend")]
        body += [html.P(_largest(figures.shares)), html.P(_TWO_MEASURES, className="dim")]
    if figures.apart:
        body.append(html.P(in_units(figures.apart), className="dim", id="overview-apart"))
    if figures.not_recorded:
        body.append(html.Div(figures.not_recorded, className="note", role="note"))
    body.append(html.Div(loading(), id="overview-causes"))
    return section(
        "overview-time", "Time", body, hint="device cycles, all recorded runs; the bar: share of tile cycles"
    )


def _largest(shares: Mapping[str, float]) -> list[Any]:
    """What the largest part of the bar is."""
    phase = max(shares, key=lambda each: shares[each])
    title, _, meaning = PHASE_NAMES[phase]
    return [html.Strong(f"Largest share: {title}, {percent_text(shares[phase])}."), f" {meaning}."]


def _memory(context: ViewContext, figures: Headline, cards: CardContext, theirs: Headline | None) -> Component:
    """Whether the program fits and by how much, and the three categories that take most."""
    if figures.tile_bytes is None or figures.used_bytes is None:
        return section("overview-memory", "Memory", empty_hint(LOST if "memory" in figures.lost else GRAPH_PROFILE))
    excess = memory_excess(context.source)
    if excess is not None:
        fits: list[Any] = [
            html.Strong("Does not fit: ", className="bad"),
            f"{excess.tiles_over:,} of {excess.tiles:,} tiles are over their memory, ",
            cards.link(f"tile {excess.tile:,}", "memory", tiles=excess.tile),
            f" by {bytes_text(excess.excess)}, gaps included.",
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
    compared = [] if theirs is None else [_both_tiles(figures, theirs)]
    body: list[Component] = [
        *compared,
        html.P(fits, className="overview-line"),
        html.P(f"{used}; most of it:", className="dim"),
    ]
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
    return section("overview-memory", "Memory", body, hint="bytes in use: gaps excluded")


def _both_tiles(ours: Headline, theirs: Headline) -> Component:
    """The fullest tiles, both without gaps, or both with them where one program does not fit."""
    if ours.tiles_out_of_memory or theirs.tiles_out_of_memory or ours.fullest is None or theirs.fullest is None:
        return _both("Fullest tile, with gaps", ours.tile_bytes, theirs.tile_bytes, "bytes")
    return _both("Fullest tile", ours.fullest[1], theirs.fullest[1], "bytes")


def _part(size: int, figures: Headline) -> Component:
    used = figures.used_bytes or 0
    share = size / used if used else 0.0
    title = f"{size:,} B of {used:,} B in use"
    return html.Span(percent_text(share), title=title, className="bound")


VIEW = View(
    id="overview", title="Overview", icon="overview", layout=layout, register=register, ahead=_ahead, draws=("table",)
)
