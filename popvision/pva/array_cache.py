"""Arrays of a report by id: those asked for lately, and those that a loop will ask for next.

A loop over programs or steps asks for one array at a time. Opening the file costs more than an array does, so a miss
reads the next rows of the same column as well.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from popvision.arrays import AnyArray, IntegerArray

if TYPE_CHECKING:
    from popvision.formats.profile import ProfileReader


#: Rows read ahead at a miss, and bytes that are kept.
AHEAD, MOST_BYTES = 64, 32 << 20


class ArrayCache:
    """Stored arrays in their narrow types; those used last go last."""

    def __init__(self, reader: Callable[[], ProfileReader]) -> None:
        self._reader = reader
        self._kept: OrderedDict[int, AnyArray] = OrderedDict()
        self._bytes = 0

    def get(self, column: IntegerArray, row: int) -> AnyArray | None:
        """The array whose id stands in a row of a column of ids; None where that is -1."""
        identity = int(column[row])
        if identity < 0:
            return None
        found = self._kept.get(identity)
        if found is None:
            self._read(identity, column[row : row + AHEAD].tolist())
            found = self._kept[identity]
        self._kept.move_to_end(identity)
        return found

    def _read(self, wanted: int, near: Sequence[int]) -> None:
        missing = sorted({wanted, *(each for each in near if each >= 0 and each not in self._kept)})
        for identity, values in zip(missing, self._reader().arrays(missing, narrow=True), strict=True):
            self._kept[identity] = values
            self._bytes += values.nbytes
        self._kept.move_to_end(wanted)
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            _, old = self._kept.popitem(last=False)
            self._bytes -= old.nbytes
