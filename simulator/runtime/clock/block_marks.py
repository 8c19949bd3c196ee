"""Marks of recorded programs in modelled time, and the cycles of recording.

Recording a block moves its tile's clock between two steps. No step shows these cycles as its own; they count with the
next step in which the tile takes part (`State.owed`), so steps still lie end to end on every tile.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.blocks.recording import BlockRecording
from simulator.compiler.machine import Machine
from simulator.runtime.clock.host_queue import Ready, later
from simulator.runtime.clock.segments import Marks, Parts, Segment, State

StateOf = Callable[[Int64Array, Int64Array | None, Ready], State]
"""Returns the state with these clocks, cycles owed to the next step and times of streams."""


class BlockMarks:
    """Adds marks to recorded programs. `parts` starts a list of segments at a state."""

    def __init__(
        self, recording: BlockRecording | None, machine: Machine, parts: Callable[[State], Parts], state_of: StateOf
    ) -> None:
        self._programs = {} if recording is None else recording.programs
        self._machine, self._parts, self._state_of = machine, parts, state_of
        self._device_tiles: dict[int, Int64Array] = {}

    def mark(self, state: State, row: int, run: Callable[[State], Segment]) -> Segment:
        """Run a program from a state, with marks if it is recorded."""
        if row not in self._programs:
            return run(state)
        program, parts = self._programs[row], self._parts(state)
        parts.add(self._mark(state, row, False, program.before, 0))
        parts.add(run(parts.state))
        if parts.stopped:
            return parts.joined()
        parts.add(self._mark(parts.state, row, True, program.inside, program.after))
        return parts.joined()

    def _mark(self, state: State, row: int, end: bool, before: int, after: int) -> Segment:
        """A mark, `before` cycles after the clocks of its tiles, which go on `after` cycles later."""
        tiles = self._tiles(row)
        ipus = self._machine.device_ipus
        none, then, elapsed = np.empty((0, ipus), np.int64), state, 0
        if before + after:
            owed = np.zeros_like(state.offsets) if state.owed is None else state.owed.copy()
            owed[tiles] += before + after
            clocks = state.offsets.copy()
            clocks[tiles] += before + after
            elapsed = int(clocks.min())
            then = self._state_of(clocks - elapsed, owed, later(state.ready, elapsed))
        event = np.full(len(tiles), 2 * row + end, np.int64)
        marks = Marks(event, tiles, state.offsets[tiles] + before)
        return Segment(np.empty(0, np.int64), none, none, then, elapsed, marks=marks)

    def _tiles(self, row: int) -> Int64Array:
        """Tiles of the device that record a program."""
        if row not in self._device_tiles:
            m, tiles = self._machine, self._programs[row].tiles
            first = np.arange(m.num_replicas, dtype=np.int64) * m.tiles
            self._device_tiles[row] = (first[:, None] + tiles).reshape(-1)
        return self._device_tiles[row]
