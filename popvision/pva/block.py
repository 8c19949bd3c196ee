"""Blocks of lightweight profiling: begin and end of each execution of a marked program on one tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.formats.profile.model import COMMON, FLUSH, OVERFLOW, STREAM_COPY, TileBlocks
from popvision.pva.listview import ListView
from popvision.pva.program import Program, make_program

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


class Answer(int):
    """A bool that may also be called: `block.isCommon` and `block.isCommon()` are equal."""

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


class Block:
    """One execution of a program on one tile. Cycles are absolute, on the axis of the execution steps."""

    __slots__ = ("_blocks", "_columns", "_row")

    def __init__(self, columns: Columns, blocks: TileBlocks, row: int) -> None:
        self._columns, self._blocks, self._row = columns, blocks, row

    @property
    def program(self) -> Program | None:
        """A Block, a program that profiler.programs.filter names, or a part of a stream copy; None for an
        overflow."""
        program = int(self._blocks.program[self._row])
        return make_program(self._columns, program) if program >= 0 else None

    @property
    def cyclesFrom(self) -> int:
        return int(self._blocks.start[self._row])

    @property
    def cyclesTo(self) -> int:
        return int(self._blocks.end[self._row])

    @property
    def tile(self) -> int:
        return self._blocks.tile

    @property
    def isCommon(self) -> Answer:
        """True for a Block program and for a program with an implicit block around it."""
        return self._is(COMMON)

    @property
    def isOverflow(self) -> Answer:
        """True for a time in which the tile's buffer was full and nothing was recorded."""
        return self._is(OVERFLOW)

    @property
    def isBlockFlush(self) -> Answer:
        """True for a part of a copy that empties the buffers."""
        return self._is(FLUSH)

    @property
    def isStreamCopy(self) -> Answer:
        """True for a part of any other copy between tiles and host."""
        return self._is(STREAM_COPY)

    def _is(self, kind: int) -> Answer:
        return Answer(int(self._blocks.kind[self._row]) == kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._key() == other._key() and self._columns is other._columns

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[int, int, int, int, int]:
        return self.tile, self._row, self.cyclesFrom, self.cyclesTo, int(self._blocks.program[self._row])

    def __repr__(self) -> str:
        what = "overflow" if self.isOverflow else repr(self.program)
        return f"Block({what}, tile {self.tile}, {self.cyclesFrom} - {self.cyclesTo})"


def blocks_of_tile(columns: Columns, tile: int) -> ListView[Block]:
    """The blocks of all runs by begin, an outer block before the blocks inside it."""
    tile = columns.check_tile(tile)
    runs = columns.reader.blocks(tile)
    empty = [np.empty(0, np.int64)]
    blocks = TileBlocks(tile, *(np.concatenate([getattr(run, name) for run in runs] or empty) for name in _COLUMNS))
    return ListView(len(blocks.start), lambda row: Block(columns, blocks, row))


_COLUMNS = ("program", "kind", "start", "end")
