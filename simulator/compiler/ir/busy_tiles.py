"""The tiles on which lowered programs take time: a memoised walk over the program table, one flag per tile.

The clock lets idle tiles skip a loop, and lightweight profiling records a block on the IPUs that take part in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.machine import Machine


class BusyTiles:
    """Tiles that spend time in lowered programs or in the functions that they call. `recording`: by row, tiles that
    spend time on recording a program."""

    def __init__(
        self,
        table: ProgramTable,
        cycles: list[Int64Array | None],
        functions: dict[int, int],
        machine: Machine,
        recording: Mapping[int, Int64Array] | None = None,
    ) -> None:
        self._table, self._cycles, self._functions, self._machine = table, cycles, functions, machine
        self._recording = recording or {}
        self._known: dict[int, BoolArray] = {}

    def in_rows(self, rows: list[int]) -> BoolArray:
        """One flag per tile of the device."""
        busy = np.zeros(self._machine.tiles, np.bool_)
        for row in rows:
            busy = busy | self._in_row(row)
        return np.tile(busy, self._machine.num_replicas)

    def _in_row(self, row: int) -> BoolArray:
        if row not in self._known:
            own, waiting = self._cycles[row], self._table.work[row].waiting
            busy: BoolArray = np.zeros(self._machine.tiles, np.bool_)
            if own is not None:
                busy |= own > 0
            if self._table.type[row] in ("Sync", "StreamCopyBegin", "OnEveryTileSwitch"):
                busy |= True if waiting is None else waiting
            if row in self._recording:
                busy[self._recording[row]] = True
            below = list(self._table.children[row])
            if self._table.function[row] >= 0:
                below.append(self._functions[self._table.function[row]])
            for child in below:
                busy = busy | self._in_row(child)
            self._known[row] = busy
        return self._known[row]
