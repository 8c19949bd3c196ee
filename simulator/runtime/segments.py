"""Pieces of modelled time: states of the clocks, what programs do from them, and putting pieces end to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]


class State:
    """Clocks of all tiles, less the smallest, and what programs do from there."""

    __slots__ = ("offsets", "segments")

    def __init__(self, offsets: I8) -> None:
        self.offsets = offsets
        self.segments: dict[int, Segment] = {}


@dataclass(frozen=True)
class Segment:
    """What running a program from a state does. Times are relative to the state's smallest clock."""

    program: I8  #: lowered program of each step
    base: I8  #: (steps, ipus) smallest clock of each IPU when the step begins
    pattern: I8  #: (steps, ipus) row of DeviceClock.patterns
    state: State  #: the state afterwards
    elapsed: int  #: how far the smallest clock moved
    truncated: bool = False

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
        self._columns: tuple[list[I8], list[I8], list[I8]] = ([np.empty(0, np.int64)], [none], [none])

    def add(self, part: Segment) -> None:
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
        if fit:
            shift = self._elapsed + np.repeat(np.arange(fit, dtype=np.int64) * part.elapsed, n)
            base = np.tile(part.base, (fit, 1)) + shift[:, None]
            self._append(np.tile(part.program, fit), base, np.tile(part.pattern, (fit, 1)))
        self.truncated |= fit < times and n > 0
        self._elapsed += times * part.elapsed

    def _append(self, program: I8, base: I8, pattern: I8) -> None:
        if self.truncated:
            return
        keep = min(len(program), self._room)
        self.truncated = keep < len(program)
        self._room -= keep
        for column, rows in zip(self._columns, (program, base, pattern), strict=True):
            column.append(rows[:keep])

    def joined(self) -> Segment:
        program, base, pattern = (np.concatenate(column) for column in self._columns)
        return Segment(program, base, pattern, self.state, self._elapsed, self.truncated)
