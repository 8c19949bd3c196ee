"""Exchange of two reports side by side: the difference of two matrices, programs, and pairs of tiles.

A difference is target - source, message by message, of a program and its partner (`match_programs`). Tiles match by
their id; messages of tiles that only one machine has are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.join import join, most_different_first, with_rule
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.exchange.host import host_copies
from popvision.analysis.exchange.matrix import Matrix
from popvision.analysis.exchange.messages import Messages, heaviest, in_order, messages_of, ranks, sum_messages
from popvision.analysis.exchange.table import MOST_PAIRS, ends_of, exchange_programs_table
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figures of exchange programs that are compared.
COMPARED = ("received", "sent", "messages", "cycles", "executions", "total", "code")

#: Figures of host copies that are compared.
COMPARED_COPIES = ("executions", "to_device", "to_host", "begin", "mid", "end", "achieved", "use")


def matrix_difference(source: ReportSource, target: ReportSource, program: int, order: str) -> Matrix:
    """The difference of a program's matrix, at the source's tiles. Raises NotRecordedError with the reason where there
    are no messages or the target has no such program, ValueError for an unknown program or order."""

    def read() -> Matrix:
        machine = target_of(source)
        messages, left_out = difference_messages(source, target, program)
        return Matrix(in_order(messages, ranks(machine, order)), machine.num_tiles, left_out)

    return source.kept.beside(target).recent(("exchange matrix", program, order), read)


def partner_of(source: ReportSource, target: ReportSource, program: int) -> int:
    """The target's program that is `program` of the source. Raises NotRecordedError when there is none."""
    partner = match_programs(source, target).target_rows()
    if not 0 <= program < len(partner) or partner[program] < 0:
        name = programs_of(source).name[program] if 0 <= program < len(partner) else ""
        raise NotRecordedError(
            f"Program {program} {name}".rstrip() + " is not in the target, so it has no difference: see Programs below."
        )
    return int(partner[program])


def difference_messages(source: ReportSource, target: ReportSource, program: int) -> tuple[Messages, int]:
    """(target - source by pair of tiles, messages left out). Raises as `matrix_difference`."""
    other = messages_of(target, partner_of(source, target, program))
    one = messages_of(source, program)
    tiles = min(target_of(source).num_tiles, target_of(target).num_tiles)
    parts, left_out = [], 0
    for messages, sign in ((one, -1), (other, 1)):
        common = (messages.src < tiles) & (messages.dst < tiles)
        left_out += int(np.count_nonzero(~common))
        parts.append((messages.src[common], messages.dst[common], sign * messages.bytes[common]))
    src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    return sum_messages(src, dst, size, target_of(source).num_tiles), left_out


def compared_exchanges(source: ReportSource, target: ReportSource) -> Table:
    """Exchange programs of both reports, matched as programs are: COMPARED of either side, the most different total
    first."""
    return _compared(source, target, exchange_programs_table, ("program", "type", "name", *COMPARED), by="total")


def compared_host_copies(source: ReportSource, target: ReportSource) -> Table:
    """Copies between host and device of both reports: COMPARED_COPIES of either side, the most different cycles of the
    transfer first."""
    return _compared(source, target, host_copies, ("program", "name", *COMPARED_COPIES), by="mid")


def _compared(
    source: ReportSource, target: ReportSource, read: Callable[[ReportSource], Table], ids: Sequence[str], by: str
) -> Table:
    matching = match_programs(source, target)
    both = join(read(source).select(ids), read(target).select(ids), "program", matching)
    return most_different_first(with_rule(both, "program", matching), by)


def compared_pairs(source: ReportSource, target: ReportSource, program: int) -> Table:
    """The pairs of tiles whose messages changed most, bytes in either report (0 where it has no such message). Raises
    NotRecordedError."""
    messages = difference_messages(source, target, program)[0]
    rows = heaviest(messages, MOST_PAIRS)
    src, dst = messages.src[rows], messages.dst[rows]
    before = _bytes_of(messages_of(source, program), src, dst)
    after = _bytes_of(messages_of(target, partner_of(source, target, program)), src, dst)
    sizes = [Figure("bytes", "bytes", before, side="source"), Figure("bytes", "bytes", after, side="target")]
    return Table("exchange_pairs", [*ends_of(source, messages, rows), *sizes])


def _bytes_of(messages: Messages, src: Int64Array, dst: Int64Array) -> Int64Array:
    """Bytes from src[i] to dst[i], 0 where there is no message."""
    if not len(messages.src):
        return np.zeros(len(src), np.int64)
    width = 1 + max(int(each.max(initial=0)) for each in (messages.dst, dst))
    known, wanted = messages.src * width + messages.dst, src * width + dst
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, messages.bytes[at], 0)
