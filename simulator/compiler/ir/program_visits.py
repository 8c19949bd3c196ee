"""Identify programs by their place in the tree, in every pass that walks through it.

A program object may occur several times in a tree, and a pass meets each occurrence. Lowering and the numeric plan walk
through the same trees in the same order, each with its own ProgramVisits; so equal keys mean the same occurrence, and
the rows of one pass can be matched with the actions of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simulator.graph.program import Execute, LibraryGroup, Program


class Place(NamedTuple):
    """An occurrence of a program: in program or function `owner`, object `number`, for the `nth` time."""

    owner: tuple[str, int]
    number: int
    nth: int


class ProgramVisits:
    """Counts the occurrences of programs during one pass."""

    def __init__(self, programs: Sequence[Program], functions: Sequence[Program]) -> None:
        self._objects = all_programs([*programs, *functions])  # ids are unique while these live
        self._numbers = {id(program): number for number, program in enumerate(self._objects)}
        self._met: dict[tuple[tuple[str, int], int], int] = {}
        self.owner: tuple[str, int] = ("program", 0)

    def visit(self, program: Program) -> Place:
        """The place of the next occurrence of a program."""
        number = self._numbers[id(program)]
        nth = self._met.get((self.owner, number), 0)
        self._met[self.owner, number] = nth + 1
        return Place(self.owner, number, nth)


def all_programs(roots: Iterable[Program]) -> list[Program]:
    """Every program of these trees once, in the order of their first occurrence."""
    found: dict[int, Program] = {}
    waiting = list(roots)[::-1]
    while waiting:
        program = waiting.pop()
        if id(program) not in found:
            found[id(program)] = program
            waiting += reversed(program.nested())
    return list(found.values())


def executed_sets(roots: Iterable[Program]) -> set[int]:
    """Compute sets that run vertex by vertex, not within a kernel."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        program = waiting.pop()
        if isinstance(program, Execute):
            found.add(program.compute_set)
        elif not isinstance(program, LibraryGroup):
            waiting += program.nested()
    return found
