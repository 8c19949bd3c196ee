"""Where buffers of block records are emptied while a program runs: stream copies that the compiler adds.

Published is one at the end of a loop's body, each trip (poplar-model; the tutorial's trees and counts), and that it
stands where all tiles are in sync. Here: at the end of the body of every loop that stands outside all recorded blocks
and in which something is recorded that no such loop within it empties already; a flush inside a block would lengthen
it. It holds up all tiles, also those that overlap input and output with compute. The copy sends the whole buffer of
each tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.arrays import Int64Array
from simulator.compiler.blocks.selection import FLUSH, BlockSettings
from simulator.compiler.exchange.host_copies import HostCopy
from simulator.compiler.ir.program_table import ProgramTable

Copying = Callable[[int], None]
"""Appends a copy to the host below a program; what it moves is settled later."""


class BlockFlushes:
    """Appends flushes while programs are lowered. `in_function(index)`: whether a function records something."""

    def __init__(
        self, table: ProgramTable, settings: BlockSettings | None, in_function: Callable[[int], bool], copying: Copying
    ) -> None:
        self._table = table
        self._settings = settings if settings is not None and settings.implicit_flush else None
        self._in_function, self._copying = in_function, copying
        self._emptied: list[tuple[int, int]] = []  # rows of loop bodies with a flush
        self._called_inside: set[int] = set()  # functions that a recorded block calls

    def called(self, parent: int, function: int) -> None:
        """Note a call below a program."""
        if self._settings is not None and self._inside_block(parent):
            self._called_inside.add(function)

    def end_of_trip(self, body: int) -> None:
        """The body of a loop is lowered: add a flush where it belongs there."""
        if self._settings is None or not self._records(body) or self._inside_block(body):
            return
        self._copying(body)
        self._emptied.append((body, len(self._table)))

    def _records(self, body: int) -> bool:
        """Whether the rows from `body` on record something that is not emptied among them."""
        table, row = self._table, body
        emptied = {first: end for first, end in self._emptied if first > body}
        while row < len(table):
            if row in emptied:
                row = emptied[row]
                continue
            if self._chosen(row) or (table.function[row] >= 0 and self._in_function(table.function[row])):
                return True
            row += 1
        return False

    def _chosen(self, row: int) -> bool:
        assert self._settings is not None
        return self._settings.records(self._table.type[row], self._table.name[row])

    def _inside_block(self, row: int) -> bool:
        """Whether a recorded program stands around the row that was added last."""
        table, below = self._table, row
        functions = {root: index for index, root in table.function_roots.items()}
        for above in range(row, -1, -1):
            if above != row and table.children[above][-1:] != [below]:
                continue
            below = above
            if self._chosen(above) or functions.get(above, -1) in self._called_inside:
                return True
        return False


def flush_parts(table: ProgramTable) -> list[tuple[int, int, int]]:
    """Rows of Begin, Mid and End of every flush."""
    begins = (row for row, type_ in enumerate(table.type) if type_ == "StreamCopyBegin" and table.name[row] == FLUSH)
    return [(row, row + 1, row + 2) for row in begins]


def settle_flushes(table: ProgramTable, copy: HostCopy) -> Int64Array:
    """Say what flushes move, now that it is known which tiles have a buffer. Returns host packets per tile."""
    flushes = flush_parts(table)
    for _, mid, end in flushes:
        table.work[mid] = replace(table.work[mid], cycles=copy.mid_cycles, tx=copy.tx, host_code=copy.code)
        table.work[end] = replace(table.work[end], cycles=copy.end_cycles)
    return copy.packets * len(flushes)
