"""The figures above the drawing of the exchange page: bytes, messages, fan-out, time and bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.exchange.messages import fan_outs, messages_of
from popvision.analysis.exchange.programs import bandwidth, moved_bytes, recorded_totals
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.tiles import target_of
from webapp.base.formats import bytes_text, cycles_text, integer_text, percent_text
from webapp.components import help_text
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def row_of(source: ReportSource, program: int) -> int:
    """The row of a program in the columns of `moved`."""
    return int(np.searchsorted(moved_bytes(source).program, program))


def exchange_headline(source: ReportSource, program: int, step: int | None, key: str) -> Component:
    """Bytes, messages, fan-out, busiest tile, cycles and bandwidth of one execution."""
    return html.Div(figures_of_one(source, program, step, key), className="headline")


def figures_of_one(source: ReportSource, program: int, step: int | None, key: str, owner: str = "") -> list[Component]:
    """The figures of the headline; `owner` precedes the program's label."""
    m, row = moved_bytes(source), row_of(source, program)
    what = f"{m.type[row]}, Id {program}"
    return [
        exchange_figure(
            f"{owner}{'program' if owner else 'Program'}", what, m.name[row], title=m.name[row], class_name="wide"
        ),
        *_traffic(source, row),
        *_time(source, row, step, key),
    ]


def _traffic(source: ReportSource, row: int) -> list[Component]:
    m = moved_bytes(source)
    factor = m.received[row] / m.sent[row] if m.sent[row] and m.received[row] else None
    figures = [
        exchange_figure(
            "Received",
            bytes_text(int(m.received[row])),
            with_noun(int(m.receivers[row]), "tile"),
            title=f"{m.received[row]:,} B",
        ),
        exchange_figure(
            "Sent",
            bytes_text(int(m.sent[row])),
            "" if factor is None else f"multicast x {factor:,.2f}",
            title=f"{m.sent[row]:,} B; multicast factor = bytes received / bytes sent",
        ),
    ]
    try:
        messages = messages_of(source, int(m.program[row]))
    except NotRecordedError:
        if m.type[row] != "StreamCopyMid":
            figures.append(exchange_figure("Messages", "unknown", "not recorded"))
        return figures
    receivers, tiles = fan_outs(messages)
    fan = f"fan-out {len(messages.src) / tiles.sum():,.1f}, at most {receivers[-1]:,}"
    figures.append(exchange_figure("Messages", integer_text(len(messages.src)), fan, title="Pairs of tiles"))
    return figures


def _time(source: ReportSource, row: int, step: int | None, key: str) -> list[Component]:
    m, b = moved_bytes(source), bandwidth(source)
    figures = []
    if m.worst_tile[row] >= 0:
        tile = int(m.worst_tile[row])
        href = f"/r/{key}/memory?tiles={tile}"
        link = html.A(f"tile {tile:,}", href=href, **attributes(data_nav="jump"))
        figures.append(
            exchange_figure(
                "Busiest tile", bytes_text(int(m.worst_bytes[row])), link, title=f"{m.worst_bytes[row]:,} B"
            )
        )
    if not np.isnan(b.cycles_each[row]):
        figures.append(_cycles(source, row, step))
    use = b.achieved[row] / b.possible[row]
    about = help_text(
        "Achieved bandwidth",
        "Bytes of one execution per cycle, compared with the rate at which the receiving tiles can take data. Two "
        "tiles of one bus receive the same data at twice the rate: the share may exceed 100 %.",
        formula=_formula(source, row),
    )
    text = "unknown" if np.isnan(b.achieved[row]) else f"{b.achieved[row]:,.1f} B/cycle"
    share = "plain rate not stored" if np.isnan(use) else f"{percent_text(float(use))} of the plain rate"
    figures.append(exchange_figure("Achieved", text, share, help=about))
    return figures


def _cycles(source: ReportSource, row: int, step: int | None) -> Component:
    """Cycles of one execution: those of the tile that takes longest."""
    r, target = recorded_totals(source), target_of(source)
    each = float(bandwidth(source).cycles_each[row])
    runs = int(r.executions[row])
    detail = f"mean of {runs:,} executions" if runs > 1 else "one execution" if runs else "estimate: no run recorded"
    about = help_text(
        "Cycles of one execution",
        "Cycles of the tile that takes longest. The step in the trace is shorter, down to 0, where other tiles work "
        "at the same time. A report with cycles of a single tile has that length only.",
        formula=f"{r.cycles[row]:,} cycles of the longest tile / {runs:,} executions" if runs else "estimate",
    )
    shown = detail if step is None else f"{detail}; step {step:,} selected"
    return exchange_figure("Cycles", cycles_text(round(each), target.clock_hz), shown, help=about)


def _formula(source: ReportSource, row: int) -> str:
    m, b, target = moved_bytes(source), bandwidth(source), target_of(source)
    if np.isnan(b.achieved[row]):
        return "bytes / cycles"
    cycles = f"{b.cycles_each[row]:,.1f} cycles"
    if m.type[row] == "DoExchange":
        rate, count = target.exchange_bytes_per_cycle, f"{m.receivers[row]:,} receiving tiles"
    else:
        rate = target.host_bytes_per_cycle if m.type[row] == "StreamCopyMid" else target.link_bytes_per_cycle
        count = f"{m.ipus[row]:,} IPUs"
    size = m.received[row] + (m.sent[row] if m.type[row] == "StreamCopyMid" else 0)
    return f"{size:,} B / ({cycles} x {rate:g} B x {count})"


def exchange_figure(
    label: str, value: Any, detail: Any = "", *, title: str = "", help: Any = None, class_name: str = ""
) -> Component:
    """A figure of the headline with its label, and a detail beside it."""
    head = html.Span([label, help] if help is not None else label, className="headline-label")
    return html.Div(
        [
            head,
            html.Span(value, className="headline-value", title=title or None),
            html.Span(detail, className="headline-detail", title=detail if isinstance(detail, str) else None),
        ],
        className=f"headline-figure {class_name}".strip(),
    )
