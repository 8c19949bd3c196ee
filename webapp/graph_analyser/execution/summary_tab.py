"""The Summary tab of the execution trace: figures of the window, one row per IPU."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.timeline import PHASES, TYPE_NAMES, run_bars
from popvision.analysis.execution.window import WindowFigures, window_figures
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.tile_knowledge import phases_unknown_text, tiles_unknown
from popvision.query.areas import cycles_of_area
from webapp.base.formats import cycles_text, integer_text, percent_text, seconds_text
from webapp.base.query import number_of, optional_number_of
from webapp.base.selection import Selection
from webapp.base.view import ViewContext
from webapp.components import help_text, register_rows, toggle
from webapp.components.attributes import attributes
from webapp.components.difference import difference_mark, figure_text
from webapp.components.difference_key import difference_key
from webapp.components.download_link import table_links
from webapp.components.row_export import exportable, row_values
from webapp.graph_analyser.execution.state import (
    Window,
    hidden_types,
    ipus_of,
    scope_line,
    target_window,
    types_named,
    window_of,
)
from webapp.graph_analyser.execution.transfers import transfers_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

#: Colour family of each phase (webapp/base/theme.py).
_FAMILY = {
    "compute": "compute",
    "exchange": "exchange",
    "global exchange": "global",
    "host": "host",
    "sync": "sync",
}

SHARE = "share of a phase = tile cycles in the phase / (tiles x cycles of the window)"
UTILISATION = (
    "tile utilisation = tile cycles of OnTileExecute + DoExchange + GlobalExchange + StreamCopyMid"
    " / (tiles x cycles of the window)"
)
BALANCE = "tile balance = sum over compute steps of mean(tile cycles) / sum over the same steps of max(tile cycles)"
ACTIVE = (
    "active tile balance = sum over compute steps of mean(cycles of active tiles)"
    " / sum over the same steps of max(tile cycles)"
)


def register(app: Dash, library: Library) -> None:
    """Rows of the exported table."""
    register_rows(app, library, "window-figures", rows)


def rows(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """One row per IPU with plain numbers: whole cycles and bytes, ratios from 0 to 1."""
    import pandas as pd

    ipu, count = optional_number_of(query, "ipu"), source.reader.target().num_ipus
    hidden = types_named(query.get("without", ""))
    begin, end = number_of(query, "from"), number_of(query, "to")
    ipus = range(count) if ipu is None else [ipu]
    return pd.DataFrame([_plain_row(window_figures(source, ipu, begin, end, hidden)) for ipu in ipus])


def _plain_row(each: WindowFigures) -> dict[str, Any]:
    names = ("ipu", "tiles", "length", "steps", "intervals", "tail", "utilisation", "balance", "active_balance")
    row = {name: getattr(each, name) for name in names}
    row |= {f"{phase} tile cycles": each.recorded_cycles(phase) for phase in PHASES} | {
        "not recorded tile cycles": each.unrecorded
    }
    moved = each.transfers | {f"stream copy, {name}": transfer for name, transfer in each.streams.items()}
    for name, transfer in moved.items():
        row |= {f"{name} Rx": transfer.received, f"{name} Tx": transfer.sent}
        row[f"{name} bytes per cycle"] = transfer.bandwidth
    return row | {"hidden types": ",".join(sorted(each.hidden))}


def content(context: ViewContext) -> Component:
    """Total cycles and a table with one row per IPU; in a comparison also the differences."""
    source, key, selection = context.source, context.key, context.selection
    window = window_of(source, selection)
    target = source.reader.target()
    ipus = range(target.num_ipus) if selection.ipu is None else [min(selection.ipu, target.num_ipus - 1)]
    hidden = hidden_types(selection)
    counted = hidden if selection.extras.get("filtered") == "1" else ()
    figures = [window_figures(source, ipu, window.begin, window.end, counted) for ipu in ipus]
    head = _head(window, figures, target.clock_hz, "" if context.target is None else " of the source")
    unknown = tiles_unknown(source)
    note = f"{unknown} The proportions below are those of the flat bars; balances and utilisation are unknown."
    not_recorded = phases_unknown_text(source)
    compared = [] if context.target is None else [difference_table(source, context.target, selection, counted)]
    parts = [
        html.Div([*head, _exports(key, window, selection.ipu, counted)], className="trace-head"),
        scope_line(context),
        area_line(source, key, selection),
        *_filter_line(hidden, bool(counted)),
        *([html.Div(note, className="trace-filter-line", role="note")] if unknown else []),
        *([html.Div(not_recorded, className="trace-filter-line", role="note")] if not_recorded else []),
        *compared,
        _table(figures),
        transfers_table(figures, target),
    ]
    return html.Div(parts, className="trace-summary")


def _filter_line(hidden: frozenset[str], counted: bool) -> list[Any]:
    """A note while the drawing hides step types, with the switch that excludes them from the figures."""
    if not hidden:
        return []
    names = ", ".join(name for name in TYPE_NAMES if name in hidden)
    text: list[Any] = (
        ["Filtered figures: every share, balance and byte count below excludes ", html.Strong(names), "."]
        if counted
        else ["The drawing hides ", html.Strong(names), ". The figures below still count everything."]
    )
    switch = toggle("filtered", "Filtered figures", counted, title="Exclude the hidden step types from the figures too")
    return [html.Div([html.Span(text), switch], className="trace-filter-line", role="note")]


def area_line(source: ReportSource, key: str, selection: Selection) -> Component | None:
    """A link to the aggregate of the selected area, tiles x time, as SQL; None when everything is selected."""
    window, tiles = window_of(source, selection), selection.tiles
    if not tiles and (window.begin, window.end) == (0, run_bars(source).total):
        return None
    try:
        sql = cycles_of_area(window.begin, window.end, selection.ipu, tiles)
    except ValueError:  # too many ranges
        tiles, sql = (), cycles_of_area(window.begin, window.end, selection.ipu)
    which = "all tiles" if not tiles else with_noun(len(tiles), "selected tile")
    link = html.A(
        f"SQL of this area: {which}, {window.end - window.begin:,} cycles",
        href=f"/r/{key}/sql?{urlencode({'sql': sql})}",
        title="Tile cycles by phase of these tiles within these cycles, as a query to work on",
        **attributes(data_nav="to"),
    )
    return html.Div(link, className="trace-area")


def _exports(key: str, window: Window, ipu: int | None, counted: Collection[str]) -> Component:
    query = urlencode(
        {"from": window.begin, "to": window.end}
        | ({} if ipu is None else {"ipu": ipu})
        | ({"without": ",".join(sorted(counted))} if counted else {})
    )
    links = table_links(f"/data/{key}/table/window-figures", f"?{query}", "window-figures", "these figures")
    return html.Div(links, className="trace-exports")


def _head(window: Window, figures: list[WindowFigures], clock: float, side: str) -> list[Component]:
    length = window.end - window.begin
    title = "Total device cycles" if window.is_everything else "Device cycles of the window"
    facts = [
        (title, cycles_text(length, clock), f"device cycles {window.begin:,} to {window.end:,}"),
        (
            "Device time",
            seconds_text(length / clock) if clock > 0 else "–",
            f"cycles / clock of {clock / 1e9:.3f} GHz; modelled device time, not host time"
            if clock > 0
            else "clock not known",
        ),
        (
            "Steps",
            integer_text(max(each.steps for each in figures)),
            "execution steps with an active tile in the window",
        ),
        ("Intervals", integer_text(sum(each.intervals for each in figures)), "pairs of step and tile with cycles > 0"),
    ]
    cells = [
        html.Div([html.Span(name, className="trace-name"), html.Span(value, className="trace-value")], title=title)
        for name, value, title in facts
    ]
    return [
        html.Div(["Figures of ", html.Strong(window.text), side], className="trace-scope", title=window.text),
        *cells,
    ]


def _table(figures: list[WindowFigures]) -> Component:
    head = html.Tr(
        [
            html.Th(html.Span("IPU", className="visually-hidden")),
            html.Th(["Proportions", help_text("Proportions", _SHARE_HELP, formula=SHARE)], className="wide"),
            html.Th(["Tile utilisation", help_text("Tile utilisation", _USE_HELP, formula=UTILISATION)]),
            html.Th(["Tile balance", help_text("Tile balance", _BALANCE_HELP, formula=BALANCE)]),
            html.Th(["Active tile balance", help_text("Active tile balance", _ACTIVE_HELP, formula=ACTIVE)]),
        ]
    )
    return html.Table([html.Thead(head), html.Tbody([_row(each) for each in figures])], className="trace-table")


_SHARE_HELP = (
    "Shares of tile cycles by phase; they add up to 100 %. The tail of a run counts as sync on tiles that have"
    " finished."
)
_USE_HELP = "Share of tile cycles that compute or move data, and do not wait at a barrier or for the host."
_BALANCE_HELP = (
    "1 when every compute step takes equally long on all tiles of the IPU. Steps are weighted by their longest tile."
)
_ACTIVE_HELP = "Tile balance over active tiles: a tile that takes no part in a step does not count as idle."


def _row(figures: WindowFigures) -> Component:
    return html.Tr(
        [
            html.Th(f"IPU {figures.ipu}", scope="row"),
            html.Td(_proportions(figures), className="wide"),
            html.Td(_meter(figures.utilisation, _fraction(figures.useful, figures.all_cycles))),
            html.Td(_meter(figures.balance, _fraction(figures.compute_mean, figures.compute_max))),
            html.Td(_meter(figures.active_balance, _fraction(figures.active_mean, figures.compute_max))),
        ]
    )


def _proportions(figures: WindowFigures) -> Component:
    parts = [
        html.Span(
            className=f"trace-share step-{_FAMILY[phase]}",
            style={"width": f"{100 * (figures.share(phase) or 0):.4f}%"},
            title=_share_text(figures, phase),
        )
        for phase in PHASES
    ]
    legend = [
        html.Span(
            [_swatch(phase), f"{phase} {percent_text(figures.share(phase))}"],
            title=_share_text(figures, phase),
        )
        for phase in PHASES
        if figures.tile_cycles[phase]
    ]
    if figures.unrecorded:
        rest = figures.unrecorded / figures.all_cycles
        text = f"not recorded: {_fraction(figures.unrecorded, figures.all_cycles)} = {percent_text(rest)}"
        parts.append(html.Span(className="trace-share", style={"width": f"{100 * rest:.4f}%"}, title=text))
        legend.append(html.Span(f"not recorded {percent_text(rest)}", title=text))
    return html.Div([html.Div(parts, className="trace-shares"), html.Div(legend, className="trace-share-legend")])


def _swatch(phase: str) -> Component:
    return html.Span(className=f"trace-swatch step-{_FAMILY[phase]}")


def _share_text(figures: WindowFigures, phase: str) -> str:
    cycles = figures.tile_cycles[phase]
    text = f"{phase}: {_fraction(cycles, figures.all_cycles)} = {percent_text(figures.share(phase))}"
    text += f"\n({_whole_text(figures)})"
    if phase == "host" and cycles:
        text += "".join(f"\n{name}: {value:,} tile cycles" for name, value in figures.host_parts.items())
    if phase == "sync" and figures.tail and "Sync" not in figures.hidden:
        text += f"\nincludes the tail after the last step of a run: {figures.tail:,} tile cycles"
    return text


def _whole_text(figures: WindowFigures) -> str:
    if figures.hidden:
        return f"{figures.all_cycles:,} = tile cycles of the counted step types"
    return f"{figures.all_cycles:,} = {with_noun(figures.tiles, 'tile')} x {with_noun(figures.length, 'cycle')}"


def _meter(share: float | None, formula: str) -> Component:
    bar = html.Span(html.Span(style={"width": f"{100 * (share or 0):.2f}%"}), className="trace-meter")
    return html.Div([bar, html.Span(percent_text(share))], className="trace-meter-cell", title=formula)


def _fraction(part: float, total: int) -> str:
    return f"{part:,.0f} / {total:,}" if total else "no such step in the window"


# ---- the window in both reports ----

Figure = tuple[str, str, float | None]


def difference_table(
    source: ReportSource, target: ReportSource, selection: Selection, hidden: Collection[str]
) -> Component:
    """One row per figure and IPU: source, target, target - source; a dash for an IPU missing in the target."""
    source_window, target_cycles = window_of(source, selection), target_window(source, target, selection)
    count = target.reader.target().num_ipus
    rows = []
    for ipu in ipus_of(source, selection):
        ours = dict_of(window_figures(source, ipu, source_window.begin, source_window.end, hidden))
        theirs = dict_of(window_figures(target, ipu, *target_cycles, hidden)) if ipu < count else {}
        rows += [
            _compared_row(ipu, name, kind, value, theirs.get(name, ("", None))[1])
            for name, (kind, value) in ours.items()
        ]
    matching = match_steps(source, target)
    about = (
        f"Source: cycles {source_window.begin:,} to {source_window.end:,}."
        f" Target: cycles {target_cycles[0]:,} to {target_cycles[1]:,}."
        f" Steps of the entire reports: {len(matching.source):,} matched,"
        f" {len(matching.only_source):,} only in the source, {len(matching.only_target):,} only in the target."
    )
    head = html.Tr([html.Th(each) for each in ("Figure", "Source", "Target", "Difference")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="trace-table trace-transfers")
    figures = exportable(table, "window-figures-source-target", "figures of both reports")
    return html.Div([html.P(about, className="trace-note"), difference_key(), figures], className="trace-compared")


def dict_of(figures: WindowFigures) -> dict[str, tuple[str, float | None]]:
    """(kind of number, value) by name."""
    return {name: (kind, value) for name, kind, value in _figures(figures)}


def _figures(each: WindowFigures) -> Iterator[Figure]:
    yield "Cycles", "cycles", each.length
    yield "Steps", "integer", each.steps
    for phase in PHASES:
        yield f"Tile cycles, {phase}", "cycles", each.recorded_cycles(phase)
    yield "Tile utilisation", "percent", each.utilisation
    yield "Tile balance", "percent", each.balance
    yield "Active tile balance", "percent", each.active_balance
    for name, moved in each.transfers.items():
        yield f"{name.capitalize()} Rx", "bytes", moved.received
        yield f"{name.capitalize()} Tx", "bytes", moved.sent
        yield f"{name.capitalize()}, bytes per cycle", "decimal", moved.bandwidth


def _compared_row(ipu: int, name: str, kind: str, ours: float | None, theirs: float | None) -> Any:
    return html.Tr(
        [
            html.Th(f"IPU {ipu} · {name}", scope="row"),
            html.Td(figure_text(ours, kind)),
            html.Td(figure_text(theirs, kind)),
            html.Td(difference_mark(ours, theirs, kind)),
        ],
        **row_values({"ipu": ipu, "figure": name, "unit": kind, "source": ours, "target": theirs}),
    )
