"""What each Call cost: a step of a function belongs to the call that was being executed.

The report holds the steps of a run in order, and a function's programs once, however many calls run them. The program
tree says in which order a run must come to them, so it is unfolded (a loop's body as often as it turns, a function's
body at each call, the branch that the run chose) and compared with the recorded steps. Where both are equal, each step
has a known chain of calls. Where they are not (branches that data chose, reports of format 1.0), nothing is said:
figures that would need it are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.kept import kept
from popvision.formats.profile.model import PHASE_OF_TYPE

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource
    from popvision.formats.profile.model import Programs

Int64 = npt.NDArray[np.int64]

#: Nesting of programs that is followed; real programs are a few dozen deep.
MOST_DEPTH = 300

#: Programs whose trips or branch depend on data.
_CHOSEN_BY_DATA = ("RepeatWhile", "If", "Switch")


class UnknownCallsError(Exception):
    """The recorded steps do not say which call they belong to: one sentence."""


@dataclass(frozen=True)
class Unfolded:
    """Steps in order: step i runs `program[i]` within the chain of calls `context[i]`. Context 0 is outside all calls;
    context k > 0 is the call `call[k]` made from context `caller[k]` < k."""

    program: Int64
    context: Int64
    caller: list[int]
    call: list[int]


_NOTHING = Unfolded(np.empty(0, np.int64), np.empty(0, np.int64), [0], [-1])


def has_calls(programs: Programs) -> bool:
    """Whether any program is a Call."""
    return "Call" in programs.type


def step_contexts(source: ReportSource, programs: Programs, steps_of: Int64) -> list[Unfolded]:
    """For each recorded run its steps with their chains of calls. Raises UnknownCallsError."""
    name = f"step_contexts:{source.generation}"
    return kept(source, name, lambda: _runs(source, programs, steps_of))


def sums_by_call(unfolded: Unfolded, values: Int64, n: int) -> Int64:
    """`values` (one per step) added up by the calls that were being executed, outer calls included: one sum for each
    of the n programs, 0 for those that are no Call."""
    sums = np.bincount(unfolded.context, weights=values, minlength=len(unfolded.call)).astype(np.int64)
    result = np.zeros(n, np.int64)
    for context in range(len(unfolded.call) - 1, 0, -1):
        sums[unfolded.caller[context]] += sums[context]
        result[unfolded.call[context]] += sums[context]
    return result


def _runs(source: ReportSource, programs: Programs, steps_of: Int64) -> list[Unfolded]:
    if programs.callee is None:
        raise UnknownCallsError(
            "The report does not say which function a Call runs (format 1.0): record it again with this version."
        )
    runs = source.reader.runs()
    longest = int(np.max(runs.n_steps, initial=0))
    known: dict[int, Unfolded] = {}
    found = []
    for run, index in enumerate(np.asarray(runs.program_index).tolist()):
        begin = int(runs.first_step[run])
        recorded = steps_of[begin : begin + int(runs.n_steps[run])]
        if index not in known:
            known[index] = _Unfolding(programs, index, longest).whole()
        expected = known[index]
        if bool(runs.truncated[run]):
            expected = Unfolded(
                expected.program[: len(recorded)], expected.context[: len(recorded)], expected.caller, expected.call
            )
        if not np.array_equal(expected.program, recorded):
            raise UnknownCallsError(f"The steps of run {run} do not follow the program tree as it stands.")
        found.append(expected)
    return found


class _Unfolding:
    """Unfolds the tree of one run; each program once, its parts are shared."""

    def __init__(self, programs: Programs, branch: int, longest: int) -> None:
        self._programs = programs
        self._branch = branch
        self._most = max(longest, 1)
        self._offsets = np.asarray(programs.child_offsets).tolist()
        self._children = np.asarray(programs.children).tolist()
        self._callee = np.asarray(programs.callee).tolist()
        self._repeat = np.asarray(programs.repeat_count).tolist()
        self._parts: dict[int, Unfolded] = {}

    def whole(self) -> Unfolded:
        """The first control program, which chooses the branch, or the one with the run's number."""
        below = set(self._children)
        roots = [row for row, owner in enumerate(self._programs.owner) if owner == "control" and row not in below]
        if not roots:
            raise UnknownCallsError("The report has no control program.")
        return self._part(roots[self._branch if len(roots) > self._branch > 0 else 0], 0)

    def _part(self, program: int, depth: int) -> Unfolded:
        if program not in self._parts:
            if depth > MOST_DEPTH:
                raise UnknownCallsError(f"Programs are nested more than {MOST_DEPTH} deep.")
            self._parts[program] = self._unfold(program, depth)
        return self._parts[program]

    def _unfold(self, program: int, depth: int) -> Unfolded:
        type_ = self._programs.type[program]
        children = self._children[self._offsets[program] : self._offsets[program + 1]]
        if type_ in _CHOSEN_BY_DATA:
            raise UnknownCallsError(f"Program {program} ({type_}) takes its way by data.")
        if type_ == "OnEveryTileSwitch":
            children = children[self._branch : self._branch + 1]
        if type_ == "Call":
            return self._called(program, depth)
        if not children and type_ in PHASE_OF_TYPE:
            return Unfolded(np.array([program]), np.zeros(1, np.int64), [0], [-1])
        body = self._joined([self._part(child, depth + 1) for child in children])
        return self._repeated(body, self._repeat[program]) if type_ == "Repeat" else body

    def _called(self, program: int, depth: int) -> Unfolded:
        callee = self._callee[program]
        if callee < 0:
            raise UnknownCallsError(f"The report does not say which function Call {program} runs.")
        body = self._part(callee, depth + 1)
        caller = [0, 0, *(context + 1 for context in body.caller[1:])]
        return Unfolded(body.program, body.context + 1, caller, [-1, program, *body.call[1:]])

    def _joined(self, parts: list[Unfolded]) -> Unfolded:
        """Parts one after the other; their contexts are numbered on."""
        if len(parts) < 2:
            return parts[0] if parts else _NOTHING
        caller, call, contexts = [0], [-1], []
        for part in parts:
            shift = len(call) - 1
            contexts.append(np.where(part.context > 0, part.context + shift, 0))
            caller += [context + shift if context else 0 for context in part.caller[1:]]
            call += part.call[1:]
            self._check(len(call))
        program = np.concatenate([part.program for part in parts])
        self._check(len(program))
        return Unfolded(program, np.concatenate(contexts), caller, call)

    def _repeated(self, body: Unfolded, count: int) -> Unfolded:
        if not len(body.program) or count <= 0:
            return _NOTHING
        if count > 2 * self._most:  # of a truncated run only the first steps matter
            count = 2 * self._most
        self._check(len(body.program) * count // 4)
        return Unfolded(np.tile(body.program, count), np.tile(body.context, count), body.caller, body.call)

    def _check(self, length: int) -> None:
        if length > 8 * self._most + 100_000:
            raise UnknownCallsError("The program tree unfolds into far more steps than were recorded.")
