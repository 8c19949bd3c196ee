"""The modelled time of one run: what every tile does in every step, in device cycles.

Each tile has a clock. A step adds its cycles to the clocks of the tiles that take part; a barrier brings tiles
together, and the waiting is the barrier's. So on every tile a step starts where the one before ended. The clocks, less
the smallest, are a *state*; what a program does to a state never changes, so results are kept by (state, program): a
loop in steady state is found out after one trip and costs nothing further. Nothing here depends on data or on the host,
unless waits measured on the host are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import StepOnIpu
from simulator.compiler.machine import Machine
from simulator.compiler.program_table import ProgramTable
from simulator.machine import sync

I8 = npt.NDArray[np.int64]

#: Steps kept of one run. Beyond them only the length of the run is known and the record is marked truncated.
MAX_STEPS = 4_000_000

#: States kept before all results are forgotten; programs whose clocks drift apart make a new one with every step.
_MAX_STATES = 20_000


@dataclass(frozen=True)
class Segment:
    """What running a program from a state does. Times are relative to the state's smallest clock."""

    program: I8  #: lowered program of each step
    base: I8  #: (steps, ipus) smallest clock of each IPU when the step begins
    pattern: I8  #: (steps, ipus) row of DeviceClock.patterns
    state: int  #: the state afterwards
    elapsed: int  #: how far the smallest clock moved
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.program)


@dataclass(frozen=True)
class RunTime:
    """A whole run, from clocks that agree."""

    segment: Segment
    cycles: int  #: until the last tile is done
    tail: list[I8]  #: per IPU: cycles per tile between its last recorded step and the end of the run
    repeatable: bool = True  #: False when waits were measured, so that no further run is like it


