"""The program tree of one run unfolded to its sequence of steps, each with its chain of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE

if TYPE_CHECKING:
    from popvision.formats.profile.model import Programs


#: Nesting of programs that is followed; real programs are a few dozen deep.
MOST_DEPTH = 300

#: Programs whose trips or branch depend on data.
CHOSEN_BY_DATA = ("RepeatWhile", "If", "Switch")


class UnknownCallsError(Exception):
    """The recorded steps do not say which call they belong to: one sentence."""


@dataclass(frozen=True)
class Unfolded:
    """Steps in order: step i runs `program[i]` within the chain of calls `context[i]`. Context 0 is outside all calls;
    context k > 0 is the call `call[k]` from context `caller[k]` < k."""

    program: Int64Array
    context: Int64Array
    caller: list[int]
    call: list[int]


_NOTHING = Unfolded(np.empty(0, np.int64), np.empty(0, np.int64), [0], [-1])


class Unfolding:
    """Unfolds the tree of one run; each program once, its parts are shared."""

    def __init__(self, programs: Programs, branch: int, longest: int) -> None:
        self.programs = programs
        self._branch = branch
        self._most = max(longest, 1)
        self._offsets: list[int] = np.asarray(programs.child_offsets).tolist()
        self._children: list[int] = np.asarray(programs.children).tolist()
        self._callee: list[int] = np.asarray(programs.callee).tolist()
        self._repeat: list[int] = np.asarray(programs.repeat_count).tolist()
        self._parts: dict[int, Unfolded] = {}

    def complete(self) -> Unfolded:
        """All of the run. Raises UnknownCallsError where data choose its way."""
        return self.part(self.root(), 0)

    def root(self) -> int:
        """The first control program, which chooses the branch, or the one with the run's number."""
        below = set(self._children)
        roots = [row for row, owner in enumerate(self.programs.owner) if owner == "control" and row not in below]
        if not roots:
            raise UnknownCallsError("The report has no control program.")
        return roots[self._branch if len(roots) > self._branch > 0 else 0]

    def below(self, program: int) -> list[int]:
        """What a program holds, or calls, in order; of the switch that chooses the run's program that one."""
        if self.programs.type[program] == "Call":
            callee = self._callee[program]
            if callee < 0:
                raise UnknownCallsError(f"The report does not say which function Call {program} runs.")
            return [callee]
        children = self._children[self._offsets[program] : self._offsets[program + 1]]
        if self.programs.type[program] == "OnEveryTileSwitch":
            children = children[self._branch : self._branch + 1]
        return children

    def trips(self, program: int) -> int:
        """How often a Repeat turns."""
        return self._repeat[program]

    def part(self, program: int, depth: int = 0) -> Unfolded:
        """A program. Raises UnknownCallsError where data choose its way."""
        if program not in self._parts:
            if depth > MOST_DEPTH:
                raise UnknownCallsError(f"Programs are nested more than {MOST_DEPTH} deep.")
            self._parts[program] = self._unfold(program, depth)
        return self._parts[program]

    def _unfold(self, program: int, depth: int) -> Unfolded:
        type_ = self.programs.type[program]
        if type_ in CHOSEN_BY_DATA:
            raise UnknownCallsError(f"Program {program} ({type_}) takes its way by data.")
        children = self.below(program)
        if type_ == "Call":
            return self._unfold_call(program, children[0], depth)
        if not children and type_ in PHASE_OF_TYPE:
            return Unfolded(np.array([program]), np.zeros(1, np.int64), [0], [-1])
        body = self._join([self.part(child, depth + 1) for child in children])
        return self._repeated(body, self._repeat[program]) if type_ == "Repeat" else body

    def _unfold_call(self, program: int, callee: int, depth: int) -> Unfolded:
        body = self.part(callee, depth + 1)
        caller = [0, 0, *(context + 1 for context in body.caller[1:])]
        return Unfolded(body.program, body.context + 1, caller, [-1, program, *body.call[1:]])

    def _join(self, parts: list[Unfolded]) -> Unfolded:
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
