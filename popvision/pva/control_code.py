"""Control code of programs and everything below them, summed once for each program that has children."""

from __future__ import annotations

import numpy as np

from popvision.arrays import Int64Array, IntegerArray
from popvision.formats.profile import model
from popvision.kept import BoundedCache
from popvision.pva.array_cache import ArrayCache
from popvision.pva.plain import ints

#: Bytes of sums in memory. The newest sums stay: they are nearest to the root.
_MOST_BYTES = 32 << 20

#: The sum where no program below is known.
_UNKNOWN = np.empty(0, np.int64)


class ControlCode:
    """`figures` are the columns of the table of programs on IPUs, `rows_of` its rows by program, `known` the programs
    whose own code is known, also where none is stored."""

    def __init__(
        self,
        programs: model.Programs,
        figures: dict[str, IntegerArray],
        rows_of: dict[int, list[int]],
        known: set[int],
        target: model.Target,
        arrays: ArrayCache,
    ) -> None:
        self._programs, self._target, self._arrays, self._rows_of = programs, target, arrays, rows_of
        self._ids, self._ipu = figures["control_code_array"], figures["ipu"]
        self._known = known
        self._recorded = bool(known) or bool((self._ids >= 0).any())
        self._sums: BoundedCache[int, Int64Array] = BoundedCache(_MOST_BYTES)

    def by_tile(self, program: int) -> list[int]:
        """Bytes on every tile; empty when the report has them for none of the programs."""
        if not self._recorded:
            return []
        return ints(self._sums.get(program, lambda: self._sum(program)))

    def _sum(self, program: int) -> Int64Array:
        """Sum a program's own code and the code of everything below, children before parents."""
        order, seen, pending = [], {program}, [program]
        sums: dict[int, Int64Array] = {}  #: of programs whose parent has not been summed yet
        while pending:
            each = pending.pop()
            known = self._sums.peek(each)
            if known is not None:
                sums[each] = known
                continue
            order.append(each)
            below = [child for child in self._children(each) if child not in seen]
            seen.update(below)
            pending += below
        for each in reversed(order):
            parts = [self._own(each), *(sums.pop(child, _UNKNOWN) for child in self._children(each))]
            parts = [part for part in parts if len(part)]
            sums[each] = np.sum(parts, axis=0) if len(parts) > 1 else parts[0] if parts else _UNKNOWN
            if len(self._children(each)):
                self._sums.put(each, sums[each])
        return sums[program]

    def _children(self, program: int) -> list[int]:
        offsets = self._programs.child_offsets
        return ints(self._programs.children[offsets[program] : offsets[program + 1]])

    def _own(self, program: int) -> Int64Array:
        code = np.zeros(self._target.num_tiles, np.int64) if program in self._known else _UNKNOWN
        tiles = self._target.tiles_per_ipu
        for row in self._rows_of.get(program, ()):
            array = self._arrays.get(self._ids, row)
            if array is not None:
                code = code if len(code) else np.zeros(self._target.num_tiles, np.int64)
                first = int(self._ipu[row]) * tiles
                code[first : first + tiles] = array
        return code
