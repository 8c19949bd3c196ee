"""The table of bytes moved in a window: exchange, global exchange, and stream copies by destination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.execution.window import Transfer, WindowFigures
from webapp.base.formats import bytes_text, cycles_phrase, percent_text
from webapp.components import help_text

if TYPE_CHECKING:
    from popvision.analysis.report.tiles import Target

BANDWIDTH = "bytes per cycle = bytes / sum of the longest tile's cycles, over steps entirely inside; GB/s = x clock"
_BYTES_HELP = (
    "Bytes that all steps of this kind in the window receive or send on the device. Steps that cross the edge of the"
    " window count fully."
)
_LIMIT_HELP = (
    "Achieved bandwidth in percent of the plain rate, as on the Exchange page. Two tiles that share a bus receive the"
    " same words at once, so broadcasts may exceed 100 %: for them the plain rate is no limit. Reports of format 1.0 do"
    " not store the rates of links between IPUs and to the host."
)
_LIMIT = (
    "plain rate of an exchange = 4 B x receiving tiles (of several steps their mean by cycles);"
    " GlobalExchange: link_bytes_per_cycle; StreamCopy: host_bytes_per_cycle"
)
_UNKNOWN = "This report does not store which stream copies go to remote buffers."


def transfers_table(figures: Sequence[WindowFigures], target: Target) -> Component:
    """One row per IPU and kind of transfer; a sentence when no step moves data."""
    rows = [_row(each, name, moved, target) for each in figures for name, moved in _moved(each)]
    if not rows:
        return html.P("No step in the window moves data.", className="trace-note")
    head = html.Tr(
        [
            html.Th("Data moved"),
            html.Th(["Received (Rx)", help_text("Bytes", _BYTES_HELP)]),
            html.Th("Sent (Tx)"),
            html.Th(["Achieved bandwidth", help_text("Achieved bandwidth", formula=BANDWIDTH)]),
            html.Th("In device time"),
            html.Th(["Relative to plain rate", help_text("Plain rate", _LIMIT_HELP, formula=_LIMIT)]),
        ]
    )
    return html.Table([html.Thead(head), html.Tbody(rows)], className="trace-table trace-transfers")


def _moved(figures: WindowFigures) -> Iterator[tuple[str, Transfer]]:
    names = {"exchange": "Exchange", "global exchange": "GlobalExchange"}
    for name, text in names.items():
        if figures.transfers[name].received or figures.transfers[name].sent:
            yield text, figures.transfers[name]
    for name, moved in figures.streams.items():
        if moved.received or moved.sent:
            yield f"StreamCopy, {'destination unknown' if name == 'unknown' else name}", moved


def _row(figures: WindowFigures, name: str, moved: Transfer, target: Target) -> Component:
    rate = moved.bandwidth
    measured = (
        f"{moved.measured:,} B / {moved.cycles:,} cycles"
        if rate is not None
        else "no step lies entirely inside the window"
    )
    limit, formula = _limit(name, moved, target)
    share = rate / limit if rate is not None and limit else None
    of_limit = f"{moved.measured:,} B / {formula}" if share else ""
    if share is not None and share > 1:
        of_limit += "\nAbove 100 % because of broadcasts: two tiles of one bus receive the same words at once"
    where: Any = [name, help_text("Destination", _UNKNOWN)] if name.endswith("unknown") else name
    return html.Tr(
        [
            html.Th([f"IPU {figures.ipu} · ", where] if isinstance(where, str) else [f"IPU {figures.ipu} · ", *where]),
            html.Td(bytes_text(moved.received), title=f"{moved.received:,} B"),
            html.Td(bytes_text(moved.sent), title=f"{moved.sent:,} B"),
            html.Td("–" if rate is None else f"{rate:,.1f} B per cycle", title=measured),
            html.Td(
                "–" if rate is None or target.clock_hz <= 0 else f"{rate * target.clock_hz / 1e9:,.2f} GB/s",
                title=f"over {cycles_phrase(moved.cycles, target.clock_hz)} of transfer",
            ),
            html.Td(
                "not known" if share is None else f"{percent_text(share)} of {limit:,.0f} B per cycle", title=of_limit
            ),
        ]
    )


def _limit(name: str, moved: Transfer, target: Target) -> tuple[float, str]:
    """(plain rate of an IPU for this kind of transfer in bytes per cycle, 0 when not known; bytes at that rate in the
    cycles of the transfer, as a formula)."""
    if name == "Exchange":
        rate = target.exchange_bytes_per_cycle
        tiles = moved.port_cycles / moved.cycles if moved.cycles else 0.0
        return rate * tiles, f"({moved.cycles:,} cycles x {rate:g} B x {tiles:,.1f} receiving tiles)"
    rate = target.link_bytes_per_cycle if name == "GlobalExchange" else target.host_bytes_per_cycle
    return rate, f"({moved.cycles:,} cycles x {rate:,.2f} B)"
