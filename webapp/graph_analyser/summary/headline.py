"""The headline of the summary: a card per figure with its formula, a link to its evidence and what the target says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.nouns import with_noun
from popvision.analysis.summary.headline import Headline
from webapp.base.formats import bytes_text, cycles_phrase, cycles_text, percent_text, seconds_text
from webapp.components import difference_mark, help_text
from webapp.components.attributes import attributes
from webapp.components.difference import figure_text
from webapp.components.section import figure_card, meter


@dataclass(frozen=True)
class CardContext:
    """Key and clock of the report. `versus` is the value of `vs`, "" without a comparison; `source` and `target` are
    the metrics of the two reports compared (popvision.analysis.compare.metrics), `target_headline` the figures of the
    second one."""

    key: str
    clock_hz: float
    versus: str = ""
    source: Mapping[str, float | None] = field(default_factory=dict)
    target: Mapping[str, float | None] | None = None
    replicas: int = 1
    target_headline: Headline | None = None

    def link(self, text: Any, view: str, **query: Any) -> Component:
        """A link to the view with the evidence, which keeps the comparison."""
        params = urlencode(query | ({"vs": self.versus} if self.versus else {}), safe=",")
        href = f"/r/{self.key}/{view}" + (f"?{params}" if params else "")
        return html.A(text, href=href, **attributes(data_nav="to"))

    @property
    def role(self) -> str:
        """The report whose figures stand below the source's: of several targets the first."""
        return "Target 1" if "," in self.versus else "Target"

    def difference(self, metric: str, kind: str) -> list[Any]:
        """The lines of a card with the target's figure and its difference."""
        if self.target is None:
            return []
        return _of_target(self.role, self.source.get(metric), self.target.get(metric), kind)


def _of_target(role: str, before: float | None, after: float | None, kind: str) -> list[Any]:
    if after is None:
        return [f"{role}: not recorded"]
    value = html.Strong(figure_text(after, kind))
    if before == after:
        return [[f"{role} the same, ", value]]
    return [[f"{role} ", value], [difference_mark(before, after, kind)]]


def headline_cards(headline: Headline, cards: CardContext) -> Component:
    """The row of cards: total cycles, fullest tile, memory in use, longest program, peak liveness."""
    return html.Div(
        [
            _cycles_card(headline, cards),
            _tile_card(headline, cards),
            _memory_card(headline, cards),
            _longest_card(headline, cards),
            _live_card(headline, cards),
        ],
        className="figure-row",
    )


def _without(title: str, lost: str | None, otherwise: str, about: Component) -> Component:
    """A card without its figure: the loss by damage, else the reason why it was not recorded."""
    detail = html.Span("Lost: the file is damaged", title=lost, className="bad") if lost else otherwise
    return figure_card(title, "–", detail, help=about)


def _cycles_card(headline: Headline, cards: CardContext) -> Component:
    about = help_text(
        "Total device cycles",
        "Modelled cycles of all recorded runs. They do not include host time.",
        formula="device time = total cycles / clock",
    )
    if headline.total_cycles is None:
        return _without("Total device cycles", headline.lost.get("cycles"), "No run was recorded", about)
    runs = with_noun(headline.runs, "recorded run")
    cut = [html.Span("truncated: later steps are missing", className="warn")] if headline.truncated else []
    return figure_card(
        "Total device cycles",
        cycles_text(headline.total_cycles, cards.clock_hz),
        [f"{seconds_text(headline.device_seconds)} of device time · ", cards.link(runs, "execution")],
        *cut,
        *cards.difference("cycles", "cycles"),
        help=about,
    )


