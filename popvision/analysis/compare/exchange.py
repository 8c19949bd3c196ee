"""Exchange of two reports side by side: the difference of two matrices, programs, and pairs of tiles.

A difference is target - source, message by message, of a program and its partner (`match_programs`). Tiles match by
their id; messages of tiles that only one machine has are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.compare.matching import HOW, match_programs
from popvision.analysis.exchange.host import host_copies
from popvision.analysis.exchange.matrix import Matrix
from popvision.analysis.exchange.messages import Messages, heaviest, in_order, messages_of, ranks, sum_messages
from popvision.analysis.exchange.table import MOST_PAIRS, ends_of, exchange_programs_table
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure, Side, Table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.one_sided import both_in_full, numbers_of
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Float64Array, Int64Array

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
    """Exchange programs of both reports: program, target_program, type, name, how (the rule that matched them, else
    "only source" or "only target"), and COMPARED of either side, 0 in the report that lacks the program, missing (NaN)
    where a figure was not recorded. Most changed bytes first."""
    tables = exchange_programs_table(source), exchange_programs_table(target)
    return _compare_tables(source, target, tables, ["type", "name"], COMPARED, by="total")


def compared_host_copies(source: ReportSource, target: ReportSource) -> Table:
    """Copies between host and device of both reports: program, target_program, name, how and COMPARED_COPIES of either
    side as `compared_exchanges`; most changed cycles of the transfer first."""
    tables = host_copies(source), host_copies(target)
    return _compare_tables(source, target, tables, ["name"], COMPARED_COPIES, by="mid")


def _compare_tables(
    source: ReportSource,
    target: ReportSource,
    tables: tuple[Table, Table],
    texts: Sequence[str],
    ids: Sequence[str],
    by: str,
) -> Table:
    """Rows of both tables, matched by their figure `program`; largest change of the figure `by` first, rows where it
    is not known last."""
    pairs = _pair_rows(source, target, tables)
    rows = [np.asarray([pair[side] for pair in pairs], np.int64) for side in (0, 1)]
    columns = [
        {id: _numbers_at(table[id], at) for id in ("program", *ids)} for table, at in zip(tables, rows, strict=True)
    ]
    absent = rows[0] < 0, rows[1] < 0
    for id in ids:
        counted = both_in_full(columns[0][id], columns[1][id], absent, tables[0].column(id).unit)
        columns[0][id], columns[1][id] = counted
    change = np.abs(columns[1][by] - columns[0][by])
    order = np.argsort(-np.nan_to_num(change, nan=-1.0), kind="stable")
    places = [(0, one) if one >= 0 else (1, other) for one, other, _ in pairs]
    figures = [
        Figure("program", "id", columns[0]["program"][order]),
        Figure("target_program", "id", columns[1]["program"][order]),
    ]
    for id in texts:
        values = [tables[places[row][0]][id][places[row][1]] for row in order.tolist()]
        figures.append(Figure(id, "text", values))
    figures.append(Figure("how", "text", [pairs[row][2] for row in order.tolist()]))
    sides: tuple[Side, Side] = ("source", "target")
    for id in ids:
        for side, of_side in zip(sides, columns, strict=True):
            figures.append(replace(tables[0].column(id), values=of_side[id][order], side=side))
    return Table(tables[0].id, figures)


def _pair_rows(source: ReportSource, target: ReportSource, tables: tuple[Table, Table]) -> list[tuple[int, int, str]]:
    """(row of the source or -1, row of the target or -1, rule that matched them or the only report with the row)."""
    source_programs, target_programs = (np.asarray(table["program"], np.int64).tolist() for table in tables)
    row_of_target = {program: row for row, program in enumerate(target_programs)}
    matching = match_programs(source, target)
    partners = zip(matching.source.tolist(), matching.target.tolist(), matching.how.tolist(), strict=True)
    matched = {one: (row_of_target[other], HOW[how]) for one, other, how in partners if other in row_of_target}
    pairs = [(row, *matched.get(program, (-1, "only source"))) for row, program in enumerate(source_programs)]
    taken = {other for _, other, _ in pairs}
    return pairs + [(-1, other, "only target") for other in range(len(target_programs)) if other not in taken]


def _numbers_at(values: Any, rows: Int64Array) -> Float64Array:
    """Values at rows as numbers, NaN where a row is -1."""
    return np.append(numbers_of(values), np.nan)[rows]


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
