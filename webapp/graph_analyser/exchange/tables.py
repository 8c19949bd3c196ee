"""Rows and columns of the tables of the exchange page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.compare.matching import HOW, match_programs
from popvision.analysis.exchange.matrix import difference_messages, partner_of
from popvision.analysis.exchange.messages import Messages, heaviest, messages_of
from popvision.analysis.exchange.programs import bandwidth, fans, moved, ran
from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.components import Column
from webapp.components.difference import add_difference, difference_columns
from webapp.query import number_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource

#: Heaviest pairs of tiles in the table; the export has all messages.
MOST_PAIRS = 2_000

#: Figures of the comparison: (field, title, kind).
COMPARED = (
    ("received", "Received", "bytes"),
    ("sent", "Sent", "bytes"),
    ("messages", "Messages", "integer"),
    ("cycles", "Cycles each", "decimal"),
    ("executions", "Executions", "integer"),
    ("total", "Total received", "bytes"),
    ("code", "Code", "bytes"),
)

USE_HELP = (
    "Achieved / plain rate. DoExchange: bytes received / (cycles x 4 B x tiles that receive); GlobalExchange: bytes "
    "received / (cycles x bytes per cycle of an IPU's links x IPUs that receive); host copy: bytes / (cycles x bytes "
    "per cycle of the host link x IPUs). Tiles that share a bus receive the same data at twice the rate, so it may "
    "exceed 100 %. – = rate not stored (format 1.0)"
)

PROGRAM_COLUMNS = [
    Column("program", "Id", "integer", "Id of the program, as in the program tree", width=70),
    Column("type", "Type", width=120),
    Column("name", "Name", width=280),
    Column("total", "Total received", "bytes", "Bytes received in all recorded executions", width=150, sort="desc"),
    Column("share", "Share", "percent", "Total received / that of all exchange programs", width=85),
    Column("received", "Received", "bytes", "Bytes received in one execution; counts every receiver", width=110),
    Column("sent", "Sent", "bytes", "Bytes sent in one execution; counts a multicast once", width=110),
    Column("multicast", "Multicast", "decimal", "Bytes received / bytes sent", width=95),
    Column("messages", "Messages", "integer", "Pairs of tiles; – = not recorded, or a host copy", width=100),
    Column("fan_mean", "Fan-out", "decimal", "Messages / tiles that send", width=85),
    Column("fan_worst", "Max", "integer", "Largest fan-out of a tile", width=80),
    Column("receivers", "Receivers", "integer", "Tiles that receive", width=95),
    Column("worst_tile", "Busiest tile", "integer", "The tile that receives most bytes", width=105),
    Column("worst_bytes", "Its bytes", "bytes", "Bytes that the busiest tile receives", width=105),
    Column("estimated", "Estimate", "cycles", "Estimated cycles of the longest tile", width=100),
    Column(
        "cycles",
        "Cycles each",
        "decimal",
        "All cycles / executions; the estimate without a recorded execution",
        width=105,
    ),
    Column("executions", "Executions", "integer", "Recorded execution steps", width=100),
    Column(
        "all_cycles",
        "All cycles",
        "cycles",
        "Cycles of the longest tile, summed over all recorded executions. The flat bar in the trace is shorter where "
        "other tiles work at the same time",
        width=105,
    ),
    Column("achieved", "B / cycle", "decimal", "Bytes of one execution / cycles each", width=95),
    Column("use", "Of plain rate", "percent", USE_HELP, width=105),
    Column(
        "dictated",
        "Busiest explains",
        "percent",
        "ceil(bytes of the busiest tile / 4) / cycles each: the share of the length that its bytes explain; above "
        "100 % where the tile shares a bus",
        width=120,
    ),
    Column("code", "Code", "bytes", "Bytes of exchange code over all tiles", width=100),
]

PAIR_COLUMNS = [
    Column("source", "Source tile", "integer", width=120),
    Column("destination", "Destination tile", "integer", width=140),
    Column("source_ipu", "Source IPU", "integer", width=110),
    Column("destination_ipu", "Destination IPU", "integer", width=130),
    Column("bytes", "Bytes", "bytes", "Bytes of one execution", width=130),
    Column("share", "Share", "percent", "Bytes / bytes of all messages", width=100),
]


def program_frame(source: ReportSource, _query: Mapping[str, str] | None = None) -> DataFrame:
    """One row per exchange program, most bytes over all recorded runs first."""
    import pandas as pd

    m, f, r, b = moved(source), fans(source), ran(source), bandwidth(source)
    with np.errstate(divide="ignore", invalid="ignore"):
        multicast = np.where(m.sent > 0, m.received / m.sent, np.nan)
    through = r.received + np.where([t == "StreamCopyMid" for t in m.type], r.sent, 0)
    columns: dict[str, Any] = {
        "program": m.program,
        "type": m.type,
        "name": m.name,
        "total": r.received,
        "share": through / max(1, int(through.sum())),
        "received": m.received,
        "sent": m.sent,
        "multicast": np.where(m.received > 0, multicast, np.nan),
        "messages": _known(f.messages),
        "fan_mean": f.mean,
        "fan_worst": _known(f.worst),
        "receivers": m.receivers,
        "worst_tile": _known(m.worst_tile),
        "worst_bytes": m.worst_bytes,
        "estimated": _known(m.estimated),
        "cycles": b.cycles_each,
        "executions": r.executions,
        "all_cycles": r.cycles,
        "achieved": b.achieved,
        "use": b.achieved / b.possible,
        "dictated": b.dictated,
        "code": m.code,
    }
    order = np.lexsort((m.program, -m.received - m.sent, -through))
    frame = pd.DataFrame(columns)
    if not len(source.reader.runs().name):  # without a run, totals are unknown and not 0
        frame[["total", "share", "executions", "all_cycles"]] = np.nan
    return frame.iloc[order].reset_index(drop=True)


def _known(values: Any) -> Any:
    """The values with -1 (not known) as missing values."""
    return np.where(values < 0, np.nan, values) if (values < 0).any() else values


def compared_columns() -> list[Column]:
    """Columns of `compared_frame`."""
    head = [
        Column("program", "Id", "integer", "Id in the source; – = only in the target", width=70),
        Column("target_program", "Target id", "integer", "Id in the target; – = only in the source", width=90),
        Column("type", "Type", width=120),
        Column("name", "Name", width=280),
        Column("how", "Matched by", width=120),
    ]
    return head + [each for part in COMPARED for each in difference_columns(*part)]


def compared_frame(source: ReportSource, target: ReportSource) -> DataFrame:
    """Programs of both reports side by side, largest change of bytes first. A program of one report alone has missing
    values on the other side."""
    matching = match_programs(source, target)
    both = dict(
        zip(matching.source.tolist(), zip(matching.target.tolist(), matching.how.tolist(), strict=True), strict=True)
    )
    one, other = (program_frame(each).set_index("program", drop=False) for each in (source, target))
    rows = []
    taken = set()
    for program in one.index:
        partner, how = both.get(program, (None, None))
        partner = partner if partner in other.index else None
        taken.add(partner)
        rows.append(_pair_row(one.loc[program], None if partner is None else other.loc[partner], how))
    rows += [_pair_row(None, other.loc[program], None) for program in other.index if program not in taken]
    import pandas as pd

    frame = pd.DataFrame(rows, columns=_pair_fields())
    for field in [name for name in frame if name not in ("type", "name", "how")]:
        frame[field] = pd.to_numeric(frame[field])
    frame = add_difference(frame, *[field for field, _, _ in COMPARED])
    order = np.argsort(-np.abs(frame["total_diff"].fillna(np.inf).to_numpy(float)), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _pair_fields() -> list[str]:
    return ["program", "target_program", "type", "name", "how"] + [
        f"{field}_{side}" for field, _, _ in COMPARED for side in ("source", "target")
    ]


def _pair_row(one: Any, other: Any, how: int | None) -> dict[str, Any]:
    shown = one if one is not None else other
    row: dict[str, Any] = {
        "program": None if one is None else one["program"],
        "target_program": None if other is None else other["program"],
        "type": shown["type"],
        "name": shown["name"],
        "how": HOW[how] if how is not None and one is not None and other is not None else "only here",
    }
    for field, _, _ in COMPARED:
        row[f"{field}_source"] = None if one is None else one[field]
        row[f"{field}_target"] = None if other is None else other[field]
    return row


def pair_frame(source: ReportSource, query: Mapping[str, str]) -> DataFrame:
    """The heaviest pairs of the program `query["program"]`; empty where messages are not recorded."""
    try:
        found = messages_of(source, number_of(query, "program"))
    except (NotRecordedError, ValueError):
        return _pairs(source, None)
    return _pairs(source, found)


def pair_difference_frame(source: ReportSource, target: ReportSource, program: int) -> DataFrame:
    """The pairs with the largest change: bytes in both reports, 0 for no message. Raises NotRecordedError."""
    frame = _pairs(source, difference_messages(source, target, program)[0]).drop(columns=["bytes", "share"])
    rows = frame["source"].to_numpy(np.int64), frame["destination"].to_numpy(np.int64)
    frame["bytes_source"] = _bytes_of(messages_of(source, program), *rows)
    frame["bytes_target"] = _bytes_of(messages_of(target, partner_of(source, target, program)), *rows)
    return add_difference(frame, "bytes")


def _bytes_of(found: Messages, src: Any, dst: Any) -> Any:
    """Bytes from src[i] to dst[i], 0 where there is no message."""
    if not len(found.src):
        return np.zeros(len(src), np.int64)
    width = 1 + max(int(each.max(initial=0)) for each in (found.dst, dst))
    known, wanted = found.src * width + found.dst, src * width + dst
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, found.bytes[at], 0)


def changed_pair_columns() -> list[Column]:
    """Columns of `pair_difference_frame`."""
    return PAIR_COLUMNS[:4] + difference_columns("bytes", "Bytes", "bytes", help="Bytes of one execution:")


def _pairs(source: ReportSource, found: Any) -> DataFrame:
    import pandas as pd

    from popvision.analysis.report.tiles import target_of

    fields = [column.field for column in PAIR_COLUMNS]
    if found is None:
        return pd.DataFrame({field: [] for field in fields})
    rows, per_ipu = heaviest(found, MOST_PAIRS), target_of(source).tiles_per_ipu
    src, dst, size = found.src[rows], found.dst[rows], found.bytes[rows]
    share = size / max(1, int(np.abs(found.bytes).sum()))
    return pd.DataFrame(dict(zip(fields, (src, dst, src // per_ipu, dst // per_ipu, size, share), strict=True)))
