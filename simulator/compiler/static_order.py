"""The static order: every program in the order it would run, a loop body once, a function's body at each call.

Positions are the liveness indices of reports. Syncs have none, as in published reports: they touch no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.compiler.program_table import ProgramTable


@dataclass(frozen=True)
class StaticOrder:
    program: list[int]  #: the program at each position
    loops: list[tuple[int, int]]  #: half-open ranges of positions of loop bodies
    branches: list[tuple[int, int]]  #: half-open ranges of positions of the root switch's branches
    bodies: dict[int, list[int]] = field(default_factory=dict)  #: first position of a function's body at each call
    lengths: dict[int, int] = field(default_factory=dict)  #: positions that the body of each function takes

    def __len__(self) -> int:
        return len(self.program)


def static_order(table: ProgramTable, branches: list[int], function_roots: dict[int, int]) -> StaticOrder:
    """Walk the tree from row 0. `branches` are rows of the root switch's branches."""
    order = StaticOrder([], [], [])
    starts: dict[int, int] = {}
    wanted = set(branches)
    pending: list[tuple[int, bool]] = [(0, False)]
    ranges: dict[int, tuple[int, int]] = {}
    function_of = {root: function for function, root in function_roots.items()}
    while pending:
        row, leaving = pending.pop()
        if leaving:
            begin = starts.pop(row)
            if table.type[row] == "Repeat":
                order.loops.append((begin + 1, len(order.program)))
            if row in wanted:
                ranges[row] = (begin, len(order.program))
            if row in function_of:
                order.bodies.setdefault(function_of[row], []).append(begin)
                order.lengths[function_of[row]] = len(order.program) - begin
            continue
        if table.type[row] == "Sync":
            continue
        if row in wanted or row in function_of or table.type[row] == "Repeat":
            starts[row] = len(order.program)
            pending.append((row, True))
        order.program.append(row)
        if table.function[row] >= 0:
            pending.append((function_roots[table.function[row]], False))
        pending += [(child, False) for child in reversed(table.children[row])]
    order.branches.extend(ranges[row] for row in branches)
    return order
