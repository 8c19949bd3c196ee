"""Tabs of the exchange page in a comparison: fan-out, IPUs and host copies as source, target and difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.exchange import compared_host_copies, partner_of
from popvision.analysis.exchange.messages import between_ipus, fan_outs, messages_of, sendings_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from webapp.components import Column, data_table, empty_hint
from webapp.components.attributes import attributes
from webapp.components.difference import difference_columns, difference_rows
from webapp.components.figure_columns import figure_columns, figure_frame

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_REGION: dict[str, Any] = {"tabIndex": "0", "role": "region", **attributes(aria_label="Exchange details")}


def fan_pair(source: ReportSource, target: ReportSource, program: int) -> Component:
    """The distributions of fan-out and of receivers per multicast in both reports."""
    try:
        partner = partner_of(source, target, program)
        counts = [fan_outs(messages_of(*each)) for each in ((source, program), (target, partner))]
    except NotRecordedError as lacking:
        return empty_hint(str(lacking))
    head = [Column("receivers", "Fan-out", "integer", "Tiles that a tile sends to", width=110)]
    fan = data_table(
        "xch-fan",
        _rows(counts, "tiles"),
        head + difference_columns("tiles", "Tiles with this fan-out", "integer"),
        name="fan-out-compared",
        height=260,
        filter_box=False,
    )
    parts: list[Component] = [html.Div([html.H2("Fan-out of sending tiles"), fan])]
    spread = [sendings_of(*each) for each in ((source, program), (target, partner))]
    title = html.H2("Bytes sent by number of receivers")
    silent = [side for side, (receivers, _) in zip(("source", "target"), spread, strict=True) if not len(receivers)]
    if silent:
        text = f"The {' and '.join(silent)} has no multicast figures (format 1.0, or nothing is sent)."
        parts.append(html.Div([title, empty_hint(text)]))
        return html.Div(parts, className="exchange-columns compared", **_REGION)
    head = [Column("receivers", "Receivers", "integer", "Tiles that receive the same data", width=110)]
    sent = data_table(
        "xch-sendings",
        _rows(spread, "bytes"),
        head + difference_columns("bytes", "Sent", "bytes"),
        name="multicast-compared",
        height=260,
        filter_box=False,
    )
    parts.append(html.Div([title, sent]))
    return html.Div(parts, className="exchange-columns compared", **_REGION)


def _rows(both: Iterable[tuple[Any, Any]], field: str) -> list[dict[str, Any]]:
    """A row per number of receivers in either report; 0 where a report does not have it."""
    before, after = (dict(zip(keys.tolist(), values.tolist(), strict=True)) for keys, values in both)
    rows = [
        {"receivers": count, f"{field}_source": before.get(count, 0), f"{field}_target": after.get(count, 0)}
        for count in sorted(before.keys() | after.keys())
    ]
    return difference_rows(rows, field)


def ipu_pair(source: ReportSource, target: ReportSource, program: int) -> Component:
    """Bytes from IPU to IPU in both reports; IPUs are matched by number."""
    try:
        partner = partner_of(source, target, program)
        sums = [
            between_ipus(messages_of(report, row), target_of(report))
            for report, row in ((source, program), (target, partner))
        ]
    except NotRecordedError as lacking:
        return empty_hint(str(lacking))
    most = max(len(each) for each in sums)
    if most < 2:
        return empty_hint("Both reports have one IPU, so no data moves between IPUs.")

    def figure(of: Any, one: int, other: int) -> int:
        """Between IPUs that a report does not have nothing moves."""
        return int(of[one, other]) if max(one, other) < len(of) else 0

    rows = [
        {
            "from": one,
            "to": other,
            "bytes_source": figure(sums[0], one, other),
            "bytes_target": figure(sums[1], one, other),
        }
        for one in range(most)
        for other in range(most)
    ]
    columns = [
        Column("from", "From IPU", "integer", width=110),
        Column("to", "To IPU", "integer", width=110),
        *difference_columns("bytes", "Bytes of one execution", "bytes"),
    ]
    return data_table("xch-ipus", difference_rows(rows, "bytes"), columns, name="ipus-compared", height="100%")


def host_pair(source: ReportSource, target: ReportSource) -> Component:
    """Copies to and from the host over all runs of both reports, matched like programs."""
    copies = compared_host_copies(source, target)
    if not len(copies):
        return empty_hint("Neither report copies data to or from the host.")
    frame, columns = figure_frame(copies), figure_columns(copies)
    return data_table("xch-host", frame, columns, name="host-copies-compared", height="100%")
