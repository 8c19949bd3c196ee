"""What loops and switches do in a run, counted along the tree of lowered programs.

No branch of today's programs depends on data, so the record of a run follows from the program alone: a body runs once
for each trip of the loop around it, a function once for each call of it.
"""

from __future__ import annotations

import numpy as np

from popvision.formats.profile.model import BranchRecord
from simulator.compiler.executable import Lowered

#: Row of the lowered program -> (how often it is entered, trips in all).
Counts = dict[int, tuple[int, int]]


def branch_record(lowered: Lowered, program_index: int) -> BranchRecord:
    """The record of a run of one program: its Repeats, those of functions it calls, and the switch that chose it."""
    counts = _once(lowered, 0, lowered.branches[program_index], {})
    rows = sorted(counts)
    entered, trips = (np.array([counts[row][i] for row in rows], np.int64) for i in (0, 1))
    return BranchRecord(np.array(rows, np.int64), entered, trips)


def _once(lowered: Lowered, row: int, branch: int, functions: dict[int, Counts]) -> Counts:
    """What running the program in this row once does; `functions` keeps that of function bodies."""
    table = lowered.table
    if table.type[row] == "Call":
        root = lowered.function_roots[table.function[row]]
        if root not in functions:
            functions[root] = _once(lowered, root, branch, functions)
        return functions[root]
    counts: Counts = {}
    below, trips = table.children[row], 1
    if table.type[row] == "OnEveryTileSwitch":
        counts[row], below = (1, 1), [branch]
    elif table.type[row] == "Repeat":
        trips = table.repeat_count[row]
        counts[row] = (1, trips)
    for child in below if trips else ():
        for inner, (entered, done) in _once(lowered, child, branch, functions).items():
            before = counts.get(inner, (0, 0))
            counts[inner] = (before[0] + trips * entered, before[1] + trips * done)
    return counts
