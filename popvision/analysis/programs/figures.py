"""Cycles, bytes and executions of each lowered program over all recorded runs; the cycles of each Call.

Cycles of a program on an IPU are the lengths of its execution steps there (allCycles, which add up to the total), over
all recorded runs but those that happen once per attachment (once.py), whose cycles stand in a column of their own.
*Self* counts a program's own steps; *total* adds those of everything below it and of every function called there, each
step once, at the call that was running (`sums_by_call`). So the control programs add up to the device's total, and the
total of a function is the sum over all its calls. Over several IPUs a figure is the largest of the IPUs; bytes are
those of all IPUs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import counted
from popvision.analysis.programs.branch_reconstruction import BranchReconstruction
from popvision.analysis.programs.entries import entries
from popvision.analysis.programs.program_tree import roots, tree_rows
from popvision.analysis.programs.unfolding import CHOSEN_BY_DATA, Unfolded, Unfolding, UnknownCallsError
from popvision.analysis.report.columns import programs_of
from popvision.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Programs

# Cycles of each Call: a recorded step of a function belongs to the call that was running.
#
# The report has the steps of a run in order, and a function's programs once, however many calls run them. The program
# tree gives the order in which a run must come to them, so `Unfolding` unfolds it (a loop's body for each trip, a
# function's body at each call, the branch that the run chose) and compares it with the recorded steps. Where both are
# equal, each step has a known chain of calls. Where data chose a branch, the recorded steps and the branch record of
# the run determine it (`branch_reconstruction`). Where neither fits (reports of format 1.0, two calls of one function
# that could both come next), figures by call are unknown.


def has_calls(programs: Programs) -> bool:
    """Whether any program is a Call."""
    return "Call" in programs.type


def step_contexts(source: ReportSource, programs: Programs, steps_of: Int64Array) -> list[Unfolded]:
    """For each recorded run its steps with their chains of calls. Raises UnknownCallsError."""
    return source.kept.recent(("step_contexts", source.generation), lambda: _runs(source, programs, steps_of))


def sums_by_call(unfolded: Unfolded, values: Int64Array, n: int) -> Int64Array:
    """`values` (one per step) added up by the running calls, outer calls included: one sum for each
    of the n programs, 0 for those that are no Call."""
    sums = np.bincount(unfolded.context, weights=values, minlength=len(unfolded.call)).astype(np.int64)
    result = np.zeros(n, np.int64)
    for context in range(len(unfolded.call) - 1, 0, -1):
        sums[unfolded.caller[context]] += sums[context]
        result[unfolded.call[context]] += sums[context]
    return result


def _runs(source: ReportSource, programs: Programs, steps_of: Int64Array) -> list[Unfolded]:
    if programs.callee is None:
        raise UnknownCallsError(
            "The report does not say which function a Call runs (format 1.0): record it again with this version."
        )
    runs = source.reader.runs()
    longest = int(np.max(runs.n_steps, initial=0))
    known: dict[int, Unfolded] = {}
    by_data = any(type_ in CHOSEN_BY_DATA for type_ in programs.type)
    contexts = []
    for run, index in enumerate(np.asarray(runs.program_index).tolist()):
        begin = int(runs.first_step[run])
        recorded = steps_of[begin : begin + int(runs.n_steps[run])]
        unfolding = Unfolding(programs, index, longest)
        if by_data:
            record, cut = source.reader.branch_record(run), bool(runs.truncated[run])
            contexts.append(BranchReconstruction(unfolding, recorded, record, truncated=cut).reconstruct())
            continue
        if index not in known:
            known[index] = unfolding.complete()
        expected = known[index]
        if bool(runs.truncated[run]):
            expected = Unfolded(
                expected.program[: len(recorded)], expected.context[: len(recorded)], expected.caller, expected.call
            )
        if not np.array_equal(expected.program, recorded):
            raise UnknownCallsError(f"The steps of run {run} do not follow the program tree as it stands.")
        contexts.append(expected)
    return contexts


#: A figure that the report does not hold.
UNKNOWN = -1


@dataclass(frozen=True)
class ProgramFigures:
    """Figures by program; UNKNOWN (-1) where the report cannot say. Bytes are those that steps moved, all runs."""

    executions: Int64Array  #: execution steps of the program itself, 0 for programs that never ran or take no time
    entered: Int64Array  #: entries over all recorded runs
    self_cycles: Int64Array
    total_cycles: Int64Array
    apart_cycles: Int64Array  #: of its own steps in runs that happen once per attachment
    bytes_received: Int64Array  #: by its own steps
    bytes_sent: Int64Array
    total_received: Int64Array  #: with everything below and called
    total_sent: Int64Array
    calls_unknown: str  #: why totals of programs that call functions are unknown, "" where they are known


def figures(source: ReportSource, ipu: int | None = None) -> ProgramFigures:
    """Figures by program on one IPU, or over all IPUs."""
    return source.kept.recent(("program_figures", source.generation, ipu), lambda: _figures(source, ipu))


def _figures(source: ReportSource, ipu: int | None) -> ProgramFigures:
    reader = source.reader
    programs = programs_of(source)
    n = len(programs.type)
    ipus = range(reader.target().num_ipus) if ipu is None else [ipu]
    steps_of = np.asarray(reader.steps().program, np.int64)
    totals = _Totals(source, steps_of, n)
    self_cycles, total_cycles, apart = (np.zeros(n, np.int64) for _ in range(3))
    moved = np.zeros((4, n), np.int64)  # bytes_received, bytes_sent; total_received, total_sent
    for each in ipus:
        steps = reader.steps_on_ipu(each)
        cycles = counted(source).cycles(each)
        on_ipu = _sum_by_program(steps_of, cycles, n)
        self_cycles = np.maximum(self_cycles, on_ipu)
        total_cycles = np.maximum(total_cycles, totals.of(on_ipu, cycles))
        apart = np.maximum(apart, _sum_by_program(steps_of, counted(source).cycles_apart(each), n))
        for row, values in enumerate((steps.data_in, steps.data_out)):
            bytes_ = np.asarray(values, np.int64)
            by_program = _sum_by_program(steps_of, bytes_, n)
            moved[row] += by_program
            moved[2 + row] += totals.of(by_program, bytes_)
    total_cycles[totals.unknown] = UNKNOWN
    moved[2:, totals.unknown] = UNKNOWN
    executions = np.bincount(steps_of, minlength=n).astype(np.int64)
    entered = entries(source, executions)
    bytes_moved = moved[0], moved[1], moved[2], moved[3]
    return ProgramFigures(executions, entered, self_cycles, total_cycles, apart, *bytes_moved, totals.problem)


def _sum_by_program(program: Int64Array, values: Int64Array, n: int) -> Int64Array:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, program, values)
    return sums


class _Totals:
    """Adds up trees, with what each Call took at the place of the Call. `unknown`: programs whose total would need the
    steps of a call that are not known."""

    def __init__(self, source: ReportSource, steps_of: Int64Array, n: int) -> None:
        programs = programs_of(source)
        self._trees = [tree_rows(source, root.program) for root in roots(source)]
        self._runs = source.reader.runs() if has_calls(programs) else None
        self.problem = ""
        self.unknown: BoolArray = np.zeros(n, bool)
        if self._runs is not None:
            try:
                self._contexts = step_contexts(source, programs, steps_of)
            except UnknownCallsError as problem:
                self.problem = str(problem)
                self._runs = None
                calls = np.array([type_ == "Call" for type_ in programs.type], np.int64)
                self.unknown = self._below(calls) > 0

    def of(self, own: Int64Array, of_steps: Int64Array) -> Int64Array:
        """Totals by program of `own` figures by program, which are those of the steps `of_steps`."""
        added = own.copy()
        if self._runs is not None:
            for run, unfolded in enumerate(self._contexts):
                begin = int(self._runs.first_step[run])
                values = of_steps[begin : begin + int(self._runs.n_steps[run])]
                added += sums_by_call(unfolded, values, len(own))
        return self._below(added)

    def _below(self, own: Int64Array) -> Int64Array:
        """Each program's own figure plus those of all rows below, by the difference of running sums over each tree."""
        totals = own.copy()
        for rows in self._trees:
            running = np.concatenate([[0], np.cumsum(own[rows.program])])
            at = np.arange(len(rows.program))
            totals[rows.program] = running[at + rows.size] - running[at]
        return totals
