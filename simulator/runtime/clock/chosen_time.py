"""The modelled time of programs whose way data choose: the choices of a run, taken in order.

Trips of a loop in which nothing else chooses are alike, so those that follow each other count as a Repeat. A trip that
begins in a known state and takes a known way through its choices is as it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.compiler.ir.program_table import ProgramTable
from simulator.runtime.clock.data_choices import DataChoices
from simulator.runtime.clock.segments import Parts, Segment, State

Running = Callable[[State, Sequence[int]], Segment]
"""From a state through programs, one after another."""

Repeated = Callable[[State, list[int], int], Segment]
"""Programs run so often, alike each time."""


#: Choices within one trip of a loop up to which it is kept for other trips that take the same way.
_LONGEST_TRIP = 64


class ChosenTime:
    """Follows the choices of one run. `parts` begins a piece of time at a state; `keeping`: trips may be kept."""

    def __init__(
        self,
        table: ProgramTable,
        data: DataChoices,
        choices: Sequence[int],
        parts: Callable[[State], Parts],
        running: Running,
        repeated: Repeated,
        keeping: bool,
    ) -> None:
        self._table, self._data, self._keeping = table, data, keeping
        self._choices, self._at = choices, 0
        self._parts, self._running, self._repeated = parts, running, repeated

    def segment(self, state: State, row: int) -> Segment:
        """Run a program that is an If, a Switch or a RepeatWhile, or a Repeat that holds one."""
        type_, below = self._table.type[row], self._table.children[row]
        parts = self._parts(state)
        if type_ == "Repeat":
            for _ in range(self._table.repeat_count[row]):
                parts.add(self._trip(parts.state, row, below))
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
        """The programs of one trip of a loop: as a trip from this state was before that met the same choices. No way
        is the beginning of another one, so the first that fits is the one."""
        for length, ways in state.ways.get(loop, {}).items():
            kept = ways.get(tuple(self._choices[self._at : self._at + length]))
            if kept is not None:
                self._at += length
                return kept
        begin = self._at
        segment = self._running(state, rows)
        way = tuple(self._choices[begin : self._at])
        if self._keeping and len(way) <= _LONGEST_TRIP:
            state.ways.setdefault(loop, {}).setdefault(len(way), {})[way] = segment
        return segment

    def _while(self, parts: Parts, loop: int, below: list[int]) -> None:
        """The last program below is the body, those before it look whether it runs."""
        *tests, body = below
        parts.add(self._running(parts.state, tests))
        if not any(self._data.in_program(row) for row in below):
            trips = 0
            while self._next():
                trips += 1
            parts.add(self._repeated(parts.state, [body, *tests], trips))
            return
        while self._next():
            parts.add(self._trip(parts.state, loop, [body, *tests]))
