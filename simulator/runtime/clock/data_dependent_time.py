"""The modelled time of programs whose time data decide, from the recorded choices of a run.

A choice is the branch that a program took, from 0 on, or, below 0, the cycles of a compute set whose vertices count
(`as_choice`), or that vertices read the cycle counters of their tiles (`STAMP`). Where the choices end too early, the
run stops before the compute set whose choice is missing: that is how the counters at a stamp are found. Consecutive
trips of a loop without inner choices are alike and count as a Repeat. Other trips are memoised by (state, choices
within the trip); trips that leave a state as it was, with the same choices, count together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simulator.compiler.ir.program_table import ProgramTable
from simulator.runtime.clock.segments import Parts, Segment, State

#: Program types that choose by data.
CHOOSING = ("If", "Switch", "RepeatWhile")

#: The choice of an execution whose vertices read the cycle counters. It chooses nothing.
STAMP = -(1 << 62)


def as_choice(number: int) -> int:
    """The choice of an execution whose cycles have this number (StepCounts)."""
    return ~number


def number_of(choice: int) -> int:
    """The number of cycles that a choice below 0 stands for."""
    return ~choice


class DataChoices:
    """Finds data-dependent choices below one branch of the root switch. `function_roots`: row of each called function's
    body. `counted`: rows of counted compute sets, and of those that read cycle counters."""

    def __init__(
        self,
        table: ProgramTable,
        function_roots: Mapping[int, int],
        branch: int,
        counted: frozenset[int] = frozenset(),
    ) -> None:
        self._table, self._roots, self._branch = table, function_roots, branch
        self._counted = counted
        self._known: dict[int, bool] = {}

    def in_program(self, row: int) -> bool:
        """True where this program, its descendants or the functions that it calls choose by data."""
        if row not in self._known:
            table = self._table
            if table.type[row] in CHOOSING or row in self._counted:
                self._known[row] = True
            elif table.type[row] == "OnEveryTileSwitch":
                self._known[row] = self.in_program(self._branch)
            elif table.function[row] >= 0:
                self._known[row] = self.in_program(self._roots[table.function[row]])
            else:
                self._known[row] = any(self.in_program(child) for child in table.children[row])
        return self._known[row]


Running = Callable[[State, Sequence[int]], Segment]
"""Runs programs in order from a state."""

Counted = Callable[[State, int, int], Segment]
"""Runs a counted compute set from a state: (state, row, number of its cycles)."""

Stepping = Callable[[State, int], Segment]
"""Runs a leaf from a state."""

Repeated = Callable[[State, list[int], int], Segment]
"""Runs programs a number of times without choices."""


#: Trips with more choices are not memoised.
_LONGEST_TRIP = 64


class DataDependentTime:
    """Follows the choices of one run. `parts` starts a list of segments at a state; `memoised`: keep trips."""

    def __init__(
        self,
        table: ProgramTable,
        data: DataChoices,
        choices: Sequence[int],
        parts: Callable[[State], Parts],
        running: Running,
        repeated: Repeated,
        counted: Counted,
        stepping: Stepping,
        memoised: bool,
    ) -> None:
        self._table, self._data, self._memoised = table, data, memoised
        self._counted, self._stepping = counted, stepping
        self._choices, self._at = choices, 0
        self._parts, self._running, self._repeated = parts, running, repeated

    def segment(self, state: State, row: int) -> Segment:
        """Run an If, a Switch, a RepeatWhile, a counted compute set, or a Repeat that contains one."""
        type_, below = self._table.type[row], self._table.children[row]
        if type_ == "OnTileExecute":
            return self._execution(state, row)
        parts = self._parts(state)
        if type_ == "Repeat":
            left = self._table.repeat_count[row]
            while left and not parts.stopped:
                begin, before = self._at, parts.state
                trip = self._trip(before, row, below)
                steady = trip.state is before and not trip.stopped
                alike = self._alike(begin, left) if steady and self._keeps(self._at - begin) else 1
                parts.add_times(trip, alike) if alike > 1 else parts.add(trip)
                left -= alike
        elif type_ == "RepeatWhile":
            self._while(parts, row, below)
        else:
            choice = self._next()
            parts.add(self._running(parts.state, below[choice : choice + 1]))
        return parts.joined()

    def _next(self) -> int:
        self._at += 1
        return self._choices[self._at - 1]

    def _trip(self, state: State, loop: int, rows: Sequence[int]) -> Segment:
        """The programs of one trip of a loop: the memoised trip from this state with the same choices, else a new one.
        No memoised list of choices is a prefix of another, so the first match is the only one."""
        for length, ways in state.ways.get(loop, {}).items():
            known = ways.get(tuple(self._choices[self._at : self._at + length]))
            if known is not None:
                self._at += length
                return known
        begin = self._at
        segment = self._running(state, rows)
        path = tuple(self._choices[begin : self._at])
        if self._keeps(len(path)) and not segment.stopped:
            state.ways.setdefault(loop, {}).setdefault(len(path), {})[path] = segment
        return segment

    def _keeps(self, choices: int) -> bool:
        """Whether a trip with so many choices is memoised."""
        return self._memoised and choices <= _LONGEST_TRIP

    def _alike(self, begin: int, most: int) -> int:
        """The number of trips, at most `most`, whose choices equal those from `begin` on; they are taken."""
        length = self._at - begin
        path, trips = self._choices[begin : self._at], 1
        while trips < most and self._choices[self._at : self._at + length] == path:
            trips += 1
            self._at += length
        return trips

    def _execution(self, state: State, row: int) -> Segment:
        """A compute set that counts, with the cycles of its next execution, or that reads counters."""
        if self._at == len(self._choices):
            return self._parts(state).stop().joined()
        choice = self._next()
        if choice == STAMP:
            return self._stepping(state, row)
        ways = state.ways.setdefault(row, {}).setdefault(1, {})
        known = ways.get((choice,)) if self._memoised else None
        if known is None:
            known = self._counted(state, row, number_of(choice))
            if self._memoised:
                ways[choice,] = known
        return known

    def _while(self, parts: Parts, loop: int, below: list[int]) -> None:
        """The last child is the body, those before it compute the condition."""
        *tests, body = below
        parts.add(self._running(parts.state, tests))
        if parts.stopped:
            return
        if not any(self._data.in_program(row) for row in below):
            trips = 0
            while self._next():
                trips += 1
            parts.add(self._repeated(parts.state, [body, *tests], trips))
            return
        while not parts.stopped and self._next():
            parts.add(self._trip(parts.state, loop, [body, *tests]))
