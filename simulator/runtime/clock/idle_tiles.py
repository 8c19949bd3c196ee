"""Loops that leave some tiles alone: those keep their clocks, while the loop moves the others.

Seen over the whole device no state of such a loop comes back, since one part runs away from the other. So trips are
counted with the idle tiles *carried along*, at the smallest clock of the busy ones; afterwards they get their own clock
back. No step of the loop looks at the clock of an idle tile, so nothing else changes. Where all of an IPU is idle,
records of the trips are alike too; an idle tile on a busy IPU (an I/O tile, say) makes every trip's record another one,
because starts are counted from the smallest clock of the IPU, so there only time beyond the caps is found this way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.runtime.clock.segments import Segment, State

StateOf = Callable[[Int64Array, Int64Array | None], State]


def carried(trip: Segment, idle: BoolArray, state_of: StateOf) -> Segment:
    """A trip after which the idle tiles (flags) stand at the smallest clock of the others."""
    clocks = trip.state.offsets + trip.elapsed
    elapsed = int(clocks[~idle].min())
    return replace(trip, state=state_of(np.where(idle, 0, clocks - elapsed), trip.state.owed), elapsed=elapsed)


def put_back(
    loop: Segment, before: State, low: int, idle: BoolArray, own: dict[int, int], state_of: StateOf
) -> Segment:
    """The loop as seen from the state `before` it, in which the busy tiles began at `low`. `own`: for each idle IPU the
    pattern of its tiles as they stand."""
    clocks = np.where(idle, before.offsets, loop.state.offsets + loop.elapsed + low)
    base, pattern = loop.base + low, loop.pattern.copy()
    tiles = len(clocks) // base.shape[1]
    for ipu, row in own.items():
        base[:, ipu] = before.ends[ipu * tiles : (ipu + 1) * tiles].min()
        pattern[:, ipu] = row
    elapsed = int(clocks.min())
    state = state_of(clocks - elapsed, owed_by(idle, before.owed, loop.state.owed))
    return replace(loop, base=base, pattern=pattern, state=state, elapsed=elapsed, marks=loop.marks.later(low))


def owed_by(idle: BoolArray, before: Int64Array | None, after: Int64Array | None) -> Int64Array | None:
    """Cycles owed to the next step: idle tiles those of `before`, the others those of `after`."""
    if before is None and after is None:
        return None
    first, then = (np.zeros(len(idle), np.int64) if each is None else each for each in (before, after))
    return np.where(idle, first, then)
