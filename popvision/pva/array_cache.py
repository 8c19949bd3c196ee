"""A least-recently-used cache of a report's arrays, with read-ahead.

A loop over programs or steps reads one array at a time. Opening the file costs more than reading an array, so a miss
reads the next rows of the same column as well.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from popvision.arrays import AnyArray, IntegerArray

if TYPE_CHECKING:
    from popvision.formats.profile import ProfileReader


#: Rows read at a miss, and bytes in memory.
AHEAD, MOST_BYTES = 64, 32 << 20


class ArrayCache:
    """Stored arrays by id, in their narrow types."""

    def __init__(self, reader: Callable[[], ProfileReader]) -> None:
        self._reader = reader
        self._arrays: OrderedDict[int, AnyArray] = OrderedDict()
        self._bytes = 0

    def get(self, column: IntegerArray, row: int) -> AnyArray | None:
        """The array whose id a row of `column` holds; None where the id is -1."""
        identity = int(column[row])
        if identity < 0:
            return None
        if identity not in self._arrays:
            self._read(identity, column[row : row + AHEAD].tolist())
        self._arrays.move_to_end(identity)
        return self._arrays[identity]

    def _read(self, wanted: int, next_ids: Sequence[int]) -> None:
        missing = sorted({wanted, *(each for each in next_ids if each >= 0 and each not in self._arrays)})
        for identity, values in zip(missing, self._reader().arrays(missing, narrow=True), strict=True):
            self._arrays[identity] = values
            self._bytes += values.nbytes
        self._arrays.move_to_end(wanted)
        while self._bytes > MOST_BYTES and len(self._arrays) > 1:
            _, dropped = self._arrays.popitem(last=False)
            self._bytes -= dropped.nbytes
