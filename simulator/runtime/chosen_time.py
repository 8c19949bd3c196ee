"""The modelled time of programs whose way data choose: the choices of a run, taken in order.

Trips of a loop in which nothing else chooses are alike, so those that follow each other count as a Repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from simulator.compiler.program_table import ProgramTable
from simulator.runtime.data_choices import DataChoices
from simulator.runtime.segments import Parts, Segment, State

Running = Callable[[State, Sequence[int]], Segment]
"""From a state through programs, one after another."""

Repeated = Callable[[State, list[int], int], Segment]
"""Programs run so often, alike each time."""


class ChosenTime:
    """Follows the choices of one run. `parts` begins a piece of time at a state."""

    def __init__(
        self,
        table: ProgramTable,
        data: DataChoices,
        choices: Sequence[int],
        parts: Callable[[State], Parts],
        running: Running,
        repeated: Repeated,
    ) -> None:
        self._table, self._data = table, data
        self._choices: Iterator[int] = iter(choices)
        self._parts, self._running, self._repeated = parts, running, repeated

    def segment(self, state: State, row: int) -> Segment:
        """Run a program that is an If, a Switch or a RepeatWhile, or a Repeat that holds one."""
        type_, below = self._table.type[row], self._table.children[row]
        parts = self._parts(state)
        if type_ == "Repeat":
            for _ in range(self._table.repeat_count[row]):
                parts.add(self._running(parts.state, below))
        elif type_ == "RepeatWhile":
            self._while(parts, below)
        else:
            choice = next(self._choices)
            parts.add(self._running(parts.state, below[choice : choice + 1]))
        return parts.joined()

    def _while(self, parts: Parts, below: list[int]) -> None:
        """The last program below is the body, those before it look whether it runs."""
        *tests, body = below
        parts.add(self._running(parts.state, tests))
        if not any(self._data.in_program(row) for row in below):
            trips = 0
            while next(self._choices):
                trips += 1
            parts.add(self._repeated(parts.state, [body, *tests], trips))
            return
        while next(self._choices):
            parts.add(self._running(parts.state, [body, *tests]))
