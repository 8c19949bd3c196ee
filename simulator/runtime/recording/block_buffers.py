"""Buffers of lightweight profiling: which blocks of a run fit into them.

Each tile writes a record for every beginning and end into its buffer. A full buffer takes no more until a
flush, or the host after the run, empties it; the time from the first lost record until then is an overflow block. A
block whose beginning was lost is lost; one whose end was lost ends where the overflow begins, the last time that it is
known to have run. (The published example counts such a block as a common one and does not say where it ends.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from popvision.formats.profile.model import COMMON, FLUSH, OVERFLOW, STREAM_COPY, TileBlocks
from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.blocks.recording import BlockRecording
from simulator.compiler.ir.program_table import ProgramTable
from simulator.machine.block_records import capacity
from simulator.runtime.clock.segments import Marks


def blocks_of_run(marks: Marks, recording: BlockRecording, table: ProgramTable, cycles: int) -> list[TileBlocks]:
    """The blocks of each tile that recorded any, from the marks of a run of `cycles` cycles."""
    return list(_by_tile(marks, recording, kinds_of_programs(recording, table), cycles))


def later(blocks: Sequence[TileBlocks], cycles: int) -> list[TileBlocks]:
    """The same blocks, `cycles` cycles later."""
    return [replace(b, start=b.start + cycles, end=b.end + cycles) for b in blocks]


def kinds_of_programs(recording: BlockRecording, table: ProgramTable) -> Int64Array:
    """The kind of block of each lowered program."""
    kinds = np.full(len(table), COMMON, np.int64)
    kinds[[type_.startswith("StreamCopy") for type_ in table.type]] = STREAM_COPY
    kinds[list(recording.flushes)] = FLUSH
    return kinds


def _by_tile(marks: Marks, recording: BlockRecording, kinds: Int64Array, cycles: int) -> Iterator[TileBlocks]:
    order = np.argsort(marks.tile, kind="stable")
    sorted_ = Marks(*(column[order] for column in marks))
    tiles, first = np.unique(sorted_.tile, return_index=True)
    last = np.append(first, len(order))[1:]
    for tile, begin, end in zip(tiles.tolist(), first, last, strict=True):
        program, ends = np.divmod(sorted_.event[begin:end], 2)
        found = _on_tile(tile, program, ends == 1, sorted_.time[begin:end], recording, kinds, cycles)
        if len(found.program):
            yield found


def _on_tile(
    tile: int,
    program: Int64Array,
    ends: BoolArray,
    time: Int64Array,
    recording: BlockRecording,
    kinds: Int64Array,
    cycles: int,
) -> TileBlocks:
    emptied = ends & np.isin(program, list(recording.emptying))
    filling = np.cumsum(emptied)  #: number of the filling of the buffer that a mark falls into
    record = ~np.isin(program, list(recording.silent))
    place = np.cumsum(record) - 1  #: of a record in its filling, once those of earlier fillings are taken off
    before = np.concatenate([[0], np.flatnonzero(emptied)])
    place -= np.concatenate([[0], place[before[1:]] + 1 - record[before[1:]]])[filling]
    lost = record & (place >= capacity(recording.buffer_bytes))
    emptied_at = np.append(time[emptied], cycles)
    full, first_lost = np.unique(filling[lost], return_index=True)
    overflow = np.full(len(emptied_at), -1, np.int64)
    overflow[full] = time[lost][first_lost]

    start, end = _pairs(ends)
    recorded = record[start] & ~lost[start]
    start, end = start[recorded], end[recorded]
    until = np.where(lost[end], overflow[filling[end]], time[end])
    columns = (
        np.concatenate([program[start], np.full(len(full), -1, np.int64)]),
        np.concatenate([kinds[program[start]], np.full(len(full), OVERFLOW, np.int64)]),
        np.concatenate([time[start], overflow[full]]),
        np.concatenate([until, emptied_at[full]]),
    )
    order = np.lexsort((columns[0], -columns[3], columns[2]))  # by beginning, the outer block first
    return TileBlocks(tile, *(column[order] for column in columns))


def _pairs(ends: BoolArray) -> tuple[Int64Array, Int64Array]:
    """Positions of each beginning and its end, nested as programs are; a beginning without end has none."""
    depth = np.cumsum(np.where(ends, -1, 1)) + ends  # the same at both
    order = np.argsort(depth, kind="stable")
    level, closing = depth[order], ends[order]
    matched = ~closing[:-1] & closing[1:] & (level[:-1] == level[1:])
    return order[:-1][matched], order[1:][matched]
