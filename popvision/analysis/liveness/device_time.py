"""Liveness of a run over device time: a merge of its execution steps with the liveness indices of their programs.

The report knows live bytes per liveness index (a place in the static order of the program) and times per execution
step. A step stands for the index of its program. Where a program has several indices (a function with several calls),
the step takes the next one after the index of the step before it, or the first of them if none follows, as after the
last step of a loop body. Every execution is shown, with its own length. A program without an index (an internal sync)
allocates nothing: it carries the level of the step before. One binary search per step.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.timeline import timeline
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.report.columns import liveness
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class TimedSteps:
    """Execution steps of a run on an IPU, in order: step `step[i]` takes the cycles [begin[i], end[i]) and stands for
    liveness index `index[i]`, -1 where its program has none. Times are absolute device cycles."""

    run: int
    ipu: int
    step: Int64Array
    begin: Int64Array
    end: Int64Array
    index: Int64Array

    def carried(self) -> Int64Array:
        """`index` with each -1 replaced by the index of the step before it; -1 only before the first known one."""
        last = np.maximum.accumulate(np.where(self.index >= 0, np.arange(len(self.index)), -1))
        return np.where(last >= 0, self.index[np.maximum(last, 0)], -1)


def timed_steps(source: ReportSource, run: int, ipu: int) -> TimedSteps:
    """The steps of a run. Raises NotRecordedError when no run or no liveness is recorded, ValueError when the run or
    the IPU does not exist."""
    count = len(source.reader.runs().name)
    if not count:
        raise NotRecordedError(why_no_run(source))
    if not 0 <= run < count:
        raise ValueError(f"run {run} does not exist: this report has runs 0 to {count - 1}")
    steps = timeline(source, ipu)
    of_run = np.flatnonzero(steps.run == run)
    program = np.asarray(steps.program[of_run], dtype=np.int64)
    index = indices_of_steps(np.asarray(liveness(source).program, dtype=np.int64), program)
    return TimedSteps(run, ipu, of_run, steps.begin[of_run], steps.end[of_run], index)


def indices_of_steps(order: Int64Array, program: Int64Array) -> Int64Array:
    """The liveness index that each of a sequence of executed programs stands for; `order` is the program of each
    index."""
    places: dict[int, list[int]] = {}
    for index, each in enumerate(order.tolist()):
        places.setdefault(each, []).append(index)
    indices, before = np.full(len(program), -1, dtype=np.int64), -1
    for row, each in enumerate(program.tolist()):
        call_sites = places.get(each)
        if call_sites is not None:
            at = bisect_right(call_sites, before) if len(call_sites) > 1 else 0
            before = call_sites[at] if at < len(call_sites) else call_sites[0]
            indices[row] = before
    return indices
