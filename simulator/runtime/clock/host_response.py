"""The longest time that the device lets the host wait in a run, in modelled cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.compiler.ir.program_table import ProgramTable
from simulator.runtime.clock.segments import RunTime


@dataclass(frozen=True)
class Late:
    """The first late synchronisation with the host: the `nth` of a lowered program."""

    row: int
    nth: int
    since: int  #: cycle of the synchronisation before


class HostResponse:
    """Times between synchronisations with the host, computed once per modelled run."""

    def __init__(self, table: ProgramTable) -> None:
        self._with_host = np.array([name.startswith("StreamCopy") for name in table.type], np.bool_)
        self._known: dict[int, tuple[RunTime, int]] = {}

    def longest_silence(self, run: RunTime) -> int:
        """The longest time between two synchronisations, in cycles; of a truncated run, within its recorded part."""
        known = self._known.get(id(run))
        if known is None or known[0] is not run:
            known = run, self._longest_silence(run)
            if run.repeatable:
                self._known[id(run)] = known
        return known[1]

    def first_late(self, run: RunTime, limit: float) -> Late | None:
        """The first synchronisation later than `limit` cycles after the one before; None where all are in time."""
        if self.longest_silence(run) <= limit:
            return None
        rows = run.segment.program[self._with_host[run.segment.program]]
        begins = run.segment.base.min(axis=1)[self._with_host[run.segment.program]]
        late = np.flatnonzero(np.diff(begins) > limit)
        if not len(late):
            return None  # only the end of the run is late
        at = int(late[0]) + 1
        return Late(int(rows[at]), int(np.count_nonzero(rows[: at + 1] == rows[at])), int(begins[at - 1]))

    def _longest_silence(self, run: RunTime) -> int:
        begins = run.segment.base.min(axis=1)
        synchronisations = begins[self._with_host[run.segment.program]]
        if not len(synchronisations):
            return run.cycles
        end = int(begins[-1]) if run.segment.truncated else run.cycles
        return int(np.diff(np.append(synchronisations, end)).max())
