"""Tables of exchange: every program that moves bytes, and the heaviest pairs of tiles of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.exchange.messages import Messages, heaviest, messages_of
from popvision.analysis.exchange.programs import bandwidth, fans, moved_bytes, recorded_totals
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import AnyArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Heaviest pairs of tiles in a table; all messages are in the export.
MOST_PAIRS = 2_000


def exchange_programs_table(source: ReportSource) -> Table:
    """One row per exchange program, most bytes over the recorded runs first, before any run most received by one
    execution. What the report does not say is NaN,
    totals without a run too."""
    m, f, r, b = moved_bytes(source), fans(source), recorded_totals(source), bandwidth(source)
    with np.errstate(divide="ignore", invalid="ignore"):
        multicast = np.where((m.sent > 0) & (m.received > 0), m.received / m.sent, np.nan)
    through = r.received + np.where([kind == "StreamCopyMid" for kind in m.type], r.sent, 0)
    order = np.lexsort((m.program, -m.sent, -m.received, -through))
    has_runs = bool(len(source.reader.runs().name))

    def of_runs(values: AnyArray) -> AnyArray:
        return values[order] if has_runs else np.full(len(order), np.nan)

    return Table(
        "exchange_programs",
        [
            Figure("program", "id", m.program[order]),
            Figure("type", "text", [m.type[row] for row in order.tolist()]),
            Figure("name", "text", [m.name[row] for row in order.tolist()]),
            Figure("total", "bytes", of_runs(r.received)),
            Figure("share", "share", of_runs(through / max(1, int(through.sum())))),
            Figure("received", "bytes", m.received[order]),
            Figure("sent", "bytes", m.sent[order]),
            Figure("multicast", "ratio", multicast[order]),
            Figure("messages", "count", _known(f.messages[order])),
            Figure("fan_mean", "mean_count", f.mean[order]),
            Figure("fan_worst", "count", _known(f.worst[order])),
            Figure("receivers", "count", m.receivers[order]),
            Figure("worst_tile", "id", _known(m.worst_tile[order])),
            Figure("worst_bytes", "bytes", m.worst_bytes[order]),
            Figure("estimated", "cycles", _known(m.estimated[order])),
            Figure("cycles", "mean_cycles", b.cycles_each[order]),
            Figure("executions", "count", of_runs(r.executions)),
            Figure("all_cycles", "cycles", of_runs(r.cycles)),
            Figure("achieved", "bytes_per_cycle", b.achieved[order]),
            Figure("use", "share", (b.achieved / b.possible)[order]),
            Figure("dictated", "share", b.dictated[order]),
            Figure("code", "bytes", m.code[order] if holds_code(source) else np.full(len(order), np.nan)),
        ],
    )


def _known(values: Int64Array) -> AnyArray:
    """-1 = not known, as NaN."""
    return np.where(values < 0, np.nan, values) if (values < 0).any() else values


def pairs_table(source: ReportSource, program: int) -> Table:
    """The heaviest pairs of tiles of a program; empty where messages are not recorded."""
    nothing = np.empty(0, np.int64)
    try:
        messages = messages_of(source, program)
    except (NotRecordedError, ValueError):
        messages = Messages(nothing, nothing, nothing)
    rows = heaviest(messages, MOST_PAIRS)
    size = messages.bytes[rows]
    share = size / max(1, int(np.abs(messages.bytes).sum()))
    figures = [Figure("bytes", "bytes", size), Figure("share", "share", share)]
    return Table("exchange_pairs", [*ends_of(source, messages, rows), *figures])


def ends_of(source: ReportSource, messages: Messages, rows: Int64Array) -> list[Figure]:
    """Tiles and IPUs of some messages."""
    per_ipu = target_of(source).tiles_per_ipu
    src, dst = messages.src[rows], messages.dst[rows]
    return [
        Figure("source", "id", src),
        Figure("destination", "id", dst),
        Figure("source_ipu", "id", src // per_ipu),
        Figure("destination_ipu", "id", dst // per_ipu),
    ]
