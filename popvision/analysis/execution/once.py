"""Runs that happen once per attachment, not in each step: a framework's weights, seed and rates on their way.

A PyTorch or TensorFlow program sends its weights before its first step and fetches them after its last. In a report of
a few steps these copies would rank first and take most of every share, though a longer run pays for them no more often.
So they are set apart: their cycles are told beside the others, and shares are of the rest.

The report says which programs of the engine they are (meta `oncePerAttachment`); those of a plain Poplar program are
not known, so nothing is set apart. Where nothing else was recorded these runs are all there is, and count as any.

A figure of all runs takes its cycles from `counted`, not from the report's reader: tests/structure holds the modules of
analysis to it, but for those that show when something happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: key of the fact in the report's meta: indices of programs of the engine
FACT = "oncePerAttachment"


@dataclass(frozen=True)
class SetApart:
    """What shares leave out. `cycles` are device cycles of the runs that are set apart, by name of the run in the order
    of their first one."""

    runs: BoolArray  #: by run
    steps: BoolArray  #: by execution step
    cycles: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.cycles.values())

    @property
    def sentence(self) -> str:
        """The runs with their cycles, "" where none is set apart."""
        parts = ", ".join(f"{name or 'unnamed run'} {cycles:,} cycles" for name, cycles in self.cycles.items())
        return f"Once per attachment, not in shares: {parts}." if parts else ""


def set_apart(source: ReportSource) -> SetApart:
    """The runs and steps that are set apart. Raises FormatError where runs or steps are damaged."""
    return source.kept.recent(("set apart", source.generation), lambda: _set_apart(source))


@dataclass(frozen=True)
class Counted:
    """What figures of all runs count."""

    source: ReportSource
    apart: SetApart

    @property
    def runs(self) -> int:
        return int(np.count_nonzero(~self.apart.runs))

    @property
    def steps(self) -> int:
        return int(np.count_nonzero(~self.apart.steps))

    @property
    def total_cycles(self) -> int:
        """Device cycles of the runs: what is 100 % of a share."""
        return self.source.reader.total_cycles() - self.apart.total

    def cycles(self, ipu: int) -> Int64Array:
        """By execution step its length on an IPU, 0 for a step that is set apart."""
        return np.where(self.apart.steps, 0, np.asarray(self.source.reader.steps_on_ipu(ipu).cycles, np.int64))

    def cycles_apart(self, ipu: int) -> Int64Array:
        """By execution step its length on an IPU, 0 for a step that is not set apart."""
        return np.where(self.apart.steps, np.asarray(self.source.reader.steps_on_ipu(ipu).cycles, np.int64), 0)


def counted(source: ReportSource) -> Counted:
    """The steps' cycles without those of runs that are set apart. Raises as `set_apart`."""
    return Counted(source, set_apart(source))


def _set_apart(source: ReportSource) -> SetApart:
    runs, steps = source.reader.runs(), source.reader.steps()
    fact = source.reader.meta.get(FACT)
    programs = [index for index in fact if isinstance(index, int)] if isinstance(fact, list) else []
    once = np.isin(np.asarray(runs.program_index, np.int64), np.array(programs, np.int64))
    if not once.any() or once.all():
        return SetApart(np.zeros(len(runs.name), np.bool_), np.zeros(len(steps.program), np.bool_), {})
    cycles: dict[str, int] = {}
    for run in np.flatnonzero(once).tolist():
        cycles[runs.name[run]] = cycles.get(runs.name[run], 0) + int(runs.cycles[run])
    return SetApart(once, once[np.asarray(steps.run, np.int64)], cycles)
