"""Columns as lists of plain Python numbers, which is what scripts index, sum and write as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from popvision.arrays import IntegerArray


class Lists:
    """Columns of a dataclass of arrays; each becomes a list of plain numbers when it is first asked for."""

    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays
        self._lists: dict[str, list[int]] = {}

    def at(self, column: str, row: int) -> int:
        """One number. Raises AbsentError where another tool's file lacks the column."""
        values = self._lists.get(column)
        if values is None:
            values = self._lists[column] = ints(getattr(self._arrays, column))
        return values[row]


def ints(values: IntegerArray) -> list[int]:
    """The same numbers as Python's int."""
    found: list[int] = np.asarray(values).tolist()
    return found
