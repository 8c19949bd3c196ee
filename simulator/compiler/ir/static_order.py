"""The static order of programs: a loop body once, a function's body at each call, the branches of a choice in sequence.

Positions are the liveness indices of reports. Syncs have none, as in published reports: they touch no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.compiler.ir.program_table import ProgramTable

Range = tuple[int, int]
"""Half-open range of positions."""


@dataclass(frozen=True)
class Choice:
    """A choice between branches. Exactly one runs if the choice is `complete`, else one or none."""

    at: int  #: position of the choosing program
    branches: list[Range]
    complete: bool


@dataclass(frozen=True)
class StaticOrder:
    program: list[int]  #: the program at each position
    loops: list[Range]  #: loop bodies
    branches: list[Range]  #: the root switch's branches
    bodies: dict[int, list[int]] = field(default_factory=dict)  #: first position of a function's body at each call
    lengths: dict[int, int] = field(default_factory=dict)  #: number of positions of each function's body
    choices: list[Choice] = field(default_factory=list)  #: made by data; inner choices come first

    def __len__(self) -> int:
        return len(self.program)


def static_order(table: ProgramTable, branches: list[int], function_roots: dict[int, int]) -> StaticOrder:
    """Walk the tree from row 0. `branches` are rows of the root switch's branches."""
    order = StaticOrder([], [], [])
    starts: dict[int, int] = {}
    recorded = {*branches, *function_roots.values()}  # rows whose ranges are recorded
    pending: list[tuple[int, bool]] = [(0, False)]
    ranges: dict[int, Range] = {}
    function_of = {root: function for function, root in function_roots.items()}
    while pending:
        row, leaving = pending.pop()
        if leaving:
            begin = starts.pop(row)
            ranges[row] = (begin, len(order.program))
            _record(order, table, row, ranges)
            if row in function_of:
                order.bodies.setdefault(function_of[row], []).append(begin)
                order.lengths[function_of[row]] = len(order.program) - begin
            continue
        if table.type[row] == "Sync":
            continue
        if table.type[row] in ("Repeat", "RepeatWhile", "If", "Switch"):
            recorded.update((row, *table.children[row]))
        if row in recorded:
            starts[row] = len(order.program)
            pending.append((row, True))
        order.program.append(row)
        if table.function[row] >= 0:
            pending.append((function_roots[table.function[row]], False))
        pending += [(child, False) for child in reversed(table.children[row])]
    order.branches.extend(ranges[row] for row in branches)
    return order


def _record(order: StaticOrder, table: ProgramTable, row: int, ranges: dict[int, Range]) -> None:
    """Record a program that is a loop or a choice. A Repeat of no trips is a branch that may not run."""
    (begin, end), type_, children = ranges[row], table.type[row], table.children[row]
    if type_ in ("If", "Switch") and children:
        order.choices.append(Choice(begin, [ranges[child] for child in children], True))
    elif type_ == "RepeatWhile" and len(children) > 1:
        order.loops.append((begin + 1, end))
        body = ranges[children[-1]]
        order.choices.append(Choice(body[0] - 1, [body], False))
    elif type_ in ("Repeat", "RepeatWhile"):
        order.loops.append((begin + 1, end))
        if type_ == "Repeat" and not table.repeat_count[row]:
            order.choices.append(Choice(begin, [ranges[child] for child in children], False))
