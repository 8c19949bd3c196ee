"""The modelled time of a run: the cycles of every tile in every step, loops with idle tiles included.

Each tile has a clock. A step adds its cycles to the clocks of the tiles that take part; a barrier aligns clocks, and
the waiting counts as the barrier's. So on every tile a step starts where the one before ended. The clocks, less the
smallest, are a *state*. The effect of a program on a state never changes, so it is memoised by (state, program): a loop
in steady state is recognised after one trip and costs nothing further. Of data only the choices of a run matter, and
what compute sets whose vertices count took in it. Nothing depends on the host, unless measured times are given.

Without barriers the clocks drift apart and every step is new. Two caps bound time and memory: MAX_STEPS steps of a run,
and MAX_ARRAYS distinct arrays. Beyond a cap steps are not recorded and the record is marked truncated; the length of
the run stays exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from popvision.formats.profile.model import PHASE_OF_TYPE, StepOnIpu
from simulator.arrays import BoolArray, Int64Array, IntegerArray
from simulator.compiler.blocks.recording import BlockRecording
from simulator.compiler.ir.busy_tiles import BusyTiles
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.machine import Machine
from simulator.machine.host_exchange import answer_cycles, passing_cycles
from simulator.runtime.clock.barriers import external_barrier, internal_barrier
from simulator.runtime.clock.block_marks import BlockMarks
from simulator.runtime.clock.data_dependent_time import CHOOSING, DataChoices, DataDependentTime
from simulator.runtime.clock.host_queue import NEVER, HostQueue, Ready, fifo_of, later
from simulator.runtime.clock.measured_times import MeasuredTimes
from simulator.runtime.clock.segments import Parts, RunTime, Segment, State, finished
from simulator.runtime.clock.step_counts import StepCounts

# Loops in which some tiles are idle: these keep their clocks, while the loop moves the others.
#
# Over the whole device no state of such a loop recurs, since the busy clocks run away from the idle ones. So trips are
# computed with the idle tiles *carried along* at the smallest clock of the busy ones; afterwards they get their clocks
# back. No step of the loop reads the clock of an idle tile, so nothing else changes. Where an IPU is wholly idle, the
# records of all trips are equal too. An idle tile on a busy IPU (an I/O tile, say) makes the record of every trip
# different, because starts are counted from the smallest clock of the IPU; there only time beyond the recording caps
# is computed in this way.

StateOf = Callable[[Int64Array, Int64Array | None, Ready], State]


def carried(trip: Segment, idle: BoolArray, state_of: StateOf) -> Segment:
    """The trip, with the clocks of idle tiles (flags) set to the smallest clock of the others."""
    clocks = trip.state.offsets + trip.elapsed
    elapsed = int(clocks[~idle].min())
    ready = later(trip.state.ready, elapsed - trip.elapsed)
    return replace(trip, state=state_of(np.where(idle, 0, clocks - elapsed), trip.state.owed, ready), elapsed=elapsed)


def put_back(
    loop: Segment, before: State, low: int, idle: BoolArray, own: dict[int, int], state_of: StateOf
) -> Segment:
    """The loop with the idle tiles' clocks of the state `before` it, in which the busy tiles began at `low`. `own`: the
    unchanged pattern of each idle IPU."""
    clocks = np.where(idle, before.offsets, loop.state.offsets + loop.elapsed + low)
    base, pattern = loop.base + low, loop.pattern.copy()
    tiles = len(clocks) // base.shape[1]
    for ipu, row in own.items():
        base[:, ipu] = before.ends[ipu * tiles : (ipu + 1) * tiles].min()
        pattern[:, ipu] = row
    elapsed = int(clocks.min())
    ready = later(loop.state.ready, elapsed - loop.elapsed - low)
    state = state_of(clocks - elapsed, owed_by(idle, before.owed, loop.state.owed), ready)
    return replace(loop, base=base, pattern=pattern, state=state, elapsed=elapsed, marks=loop.marks.later(low))


def owed_by(idle: BoolArray, before: Int64Array | None, after: Int64Array | None) -> Int64Array | None:
    """Cycles owed to the next step: `before` for idle tiles, `after` for the others."""
    if before is None and after is None:
        return None
    first, then = (np.zeros(len(idle), np.int64) if each is None else each for each in (before, after))
    return np.where(idle, first, then)


#: Steps recorded of one run.
MAX_STEPS = 4_000_000

#: Distinct arrays per IPU: starts, and cycles of barriers (4 bytes per tile: 236 MB on 1,472 tiles).
MAX_ARRAYS = 40_000

#: Bytes of memoised states; beyond them all are dropped.
_MAX_STATE_BYTES = 64 << 20
#: Runs with more choices are not memoised.
_LONGEST_WAY = 1000
#: Trips of a loop among which a recurring state is searched.
_LONGEST_PERIOD = 256


Way = tuple[int, tuple[int, ...], frozenset[str]]
"""What a run's time follows from: (branch, choices, streams of which nothing is prefetched yet)"""


