"""Pieces of modelled time: states of the clocks, what programs do from them, and putting pieces end to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array


class Marks(NamedTuple):
    """Beginnings and ends of what lightweight profiling records, in the order in which they happen on each tile."""

    event: Int64Array  #: 2 * lowered program at its beginning, 1 more at its end
    tile: Int64Array  #: of the device
    time: Int64Array

    def later(self, cycles: int) -> Marks:
        return self._replace(time=self.time + cycles) if cycles and len(self.time) else self


NO_MARKS = Marks(*(np.empty(0, np.int64) for _ in range(3)))


class State:
    """Clocks of all tiles, less the smallest, and what programs do from there. `owed`: cycles of each clock that belong
    to the next step in which its tile takes part; None = none. `ways`: trips of loops by row of the loop, number of
    choices of data in the trip, and these choices."""

    __slots__ = ("offsets", "owed", "segments", "ways")

    def __init__(self, offsets: Int64Array, owed: Int64Array | None = None) -> None:
        self.offsets, self.owed = offsets, owed
        self.segments: dict[int, Segment] = {}
        self.ways: dict[int, dict[int, dict[tuple[int, ...], Segment]]] = {}

    @property
    def ends(self) -> Int64Array:
        """Where each tile's last step ended."""
        return self.offsets if self.owed is None else self.offsets - self.owed

    def charged(self, spent: Int64Array) -> tuple[Int64Array, Int64Array | None]:
        """The cycles of a step in which tiles spend these, with what is owed to it, and what is owed from then on."""
        if self.owed is None:
            return spent, None
        takes_part = spent > 0
        return spent + self.owed * takes_part, self.owed * ~takes_part


@dataclass(frozen=True)
class Segment:
    """What running a program from a state does. Times are relative to the state's smallest clock."""

    program: Int64Array  #: lowered program of each step
    base: Int64Array  #: (steps, ipus) smallest clock of each IPU when the step begins
    pattern: Int64Array  #: (steps, ipus) row of DeviceClock.patterns
    state: State  #: the state afterwards
    elapsed: int  #: how far the smallest clock moved
    truncated: bool = False
    marks: Marks = NO_MARKS

    def __len__(self) -> int:
        return len(self.program)


class Parts:
    """Segments one after the other, up to a number of steps."""

    def __init__(self, ipus: int, max_steps: int, state: State) -> None:
        none = np.empty((0, ipus), np.int64)
        self.state = state
        self._elapsed = 0
        self._room = max_steps
        self.truncated = False
        self._columns: tuple[list[Int64Array], list[Int64Array], list[Int64Array]] = (
            [np.empty(0, np.int64)],
            [none],
            [none],
        )
        self._marks: list[Marks] = []

    def add(self, part: Segment) -> None:
        self._mark(part.marks, 1, 0)
        self._append(part.program, part.base + self._elapsed, part.pattern)
        self.truncated |= part.truncated
        self._elapsed += part.elapsed
        self.state = part.state

    def skip(self, state: State, elapsed: int) -> None:
        """Time passes without a record."""
        self.truncated = True
        self._elapsed += elapsed
        self.state = state

    def add_times(self, part: Segment, times: int) -> None:
        """The same segment several times; it must end in the state it begins in."""
        if times == 0:
            return
        n = len(part)
        fit = min(times, -(-self._room // n)) if n and not self.truncated else 0
        self._mark(part.marks, fit if n else min(times, self._room), part.elapsed)
        if fit:
            shift = self._elapsed + np.repeat(np.arange(fit, dtype=np.int64) * part.elapsed, n)
            base = np.tile(part.base, (fit, 1)) + shift[:, None]
            self._append(np.tile(part.program, fit), base, np.tile(part.pattern, (fit, 1)))
        self.truncated |= fit < times and n > 0
        self._elapsed += times * part.elapsed

    def _mark(self, marks: Marks, times: int, elapsed: int) -> None:
        n = len(marks.event)
        if not n or not times or self.truncated:
            return
        shift = self._elapsed + np.repeat(np.arange(times, dtype=np.int64) * elapsed, n)
        event, tile, time = (np.tile(column, times) for column in marks)
        self._marks.append(Marks(event, tile, time + shift))

    def _append(self, program: Int64Array, base: Int64Array, pattern: Int64Array) -> None:
        if self.truncated:
            return
        keep = min(len(program), self._room)
        self.truncated = keep < len(program)
        self._room -= keep
        for column, rows in zip(self._columns, (program, base, pattern), strict=True):
            column.append(rows[:keep])

    def joined(self) -> Segment:
        program, base, pattern = (np.concatenate(column) for column in self._columns)
        marks = Marks(*map(np.concatenate, zip(*self._marks, strict=True))) if self._marks else NO_MARKS
        return Segment(program, base, pattern, self.state, self._elapsed, self.truncated, marks)
