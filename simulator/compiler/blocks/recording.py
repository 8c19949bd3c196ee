"""Block recording: the tiles that record each program, and the cycles and memory that this costs.

A block is recorded on one tile of each IPU that takes part in its program (`profiler.blocks.tile`), a part of a stream
copy on every tile whose bytes the copy moves. Each of these tiles has a buffer. Recording takes cycles on simulated
hardware only, as counters do (`simulator.compiler.cost.estimate`): the model's cycles are estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.blocks.flushes import flush_parts
from simulator.compiler.blocks.selection import BlockSettings
from simulator.compiler.ir.busy_tiles import BusyTiles
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.machine import Machine
from simulator.machine import block_records


@dataclass(frozen=True)
class RecordedProgram:
    """Tiles and cycles of recording one lowered program."""

    tiles: Int64Array  #: of a replica, ascending
    before: int = 0  #: cycles before the recorded begin
    inside: int = 0  #: cycles between both records, besides the program's
    after: int = 0


@dataclass(frozen=True)
class BlockRecording:
    """Recorded programs by row, and the buffers."""

    programs: Mapping[int, RecordedProgram]
    buffer_bytes: int
    buffers: Int64Array  #: tiles of a replica with a buffer, ascending
    flushes: frozenset[int] = field(default_factory=frozenset)  #: all rows of flushes
    emptying: frozenset[int] = field(default_factory=frozenset)  #: Mid rows of flushes; their end empties the buffers
    silent: frozenset[int] = field(default_factory=frozenset)  #: Mids of flushes that are not recorded themselves

    def costly(self) -> dict[int, Int64Array]:
        """Tiles by row on which recording takes time."""
        return {row: each.tiles for row, each in self.programs.items() if each.before + each.inside + each.after}


def buffer_tiles(table: ProgramTable, settings: BlockSettings, machine: Machine) -> Int64Array:
    """Tiles of a replica that record something, ascending."""
    there = np.zeros(machine.tiles, np.bool_)
    for row, (type_, name) in enumerate(zip(table.type, table.name, strict=True)):
        if not settings.records(type_, name):
            continue
        if not type_.startswith("StreamCopy"):
            there[settings.tile :: machine.tiles_per_ipu] = True
        elif type_ == "StreamCopyMid":
            there |= _moving(table, row, machine)
    return np.flatnonzero(there)


def block_recording(
    table: ProgramTable,
    cycles: list[Int64Array | None],
    settings: BlockSettings,
    buffers: Int64Array,
    machine: Machine,
) -> BlockRecording:
    """Plan the recording. `cycles` per row as the clock takes them."""
    busy = BusyTiles(table, cycles, table.function_roots, machine)
    programs = {}
    for row, (type_, name) in enumerate(zip(table.type, table.name, strict=True)):
        if not settings.records(type_, name):
            continue
        if type_.startswith("StreamCopy"):
            tiles = np.flatnonzero(_moving(table, _mid_of(table, row), machine))
            before = block_records.BEFORE_STREAM_PART if machine.hardware else 0
            programs[row] = RecordedProgram(tiles, before)
        else:
            taking_part = busy.in_rows([row])[: machine.tiles].reshape(machine.num_ipus, -1).any(axis=1)
            tiles = np.flatnonzero(taking_part) * machine.tiles_per_ipu + settings.tile
            programs[row] = RecordedProgram(tiles, *_block_costs(machine))
    flushes = flush_parts(table)
    emptying = frozenset(mid for _, mid, _ in flushes)
    silent = frozenset(emptying - programs.keys())
    programs |= {mid: RecordedProgram(buffers) for mid in silent}
    rows = frozenset(row for parts in flushes for row in parts)
    return BlockRecording(programs, settings.buffer_bytes, buffers, rows, emptying, silent)


def _block_costs(machine: Machine) -> tuple[int, int, int]:
    if not machine.hardware:
        return 0, 0, 0
    return block_records.BEFORE_BLOCK, block_records.INSIDE_BLOCK, block_records.AFTER_BLOCK


def _mid_of(table: ProgramTable, row: int) -> int:
    """The Mid of the copy that a part belongs to."""
    return row + {"StreamCopyBegin": 1, "StreamCopyMid": 0, "StreamCopyEnd": -1}[table.type[row]]


def _moving(table: ProgramTable, mid: int, machine: Machine) -> BoolArray:
    """Flags of the tiles whose bytes a copy moves."""
    work = table.work[mid]
    found: BoolArray = np.zeros(machine.tiles, np.bool_)
    for size in (work.rx, work.tx):
        if size is not None:
            found |= size > 0
    return found
