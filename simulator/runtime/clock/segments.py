"""Segments of modelled time: states of the clocks, what programs do from them, and their concatenation to runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popvision.formats.profile.model import StepOnIpu
from simulator.arrays import Int64Array
from simulator.compiler.machine import Machine
from simulator.runtime.clock.host_queue import Ready


class Marks(NamedTuple):
    """Begins and ends of blocks that lightweight profiling records, in order of time on each tile."""

    event: Int64Array  #: 2 * lowered program, + 1 at its end
    tile: Int64Array  #: of the device
    time: Int64Array

    def later(self, cycles: int) -> Marks:
        return self._replace(time=self.time + cycles) if cycles and len(self.time) else self


NO_MARKS = Marks(*(np.empty(0, np.int64) for _ in range(3)))


class State:
    """Clocks of all tiles, less the smallest, and memoised segments from there. `ready`: when places of the host will
    be. `owed`: cycles of each clock that count with the next step in which its tile takes part; None = none. `ways`:
    trips of loops by row of the loop, number of choices in the trip, and these choices."""

    __slots__ = ("offsets", "owed", "ready", "segments", "ways")

    def __init__(self, offsets: Int64Array, owed: Int64Array | None = None, ready: Ready = ()) -> None:
        self.offsets, self.owed, self.ready = offsets, owed, ready
        self.segments: dict[int, Segment] = {}
        self.ways: dict[int, dict[int, dict[tuple[int, ...], Segment]]] = {}

    @property
    def ends(self) -> Int64Array:
        """The end of each tile's last step."""
        return self.offsets if self.owed is None else self.offsets - self.owed

    def charged(self, spent: Int64Array) -> tuple[Int64Array, Int64Array | None]:
        """(cycles of a step with what was owed to it, cycles owed after it). `spent`: the step's own cycles."""
        if self.owed is None:
            return spent, None
        takes_part = spent > 0
        return spent + self.owed * takes_part, self.owed * ~takes_part


@dataclass(frozen=True)
class Segment:
    """The steps of a program that runs from a state. Times are relative to the state's smallest clock."""

    program: Int64Array  #: lowered program of each step
    base: Int64Array  #: (steps, ipus) smallest clock of each IPU when the step begins
    pattern: Int64Array  #: (steps, ipus) row of DeviceClock.patterns
    state: State  #: the state afterwards
    elapsed: int  #: how far the smallest clock moved
    truncated: bool = False
    marks: Marks = NO_MARKS
    stopped: bool = False  #: the choices ended within it

    def __len__(self) -> int:
        return len(self.program)


class Parts:
    """Concatenates segments, up to a number of steps."""

    def __init__(self, ipus: int, max_steps: int, state: State) -> None:
        none = np.empty((0, ipus), np.int64)
        self.state = state
        self._elapsed = 0
        self._room = max_steps
        self.truncated = self.stopped = False
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
        self.stopped |= part.stopped
        self._elapsed += part.elapsed
        self.state = part.state

    def stop(self) -> Parts:
        """End here, as the choices do."""
        self.stopped = True
        return self

    def skip(self, state: State, elapsed: int) -> None:
        """Let time pass without a record."""
        self.truncated = True
        self._elapsed += elapsed
        self.state = state

    def add_times(self, part: Segment, times: int) -> None:
        """Add a segment several times. It must end in the state that it begins in."""
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
        return Segment(program, base, pattern, self.state, self._elapsed, self.truncated, marks, self.stopped)


@dataclass(frozen=True)
class RunTime:
    """A whole run, from equal clocks."""

    segment: Segment
    cycles: int  #: until the last tile is done
    tail: list[Int64Array]  #: per IPU: cycles per tile between its last recorded step and the end of the run
    repeatable: bool = True  #: False when waits were measured, so that other runs differ


def finished(segment: Segment, patterns: Sequence[StepOnIpu], machine: Machine, *, repeatable: bool) -> RunTime:
    """The run of a segment that begins with equal clocks."""
    cycles = segment.elapsed + int(segment.state.offsets.max())
    tail = []
    for ipu in range(machine.device_ipus):
        last = patterns[int(segment.pattern[-1, ipu])]
        end = segment.base[-1, ipu] + last.start.astype(np.int64) + last.cycles
        tail.append(cycles - end)
    return RunTime(segment, cycles, tail, repeatable)