class DeviceClock:
    """Runs branches of the root switch in modelled time.

    `cycles[row]` = cycles per tile of the device of each lowered program, None where it takes no time by itself;
    `host_wait[row]` = cycles of a StreamCopyBegin after its barrier."""

    def __init__(
        self,
        table: ProgramTable,
        cycles: list[I8 | None],
        function_roots: dict[int, int],
        machine: Machine,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.patterns: list[StepOnIpu] = []
        self._table = table
        self._cycles = cycles
        self._functions = function_roots
        self._machine = machine
        self._max_steps = max_steps
        self._waits: Iterator[int] | None = None
        self._branch = -1
        self._runs: dict[int, RunTime] = {}
        self._forget()

    def run(self, branch: int, waits: Iterator[int] | None = None) -> RunTime:
        """Run one branch (a row of the table). `waits` replaces the waits of host copies below the branch, in order;
        results are then not kept."""
        if waits is None and branch in self._runs:
            return self._runs[branch]
        if len(self._offsets) > _MAX_STATES:
            self._forget()
        self._waits = waits
        self._branch = branch
        segment = self._segment(self._state(np.zeros(self._machine.tiles, np.int64)), 0)
        run = self._finished(segment)
        if waits is None:
            self._runs[branch] = run
        return run

    def _forget(self) -> None:
        self._offsets: list[I8] = []
        self._state_of: dict[bytes, int] = {}
        self._segments: dict[tuple[int, int], Segment] = {}

    def _state(self, offsets: I8) -> int:
        key = offsets.tobytes()
        state = self._state_of.get(key)
        if state is None:
            state = self._state_of[key] = len(self._offsets)
            self._offsets.append(offsets)
        return state

    def _segment(self, state: int, row: int) -> Segment:
        """Run the program in this row from a state."""
        kept = self._segments.get((state, row)) if self._waits is None else None
        if kept is not None:
            return kept
        type_ = self._table.type[row]
        if type_ == "Repeat":
            segment = self._repeat(state, self._table.children[row], self._table.repeat_count[row])
        elif type_ == "Call":
            segment = self._segment(state, self._functions[self._table.function[row]])
        elif type_ == "OnEveryTileSwitch":
            return self._segment(state, self._branch)
        elif self._table.children[row] or type_ in ("Sequence", "WriteUndef"):
            segment = self._in_order(state, self._table.children[row])
        else:
            segment = self._step(state, row)
        if self._waits is None and row != 0:
            self._segments[state, row] = segment
        return segment

    def _in_order(self, state: int, rows: list[int]) -> Segment:
        parts = _Parts(self._machine.num_ipus, self._max_steps, state)
        for row in rows:
            parts.add(self._segment(parts.state, row))
        return parts.joined()

    def _repeat(self, state: int, rows: list[int], count: int) -> Segment:
        """Trips until a state comes back; from there on the trips since then repeat."""
        parts = _Parts(self._machine.num_ipus, self._max_steps, state)
        seen: dict[int, int] = {}
        trips: list[Segment] = []
        while len(trips) < count:
            if self._waits is None and parts.state in seen:
                break
            seen[parts.state] = len(trips)
            trips.append(self._in_order(parts.state, rows))
            parts.add(trips[-1])
        left = count - len(trips)
        if left:
            period = trips[seen[parts.state] :]
            whole = _Parts(self._machine.num_ipus, self._max_steps, parts.state)
            for trip in period:
                whole.add(trip)
            parts.add_times(whole.joined(), left // len(period))
            for trip in period[: left % len(period)]:
                parts.add(trip)
        return parts.joined()

    def _step(self, state: int, row: int) -> Segment:
        offsets = self._offsets[state]
        cycles = self._duration(offsets, row)
        m = self._machine
        base = np.empty((1, m.num_ipus), np.int64)
        pattern = np.empty((1, m.num_ipus), np.int64)
        for ipu in range(m.num_ipus):
            part = m.tiles_of(ipu)
            base[0, ipu] = offsets[part].min()
            pattern[0, ipu] = len(self.patterns)
            self.patterns.append(StepOnIpu(offsets[part] - base[0, ipu], cycles[part]))
        after = offsets + cycles
        elapsed = int(after.min())
        return Segment(np.array([row]), base, pattern, self._state(after - elapsed), elapsed)

    def _duration(self, offsets: I8, row: int) -> I8:
        """Cycles each tile spends in a leaf that begins at these clocks."""
        type_ = self._table.type[row]
        m = self._machine
        if type_ == "Sync":
            if self._table.sync_type[row] == "external":
                return sync.external_sync_cycles(offsets, m.global_sync_cycles)
            parts = [offsets[m.tiles_of(ipu)] for ipu in range(m.num_ipus)]
            return np.concatenate(
                [sync.internal_sync_cycles(part, m.min_sync_delay, m.relative_sync_delay) for part in parts]
            )
        if type_ == "StreamCopyBegin":
            wait = self._table.work[row].host_wait
            if self._waits is not None and self._is_data_copy(row):
                wait = next(self._waits, wait)
            return sync.external_sync_cycles(offsets, wait)
        cycles = self._cycles[row]
        return np.zeros(m.tiles, np.int64) if cycles is None else cycles

    def _is_data_copy(self, row: int) -> bool:
        return row not in self._table.children[0]

    def _finished(self, segment: Segment) -> RunTime:
        m = self._machine
        cycles = segment.elapsed + int(self._offsets[segment.state].max())
        tail = []
        for ipu in range(m.num_ipus):
            last = self.patterns[int(segment.pattern[-1, ipu])]
            tail.append(cycles - (int(segment.base[-1, ipu]) + last.start + last.cycles))
        return RunTime(segment, cycles, tail, self._waits is None)


class _Parts:
    """Segments one after the other, up to a number of steps."""

    def __init__(self, ipus: int, max_steps: int, state: int) -> None:
        none = np.empty((0, ipus), np.int64)
        self.state = state
        self._elapsed = 0
        self._room = max_steps
        self._truncated = False
        self._columns: tuple[list[I8], list[I8], list[I8]] = ([np.empty(0, np.int64)], [none], [none])

    def add(self, part: Segment) -> None:
        self._append(part.program, part.base + self._elapsed, part.pattern)
        self._truncated |= part.truncated
        self._elapsed += part.elapsed
        self.state = part.state

    def add_times(self, part: Segment, times: int) -> None:
        """The same segment several times; it must end in the state it begins in."""
        if times == 0:
            return
        n = len(part)
        fit = min(times, -(-self._room // n)) if n and not self._truncated else 0
        if fit:
            shift = self._elapsed + np.repeat(np.arange(fit, dtype=np.int64) * part.elapsed, n)
            base = np.tile(part.base, (fit, 1)) + shift[:, None]
            self._append(np.tile(part.program, fit), base, np.tile(part.pattern, (fit, 1)))
        self._truncated |= fit < times and n > 0
        self._elapsed += times * part.elapsed

    def _append(self, program: I8, base: I8, pattern: I8) -> None:
        if self._truncated:
            return
        keep = min(len(program), self._room)
        self._truncated = keep < len(program)
        self._room -= keep
        for column, rows in zip(self._columns, (program, base, pattern), strict=True):
            column.append(rows[:keep])

    def joined(self) -> Segment:
        program, base, pattern = (np.concatenate(column) for column in self._columns)
        return Segment(program, base, pattern, self.state, self._elapsed, self._truncated)
