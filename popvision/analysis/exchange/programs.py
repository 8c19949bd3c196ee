"""Every program that moves data, ranked: bytes, messages, fan-out, cycles, and its possible bandwidth.

Rows are DoExchange (tiles of one IPU), GlobalExchange and CrossReplicaCopy (between IPUs) and StreamCopyMid (the
transfer of a host copy; its Begin waits, its End rearranges, neither moves bytes). Bytes received count every
receiver, bytes sent count a multicast once; both are of one execution over all tiles of all IPUs unless they are
called totals.

Possible bandwidth, bytes per cycle: DoExchange: `exchange_bytes_per_cycle` (4) x tiles that receive. GlobalExchange:
`link_bytes_per_cycle` x IPUs that receive. StreamCopyMid: `host_bytes_per_cycle` x IPUs that take part. The cycles are
those of the longest tile (`longest_tiles`), because the flat bar of a step is shorter where other tiles work at the
same time. Two tiles that share an exchange bus receive the same data at twice the rate (docs/exchange.md), so an
exchange may exceed 100 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Float64Array, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Types of programs that move bytes.
EXCHANGE_TYPES = ("DoExchange", "GlobalExchange", "CrossReplicaCopy", "StreamCopyMid")

#: Programs whose columns are read together.
_AT_ONCE = 128


@dataclass(frozen=True)
class MovedBytes:
    """What one execution moves, by exchange program."""

    program: Int64Array
    type: list[str]
    name: list[str]
    received: Int64Array  #: bytes
    sent: Int64Array  #: bytes, a multicast once
    receivers: Int64Array  #: tiles that receive
    senders: Int64Array
    ipus: Int64Array  #: IPUs that receive; for host copies those that take part
    worst_tile: Int64Array  #: the tile that receives most (of a copy to the host: sends most), -1 where none does
    worst_bytes: Int64Array
    code: Int64Array  #: bytes of exchange code over all tiles
    estimated: Int64Array  #: cycles of the longest tile, -1 = not estimated


@dataclass(frozen=True)
class Fans:
    """By exchange program: pairs of tiles, -1 = not recorded or none by nature (host copies), and the receivers of a
    sending tile, NaN or -1 likewise."""

    messages: Int64Array
    mean: Float64Array
    worst: Int64Array


@dataclass(frozen=True)
class RecordedTotals:
    """What recorded runs say, by exchange program. `cycles` are those of the longest tile of each of its steps."""

    executions: Int64Array
    cycles: Int64Array
    received: Int64Array  #: bytes over all executions and IPUs
    sent: Int64Array


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per cycle of one execution, NaN where not known. `recorded` tells where `cycles_each` is the mean of the
    recorded executions; elsewhere it is the estimate."""

    cycles_each: Float64Array
    recorded: BoolArray
    achieved: Float64Array
    possible: Float64Array
    dictated: Float64Array  #: share of the cycles in which the worst tile moves its own bytes at 4 a cycle


def moved_bytes(source: ReportSource) -> MovedBytes:
    """Columns of the compilation, read once."""
    return source.kept.once("exchange_moved", lambda: _read_moved_bytes(source))


def fans(source: ReportSource) -> Fans:
    """Messages of all programs; apart from `moved`, because it reads the senders of each."""
    return source.kept.once("exchange_fans", lambda: _fans(source))


def exchange_programs(source: ReportSource) -> list[int]:
    """Programs that move bytes, ascending: the rows of all columns of this module."""
    return [row for row, type_ in enumerate(programs_of(source).type) if type_ in EXCHANGE_TYPES]


def recorded_totals(source: ReportSource) -> RecordedTotals:
    """Sums over the recorded runs; all zero before the first."""
    return source.kept.recent(("exchange_ran", source.generation), lambda: _read_recorded_totals(source))


def bandwidth(source: ReportSource) -> Bandwidth:
    """Achieved and possible bandwidth of each row of `moved`."""
    m, r, target = moved_bytes(source), recorded_totals(source), target_of(source)
    recorded = r.executions > 0
    estimated = np.where(m.estimated > 0, m.estimated, np.nan)
    each = np.where(recorded, r.cycles / np.maximum(r.executions, 1), estimated)
    each = np.where(each > 0, each, np.nan)
    host = np.array([type_ == "StreamCopyMid" for type_ in m.type], bool)
    internal = np.array([type_ == "DoExchange" for type_ in m.type], bool)
    through = np.where(host, m.received + m.sent, m.received)
    link = np.where(host, target.host_bytes_per_cycle, target.link_bytes_per_cycle) * m.ipus
    possible = np.where(internal, target.exchange_bytes_per_cycle * m.receivers, link)
    own = np.ceil(m.worst_bytes / target.exchange_bytes_per_cycle)
    return Bandwidth(
        cycles_each=each,
        recorded=recorded,
        achieved=through / each,
        possible=np.where(possible > 0, possible, np.nan),
        dictated=np.where(internal, own / each, np.nan),
    )