def _tile_card(headline: Headline, cards: CardContext) -> Component:
    about = help_text(
        "Fullest tile",
        "The tile with most bytes in use. Gaps are not in use: the rules of regions and alignment leave them, also on "
        "tiles that are almost empty. A program fits when the highest used address of every tile, gaps included, is "
        "within its memory; where it is not, the card shows that address.",
        formula="bytes excluding gaps of the tile / bytes per tile",
    )
    if headline.tile_bytes is None:
        return _without("Fullest tile", headline.lost.get("memory"), "Memory was not recorded", about)
    over = headline.tiles_out_of_memory or 0
    fits = not over
    tile, size = headline.fullest or (0, headline.tile_bytes)
    link = cards.link(f"tile {tile:,}", "memory", tiles=tile)
    details: list[Any] = [["memory of a tile unknown · ", link]]
    if headline.tile_capacity:
        share = size / headline.tile_capacity
        details = [
            meter(share, f"{percent_text(share)} of a tile"),
            [f"{percent_text(share)} of {bytes_text(headline.tile_capacity)} · ", link],
        ]
        if fits:
            details.append(f"with gaps at most {bytes_text(headline.tile_bytes)}")
    if over:
        details.append(html.Span(f"{with_noun(over, 'tile')} out of memory", className="bad"))
        over_by = (headline.tile_bytes or 0) - (headline.tile_capacity or 0)
        details.append(html.Span(f"{bytes_text(over_by)} too much, gaps included", className="bad"))
    details += cards.difference("peak_used" if fits else "peak", "bytes")
    return figure_card("Fullest tile", bytes_text(size), *details, help=about, tone="bad" if over else "")


def _memory_card(headline: Headline, cards: CardContext) -> Component:
    about = help_text(
        "Memory in use",
        "Bytes used on all tiles. An address that several variables share counts once; gaps do not count.",
        formula="sum over tiles of bytes excluding gaps / (tiles x bytes per tile)",
    )
    if headline.used_bytes is None:
        return _without("Memory in use", headline.lost.get("memory"), "Memory was not recorded", about)
    link = cards.link("all tiles", "memory")
    details: list[Any] = [["memory of the device unknown · ", link]]
    if headline.used_share is not None:
        details = [
            meter(headline.used_share, f"{percent_text(headline.used_share)} of all tiles"),
            [f"{percent_text(headline.used_share)} of {bytes_text(headline.total_capacity)} · ", link],
        ]
    return figure_card(
        "Memory in use",
        bytes_text(headline.used_bytes),
        *details,
        *cards.difference("memory_used", "bytes"),
        help=about,
    )


def _longest_card(headline: Headline, cards: CardContext) -> Component:
    about = help_text(
        "Longest program",
        "The lowered program whose own steps take most cycles, on the IPU where they take longest.",
        formula="sum of its steps' lengths / total device cycles",
    )
    longest = headline.longest
    if longest is None:
        return _without("Longest program", headline.lost.get("longest"), "No run was recorded", about)
    label = f"{longest.type} ({longest.name})" if longest.name else longest.type
    times = with_noun(longest.executions, "execution")
    link = cards.link(html.Span(label, className="cut", title=label), "program_tree", program=longest.program)
    return figure_card(
        "Longest program",
        cycles_phrase(longest.cycles, cards.clock_hz),
        link,
        f"{percent_text(longest.share)} of the total · {times}",
        *_longest_of_target(cards, longest.cycles),
        help=about,
    )


def _longest_of_target(cards: CardContext, before: int) -> list[Any]:
    """The lines with the target's longest program, which may be another one."""
    if cards.target is None:
        return []
    longest = None if cards.target_headline is None else cards.target_headline.longest
    if longest is None:
        return [f"{cards.role}: not recorded"]
    label = f"{longest.type} ({longest.name})" if longest.name else longest.type
    return [*_of_target(cards.role, before, longest.cycles, "cycles"), html.Span(label, className="cut", title=label)]


def _live_card(headline: Headline, cards: CardContext) -> Component:
    about = help_text(
        "Peak liveness",
        "Maximum of the liveness curve of one replica, which follows the static order of the program.",
        formula="always-live bytes + maximum over liveness indices of bytes not always live",
    )
    peak = headline.live_peak
    if peak is None:
        return _without("Peak liveness", headline.lost.get("live"), "Liveness was not recorded", about)
    link = cards.link(f"index {peak.index:,}", "liveness", liveness=peak.index)
    of_one = ", on replica 0" if cards.replicas > 1 else ""
    return figure_card(
        "Peak liveness",
        bytes_text(peak.total),
        [f"{bytes_text(peak.always_live)} always live{of_one} · ", link],
        *cards.difference("live_peak", "bytes"),
        help=about,
    )
