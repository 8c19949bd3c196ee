"""Runs that happen once per attachment, not in each step: a framework's weights, seed and rates on their way.

A PyTorch or TensorFlow program sends its weights before its first step and fetches them after its last. In a report of
a few steps these copies would rank first and take most of every share, though a longer run pays for them no more often.
So they are set apart: their cycles are told beside the others, and shares are of the rest.

The report says which programs of the engine they are (meta `oncePerAttachment`); those of a plain Poplar program are
not known, so nothing is set apart. Where nothing else was recorded these runs are all there is, and count as any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import BoolArray

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


def _set_apart(source: ReportSource) -> SetApart:
    runs, steps = source.reader.runs(), source.reader.steps()
    fact = source.reader.meta.get(FACT)
    programs = [index for index in fact if isinstance(index, int)] if isinstance(fact, list) else []
    once = np.isin(np.asarray(runs.program_index, np.int64), np.array(programs, np.int64))
    if once.all():
        once = np.zeros(len(runs.name), np.bool_)
    cycles: dict[str, int] = {}
    for run in np.flatnonzero(once).tolist():
        cycles[runs.name[run]] = cycles.get(runs.name[run], 0) + int(runs.cycles[run])
    of_run = np.asarray(steps.run, np.int64)
    return SetApart(once, once[of_run] if len(once) else np.zeros(len(of_run), np.bool_), cycles)
