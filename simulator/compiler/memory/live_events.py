"""Liveness where data choose the way: a write in one branch does not end what another branch, or what comes after,
still needs.

The static order holds all branches, one after another, though one of them runs. So each branch gets *events of its own*
(units of a further number), from which ranges follow as from any straight run of programs, and the program around it
sees the choice as one place: what any branch reads before writing it is read there, and what all branches write is
written. What is needed after the choice is needed at the end of every branch. The range of a unit is the union of its
ranges in all branches and around them; so what one branch needs also lives while an earlier one stands in the order.
The body of a RepeatWhile is such a branch, beside one that does nothing, within a loop of condition and body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.static_order import Choice

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


@dataclass
class _Chosen:
    """A choice with the numbers of its branches' events and what is known of them."""

    choice: Choice
    numbers: list[int]
    exposed: list[Int64Array]
    replaced: Int64Array  #: units that all branches write


class BranchEvents:
    """Events of `units` units apart by branch. `events` are all of them, sorted; a unit of a branch counts `units`
    times the number of the branch further on."""

    def __init__(self, events: Events, choices: Sequence[Choice], loops: Sequence[tuple[int, int]], units: int) -> None:
        self._units = units
        self._ranges: list[tuple[int, int, int]] = []  #: (begin, end, number) of branches, inner ones first
        self._all = events
        self.events = events
        self._chosen = [self._apart(choice) for choice in choices]
        self.around = self.events  #: as the programs see them before anything is known of what comes after
        for begin, end in loops:
            low = self._number_at(begin, end) * units
            exposed = self.around.take((self.around.unit >= low) & (self.around.unit < low + units))
            self.events = self.events.plus(exposed.exposed_in(begin, end), end - 1, LATER)
        self.events = self.events.sorted()
        self._settle()

    def plain_unit(self, unit: int) -> int:
        """The unit itself."""
        return unit % self._units

    def _apart(self, choice: Choice) -> _Chosen:
        """Give the branches events of their own and leave what the programs around see. Choices come innermost first,
        so what is inside a branch has been taken apart already."""
        exposed, replaced, numbers = [], [], []
        for begin, end in choice.branches:
            mine = self.events.take(self.events.unit < self._units)
            exposed.append(mine.exposed_in(begin, end))
            replaced.append(mine.replaced_in(begin, end))
            numbers.append(len(self._ranges) + 1)
            self._ranges.append((begin, end, numbers[-1]))
            inside = (self.events.position >= begin) & (self.events.position < end) & (self.events.unit < self._units)
            unit = np.where(inside, self.events.unit + self._units * numbers[-1], self.events.unit)
            self.events = Events(unit, self.events.position, self.events.kind).sorted()
        everywhere = replaced[0] if choice.complete else np.empty(0, np.int64)
        for units in replaced[1:]:
            everywhere = np.intersect1d(everywhere, units)
        self._add(np.unique(np.concatenate(exposed)), choice.at, READ, 0)
        self._add(everywhere, choice.at, KILL, 0)
        return _Chosen(choice, numbers, exposed, everywhere)

    def _settle(self) -> None:
        """From the outermost choice inwards: what is needed after a choice is needed at the end of its branches, and
        what a branch reads first lives from the choice on."""
        for chosen in reversed(self._chosen):
            choice = chosen.choice
            around = self._number_at(choice.at, choice.at + 1)
            later = self._needed_after(choice.at, around)
            touched = [self._all.within(*branch).unit for branch in choice.branches]
            needed = np.intersect1d(later, np.concatenate(touched))
            for (_, end), number, exposed in zip(choice.branches, chosen.numbers, chosen.exposed, strict=True):
                self._add(needed, end - 1, LATER, number)
                self._add(exposed, choice.at, KILL, number)
            self._drop(np.setdiff1d(chosen.replaced, needed) + around * self._units, choice.at)

    def _needed_after(self, position: int, number: int) -> Int64Array:
        low = number * self._units
        mine = self.events.take((self.events.unit >= low) & (self.events.unit < low + self._units))
        unit, kind = mine.take(mine.position > position).first()
        return unit[np.isin(kind, (READ, LATER))] - low

    def _number_at(self, begin: int, end: int) -> int:
        """The number of the innermost branch around these positions; 0 = none."""
        around = (number for first, last, number in self._ranges if first <= begin and end <= last)
        return next(around, 0)

    def _add(self, units: Int64Array, position: int, kind: int, number: int) -> None:
        if len(units):
            self.events = self.events.plus(units + number * self._units, position, kind).sorted()

    def _drop(self, units: Int64Array, position: int) -> None:
        """Take back that a choice writes what nobody needs afterwards."""
        gone = (self.events.position == position) & (self.events.kind == KILL) & np.isin(self.events.unit, units)
        if gone.any():
            self.events = self.events.take(~gone)
