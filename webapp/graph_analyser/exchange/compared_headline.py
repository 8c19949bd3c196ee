"""The figures above the exchange drawing of a comparison: source → target (difference) of one execution of a program
and of its partner. A program that the target lacks keeps the source's figures, each said to be the source's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.exchange import partner_of
from popvision.analysis.exchange.messages import fan_outs, messages_of
from popvision.analysis.exchange.programs import bandwidth, moved_bytes, recorded_totals
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from webapp.base.formats import cycles_text, percent_text
from webapp.components import help_text
from webapp.components.attributes import attributes
from webapp.components.sides import ARROW, pair_text
from webapp.graph_analyser.exchange.headline import exchange_figure, figures_of_one, row_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class _Side:
    """One execution of the program in one report: None where it is not recorded."""

    program: int
    received: int
    sent: int
    receivers: int
    messages: int | None
    fan_out: float | None
    worst_tile: int
    worst_bytes: int
    cycles: float | None
    executions: int
    achieved: float | None
    use: float | None


def compared_headline(
    source: ReportSource, target: ReportSource, program: int, step: int | None, key: str, vs: str
) -> Component:
    """Bytes, messages, busiest tile, cycles and bandwidth of both reports; `key` and `vs` are their keys."""
    m = moved_bytes(source)
    row = row_of(source, program)
    try:
        partner = partner_of(source, target, program)
    except NotRecordedError as lacking:
        alone = [exchange_figure("Target", "–", str(lacking)), *figures_of_one(source, program, step, key, "Source: ")]
        return html.Div(alone, className="headline")
    one, other = _side(source, program), _side(target, partner)
    name = m.name[row]
    clock = target_of(source).clock_hz
    figures = [
        exchange_figure("Program", f"{m.type[row]}, {_ids(one, other)}", name, title=name, class_name="wide"),
        _pair("Received", one.received, other.received, "bytes", f"{_both(one.receivers, other.receivers)} tiles"),
        _pair("Sent", one.sent, other.sent, "bytes", _multicast(one, other)),
        _pair("Messages", one.messages, other.messages, "integer", _fan(one, other)),
        _pair("Busiest tile", one.worst_bytes, other.worst_bytes, "bytes", _busiest(one, other, key, vs)),
        _cycles(one, other, clock, step),
        _achieved(one, other),
    ]
    return html.Div(figures, className="headline paired")


def _side(source: ReportSource, program: int) -> _Side:
    m, b, row = moved_bytes(source), bandwidth(source), row_of(source, program)
    messages: int | None = None
    fan: float | None = None
    try:
        found = messages_of(source, program)
        messages = len(found.src)
        fan = messages / float(fan_outs(found)[1].sum()) if messages else None
    except NotRecordedError:
        pass
    return _Side(
        program,
        int(m.received[row]),
        int(m.sent[row]),
        int(m.receivers[row]),
        messages,
        fan,
        int(m.worst_tile[row]),
        int(m.worst_bytes[row]),
        _known(b.cycles_each[row]),
        int(recorded_totals(source).executions[row]),
        _known(b.achieved[row]),
        _known(b.achieved[row] / b.possible[row]),
    )


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _pair(label: str, before: float | None, after: float | None, kind: str, detail: Any, **more: Any) -> Component:
    unit = {"bytes": " B", "cycles": " cycles"}.get(kind, "")
    exact = " → ".join("not recorded" if value is None else f"{value:,}{unit}" for value in (before, after))
    return exchange_figure(label, pair_text(before, after, kind), detail, title=f"Source → target: {exact}", **more)


def _ids(one: _Side, other: _Side) -> str:
    return f"Id {_both(one.program, other.program)}"


def _both(before: int, after: int) -> str:
    return f"{before:,}" if before == after else f"{before:,} {ARROW} {after:,}"


def _of_both(text: str, before: float | None, after: float | None) -> str:
    values = ["–" if each is None else f"{each:,.2f}" for each in (before, after)]
    return f"{text} {values[0]}" if values[0] == values[1] else f"{text} {values[0]} {ARROW} {values[1]}"


def _multicast(one: _Side, other: _Side) -> str:
    factors = [each.received / each.sent if each.sent and each.received else None for each in (one, other)]
    return "" if factors == [None, None] else _of_both("multicast", *factors)


def _fan(one: _Side, other: _Side) -> str:
    if one.messages is None and other.messages is None:
        return "not recorded"
    return _of_both("fan-out", one.fan_out, other.fan_out)


def _busiest(one: _Side, other: _Side, key: str, vs: str) -> list[Any]:
    """Each side's own tile, source → target, in its own report."""
    parts: list[Any] = []
    for side, report, role in ((one, key, "source"), (other, vs, "target")):
        if side.worst_tile < 0:
            continue
        link = {"title": f"Memory of the tile in the {role}", **attributes(data_nav="to")}
        href = f"/r/{report}/memory?tiles={side.worst_tile}"
        parts += [f" {ARROW} " if parts else "tile ", html.A(f"{side.worst_tile:,}", href=href, **link)]
    return parts


def _cycles(one: _Side, other: _Side, clock: float, step: int | None) -> Component:
    about = help_text(
        "Cycles of one execution",
        "Cycles of the tile that takes longest, the mean of the recorded executions; the estimate where none was "
        "recorded.",
        formula="cycles of the longest tile / executions",
    )
    runs = [
        f"{role}: "
        + (f"mean of {each.executions:,}" if each.executions > 1 else "one" if each.executions else "estimate")
        for role, each in (("source", one), ("target", other))
    ]
    same = runs[0].partition(": ")[2] == runs[1].partition(": ")[2]
    detail = runs[0].partition(": ")[2] + " in both" if same else ", ".join(runs)
    detail += "" if step is None else f"; step {step:,} selected"
    before, after = (None if each.cycles is None else round(each.cycles) for each in (one, other))
    title = " → ".join("not recorded" if each is None else cycles_text(each, clock) for each in (before, after))
    return exchange_figure(
        "Cycles", pair_text(before, after, "cycles", clock), detail, title=f"Source → target: {title}", help=about
    )


def _achieved(one: _Side, other: _Side) -> Component:
    about = help_text(
        "Achieved bandwidth",
        "Bytes of one execution per cycle, beside the rate at which the receiving tiles can take data. Two tiles of "
        "one bus receive the same data at twice the rate: the share may exceed 100 %.",
        formula="bytes / cycles",
    )
    uses = ["–" if each.use is None else percent_text(each.use) for each in (one, other)]
    values = [None if each.achieved is None else round(each.achieved, 1) for each in (one, other)]
    shown = [f"{each:,.1f}" if each is not None else "–" for each in values]
    text = f"{shown[0]} {ARROW} {shown[1]} B/cycle"
    detail = "plain rate not stored" if uses == ["–", "–"] else f"{uses[0]} {ARROW} {uses[1]}"
    return exchange_figure("Achieved, part of the plain rate", text, detail, help=about)
