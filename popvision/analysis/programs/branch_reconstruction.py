"""Reconstruct the branches that data chose in a run, and so the chain of calls of each recorded step.

Parses the recorded steps along the program tree with one step of lookahead. Where an If, Switch or while loop decided
the same way each time, the run's branch record says so; any other decision follows from the next recorded step, which
is the first step of one branch. Branches whose first steps run within the same chain of calls need not be told apart.
Where the step could run within two chains, the run is refused with UnknownCallsError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.programs.unfolding import CHOSEN_BY_DATA, MOST_DEPTH, Unfolded, Unfolding, UnknownCallsError
from popvision.arrays import Int64Array
from popvision.formats.profile.model import PHASE_OF_TYPE

if TYPE_CHECKING:
    from popvision.formats.profile.model import BranchRecord

#: Steps that may come next, each with the chains of calls it may run in; and whether it may be none of them.
First = tuple[dict[int, set[int]], bool]
Follow = Callable[[], dict[int, set[int]]]


class _RecordEndsError(Exception):
    """The recorded steps are used up."""


class BranchReconstruction:
    """Parses one run. `record`: its branch record, empty without one; `truncated`: the last steps are missing."""

    def __init__(self, unfolding: Unfolding, recorded: Int64Array, record: BranchRecord, *, truncated: bool) -> None:
        self._tree, self._recorded, self._truncated = unfolding, recorded, truncated
        self._types = unfolding.programs.type
        columns = (np.asarray(c).tolist() for c in (record.program, record.entered, record.trips))
        self._counts = {row: (entered, trips) for row, entered, trips in zip(*columns, strict=True)}
        self._at = 0
        self._contexts: list[Int64Array] = []
        self._caller, self._call = [0], [-1]
        self._inner: dict[tuple[int, int], int] = {}  #: (context, Call) -> context within it
        self._holds_branch: dict[int, bool] = {}
        self._known_first: dict[tuple[int, int], First] = {}

    def reconstruct(self) -> Unfolded:
        """The run's steps with their calls. Raises UnknownCallsError."""
        try:
            self._walk(self._tree.root(), 0, dict)
        except _RecordEndsError:
            if not self._truncated:
                raise UnknownCallsError("The run ends before its programs do.") from None
        if self._at < len(self._recorded):
            raise UnknownCallsError(f"Step {self._at} of the run does not follow the program tree as it stands.")
        contexts = np.concatenate([np.empty(0, np.int64), *self._contexts])
        return Unfolded(self._recorded, contexts, self._caller, self._call)

    def _walk(self, program: int, context: int, follow: Follow) -> None:
        """Go through a program within a chain of calls; `follow`: what may come behind it."""
        if not self._has_branch_below(program):
            self._take(program, context)
            return
        type_, below = self._types[program], self._tree.below(program)
        if type_ == "Call":
            self._walk(below[0], self._within(context, program), follow)
        elif type_ in ("If", "Switch"):
            taken = self._branch(program, below, context, follow)
            self._in_order(below[taken : taken + 1], context, follow)
        elif type_ == "RepeatWhile":
            self._loop(program, below, context, follow)
        elif type_ == "Repeat":
            trips = self._tree.trips(program)
            again = self._behind(below, context, follow)
            for trip in range(trips):
                self._in_order(below, context, again if trip < trips - 1 else follow)
        else:
            self._in_order(below, context, follow)

    def _loop(self, program: int, below: list[int], context: int, follow: Follow) -> None:
        """The last program below is the body, those before it look whether it runs."""
        *tests, body = below
        again = self._behind([body, *tests], context, follow)
        self._in_order(tests, context, again)
        entered, trips = self._counts.get(program, (0, 0))
        known = trips if entered == 1 else None
        done = 0
        while done < known if known is not None else self._fits([body], context, follow):
            before = self._at
            self._in_order([body, *tests], context, again)
            done += 1
            if self._at == before and known is None:
                return

    def _branch(self, program: int, below: list[int], context: int, follow: Follow) -> int:
        """Which branch was taken; beyond the last one for none."""
        entered = self._counts.get(program, (0, 0))[0]
        always = [i for i, row in enumerate(below) if entered and self._counts.get(row, (0, 0))[0] == entered]
        if always:
            return always[0]
        fits = [i for i, row in enumerate(below) if self._fits([row], context, follow)]
        if not fits:
            empty = [i for i, row in enumerate(below) if self._first(row, context)[1]]
            return empty[0] if empty else len(below)
        chains = set().union(*(self._first(below[i], context)[0][self._next()] for i in fits))
        if len(chains) > 1:
            raise UnknownCallsError(
                f"Program {program} ({self._types[program]}) chose between calls that begin with the same step."
            )
        return fits[0]

    def _fits(self, rows: Sequence[int], context: int, follow: Follow) -> bool:
        """Whether the next step is the first one of programs. Raises UnknownCallsError where it could as well be that
        of what follows, within other calls."""
        if self._at >= len(self._recorded):
            return False
        step = self._next()
        recorded_count = self._first_of_all(rows, context)[0].get(step)
        if recorded_count is None:
            return False
        if not recorded_count >= follow().get(step, recorded_count):
            raise UnknownCallsError(f"Step {self._at} of the run could belong to two calls.")
        return True

    def _in_order(self, rows: Sequence[int], context: int, follow: Follow) -> None:
        for i, row in enumerate(rows):
            self._walk(row, context, self._behind(rows[i + 1 :], context, follow))

    def _behind(self, rows: Sequence[int], context: int, follow: Follow) -> Follow:
        """What may come next where these programs do, and then what follows."""

        def first() -> dict[int, set[int]]:
            steps, nothing = self._first_of_all(rows, context)
            return _join(steps, follow()) if nothing else steps

        return first

    def _take(self, program: int, context: int) -> None:
        """Use up the steps of a program in which data choose nothing."""
        part = self._tree.part(program)
        next_steps = self._recorded[self._at : self._at + len(part.program)]
        if not np.array_equal(part.program[: len(next_steps)], next_steps):
            raise UnknownCallsError(f"The steps from {self._at} on do not follow the program tree as it stands.")
        inner = self._contexts_of_part(part, context)
        self._contexts.append(inner[part.context[: len(next_steps)]])
        self._at += len(next_steps)
        if len(next_steps) < len(part.program):
            raise _RecordEndsError

    def _contexts_of_part(self, part: Unfolded, context: int) -> Int64Array:
        """The context of the run for each context of a part that stands within `context`."""
        inner = [context]
        for caller, call in zip(part.caller[1:], part.call[1:], strict=True):
            inner.append(self._within(inner[caller], call))
        return np.array(inner, np.int64)

    def _within(self, context: int, call: int) -> int:
        """The context of a call from a context."""
        key = context, call
        if key not in self._inner:
            self._inner[key] = len(self._call)
            self._caller.append(context)
            self._call.append(call)
        return self._inner[key]

    def _next(self) -> int:
        return int(self._recorded[self._at])

    def _has_branch_below(self, program: int, depth: int = 0) -> bool:
        """Whether data choose anything in a program."""
        if program not in self._holds_branch:
            if depth > MOST_DEPTH:
                raise UnknownCallsError(f"Programs are nested more than {MOST_DEPTH} deep.")
            below = self._tree.below(program)
            chooses = self._types[program] in CHOSEN_BY_DATA
            self._holds_branch[program] = chooses or any(self._has_branch_below(row, depth + 1) for row in below)
        return self._holds_branch[program]

    def _first(self, program: int, context: int) -> First:
        """What a program may begin with."""
        key = program, context
        if key not in self._known_first:
            self._known_first[key] = self._begins(program, context)
        return self._known_first[key]

    def _begins(self, program: int, context: int) -> First:
        type_, below = self._types[program], self._tree.below(program)
        if type_ == "Call":
            return self._first(below[0], self._within(context, program))
        if not below:
            return ({program: {context}}, False) if type_ in PHASE_OF_TYPE else ({}, True)
        if type_ in ("If", "Switch"):
            first_steps: dict[int, set[int]] = {}
            for row in below:
                first_steps = _join(first_steps, self._first(row, context)[0])
            return first_steps, type_ == "Switch" or any(self._first(row, context)[1] for row in below)
        if type_ == "RepeatWhile":
            steps, nothing = self._first_of_all([*below[:-1], below[-1]], context)
            return steps, nothing or len(below) == 1
        steps, nothing = self._first_of_all(below, context)
        return steps, nothing or (type_ == "Repeat" and self._tree.trips(program) == 0)

    def _first_of_all(self, rows: Sequence[int], context: int) -> First:
        """What programs one after another may begin with."""
        first_steps: dict[int, set[int]] = {}
        for row in rows:
            steps, nothing = self._first(row, context)
            first_steps = _join(first_steps, steps)
            if not nothing:
                return first_steps, False
        return first_steps, True


def _join(a: dict[int, set[int]], b: dict[int, set[int]]) -> dict[int, set[int]]:
    return {step: a.get(step, set()) | b.get(step, set()) for step in {**a, **b}}
