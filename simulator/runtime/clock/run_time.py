"""A whole run in modelled time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from popvision.formats.profile.model import StepOnIpu
from simulator.arrays import Int64Array
from simulator.compiler.machine import Machine
from simulator.runtime.clock.segments import Segment


@dataclass(frozen=True)
class RunTime:
    """A whole run, from clocks that agree."""

    segment: Segment
    cycles: int  #: until the last tile is done
    tail: list[Int64Array]  #: per IPU: cycles per tile between its last recorded step and the end of the run
    repeatable: bool = True  #: False when waits were measured, so that no further run is like it


def finished(segment: Segment, patterns: Sequence[StepOnIpu], machine: Machine, *, repeatable: bool) -> RunTime:
    """The run that a segment from clocks that agree is."""
    cycles = segment.elapsed + int(segment.state.offsets.max())
    tail = []
    for ipu in range(machine.device_ipus):
        last = patterns[int(segment.pattern[-1, ipu])]
        end = segment.base[-1, ipu] + last.start.astype(np.int64) + last.cycles
        tail.append(cycles - end)
    return RunTime(segment, cycles, tail, repeatable)