def _read_moved_bytes(source: ReportSource) -> MovedBytes:
    programs = programs_of(source)
    rows = exchange_programs(source)
    host = np.array([programs.type[row] == "StreamCopyMid" for row in rows], bool)
    count = len(rows)
    ints = {name: np.zeros(count, np.int64) for name in ("received", "sent", "receivers", "senders", "ipus", "code")}
    worst_tile, worst_bytes = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    estimated = np.full(count, -1, np.int64)
    tiles = target_of(source).tiles_per_ipu
    for name, who, column in (("received", "receivers", "rx"), ("sent", "senders", "tx")):
        for at, ipu, values in _columns(source, column, rows):
            np.add.at(ints[name], at, values.sum(axis=1))
            np.add.at(ints[who], at, np.count_nonzero(values, axis=1))
            deciding = np.flatnonzero(host[at] | (column == "rx"))
            at, ipu, values = at[deciding], ipu[deciding], values[deciding]
            np.add.at(ints["ipus"], at, values.any(axis=1))
            tile, most = values.argmax(axis=1), values.max(axis=1)
            for row, place, size in zip(at.tolist(), (ipu * tiles + tile).tolist(), most.tolist(), strict=True):
                if size > worst_bytes[row]:
                    worst_bytes[row], worst_tile[row] = size, place
    for at, _, values in _columns(source, "exchange_code", rows):
        np.add.at(ints["code"], at, values.sum(axis=1))
    for at, _, values in _columns(source, "cycles", rows):
        np.maximum.at(estimated, at, values.max(axis=1))
    return MovedBytes(
        program=np.array(rows, np.int64),
        type=[programs.type[row] for row in rows],
        name=[programs.name[row] for row in rows],
        **ints,
        worst_tile=worst_tile,
        worst_bytes=worst_bytes,
        estimated=estimated,
    )


def _columns(source: ReportSource, column: str, rows: list[int]) -> Iterator[tuple[Int64Array, Int64Array, Int64Array]]:
    """(places in `rows`, IPUs, values with a row for each of them and a column for each tile), batch by batch."""
    for begin in range(0, len(rows), _AT_ONCE):
        stored = source.reader.program_columns(column, rows[begin : begin + _AT_ONCE])
        stored = [each for each in stored if len(each[2])]
        if stored:
            values = np.zeros((len(stored), max(len(each[2]) for each in stored)), np.int64)
            for row, (_, _, of_tiles) in enumerate(stored):
                values[row, : len(of_tiles)] = of_tiles
            program, ipu = (np.array([each[part] for each in stored], np.int64) for part in (0, 1))
            yield np.searchsorted(rows, program), ipu, values


def _fans(source: ReportSource) -> Fans:
    """A tile's messages stand under its own IPU, so IPUs simply add up."""
    rows = exchange_programs(source)
    place = {program: row for row, program in enumerate(rows)}
    messages = np.full(len(rows), -1, np.int64)
    senders = np.zeros(len(rows), np.int64)
    worst = np.full(len(rows), -1, np.int64)
    for program, _, (src,) in source.reader.traffic("messages", rows, slice(1)):
        row = place[program]
        if not len(src):
            continue
        fan = np.bincount(np.asarray(src, np.int64) - int(src.min()))
        messages[row] = max(int(messages[row]), 0) + len(src)
        senders[row] += np.count_nonzero(fan)
        worst[row] = max(int(worst[row]), int(fan.max()))
    mean = np.where(senders > 0, messages / np.maximum(senders, 1), np.nan)
    return Fans(messages, mean, worst)


def _read_recorded_totals(source: ReportSource) -> RecordedTotals:
    reader, rows = source.reader, np.array(exchange_programs(source), np.int64)
    program = np.asarray(reader.steps().program, np.int64)
    count = len(programs_of(source).type)
    executions = np.bincount(program, minlength=count).astype(np.int64)
    totals = np.zeros((2, count), np.int64)
    for ipu in range(target_of(source).num_ipus):
        steps = reader.steps_on_ipu(ipu)
        for row, values in enumerate((steps.data_in, steps.data_out)):
            np.add.at(totals[row], program, np.asarray(values, np.int64))
    return RecordedTotals(executions[rows], longest_tiles(source)[rows], totals[0][rows], totals[1][rows])


def longest_tiles(source: ReportSource) -> Int64Array:
    """By program: cycles of the longest tile in each of its executions, over all IPUs, summed over the recorded runs.

    Bytes per cycle are measured by these. The flat length of a step (allCycles) is only what it adds to the total:
    where I/O tiles work beside those that compute, a step that ends before a slower one adds little, and its bytes
    divided by that length would exceed any link. A report that does not know its tiles (`tiles_unknown`) has only the
    flat lengths of its slowest IPU. Raises FormatError when the report is damaged."""
    return source.kept.recent(("longest_tiles", source.generation), lambda: _longest_tiles(source))


def _longest_tiles(source: ReportSource) -> Int64Array:
    reader = source.reader
    program = np.asarray(reader.steps().program, np.int64)
    flat = bool(tiles_unknown(source))
    longest = np.zeros(len(program), np.int64)
    for ipu in range(target_of(source).num_ipus):
        steps = reader.steps_on_ipu(ipu)
        longest = np.maximum(longest, np.asarray(steps.cycles if flat else steps.max_cycles, np.int64))
    sums = np.zeros(len(programs_of(source).type), np.int64)
    np.add.at(sums, program, longest)
    return sums