class Buffering(NamedTuple):
    """The streams that need not wait for the host where a place in its memory is ready: those to the device whose host
    end prefetches, and those to the host that share their buffer with no other. `depths`: places of each; `cold`: those
    of which nothing is prefetched yet when the run begins."""

    depths: Mapping[str, int]
    cold: frozenset[str]


NOT_BUFFERED = Buffering({}, frozenset())


class DeviceClock:
    """Runs branches of the root switch in modelled time.

    `cycles[row]` = cycles per tile of a replica of each lowered program, None where it takes no time of its own.
    They hold for every replica; clocks are those of all tiles of the device. `counts`: cycles of counted compute sets,
    instead of those. `stamps`: compute sets whose vertices read the cycle counters of their tiles."""

    def __init__(
        self,
        table: ProgramTable,
        cycles: list[Int64Array | None],
        function_roots: dict[int, int],
        machine: Machine,
        max_steps: int = MAX_STEPS,
        max_arrays: int = MAX_ARRAYS,
        blocks: BlockRecording | None = None,
        counts: StepCounts | None = None,
        stamps: frozenset[int] = frozenset(),
    ) -> None:
        self._table = table
        self._counts = counts
        types = enumerate(zip(table.type, table.compute_set, strict=True))
        sets = stamps.union(counts.sets if counts else ())
        #: rows of compute sets that count or read counters
        self._counted = frozenset(row for row, (type_, set_) in types if type_ == "OnTileExecute" and set_ in sets)
        self._cycles = cycles
        self._functions = function_roots
        self._machine = machine
        self._max_steps = max_steps
        self._max_arrays = max_arrays * machine.device_ipus
        self._max_states = max(1, _MAX_STATE_BYTES // (8 * machine.device_tiles))
        self._additive: dict[int, bool] = {}
        self._busy = BusyTiles(table, cycles, function_roots, machine, blocks.costly() if blocks else None)
        self._marks = BlockMarks(blocks, machine, self._parts, self._state)
        self._measured: MeasuredTimes | None = None
        self._branch = -1
        self._depths: Mapping[str, int] = {}
        self._late = 0
        self._fifos = sorted({(fifo_of(work), work.stream) for work in table.work if work.stream})
        self._data: dict[int, DataChoices] = {}
        self._clear_caches()

    def run(
        self,
        branch: int,
        measured: MeasuredTimes | None = None,
        choices: Sequence[int] = (),
        buffering: Buffering = NOT_BUFFERED,
        late: int = 0,
    ) -> RunTime:
        """Run one branch (a row of the table). `measured`: what the host took for the transfers below the
        branch, in place of the modelled time of its answers; results are then not memoised. `choices`: the choices of
        data in this run, in order. `late`: cycles by which the host notices every request later."""
        self._use(buffering, late)
        way = branch, tuple(choices), buffering.cold
        counts = any(choice < 0 for choice in choices)
        if measured is None and way in self._runs:
            return self._runs[way]
        segment = self._from_start(branch, measured, choices, buffering.cold)
        run = finished(segment, self.patterns, self._machine, repeatable=measured is None)
        if measured is None and counts:
            self._runs.pop(self._last_counted.get(branch, way), None)  # others with these counts are not to be expected
            self._last_counted[branch] = way
        if measured is None and (counts or len(choices) <= _LONGEST_WAY):
            self._runs[way] = run
        return run

    def counters(
        self,
        branch: int,
        measured: MeasuredTimes | None,
        choices: Sequence[int],
        buffering: Buffering = NOT_BUFFERED,
        late: int = 0,
    ) -> Int64Array:
        """The clocks of all tiles of the device since the begin of a run, before the compute set whose choice is the
        first that is missing. The arguments are those of `run`. Costs a walk over the run so far."""
        self._use(buffering, late)
        segment = self._from_start(branch, measured, choices, buffering.cold)
        assert segment.stopped, "the run ended before the compute set that reads the counters"
        return segment.state.offsets + segment.elapsed

    def _use(self, buffering: Buffering, late: int) -> None:
        if (buffering.depths, late) != (self._depths, self._late):
            self._clear_caches()
            self._depths, self._late = dict(buffering.depths), late

    def _from_start(
        self, branch: int, measured: MeasuredTimes | None, choices: Sequence[int], cold: frozenset[str]
    ) -> Segment:
        """Run a branch from equal clocks, as far as its choices go."""
        if len(self._arrays) >= self._max_arrays:
            self._clear_caches()
        self._measured, self._branch = measured, branch
        self.chooses(branch)
        ways = self._parts, self.run_in_order, self._run_repeated, self._counted_step, self._step
        self._data_dependent = DataDependentTime(self._table, self._data[branch], choices, *ways, measured is None)
        ready = tuple((fifo, NEVER) for fifo, stream in self._fifos if stream in cold)
        return self._segment(self._state(np.zeros(self._machine.device_tiles, np.int64), None, ready), 0)

    def forget(self) -> None:
        """Drop what is memoised, as the numbers of counted cycles became invalid."""
        self._clear_caches()

    def chooses(self, branch: int) -> bool:
        """True where data choose branches below, so that the time is known only after the run."""
        if branch not in self._data:
            self._data[branch] = DataChoices(self._table, self._functions, branch, self._counted)
        return self._data[branch].in_program(branch)

    def _clear_caches(self) -> None:
        self.patterns: list[StepOnIpu] = []  #: referred to by segments of the last run
        self._runs: dict[Way, RunTime] = {}
        self._last_counted: dict[int, Way] = {}  #: by branch: the last run with counted cycles
        self._states: dict[bytes, State] = {}
        self._arrays: dict[bytes, IntegerArray] = {}

    def _state(self, offsets: Int64Array, owed: Int64Array | None = None, ready: Ready = ()) -> State:
        """The state with these clocks; one object per state while it is memoised."""
        owed = None if owed is None or not owed.any() else owed
        key = _digest(offsets) if owed is None else _digest(offsets) + _digest(owed)
        key += repr(ready).encode() if ready else b""
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= self._max_states:
                for old in self._states.values():
                    old.segments.clear()
                    old.ways.clear()
                self._states.clear()
            state = self._states[key] = State(offsets, owed, ready)
        return state

    def _segment(self, state: State, row: int) -> Segment:
        """Run the program in this row from a state."""
        known = state.segments.get(row) if self._measured is None else None
        if known is not None:
            return known
        by_data = self._data[self._branch].in_program(row)
        segment = self._marks.mark(state, row, lambda s: self._unmarked(s, row, by_data))
        chosen_by_host = self._table.type[row] == "OnEveryTileSwitch"
        if self._measured is None and row != 0 and not by_data and not chosen_by_host:
            state.segments[row] = segment
        return segment

    def _unmarked(self, state: State, row: int, by_data: bool) -> Segment:
        """Run the program in this row from a state, without its marks. `by_data`: it contains choices of data."""
        type_ = self._table.type[row]
        if by_data and (type_ == "Repeat" or type_ in CHOOSING or row in self._counted):
            return self._data_dependent.segment(state, row)
        if type_ == "Repeat":
            return self._loop(state, self._table.children[row], self._table.repeat_count[row])
        if type_ == "Call":
            return self._segment(state, self._functions[self._table.function[row]])
        if type_ == "OnEveryTileSwitch":
            return self._segment(state, self._branch)
        if self._table.children[row] or type_ not in PHASE_OF_TYPE:
            return self.run_in_order(state, self._table.children[row])
        return self._step(state, row)

    def _parts(self, state: State) -> Parts:
        return Parts(self._machine.device_ipus, self._max_steps, state)

    def _run_repeated(self, state: State, rows: list[int], count: int) -> Segment:
        return self._loop(state, rows, count) if count else self.run_in_order(state, ())

    def run_in_order(self, state: State, rows: Sequence[int]) -> Segment:
        parts = self._parts(state)
        for row in rows:
            parts.add(self._segment(parts.state, row))
            if parts.stopped:
                break
        return parts.joined()

    def _loop(self, state: State, rows: list[int], count: int) -> Segment:
        tiles = self._machine.tiles_per_ipu
        busy_tiles = self._busy.in_rows(rows)
        busy = busy_tiles.reshape(-1, tiles).any(axis=1)
        if busy.all() or not busy.any():
            idle_tiles = None if busy_tiles.all() or not busy.any() else ~busy_tiles
            return self._repeat(state, rows, count, lambda s: self.run_in_order(s, rows), idle_tiles)
        idle = np.repeat(~busy, tiles)
        loop, low = self._repeat_carrying(state, rows, count, idle)
        own = {}
        for ipu in np.flatnonzero(~busy).tolist():
            clocks = state.ends[self._machine.tiles_of(ipu)]
            own[ipu] = len(self.patterns)
            self.patterns.append(
                StepOnIpu(self._shared_array(clocks - clocks.min()), self._shared_array(np.zeros(tiles, np.int64)))
            )
        return put_back(loop, state, low, idle, own, self._state)

    def _repeat_carrying(self, state: State, rows: list[int], count: int, idle: BoolArray) -> tuple[Segment, int]:
        """(a loop with its idle tiles carried along, the smallest clock of the others before it)."""
        low = int(state.offsets[~idle].min())
        ready = later(state.ready, low)
        inner = self._state(np.where(idle, 0, state.offsets - low), owed_by(idle, None, state.owed), ready)
        return self._repeat(inner, rows, count, lambda s: carried(self.run_in_order(s, rows), idle, self._state)), low

    def _repeat(
        self,
        state: State,
        rows: list[int],
        count: int,
        trip: Callable[[State], Segment],
        idle_tiles: BoolArray | None = None,
    ) -> Segment:
        """Run trips until a state recurs; the trips since then repeat. `idle_tiles` are carried along once nothing is
        recorded any more."""
        parts = self._parts(state)
        seen: dict[State, int] = {}
        trips: list[Segment] = []  # since `seen` was cleared; `done` before
        done = 0
        while done + len(trips) < count:
            if self._measured is None and parts.state in seen:
                break
            if parts.truncated and all(self._has_no_barrier(row) for row in rows):
                parts.skip(*self._without_recording(parts.state, trip, count - done - len(trips)))
                return parts.joined()
            if parts.truncated and idle_tiles is not None:
                rest, low = self._repeat_carrying(parts.state, rows, count - done - len(trips), idle_tiles)
                rest = put_back(rest, parts.state, low, idle_tiles, {}, self._state)
                parts.skip(rest.state, rest.elapsed)
                return parts.joined()
            if len(seen) >= _LONGEST_PERIOD:
                done, seen, trips = done + len(trips), {}, []
            seen[parts.state] = len(trips)
            trips.append(trip(parts.state))
            parts.add(trips[-1])
        left = count - done - len(trips)
        if left:
            period = trips[seen[parts.state] :]
            whole = self._parts(parts.state)
            for part in period:
                whole.add(part)
            parts.add_times(whole.joined(), left // len(period))
            for part in period[: left % len(period)]:
                parts.add(part)
        return parts.joined()

    def _has_no_barrier(self, row: int) -> bool:
        """True for a program without barriers: it adds the same cycles to each clock from any state."""
        if row not in self._additive:
            below = list(self._table.children[row])
            if self._table.function[row] >= 0:
                below.append(self._functions[self._table.function[row]])
            own = self._table.type[row] not in ("Sync", "StreamCopyBegin", "OnEveryTileSwitch", *CHOOSING)
            self._additive[row] = own and all(self._has_no_barrier(child) for child in below)
        return self._additive[row]

    def _without_recording(self, state: State, trip: Callable[[State], Segment], trips: int) -> tuple[State, int]:
        """(state, elapsed cycles) after `trips` trips of a body without barriers."""
        first = trip(state)
        once = first.state.offsets + first.elapsed - state.offsets
        after = state.offsets + trips * once
        elapsed = int(after.min())
        return self._state(after - elapsed, None, later(state.ready, elapsed)), elapsed

    def _counted_step(self, state: State, row: int, number: int) -> Segment:
        """A counted compute set with the cycles of this number."""
        assert self._counts is not None
        return self._spending(state, row, self._counts.cycles(number), state.ready, None)

    def _step(self, state: State, row: int) -> Segment:
        spent, ready = self._with_host(state, row)
        varies = self._table.work[row].stream in self._depths
        return self._spending(state, row, spent, ready, None if varies else self._cycles[row])

    def _spending(
        self, state: State, row: int, spent: Int64Array, ready: Ready, estimated: Int64Array | None
    ) -> Segment:
        """A step in which tiles spend these cycles. `estimated`: the array of all its executions, of a replica."""
        offsets = state.offsets
        m = self._machine
        after = offsets + spent
        elapsed = int(after.min())
        begins = state.ends
        cycles, owed = state.charged(spent)
        then = self._state(after - elapsed, owed, later(ready, elapsed))
        if len(self._arrays) >= self._max_arrays:
            none = np.empty((0, m.device_ipus), np.int64)
            return Segment(np.empty(0, np.int64), none, none, then, elapsed, truncated=True)
        base = np.empty((1, m.device_ipus), np.int64)
        pattern = np.empty((1, m.device_ipus), np.int64)
        own = estimated if state.owed is None else None
        for ipu in range(m.device_ipus):
            part = m.tiles_of(ipu)
            base[0, ipu] = begins[part].min()
            pattern[0, ipu] = len(self.patterns)
            busy = self._shared_array(cycles[part]) if own is None else own[m.tiles_of(ipu % m.num_ipus)]
            self.patterns.append(StepOnIpu(self._shared_array(begins[part] - base[0, ipu]), busy))
        return Segment(np.array([row]), base, pattern, then, elapsed)

    def _shared_array(self, values: Int64Array) -> IntegerArray:
        """One array for equal values, of 32 bits where they fit."""
        key = _digest(values)
        known = self._arrays.get(key)
        if known is None:
            known = values.astype(np.int32) if int(values.max()) < 2**31 else values
            self._arrays[key] = known
        return known

    def _with_host(self, state: State, row: int) -> tuple[Int64Array, Ready]:
        """(cycles of each tile in a leaf, when places in the host's memory are ready after it)."""
        work, begins = self._table.work[row], self._table.type[row] == "StreamCopyBegin"
        if work.stream not in self._depths:
            return self._duration(state.offsets, row), state.ready
        m, link, depth = self._machine, self._machine.host_link, self._depths[work.stream]
        answer = self._late if self._measured is not None else answer_cycles(link) + self._late
        queue = HostQueue.of(state.ready, fifo_of(work), depth, answer)
        if begins and not queue.is_cold:
            waiting = np.ones(m.tiles, np.bool_) if work.waiting is None else work.waiting
            last = int(state.offsets[np.tile(waiting, m.num_replicas)].max(initial=0))
            wait = max(link.begin_control, queue.next_at - last)
            spent = external_barrier(state.offsets, work.waiting, m, work.sync_group, wait)
            if self._measured is not None:
                self._measured.take(work)
        elif begins or queue.is_cold:
            spent = self._duration(state.offsets, row)
            if not begins:
                passing = [self._passing(work, number + 1) for number in range(depth)]
                queue = queue.started(int((state.offsets + spent).max()), passing)
        else:
            spent = np.where(self._duration(state.offsets, row) > 0, link.end_control, 0)
            to_device = self._table.work[row - 1].rx is not None  # an output leaves its own bytes in its place
            queue = queue.used(int((state.offsets + spent).max()), self._passing(work, depth if to_device else 0))
        return spent, queue.put_in(state.ready)

    def _passing(self, work: Work, ahead: int) -> int:
        """Cycles that the host takes for a transfer once it has noticed: those of its bytes, or what was measured of
        the transfer so many after the last."""
        if self._measured is not None:
            return self._measured.ahead(work, ahead)
        return passing_cycles(work.stream_bytes, self._machine.host_link)

    def _duration(self, offsets: Int64Array, row: int) -> Int64Array:
        """Cycles each tile spends in a leaf that begins at these clocks."""
        type_, work = self._table.type[row], self._table.work[row]
        m = self._machine
        if type_ == "Sync":
            if self._table.sync_type[row] == "external":
                return external_barrier(offsets, work.waiting, m, work.sync_group, m.global_sync_cycles)
            return internal_barrier(offsets, work.waiting, m)
        if type_ == "StreamCopyBegin":
            asked = work.host_wait > m.host_link.begin_control
            wait: int | Int64Array = work.host_wait + self._late * asked
            if self._measured is not None and (work.stream or work.host_called):
                wait = np.maximum(m.host_link.begin_control, self._measured.take(work) + self._late * asked)
            return external_barrier(offsets, work.waiting, m, work.sync_group, wait)
        cycles = self._cycles[row]
        if cycles is None:
            return np.zeros(m.device_tiles, np.int64)
        return cycles if m.num_replicas == 1 else np.tile(cycles, m.num_replicas)


def _digest(values: Int64Array) -> bytes:
    """A 16-byte hash of the values."""
    return hashlib.blake2b(values.tobytes(), digest_size=16).digest()
