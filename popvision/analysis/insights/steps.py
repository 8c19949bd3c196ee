"""The steps of one IPU by program: columns that the rules of cycles share.

Cost: one pass over the columns of steps, and the arrays of distinct steps for the tile that is last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import set_apart
from popvision.analysis.execution.phases import PHASE_INDEX, PHASES
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.analysis.source_code.lines import busiest_ipu, places
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: what shares of cycles are a part of
OF_CYCLES = "of all device cycles"


@dataclass(frozen=True)
class ProgramSteps:
    """One row per program that ran on `ipu`: sums over its steps in all recorded runs but those that are set apart."""

    ipu: int
    apart: str  #: what is set apart, as a sentence
    total: int  #: device cycles of the runs
    program: Int64Array
    type: list[str]
    name: list[str]
    phase: list[str]  #: "" for steps that take no time
    compute_set: Int64Array
    executions: Int64Array
    cycles: Int64Array  #: lengths of the steps
    tile_cycles: Int64Array  #: of all tiles
    slowest: Int64Array  #: sum over the steps of the cycles of the slowest tile
    active: Int64Array  #: tiles that take part in the first of its steps
    first_step: Int64Array
    tiles: int  #: of the IPU

    def of_phase(self, *phases: str) -> Int64Array:
        """Rows whose steps are of these phases."""
        return np.flatnonzero([each in phases for each in self.phase])

    def share(self, cycles: int) -> float:
        """Part of the runs' cycles."""
        return cycles / self.total if self.total else 0.0


def program_steps(source: ReportSource) -> ProgramSteps:
    """The rows. Raises NotRecordedError when no run was recorded."""
    reader = source.reader
    runs, steps, programs = reader.runs(), reader.steps(), reader.programs()
    if not len(steps.type):
        raise NotRecordedError(why_no_run(source))
    ipu = busiest_ipu(source)
    here = reader.steps_on_ipu(ipu)
    apart = set_apart(source)
    counted = np.flatnonzero(~apart.steps)
    program, first, executions = np.unique(steps.program[counted], return_index=True, return_counts=True)
    row, first = np.searchsorted(program, steps.program[counted]), counted[first]

    def summed(values: object) -> Int64Array:
        sums = np.zeros(len(program), np.int64)
        np.add.at(sums, row, np.asarray(values, np.int64)[counted])
        return sums

    phase_of = PHASE_INDEX[steps.type[first]]
    return ProgramSteps(
        ipu,
        apart.sentence,
        int(np.sum(runs.cycles[~apart.runs], dtype=np.int64)),
        program.astype(np.int64),
        [programs.type[p] for p in program.tolist()],
        [programs.name[p] for p in program.tolist()],
        [PHASES[p] if p < len(PHASES) else "" for p in phase_of.tolist()],
        np.asarray(steps.compute_set, np.int64)[first],
        executions.astype(np.int64),
        summed(here.cycles),
        summed(here.tile_cycles),
        summed(here.max_cycles),
        np.asarray(here.active_tiles, np.int64)[first],
        first.astype(np.int64),
        target_of(source).tiles_per_ipu,
    )


def last_tile(source: ReportSource, ipu: int, step: int) -> tuple[int, int]:
    """(tile of the device, cycles) of the slowest tile of a step."""
    columns = source.reader.steps_on_ipu(ipu)
    cycles = np.asarray(source.reader.array(int(columns.cycles_array[step])), np.int64)
    tile = int(cycles.argmax())
    return ipu * target_of(source).tiles_per_ipu + tile, int(cycles[tile])


def line_of_program(source: ReportSource, program: int) -> tuple[str, int]:
    """File and line of the user's source that made a program; "", 0 where unknown."""
    try:
        lines = places(source)
    except NotRecordedError:
        return "", 0
    row = int(lines.program[program]) if program < len(lines.program) else 0
    return lines.file[row], int(lines.line[row])


def line_of_variable(source: ReportSource, variable: int) -> tuple[str, int]:
    """File and line that made a variable; "", 0 where unknown."""
    try:
        lines = places(source)
    except NotRecordedError:
        return "", 0
    row = int(lines.variable[variable]) if variable < len(lines.variable) else 0
    return lines.file[row], int(lines.line[row])
