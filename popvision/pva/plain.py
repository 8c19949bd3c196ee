"""Columns as lists of plain Python numbers, which scripts index, sum and write as JSON."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from popvision.arrays import IntegerArray

T = TypeVar("T")


class ListColumns(Generic[T]):
    """The arrays of a dataclass as lists, each converted at its first use.

    Scripts read one number at a time, a hundred thousand times: a list answers that faster than an array."""

    def __init__(self, arrays: T) -> None:
        self.arrays = arrays
        self._lists: dict[str, list[Any]] = {}

    def column(self, name: str) -> list[Any]:
        """A whole column. Raises AbsentError where another tool's file lacks it."""
        values = self._lists.get(name)
        if values is None:
            values = self._lists[name] = np.asarray(getattr(self.arrays, name)).tolist()
        return values

    def at(self, name: str, row: int) -> Any:
        """One number of a column."""
        return self.column(name)[row]


class NotKnown(list[int]):
    """An empty list in place of numbers that the report does not know; an index says why."""

    __slots__ = ("_why",)

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return []
        raise IndexError(f"index {index} is outside a list of 0: {self._why}")


def ints(values: IntegerArray) -> list[int]:
    """The same numbers as Python's int."""
    numbers: list[int] = np.asarray(values).tolist()
    return numbers
