"""The headline of the summary: four figures, each with its formula."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.summary import Headline
from webapp.components import help_text
from webapp.components.attributes import attributes
from webapp.components.section import figure_card, meter
from webapp.formats import bytes_text, integer_text, percent_text, seconds_text


def headline_cards(headline: Headline, key: str) -> Component:
    """The row of cards; `key` is the report's, for links to other pages."""
    return html.Div(
        [_cycles_card(headline), _tile_card(headline, key), _memory_card(headline), _longest_card(headline, key)],
        className="figure-row",
    )


def _cycles_card(headline: Headline) -> Component:
    about = help_text(
        "Total device cycles",
        "Modelled cycles of all recorded runs together. Host time is not in them.",
        formula="device time = total cycles / clock",
    )
    if headline.total_cycles is None:
        return figure_card("Total device cycles", "–", "No run was recorded", help=about)
    runs = f"{headline.runs} recorded run{'' if headline.runs == 1 else 's'}"
    cut = [html.Span("truncated: later steps are missing", className="warn")] if headline.truncated else []
    return figure_card(
        "Total device cycles",
        integer_text(headline.total_cycles),
        f"{seconds_text(headline.device_seconds)} of device time · {runs}",
        *cut,
        help=about,
    )


def _tile_card(headline: Headline, key: str) -> Component:
    about = help_text(
        "Fullest tile",
        "The tile whose highest used byte is highest; gaps count. Above 100 % the program does not fit.",
        formula="bytes including gaps of the tile / bytes per tile",
    )
    if headline.tile_bytes is None or headline.tile_share is None:
        return figure_card("Fullest tile", "–", "Memory was not recorded", help=about)
    over = headline.tiles_out_of_memory or 0
    link = html.A(
        f"tile {headline.worst_tile:,}",
        href=f"/r/{key}/memory?tiles={headline.worst_tile}",
        **attributes(data_nav="to"),
    )
    details: list[Any] = [
        meter(headline.tile_share, f"{percent_text(headline.tile_share)} of a tile"),
        [f"{percent_text(headline.tile_share)} of {bytes_text(headline.tile_capacity)} · ", link],
    ]
    if over:
        details.append(html.Span(f"{over:,} tile{'' if over == 1 else 's'} out of memory", className="bad"))
    return figure_card(
        "Fullest tile", bytes_text(headline.tile_bytes), *details, help=about, tone="bad" if over else ""
    )


def _memory_card(headline: Headline) -> Component:
    about = help_text(
        "Memory in use",
        "Bytes used over all tiles; an address shared by several variables counts once, gaps do not count.",
        formula="sum over tiles of bytes excluding gaps / (tiles x bytes per tile)",
    )
    if headline.used_bytes is None or headline.used_share is None:
        return figure_card("Memory in use", "–", "Memory was not recorded", help=about)
    return figure_card(
        "Memory in use",
        bytes_text(headline.used_bytes),
        meter(headline.used_share, f"{percent_text(headline.used_share)} of all tiles"),
        f"{percent_text(headline.used_share)} of {bytes_text(headline.total_capacity)}",
        help=about,
    )


def _longest_card(headline: Headline, key: str) -> Component:
    about = help_text(
        "Longest program",
        "The lowered program whose own steps took most cycles, on the IPU where they took most.",
        formula="sum of its steps' lengths / total device cycles",
    )
    longest = headline.longest
    if longest is None:
        return figure_card("Longest program", "–", "Nothing was recorded", help=about)
    label = f"{longest.type} ({longest.name})" if longest.name else longest.type
    times = f"{longest.executions:,} execution{'' if longest.executions == 1 else 's'}"
    link = html.A(
        label,
        href=f"/r/{key}/program_tree?program={longest.program}",
        className="cut",
        title=label,
        **attributes(data_nav="to"),
    )
    return figure_card(
        "Longest program",
        f"{integer_text(longest.cycles)} cycles",
        link,
        f"{percent_text(longest.share)} of the total · {times}",
        help=about,
    )
