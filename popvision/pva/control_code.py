"""Control code of programs and everything below them, summed once for each program that has children."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from popvision.arrays import Int64Array, IntegerArray
from popvision.formats.profile import model
from popvision.pva.array_cache import ArrayCache
from popvision.pva.plain import ints

#: Bytes of sums in memory. The newest sums stay: they are nearest to the root.
_MOST_BYTES = 32 << 20


class ControlCode:
    """`figures` are the columns of the table of programs on IPUs, `rows_of` its rows by program."""

    def __init__(
        self,
        programs: model.Programs,
        figures: dict[str, IntegerArray],
        rows_of: dict[int, list[int]],
        target: model.Target,
        arrays: ArrayCache,
    ) -> None:
        self._programs, self._target, self._arrays, self._rows_of = programs, target, arrays, rows_of
        self._ids, self._ipu = figures["control_code_array"], figures["ipu"]
        self._recorded = bool((self._ids >= 0).any())
        self._sums: OrderedDict[int, Int64Array | None] = OrderedDict()

    def by_tile(self, program: int) -> list[int]:
        """Bytes on every tile; empty when the report has them for no program."""
        if not self._recorded:
            return []
        total = self._sums[program] if program in self._sums else self._sum(program)
        return [] if total is None else ints(total)

    def _sum(self, program: int) -> Int64Array | None:
        """Sum a program's own code and the code of everything below, children before parents."""
        order, seen, pending = [], {program}, [program]
        while pending:
            each = pending.pop()
            order.append(each)
            if each not in self._sums or each == program:
                below = [child for child in self._children(each) if child not in seen]
                seen.update(below)
                pending += below
        done: dict[int, Int64Array | None] = {}
        for each in reversed(order):
            if each in self._sums:
                done[each] = self._sums[each]
                continue
            total = self._own(each)
            children = self._children(each)
            for child in children:
                part = done.pop(child, None)
                if part is not None:
                    total = part.copy() if total is None else total + part
            done[each] = total
            if len(children):
                self._cache(each, total)
        return done[program]

    def _cache(self, program: int, total: Int64Array | None) -> None:
        self._sums[program] = total
        if len(self._sums) * 8 * self._target.num_tiles > _MOST_BYTES:
            self._sums.popitem(last=False)

    def _children(self, program: int) -> list[int]:
        offsets = self._programs.child_offsets
        return ints(self._programs.children[offsets[program] : offsets[program + 1]])

    def _own(self, program: int) -> Int64Array | None:
        code: Int64Array | None = None
        tiles = self._target.tiles_per_ipu
        for row in self._rows_of.get(program, ()):
            array = self._arrays.get(self._ids, row)
            if array is not None:
                code = np.zeros(self._target.num_tiles, np.int64) if code is None else code
                first = int(self._ipu[row]) * tiles
                code[first : first + tiles] = array
        return code
