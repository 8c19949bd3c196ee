"""Tabs of the exchange page in a comparison: fan-out, IPUs and host copies as source, target and difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.exchange import compared_host_copies, partner_of
from popvision.analysis.compare.join import join
from popvision.analysis.exchange.messages import (
    between_ipus_table,
    fan_out_table,
    messages_of,
    sendings_of,
    sendings_table,
)
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from webapp.components import data_table, empty_hint, unavailable
from webapp.components.attributes import attributes
from webapp.components.figure_columns import HIDE, figure_columns, figure_frame

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Table
    from popvision.analysis.report.source import ReportSource

_REGION: dict[str, Any] = {"tabIndex": "0", "role": "region", **attributes(aria_label="Exchange details")}


def fan_pair(source: ReportSource, target: ReportSource, program: int) -> Component:
    """The distributions of fan-out and of receivers per multicast in both reports."""
    try:
        both = (source, program), (target, partner_of(source, target, program))
        fans = [fan_out_table(messages_of(*each)) for each in both]
    except NotRecordedError as lacking:
        return unavailable(lacking)
    fan = _joined("xch-fan", fans, ["receivers"], "tiles", "fan-out-compared", 260)
    parts: list[Component] = [html.Div([html.H2("Fan-out of sending tiles"), fan])]
    spread = [sendings_of(*each) for each in both]
    shown: Component
    silent = [side for side, (receivers, _) in zip(("source", "target"), spread, strict=True) if not len(receivers)]
    if silent:
        text = f"The {' and '.join(silent)} has no multicast figures (format 1.0, or nothing is sent)."
        shown = empty_hint(text)
    else:
        sent = [sendings_table(*each) for each in spread]
        shown = _joined("xch-sendings", sent, ["receivers"], "sent_bytes", "multicast-compared", 260)
    parts.append(html.Div([html.H2("Bytes sent by number of receivers"), shown]))
    return html.Div(parts, className="exchange-columns compared", **_REGION)


def _joined(
    id: str, both: Sequence[Table], keys: Sequence[str], figure: str, name: str, height: int | str
) -> Component:
    """A figure of both reports by its keys, ascending; what a report does not have is 0 there."""
    source, target = (table.select([*keys, figure]) for table in both)
    table = join(source, target, keys)
    table = table.take(np.lexsort([np.asarray(table[key], np.int64) for key in reversed(keys)]))
    columns = figure_columns(table, {"in_report": HIDE})
    return data_table(id, figure_frame(table), columns, name=name, height=height, filter_box=False)


def ipu_pair(source: ReportSource, target: ReportSource, program: int) -> Component:
    """Bytes from IPU to IPU in both reports; IPUs are matched by number."""
    try:
        both = (source, program), (target, partner_of(source, target, program))
        sums = [between_ipus_table(messages_of(*each), target_of(each[0])) for each in both]
    except NotRecordedError as lacking:
        return unavailable(lacking)
    if max(len(table) for table in sums) < 2:
        return empty_hint("Both reports have one IPU, so no data moves between IPUs.")
    return _joined("xch-ipus", sums, ["from_ipu", "to_ipu"], "size_bytes", "ipus-compared", "100%")


def host_pair(source: ReportSource, target: ReportSource) -> Component:
    """Copies to and from the host over all runs of both reports, matched like programs."""
    copies = compared_host_copies(source, target)
    if not len(copies):
        return empty_hint("Neither report copies data to or from the host.")
    frame, columns = figure_frame(copies), figure_columns(copies)
    return data_table("xch-host", frame, columns, name="host-copies-compared", height="100%")
