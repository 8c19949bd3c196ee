"""Which program of the tree is which, in every pass that walks through the tree.

One program object may stand in several places, and a pass meets it once in each. Lowering and the numeric plan walk
through the same trees in the same order, each with visits of its own; so the same key means the same place in both,
and what one of them knows of a place (its rows) serves the other (what runs there).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simulator.graph.program import Program


class Place(NamedTuple):
    """Where a program stands: in program or function number `owner`, object `number`, met for the `nth` time."""

    owner: tuple[str, int]
    number: int
    nth: int


class ProgramVisits:
    """Places of the programs of a graph, as a pass meets them."""

    def __init__(self, programs: Sequence[Program], functions: Sequence[Program]) -> None:
        self._objects = all_programs([*programs, *functions])  # ids are unique while these live
        self._numbers = {id(program): number for number, program in enumerate(self._objects)}
        self._met: dict[tuple[tuple[str, int], int], int] = {}
        self.owner: tuple[str, int] = ("program", 0)

    def visit(self, program: Program) -> Place:
        """The place that a program is met at now."""
        number = self._numbers[id(program)]
        nth = self._met.get((self.owner, number), 0)
        self._met[self.owner, number] = nth + 1
        return Place(self.owner, number, nth)


def all_programs(roots: Iterable[Program]) -> list[Program]:
    """Every program of these trees once, in the order that they are met."""
    found: dict[int, Program] = {}
    waiting = list(roots)[::-1]
    while waiting:
        program = waiting.pop()
        if id(program) not in found:
            found[id(program)] = program
            waiting += reversed(program.nested())
    return list(found.values())
