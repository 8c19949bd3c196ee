"""Loops in which some tiles are idle: these keep their clocks, while the loop moves the others.

Over the whole device no state of such a loop recurs, since the busy clocks run away from the idle ones. So trips are
computed with the idle tiles *carried along* at the smallest clock of the busy ones; afterwards they get their clocks
back. No step of the loop reads the clock of an idle tile, so nothing else changes. Where an IPU is wholly idle, the
records of all trips are equal too. An idle tile on a busy IPU (an I/O tile, say) makes the record of every trip
different, because starts are counted from the smallest clock of the IPU; there only time beyond the recording caps is
computed in this way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.runtime.clock.host_queue import Ready, later
from simulator.runtime.clock.segments import Segment, State

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
