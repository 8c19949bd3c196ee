"""The variables that each lowered program reads or writes, as rows of the report's table of variables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popvision.formats.profile import model
from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import variables_in
from simulator.compiler.ir.program_table import ProgramTable, Work
from simulator.compiler.memory.columns import MemoryReport


def program_variables(
    table: ProgramTable, numels: Int64Array, memory: MemoryReport
) -> Iterator[model.ProgramVariables]:
    """One entry for each program that accesses variables; `numels` = elements of each variable of the graph.

    Of a variable with parts, those count that are live at a position of the program."""
    bases = np.cumsum(numels) - numels
    rows = _Rows(memory)
    for program, work in enumerate(table.work):
        accessed = np.concatenate([_variables(work, bases), len(numels) + np.array(work.buffers, np.int64)])
        if len(accessed):
            yield model.ProgramVariables(program, rows.rows_of(program, np.unique(accessed)))


def _variables(work: Work, bases: Int64Array) -> Int64Array:
    """Accessed variables of the graph, with repetitions."""
    elements = [] if work.accesses is None else [work.accesses.reads, work.accesses.writes]
    elements += [] if work.undefined is None else [work.undefined]
    found = [variables_in(part, bases) for part in elements if len(part[0])]
    return np.concatenate([np.empty(0, np.int64), *found])


class _Rows:
    """Maps variables to their rows: one each, and one more per further part."""

    def __init__(self, memory: MemoryReport) -> None:
        self._class = memory.variables.eq_class
        self._ranges = memory.eq_classes
        part_of = np.array(memory.part_of, np.int64)
        self._parts = len(self._class) - len(part_of) + np.argsort(part_of, kind="stable")
        self._owner = np.sort(part_of)
        order = np.argsort(memory.liveness.program, kind="stable")
        self._positions, self._program = order, memory.liveness.program[order]

    def rows_of(self, program: int, variables: Int64Array) -> Int64Array:
        first, last = (np.searchsorted(self._owner, variables, side) for side in ("left", "right"))
        if (first == last).all():
            return variables
        parts = [self._parts[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        whole = variables[first == last]
        cut = np.concatenate([variables[first < last], *parts])
        return np.sort(np.concatenate([whole, cut[self._live(program, cut)]]))

    def _live(self, program: int, rows: Int64Array) -> BoolArray:
        """Flags of the rows that are live at a position of the program."""
        begin, end = (np.searchsorted(self._program, program, side) for side in ("left", "right"))
        places = np.sort(self._positions[begin:end])
        found = np.zeros(len(rows), np.bool_)
        for i, number in enumerate(self._class[rows].tolist()):
            ranges = slice(int(self._ranges.offsets[number]), int(self._ranges.offsets[number + 1]))
            reached = np.searchsorted(places, self._ranges.starts[ranges])
            found[i] = (reached < np.searchsorted(places, self._ranges.ends[ranges])).any()
        return found
