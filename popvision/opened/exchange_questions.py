"""Questions about data that moves: exchanges between tiles and IPUs, and copies to and from the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.exchange import host
from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.programs import bandwidth, fans, moved_bytes, recorded_totals
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.figure_titles import opened_frame
from popvision.analysis.report.source import ReportSource
from popvision.opened.frames import report_frame, report_table

if TYPE_CHECKING:
    import pandas as pd


def exchanges(source: ReportSource) -> pd.DataFrame:
    """A row per program that moves bytes: program, type, name. Of one execution over all tiles: received_bytes,
    sent_bytes (a multicast counts once), receivers, senders, messages and code_bytes (missing where not recorded),
    busiest_tile (receives most), busiest_tile_bytes, each_cycles (mean of recorded executions, else the estimate),
    achieved_bytes_per_cycle, possible_bytes_per_cycle. Over all recorded runs: executions, total_received_bytes,
    total_sent_bytes."""
    import pandas as pd

    moves, runs, rates, fan = moved_bytes(source), recorded_totals(source), bandwidth(source), fans(source)
    return report_frame(
        source,
        {
            "program": moves.program,
            "type": moves.type,
            "name": moves.name,
            "received_bytes": moves.received,
            "sent_bytes": moves.sent,
            "receivers": moves.receivers,
            "senders": moves.senders,
            "messages": pd.arrays.IntegerArray(fan.messages, fan.messages < 0),
            "code_bytes": pd.arrays.IntegerArray(moves.code, np.full(len(moves.code), not holds_code(source))),
            "busiest_tile": moves.worst_tile,
            "busiest_tile_bytes": moves.worst_bytes,
            "each_cycles": rates.cycles_each,
            "achieved_bytes_per_cycle": rates.achieved,
            "possible_bytes_per_cycle": rates.possible,
            "executions": runs.executions,
            "total_received_bytes": runs.received,
            "total_sent_bytes": runs.sent,
        },
    )


def messages(source: ReportSource, program: int) -> pd.DataFrame:
    """A row per message of one execution of an exchange program: source_tile, target_tile, message_bytes.

    Raises NotRecordedError for host copies and where messages were not recorded."""
    table = messages_of(source, program)
    columns = {"source_tile": table.src, "target_tile": table.dst, "message_bytes": table.bytes}
    return report_frame(source, columns, program=program)


def host_copies(source: ReportSource) -> pd.DataFrame:
    """A row per copy between host and device, most bytes first, over all recorded runs: program, name, executions,
    to_device_bytes, to_host_bytes, begin_cycles (waiting), mid_cycles (moving), end_cycles,
    achieved_bytes_per_cycle, use_share (of what the host link can move)."""
    return report_table(source, opened_frame(host.host_copies(source)))
