"""The bytes of all tiles. Dead memory is poisoned, overhead memory is guarded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.errors import poplar_error
from simulator.runtime.address_accurate.claims import Claims

#: Fills memory without live values: not a number in FLOAT and HALF, -1 in integers.
POISON = 0xFF

#: Fills overhead memory such as code and stacks, which no program may write.
GUARD = 0xC5


class TileMemory:
    """`data`: bytes of tile 0, then of tile 1, ... of the device. Always-live variables begin as zeros."""

    def __init__(self, claims: Claims, size: int) -> None:
        self.data = np.full(size, POISON, np.uint8)
        for place in claims.always:
            self.data[place] = 0
        for _, place in claims.overhead:
            self.data[place] = GUARD
        self._overhead = claims.overhead

    def copy(self, source: Int64Array, destination: Int64Array) -> None:
        """Copy bytes; all are read before any is written."""
        self.data[destination] = self.data[source]

    def poison(self, places: Iterable[slice]) -> None:
        """Overwrite dead memory."""
        for place in places:
            self.data[place] = POISON

    def read(self, addresses: Int64Array, dtype: np.dtype[Any]) -> AnyArray:
        """A copy of the items whose bytes are at `addresses`."""
        return self.data[addresses].view(dtype)

    def write(self, addresses: Int64Array, values: AnyArray) -> None:
        """Store items at the addresses of their bytes."""
        self.data[addresses] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def check_guards(self) -> None:
        """Raises poplar_error where a program wrote into overhead memory."""
        for name, place in self._overhead:
            if not (self.data[place] == GUARD).all():
                raise poplar_error(f"A program wrote into {name}, which holds no variable.")
