"""What happens to units (see `simulator.compiler.memory.live_units`) along the static order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array

# What happens to a unit at a position, in the order in which it happens there. LATER: it is needed after this place.
READ, KILL, UNDEFINED, LATER = 0, 1, 2, 3


@dataclass(frozen=True)
class Events:
    unit: Int64Array
    position: Int64Array
    kind: Int64Array

    def sorted(self) -> Events:
        """By unit, position and kind."""
        order = np.lexsort((self.kind, self.position, self.unit))
        return Events(self.unit[order], self.position[order], self.kind[order])

    def plus(self, unit: Int64Array, position: int, kind: int) -> Events:
        """With the same event of several units."""
        n = len(unit)
        return Events(
            np.concatenate([self.unit, unit]),
            np.concatenate([self.position, np.full(n, position, np.int64)]),
            np.concatenate([self.kind, np.full(n, kind, np.int64)]),
        )

    def take(self, rows: Int64Array | BoolArray) -> Events:
        """Some of them."""
        return Events(self.unit[rows], self.position[rows], self.kind[rows])

    def within(self, begin: int, end: int) -> Events:
        """Those at positions [begin, end)."""
        return self.take((self.position >= begin) & (self.position < end))

    def first(self) -> tuple[Int64Array, Int64Array]:
        """(units, ascending; kind of the first event of each). Events are sorted."""
        unit, row = np.unique(self.unit, return_index=True)
        return unit, self.kind[row]

    def exposed_in(self, begin: int, end: int) -> Int64Array:
        """Units whose first event in [begin, end) does not end what was before. Events are sorted."""
        inside = self.within(begin, end)
        unit, kind = inside.take(inside.kind != LATER).first()
        return np.asarray(unit[~np.isin(kind, (KILL, UNDEFINED))], dtype=np.int64)

    def replaced_in(self, begin: int, end: int) -> Int64Array:
        """Units whose contents of before are gone after [begin, end)."""
        inside = self.within(begin, end)
        return np.unique(inside.unit[np.isin(inside.kind, (KILL, UNDEFINED))])
