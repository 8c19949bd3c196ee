"""What happens to units (see `simulator.compiler.memory.live_units`) along the static order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]

# What happens to a unit at a position, in the order in which it happens there. LATER: it is needed after this place.
READ, KILL, UNDEFINED, LATER = 0, 1, 2, 3


@dataclass(frozen=True)
class Events:
    unit: I8
    position: I8
    kind: I8

    def sorted(self) -> Events:
        """By unit, position and kind."""
        order = np.lexsort((self.kind, self.position, self.unit))
        return Events(self.unit[order], self.position[order], self.kind[order])

    def plus(self, unit: I8, position: int, kind: int) -> Events:
        """With the same event of several units."""
        n = len(unit)
        return Events(
            np.concatenate([self.unit, unit]),
            np.concatenate([self.position, np.full(n, position, np.int64)]),
            np.concatenate([self.kind, np.full(n, kind, np.int64)]),
        )

    def take(self, rows: I8 | npt.NDArray[np.bool_]) -> Events:
        """Some of them."""
        return Events(self.unit[rows], self.position[rows], self.kind[rows])

    def within(self, begin: int, end: int) -> Events:
        """Those at positions [begin, end)."""
        return self.take((self.position >= begin) & (self.position < end))

    def first(self) -> tuple[I8, I8]:
        """(units, ascending; kind of the first event of each). Events are sorted."""
        unit, row = np.unique(self.unit, return_index=True)
        return unit, self.kind[row]

    def exposed_in(self, begin: int, end: int) -> I8:
        """Units whose first event in [begin, end) does not end what was before. Events are sorted."""
        inside = self.within(begin, end)
        unit, kind = inside.take(inside.kind != LATER).first()
        return np.asarray(unit[~np.isin(kind, (KILL, UNDEFINED))], dtype=np.int64)

    def replaced_in(self, begin: int, end: int) -> I8:
        """Units whose contents of before are gone after [begin, end)."""
        inside = self.within(begin, end)
        return np.unique(inside.unit[np.isin(inside.kind, (KILL, UNDEFINED))])
