"""Runs of a generated report: every tile has its own clock, and waiting belongs to the Sync that ends it.

Durations are log-normal. A Sync (or the wait of a stream copy) takes a tile from its own clock to the latest one,
plus a random hand-shake, so that no two arrays are equal. With repetition, one trip is generated and every further
trip repeats its arrays; the trip ends in the state in which it began.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.arrays import IntegerArray
from popvision.formats.profile.arrays import narrowest
from popvision.formats.profile.model import RunRecord, StepOnIpu

_MEDIAN = {"compute": 900.0, "exchange": 260.0, "host": 1_500.0}
_SIGMA = 0.45
_HANDSHAKE = 64


@dataclass(frozen=True)
class Plan:
    """The steps of one run: `program[step]`, its kind, and how often the steps after `prelude` repeat exactly."""

    program: IntegerArray
    kind: list[str]  #: "compute", "exchange", "host" or "sync", of each step
    prelude: int
    copies: int  #: 1 = every step is new


class Clocks:
    """Tile clocks of all IPUs, (ipus, tiles), and the steps generated so far."""

    def __init__(self, ipus: int, tiles: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self.now = np.zeros((ipus, tiles), dtype=np.int64)
        self.patterns: list[StepOnIpu] = []
        self.base: list[IntegerArray] = []
        #: state at the end of each repeated trip
        self.aligned = 1 + rng.integers(0, _HANDSHAKE, (ipus, tiles))

    def step(self, kind: str, last_of_trip: bool) -> None:
        """All tiles take part in a step of this kind."""
        if kind == "sync":
            latest = self.now.max()
            wait = self.aligned if last_of_trip else 1 + self._rng.integers(0, _HANDSHAKE, self.now.shape)
            self._add(latest - self.now + wait)
            return
        noise = self._rng.standard_normal(self.now.shape, dtype=np.float32)
        noise *= _SIGMA
        np.exp(noise, out=noise)
        self._add((noise * _MEDIAN[kind]).astype(np.int64) + 1)

    def _add(self, cycles: IntegerArray) -> None:
        base = self.now.min(axis=1)
        start = self.now - base[:, None]
        for ipu in range(len(base)):
            self.patterns.append(StepOnIpu(_narrow(start[ipu]), _narrow(cycles[ipu])))
        self.base.append(base)
        self.now = self.now + cycles


def make_run(
    plan: Plan,
    number: int,
    began: int,
    shape: tuple[int, int],
    rng: np.random.Generator,
    moved: tuple[IntegerArray, IntegerArray],
) -> RunRecord:
    """One run that starts at `began` cycles on `shape` = (IPUs, tiles per IPU); `moved` = bytes in and out of one
    execution, programs x IPUs."""
    ipus, tiles = shape
    clocks = Clocks(ipus, tiles, rng)
    once = plan.prelude + (len(plan.program) - plan.prelude) // plan.copies
    for step in range(once):
        clocks.step(plan.kind[step], last_of_trip=plan.copies > 1 and step in (plan.prelude - 1, once - 1))
    base, pattern = _repeated(np.stack(clocks.base), plan, clocks, once, ipus)
    shift = base[-1] - np.stack(clocks.base)[-1]
    ends = clocks.now + shift[:, None]
    cycles = int(ends.max()) + 20
    data_in, data_out = (np.asarray(each, np.int64)[plan.program] for each in moved)
    return RunRecord(
        program_index=0,
        name="run",
        host_start_us=1_700_000_000_000_000 + number * 100_000,
        host_end_us=1_700_000_000_000_000 + number * 100_000 + 90_000,
        cycles=cycles,
        program=plan.program,
        base=base + began,
        pattern=pattern,
        patterns=clocks.patterns,
        tail=[cycles - ends[ipu] for ipu in range(ipus)],
        data_in=data_in,
        data_out=data_out,
    )


def _repeated(
    base: IntegerArray, plan: Plan, clocks: Clocks, once: int, ipus: int
) -> tuple[IntegerArray, IntegerArray]:
    """base and pattern of all steps: the trip's, moved on by its length for each copy."""
    pattern = np.arange(once * ipus).reshape(once, ipus)
    first, trip = np.arange(plan.prelude), np.arange(plan.prelude, once)
    rows = np.concatenate([first, np.tile(trip, plan.copies)])
    length = clocks.now.min(axis=1) - base[plan.prelude]
    moved = np.concatenate([np.zeros(len(first), np.int64), np.repeat(np.arange(plan.copies), len(trip))])
    return base[rows] + moved[:, None] * length, pattern[rows]


def _narrow(values: IntegerArray) -> IntegerArray:
    return values.astype(narrowest(0, int(values.max())))
