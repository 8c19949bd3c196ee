"""Read-only lists that make an item at each access, and lists that print only their first items.

Reports hold up to millions of tiles, variables and steps; scripts index, iterate, slice and take `max(key=...)` of
them as lists. Items compare by content, so two copies of one item are equal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Printing:
    """The number of elements that a printed list of one report shows; `Report.listPrintLength` sets it."""

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def text(self, items: Sequence[Any]) -> str:
        shown = ", ".join(repr(items[i]) for i in range(min(len(items), self.length)))
        more = len(items) - self.length
        return f"[{shown}]" if more <= 0 else f"[{shown}{', ' if shown else ''}... {more} more]"


class ListView(Sequence[T], Generic[T]):
    """`size` items; `make(i)` makes item i. `absent`: why the list is empty, for the IndexError."""

    __slots__ = ("_absent", "_make", "_printing", "_size")

    def __init__(self, size: int, make: Callable[[int], T], printing: Printing | None = None, absent: str = "") -> None:
        self._size = size
        self._make = make
        self._printing = printing or Printing()
        self._absent = absent

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> ListView[T]: ...
    def __getitem__(self, index: int | slice) -> T | ListView[T]:
        if isinstance(index, slice):
            chosen, make = range(self._size)[index], self._make
            return ListView(len(chosen), lambda i: make(chosen[i]), self._printing, self._absent)
        position = operator.index(index)
        if position < 0:
            position += self._size
        if not 0 <= position < self._size:
            why = f": {self._absent}" if self._absent and not self._size else ""
            raise IndexError(f"index {index} is outside a list of {self._size}{why}")
        return self._make(position)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._size))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListView | list | tuple) or len(self) != len(other):
            return False
        return all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[T]) -> list[T]:
        return [*self, *other]

    def __radd__(self, other: Iterable[T]) -> list[T]:
        return [*other, *self]

    def __repr__(self) -> str:
        return self._printing.text(self)


def nothing(index: int) -> Any:
    """`make` of an empty list."""
    raise IndexError(index)


class PrintedList(list[T]):
    """A list of a few objects that prints like a ListView."""

    __slots__ = ("_printing",)

    def __init__(self, items: Iterable[T], printing: Printing) -> None:
        super().__init__(items)
        self._printing = printing

    def __repr__(self) -> str:
        return self._printing.text(self)
