"""Cycles of each Call: a recorded step of a function belongs to the call that was running.

The report has the steps of a run in order, and a function's programs once, however many calls run them. The program
tree gives the order in which a run must come to them, so this module unfolds it (a loop's body for each trip, a
function's body at each call, the branch that the run chose) and compares it with the recorded steps. Where both are
equal, each step has a known chain of calls. Where data chose a branch, the recorded steps and the branch record of the
run determine it (`branch_reconstruction`). Where neither fits (reports of format 1.0, two calls of one function that
could both come next), figures by call are unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.branch_reconstruction import BranchReconstruction
from popvision.analysis.programs.unfolding import CHOSEN_BY_DATA, Unfolded, Unfolding, UnknownCallsError
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Programs


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
