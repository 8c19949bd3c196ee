"""Flush the buffers of lightweight profiling while a program runs: stream copies that the compiler adds.

Published is one flush at the end of a loop's body, each trip (poplar-model; the tutorial's trees and counts), where all
tiles are in sync. This module adds one at the end of the body of every loop that is outside all recorded blocks and
records something that no inner flush empties; a flush inside a block would lengthen it. All tiles wait for a flush,
also those that overlap input and output with compute. The copy sends the whole buffer of each tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.arrays import Int64Array
from simulator.compiler.blocks.selection import FLUSH, BlockSettings
from simulator.compiler.exchange.host_copies import HostCopy
from simulator.compiler.ir.program_table import ProgramTable

AppendCopy = Callable[[int], None]
"""Appends a copy to the host below a row. Its size is set later."""


class BlockFlushes:
    """Appends flushes while programs are lowered. `in_function(index)`: True where a function records something."""

    def __init__(
        self,
        table: ProgramTable,
        settings: BlockSettings | None,
        in_function: Callable[[int], bool],
        append_copy: AppendCopy,
    ) -> None:
        self._table = table
        self._settings = settings if settings is not None and settings.implicit_flush else None
        self._in_function, self._append_copy = in_function, append_copy
        self._emptied: list[tuple[int, int]] = []  # rows of loop bodies with a flush
        self._called_in_blocks: set[int] = set()  # functions that a recorded block calls

    def note_call(self, parent: int, function: int) -> None:
        """Note a call below a row."""
        if self._settings is not None and self._inside_block(parent):
            self._called_in_blocks.add(function)

    def end_loop_body(self, body: int) -> None:
        """Add a flush, where one is needed, at the end of a lowered loop body."""
        if self._settings is None or not self._has_unflushed_records(body) or self._inside_block(body):
            return
        self._append_copy(body)
        self._emptied.append((body, len(self._table)))

    def _has_unflushed_records(self, body: int) -> bool:
        """True where the rows from `body` on record something that no flush among them empties."""
        table, row = self._table, body
        emptied = {first: end for first, end in self._emptied if first > body}
        while row < len(table):
            if row in emptied:
                row = emptied[row]
                continue
            if self._is_recorded(row) or (table.function[row] >= 0 and self._in_function(table.function[row])):
                return True
            row += 1
        return False

    def _is_recorded(self, row: int) -> bool:
        assert self._settings is not None
        return self._settings.records(self._table.type[row], self._table.name[row])

    def _inside_block(self, row: int) -> bool:
        """True where the last added row is inside a recorded program."""
        table, below = self._table, row
        functions = {root: index for index, root in table.function_roots.items()}
        for above in range(row, -1, -1):
            if above != row and table.children[above][-1:] != [below]:
                continue
            below = above
            if self._is_recorded(above) or functions.get(above, -1) in self._called_in_blocks:
                return True
        return False


def flush_parts(table: ProgramTable) -> list[tuple[int, int, int]]:
    """(Begin, Mid, End) rows of every flush."""
    begins = (row for row, type_ in enumerate(table.type) if type_ == "StreamCopyBegin" and table.name[row] == FLUSH)
    return [(row, row + 1, row + 2) for row in begins]


def fill_flushes(table: ProgramTable, copy: HostCopy) -> Int64Array:
    """Set the figures of all flushes, once the tiles with a buffer are known. Returns host packets per tile."""
    flushes = flush_parts(table)
    for _, mid, end in flushes:
        table.work[mid] = replace(table.work[mid], cycles=copy.mid_cycles, tx=copy.tx, host_code=copy.code)
        table.work[end] = replace(table.work[end], cycles=copy.end_cycles)
    return copy.packets * len(flushes)
