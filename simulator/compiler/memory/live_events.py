"""Events of units along the static order, and liveness where data choose between branches.

A write in one branch must not end the life of data that another branch, or the code after the choice, still needs. The
static order holds all branches in sequence, though only one runs. So each branch gets *events of its own* (units with
further numbers), from which ranges follow as in straight-line code, and the enclosing code sees the choice as one
position: it reads what any branch reads before writing, and writes what all branches write. Data needed after the
choice is needed at the end of every branch. The range of a unit is the union of its ranges in all branches and outside;
so data that one branch needs is also live in the branches before it in the order. The body of a RepeatWhile is such a
branch, beside an empty one, within a loop of condition and body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.static_order import Choice

# Kinds of events, in their order at one position. LATER: the unit is needed after this position.
READ, KILL, UNDEFINED, LATER = 0, 1, 2, 3


@dataclass(frozen=True)
class Events:
    """Columns of (unit, position, kind)."""

    unit: Int64Array
    position: Int64Array
    kind: Int64Array

    def sorted(self) -> Events:
        """By unit, position and kind."""
        order = np.lexsort((self.kind, self.position, self.unit))
        return Events(self.unit[order], self.position[order], self.kind[order])

    def plus(self, unit: Int64Array, position: int, kind: int) -> Events:
        """These events and one more event of several units."""
        n = len(unit)
        return Events(
            np.concatenate([self.unit, unit]),
            np.concatenate([self.position, np.full(n, position, np.int64)]),
            np.concatenate([self.kind, np.full(n, kind, np.int64)]),
        )

    def take(self, rows: Int64Array | BoolArray) -> Events:
        """Some of the events."""
        return Events(self.unit[rows], self.position[rows], self.kind[rows])

    def within(self, begin: int, end: int) -> Events:
        """The events at positions [begin, end)."""
        return self.take((self.position >= begin) & (self.position < end))

    def first(self) -> tuple[Int64Array, Int64Array]:
        """(units, ascending; kind of the first event of each). Events are sorted."""
        unit, row = np.unique(self.unit, return_index=True)
        return unit, self.kind[row]

    def upward_exposed(self, begin: int, end: int) -> Int64Array:
        """Upward-exposed units: their first event in [begin, end) needs the contents from before. Events are sorted."""
        inside = self.within(begin, end)
        unit, kind = inside.take(inside.kind != LATER).first()
        return np.asarray(unit[~np.isin(kind, (KILL, UNDEFINED))], dtype=np.int64)

    def killed_in(self, begin: int, end: int) -> Int64Array:
        """Units whose contents from before [begin, end) do not survive it."""
        inside = self.within(begin, end)
        return np.unique(inside.unit[np.isin(inside.kind, (KILL, UNDEFINED))])


@dataclass
class _SplitChoice:
    """A choice, the numbers of its branches, and the units that these expose and kill."""

    choice: Choice
    numbers: list[int]
    exposed: list[Int64Array]
    killed: Int64Array  #: by all branches


class BranchEvents:
    """Separates events by branch. `events` is sorted and holds all events of `units` units; in branch n, unit u has the
    number u + n * `units`."""

    def __init__(self, events: Events, choices: Sequence[Choice], loops: Sequence[tuple[int, int]], units: int) -> None:
        self._units = units
        self._ranges: list[tuple[int, int, int]] = []  #: (begin, end, number) of branches, inner ones first
        self._all = events
        self.events = events
        self._choices = [self._separate(choice) for choice in choices]
        self.outside = self.events  #: before LATER events are added
        for begin, end in loops:
            low = self._number_at(begin, end) * units
            exposed = self.outside.take((self.outside.unit >= low) & (self.outside.unit < low + units))
            self.events = self.events.plus(exposed.upward_exposed(begin, end), end - 1, LATER)
        self.events = self.events.sorted()
        self._add_needs()

    def plain_unit(self, unit: int) -> int:
        """The unit without the number of its branch."""
        return unit % self._units

    def _separate(self, choice: Choice) -> _SplitChoice:
        """Move the events of branches to their own numbers and leave those that the enclosing code sees. Choices come
        innermost first, so inner choices are separated already."""
        exposed, killed, numbers = [], [], []
        for begin, end in choice.branches:
            mine = self.events.take(self.events.unit < self._units)
            exposed.append(mine.upward_exposed(begin, end))
            killed.append(mine.killed_in(begin, end))
            numbers.append(len(self._ranges) + 1)
            self._ranges.append((begin, end, numbers[-1]))
            inside = (self.events.position >= begin) & (self.events.position < end) & (self.events.unit < self._units)
            unit = np.where(inside, self.events.unit + self._units * numbers[-1], self.events.unit)
            self.events = Events(unit, self.events.position, self.events.kind).sorted()
        killed_by_all = killed[0] if choice.complete else np.empty(0, np.int64)
        for units in killed[1:]:
            killed_by_all = np.intersect1d(killed_by_all, units)
        self._add(np.unique(np.concatenate(exposed)), choice.at, READ, 0)
        self._add(killed_by_all, choice.at, KILL, 0)
        return _SplitChoice(choice, numbers, exposed, killed_by_all)

    def _add_needs(self) -> None:
        """From the outermost choice inwards: units needed after a choice are needed at the end of its branches, and
        units that a branch exposes live from the choice on."""
        for split in reversed(self._choices):
            choice = split.choice
            around = self._number_at(choice.at, choice.at + 1)
            later = self._needed_after(choice.at, around)
            touched = [self._all.within(*branch).unit for branch in choice.branches]
            needed = np.intersect1d(later, np.concatenate(touched))
            for (_, end), number, exposed in zip(choice.branches, split.numbers, split.exposed, strict=True):
                self._add(needed, end - 1, LATER, number)
                self._add(exposed, choice.at, KILL, number)
            self._drop(np.setdiff1d(split.killed, needed) + around * self._units, choice.at)

    def _needed_after(self, position: int, number: int) -> Int64Array:
        low = number * self._units
        mine = self.events.take((self.events.unit >= low) & (self.events.unit < low + self._units))
        unit, kind = mine.take(mine.position > position).first()
        return unit[np.isin(kind, (READ, LATER))] - low

    def _number_at(self, begin: int, end: int) -> int:
        """The number of the innermost branch that contains these positions; 0 = none."""
        around = (number for first, last, number in self._ranges if first <= begin and end <= last)
        return next(around, 0)

    def _add(self, units: Int64Array, position: int, kind: int, number: int) -> None:
        if len(units):
            self.events = self.events.plus(units + number * self._units, position, kind).sorted()

    def _drop(self, units: Int64Array, position: int) -> None:
        """Remove a choice's write of units that nobody needs afterwards."""
        gone = (self.events.position == position) & (self.events.kind == KILL) & np.isin(self.events.unit, units)
        if gone.any():
            self.events = self.events.take(~gone)
