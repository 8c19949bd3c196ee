"""The tiles that lowered programs concern: a memoised walk over the program table, one flag per tile.

The clock carries idle tiles along a loop, and lightweight profiling records a block on the IPUs that take part in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.machine import Machine


class BusyTiles:
    """Which tiles lowered programs concern: those that spend time in one of them, or in what they call. `recording`:
    tiles that spend time on recording a program."""

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

    def of(self, rows: list[int]) -> BoolArray:
        """One flag per tile of the device."""
        found = np.zeros(self._machine.tiles, np.bool_)
        for row in rows:
            found = found | self._of_one(row)
        return np.tile(found, self._machine.num_replicas)

    def _of_one(self, row: int) -> BoolArray:
        if row not in self._known:
            own, waiting = self._cycles[row], self._table.work[row].waiting
            found: BoolArray = np.zeros(self._machine.tiles, np.bool_)
            if own is not None:
                found |= own > 0
            if self._table.type[row] in ("Sync", "StreamCopyBegin", "OnEveryTileSwitch"):
                found |= True if waiting is None else waiting
            if row in self._recording:
                found[self._recording[row]] = True
            below = list(self._table.children[row])
            if self._table.function[row] >= 0:
                below.append(self._functions[self._table.function[row]])
            for child in below:
                found = found | self._of_one(child)
            self._known[row] = found
        return self._known[row]
