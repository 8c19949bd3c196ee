"""Questions about data that moves: exchanges between tiles and IPUs, and copies to and from the host."""

from __future__ import annotations

import numpy as np

from popvision.analysis.exchange import host
from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.programs import bandwidth, fans, moved_bytes, recorded_totals
from popvision.analysis.programs.table import known_integers
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued, columns
from popvision.questions.question import Answer, question

EXCHANGES = columns(
    "exchanges",
    """
    program                  | id              | program
    type                     | text            | DoExchange, GlobalExchange, StreamCopyMid ...
    name                     | text            | debug name
    received_bytes           | bytes           | of one execution over all tiles
    sent_bytes               | bytes           | of one execution over all tiles, a multicast once
    receivers                | count           | tiles that receive
    senders                  | count           | tiles that send
    messages                 | count           | pairs of tiles; missing where not recorded
    code_bytes               | bytes           | exchange code over all tiles; missing where not recorded
    busiest_tile             | id              | the tile that receives most
    busiest_tile_bytes       | bytes           | what it receives
    each_cycles              | mean_cycles     | mean of recorded executions, else the estimate
    achieved_bytes_per_cycle | bytes_per_cycle | bytes of one execution / each_cycles
    possible_bytes_per_cycle | bytes_per_cycle | what the fabric or the links can move
    executions               | count           | recorded executions
    total_received_bytes     | bytes           | over all recorded runs
    total_sent_bytes         | bytes           | over all recorded runs
    """,
)


@question(EXCHANGES)
def exchanges(source: ReportSource) -> Answer:
    """Programs that move bytes, with figures of one execution and of all recorded runs."""
    import pandas as pd

    moves, runs, rates, fan = moved_bytes(source), recorded_totals(source), bandwidth(source), fans(source)
    return Answer(
        EXCHANGES.table(
            program=moves.program,
            type=moves.type,
            name=moves.name,
            received_bytes=moves.received,
            sent_bytes=moves.sent,
            receivers=moves.receivers,
            senders=moves.senders,
            messages=known_integers(fan.messages),
            code_bytes=pd.arrays.IntegerArray(moves.code, np.full(len(moves.code), not holds_code(source))),
            busiest_tile=moves.worst_tile,
            busiest_tile_bytes=moves.worst_bytes,
            each_cycles=rates.cycles_each,
            achieved_bytes_per_cycle=rates.achieved,
            possible_bytes_per_cycle=rates.possible,
            executions=runs.executions,
            total_received_bytes=runs.received,
            total_sent_bytes=runs.sent,
        )
    )


MESSAGES = columns(
    "messages",
    """
    source_tile   | id    | tile that sends
    target_tile   | id    | tile that receives
    message_bytes | bytes | size
    """,
)


@question(MESSAGES)
def messages(source: ReportSource, program: int) -> Answer:
    """Messages of one execution of an exchange program.

    Raises NotRecordedError for host copies and where messages were not recorded."""
    table = messages_of(source, program)
    return Answer(
        MESSAGES.table(source_tile=table.src, target_tile=table.dst, message_bytes=table.bytes), {"program": program}
    )


@question(catalogued("host_copies", host.HOST_FIGURES))
def host_copies(source: ReportSource) -> Answer:
    """Copies between host and device, most bytes first, over all recorded runs."""
    return Answer(host.host_copies(source))
