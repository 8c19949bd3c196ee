"""A read-only list whose items are made when they are asked for.

Reports hold up to millions of tiles, variables and steps; scripts index, iterate, slice and take `max(key=...)` of
them as lists. Items compare by value, so making one twice is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")

#: How many elements a printed list shows; `Report.listPrintLength` sets it.
print_length = 10


class ListView(Sequence[T], Generic[T]):
    """`size` items, item i made by `make(i)`."""

    __slots__ = ("_make", "_size")

    def __init__(self, size: int, make: Callable[[int], T]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> ListView[T]: ...
    def __getitem__(self, index: int | slice) -> T | ListView[T]:
        if isinstance(index, slice):
            chosen = range(self._size)[index]
            return ListView(len(chosen), lambda i: self._make(chosen[i]))
        position = int(index)
        if position < 0:
            position += self._size
        if not 0 <= position < self._size:
            raise IndexError(f"index {index} is outside a list of {self._size}")
        return self._make(position)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._size))

    def __repr__(self) -> str:
        shown = ", ".join(repr(self._make(i)) for i in range(min(self._size, print_length)))
        more = f", ... {self._size - print_length} more" if self._size > print_length else ""
        return f"[{shown}{more}]"
