"""Branch records: trips of loops and branches of switches in a run, counted along the tree of lowered programs.

Where no branch depends on data, the record follows from the program alone: a body runs once for each trip of its loop,
a function once for each call. Where data decide, the run's choices are followed in order. A program without such
choices is counted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popvision.formats.profile.model import BranchRecord
from simulator.compiler.compiled_graph import LoweredPrograms
from simulator.runtime.clock.data_dependent_time import DataChoices

#: Row of the lowered program -> (how often it is entered, trips in all).
Counts = dict[int, tuple[int, int]]


def branch_record(lowered: LoweredPrograms, program_index: int, choices: Sequence[int] = ()) -> BranchRecord:
    """The record of a run of one program: its loops, its switches with the branches taken, those of functions that it
    calls, and the switch that chose the program. `choices`: what data chose in the run, in order; of it
    the branches count."""
    branches = (choice for choice in choices if choice >= 0)
    counts = _Counting(lowered, lowered.branches[program_index], branches).of(0)
    rows = sorted(counts)
    entered, trips = (np.array([counts[row][i] for row in rows], np.int64) for i in (0, 1))
    return BranchRecord(np.array(rows, np.int64), entered, trips)


class _Counting:
    """Counts one run of one branch of the root switch."""

    def __init__(self, lowered: LoweredPrograms, branch: int, choices: Iterator[int]) -> None:
        self._lowered, self._branch, self._choices = lowered, branch, choices
        self._data = DataChoices(lowered.table, lowered.function_roots, branch)
        self._known: dict[int, Counts] = {}  #: of programs in which data choose nothing

    def of(self, row: int) -> Counts:
        """Counts of running the program in this row, from the next choice on."""
        if self._data.in_program(row):
            return self._run(row)
        if row not in self._known:
            self._known[row] = self._run(row)
        return self._known[row]

    def _run(self, row: int) -> Counts:
        table = self._lowered.table
        type_, below = table.type[row], table.children[row]
        counts: Counts = {}
        if type_ == "Call":
            below = [self._lowered.function_roots[table.function[row]]]
        elif type_ == "OnEveryTileSwitch":
            counts[row], below = (1, 1), [self._branch]
        elif type_ in ("If", "Switch"):
            taken = below[next(self._choices) :][:1]
            counts[row], below = (1, len(taken)), taken
            counts.update((child, (1, 1)) for child in taken)
        elif type_ == "RepeatWhile":
            self._while(counts, row)
            return counts
        trips = table.repeat_count[row] if type_ == "Repeat" else 1
        if type_ == "Repeat":
            counts[row] = (1, trips)
        once = any(self._data.in_program(child) for child in below)
        for _ in range(trips if once else min(trips, 1)):
            for child in below:
                _add(counts, self.of(child), 1 if once else trips)
        return counts

    def _while(self, counts: Counts, row: int) -> None:
        *tested, body = self._lowered.table.children[row]
        trips = 0
        if any(self._data.in_program(child) for child in (*tested, body)):
            self._all(counts, tested, 1)
            while next(self._choices):
                trips += 1
                self._all(counts, [body, *tested], 1)
        else:
            while next(self._choices):
                trips += 1
            self._all(counts, tested, trips + 1)
            if trips:
                self._all(counts, [body], trips)
        _add(counts, {row: (1, trips)}, 1)

    def _all(self, counts: Counts, rows: Sequence[int], times: int) -> None:
        for row in rows:
            _add(counts, self.of(row), times)


def _add(counts: Counts, more: Counts, times: int) -> None:
    for row, (entered, trips) in more.items():
        before = counts.get(row, (0, 0))
        counts[row] = (before[0] + times * entered, before[1] + times * trips)
