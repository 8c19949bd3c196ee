"""Cycles of each program's own steps: the part of figures.py that needs no tree, so that it is fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import counted
from popvision.analysis.execution.phases import PHASE_INDEX, PHASES
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class OwnCycles:
    """By program id, as far as the last program that ran. `cycles`: lengths of its steps over all recorded runs, on the
    IPU where they are most, without those set apart (once.py); steps of types that take no time (model.PHASE_OF_TYPE)
    are not counted."""

    cycles: Int64Array
    executions: Int64Array

    def upto(self, programs: int) -> OwnCycles:
        """The columns filled with zeros to a number of programs."""
        missing = max(0, programs - len(self.cycles))
        return OwnCycles(*(np.pad(column[:programs], (0, missing)) for column in (self.cycles, self.executions)))


def own_cycles(source: ReportSource) -> OwnCycles:
    """Empty columns when no run was recorded. Raises FormatError when the report is damaged."""

    def read() -> OwnCycles:
        reader = source.reader
        steps = reader.steps()
        timed = PHASE_INDEX[steps.type] < len(PHASES)
        program = np.asarray(steps.program, np.int64)[timed]
        count = int(program.max(initial=-1)) + 1
        most = np.zeros(count, np.int64)
        for ipu in range(target_of(source).num_ipus):
            on_ipu = np.zeros(count, np.int64)
            np.add.at(on_ipu, program, counted(source).cycles(ipu)[timed])
            most = np.maximum(most, on_ipu)
        return OwnCycles(most, np.bincount(program, minlength=count).astype(np.int64))

    return source.kept.recent(("own_cycles", source.generation), read)
