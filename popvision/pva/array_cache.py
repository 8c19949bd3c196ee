"""A least-recently-used cache of a report's arrays, with read-ahead.

A loop over programs or steps reads one array at a time. Opening the file costs more than reading an array, so a miss
reads the next rows of the same column as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from popvision.arrays import AnyArray, IntegerArray
from popvision.kept import BoundedCache

if TYPE_CHECKING:
    from popvision.formats.profile import ProfileReader


#: Rows read at a miss, and bytes in memory.
AHEAD, MOST_BYTES = 64, 32 << 20


class ArrayCache:
    """Stored arrays by id, in their narrow types."""

    def __init__(self, reader: Callable[[], ProfileReader]) -> None:
        self._reader = reader
        self._arrays: BoundedCache[int, AnyArray] = BoundedCache(MOST_BYTES)

    def get(self, column: IntegerArray, row: int) -> AnyArray | None:
        """The array whose id a row of `column` holds; None where the id is -1."""
        identity = int(column[row])
        if identity < 0:
            return None
        return self._arrays.get(identity, lambda: self._read(identity, column[row : row + AHEAD].tolist()))

    def _read(self, requested: int, next_ids: Sequence[int]) -> AnyArray:
        missing = sorted({requested, *(each for each in next_ids if each >= 0 and each not in self._arrays)})
        arrays = dict(zip(missing, self._reader().arrays(missing, narrow=True), strict=True))
        for identity, values in arrays.items():
            self._arrays.put(identity, values)
        return arrays[requested]
