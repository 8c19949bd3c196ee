"""Drawings of operations: groups and the bytes between them, or the programs and variables of some operations.

A screen shows a few dozen boxes, so the groups with most of the chosen figure have a box each and the others share one.
The rest (no operation, and operations that the choice leaves out) stands twice: where it gives variables (before
everything) and where it takes them (after it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.operations.flow import Touches, flow, touches
from popvision.analysis.operations.owners import NO_OPERATION, Owners
from popvision.analysis.operations.parts import program_cycles, programs_owned
from popvision.analysis.operations.table import OperationGroups
from popvision.analysis.report.columns import programs_of, variables

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Boxes and arrows of one drawing.
MOST_NODES, MOST_EDGES = 60, 400

_BEFORE, _AFTER = -1.0, float(2**62)


@dataclass(frozen=True)
class Node:
    """`kind`: "group" (of several operations), "operation", "more" (groups without a box of their own), "rest" (not
    attributed), "outside", "variable", "input" (a variable that others give its value), "program". `context`,
    `program` and `variable` are -1 where the box is none; `value` is the chosen figure of a group, cycles of a program,
    bytes of a variable, `total` what it is a share of."""

    kind: str
    name: str
    rank: float
    value: int = 0
    total: int = 0
    count: int = 0  #: operations
    context: int = -1
    program: int = -1
    variable: int = -1
    type: str = ""  #: of a program
    deeper: bool = False


@dataclass(frozen=True)
class Edge:
    """From one node of the drawing to another."""

    source: int
    target: int
    bytes: int
    variables: int


@dataclass(frozen=True)
class Drawing:
    nodes: list[Node]
    edges: list[Edge]
    left_out: str = ""  #: what is not drawn, one sentence, "" where all is


@dataclass
class _Boxes:
    nodes: list[Node] = field(default_factory=list)
    place: dict[tuple[str, int], int] = field(default_factory=dict)

    def of(self, key: tuple[str, int], node: Node) -> int:
        if key not in self.place:
            self.place[key] = len(self.nodes)
            self.nodes.append(node)
        return self.place[key]


def flow_drawing(source: ReportSource, groups: OperationGroups, by: str = "cycles") -> Drawing:
    """Groups and what passes between them. Raises NotRecordedError where the report does not say what programs
    touch."""
    passed = flow(source, groups)
    n = len(groups.name)
    figure = groups.columns.get(by, np.zeros(n, np.int64))
    order = np.lexsort((np.arange(n), -figure))
    order = order[order != NO_OPERATION]
    shown = set(order[: MOST_NODES - 1].tolist()) if len(order) > MOST_NODES else set(order.tolist())
    more = [row for row in order.tolist() if row not in shown]
    boxes = _Boxes()
    total = groups.totals.get(by, 0)
    for row in sorted(shown):
        boxes.of(("group", row), _group(groups, row, int(figure[row]), total))
    if more:
        text = f"{len(more):,} more"
        rank = float(np.median(groups.first_index[more]))
        boxes.of(("more", 0), Node("more", text, rank, int(figure[more].clip(min=0).sum()), total, len(more)))
    sums: dict[tuple[int, int], list[int]] = {}
    columns = (passed.source, passed.target, passed.bytes, passed.variables)
    for giver, taker, size, count in zip(*(column.tolist() for column in columns), strict=True):
        if giver not in shown and taker not in shown:
            continue
        pair = _box(boxes, groups, shown, giver, _BEFORE), _box(boxes, groups, shown, taker, _AFTER)
        sums.setdefault(pair, [0, 0])
        sums[pair][0] += size
        sums[pair][1] += count
    edges = sorted((Edge(*pair, *both) for pair, both in sums.items()), key=lambda edge: -edge.bytes)
    return Drawing(boxes.nodes, edges[:MOST_EDGES], _left_out(len(edges)))


def _group(groups: OperationGroups, row: int, value: int, total: int) -> Node:
    count, context = int(groups.operations[row]), int(groups.context[row])
    rank = float(groups.first_index[row])
    kind = "operation" if context >= 0 else "group"
    deeper = bool(groups.deeper[row])
    return Node(kind, groups.name[row], rank, max(value, 0), total, count, context, deeper=deeper)


def _box(boxes: _Boxes, groups: OperationGroups, shown: set[int], row: int, rank: float) -> int:
    if row in shown:
        return boxes.place["group", row]
    side = "before" if rank == _BEFORE else "after"
    if row == NO_OPERATION:
        return boxes.of((side, 0), Node("rest", groups.name[NO_OPERATION], rank))
    if row == len(groups.name):
        return boxes.of((side, 1), Node("outside", "other operations", rank))
    return boxes.place["more", 0]


def parts_drawing(source: ReportSource, owners: Owners, rows: Sequence[int]) -> Drawing:
    """Programs of operations and the variables that they touch: the computation graph of a few. An arrow leads from the
    first program that touches a variable to it, and from it to the others; always-live ones are inputs. Raises as
    `flow_drawing`."""
    touched_variables = touches(source)
    ids = programs_owned(owners, rows)
    drawn = np.isin(touched_variables.program, ids)
    giver = touched_variables.givers(touched_variables.program, np.full(len(touched_variables.bytes), -1, np.int64))
    cycles, _ = program_cycles(source)
    touched = np.unique(touched_variables.program[drawn])
    busiest = touched[np.argsort(-cycles[touched], kind="stable")][: MOST_NODES // 2]
    drawn &= np.isin(touched_variables.program, busiest)
    size = touched_variables.bytes[touched_variables.variable]
    candidates = np.unique(touched_variables.variable[drawn])
    largest = candidates[np.argsort(-touched_variables.bytes[candidates], kind="stable")][: MOST_NODES - len(busiest)]
    drawn &= np.isin(touched_variables.variable, largest)
    boxes, edges = _Boxes(), []
    for at in np.flatnonzero(drawn).tolist():
        program, variable = int(touched_variables.program[at]), int(touched_variables.variable[at])
        one = _program_box(boxes, source, touched_variables, program, int(cycles[program]), int(cycles[ids].sum()))
        gives = int(giver[at]) == program
        inside = gives or bool(np.isin(giver[at], busiest))
        other = _variable_box(boxes, source, touched_variables, variable, int(giver[at]) if inside else -1)
        edges.append(Edge(one, other, int(size[at]), 1) if gives else Edge(other, one, int(size[at]), 1))
    edges.sort(key=lambda edge: -edge.bytes)
    hidden = len(touched) - len(busiest), len(candidates) - len(largest)
    text = (
        f"{hidden[0]:,} programs and {hidden[1]:,} variables are left out: those with most cycles and bytes are shown."
    )
    return Drawing(boxes.nodes, edges[:MOST_EDGES], text if any(hidden) else _left_out(len(edges)))


def _program_box(
    boxes: _Boxes, source: ReportSource, touched_variables: Touches, program: int, cycles: int, total: int
) -> int:
    programs = programs_of(source)
    rank = float(touched_variables.index[np.flatnonzero(touched_variables.program == program)[0]])
    name = programs.name[program] or programs.type[program]
    node = Node("program", name, rank, cycles, total, program=program, type=programs.type[program])
    return boxes.of(("program", program), node)


def _variable_box(boxes: _Boxes, source: ReportSource, touched_variables: Touches, variable: int, giver: int) -> int:
    """Just behind the program that gives it its value, `giver`; before everything where that is another's (-1)."""
    rank = _BEFORE
    if giver >= 0:
        rank = float(touched_variables.index[np.flatnonzero(touched_variables.program == giver)[0]]) + 0.5
    name = variables(source).name[variable] or f"variable {variable}"
    size = int(touched_variables.bytes[variable])
    kind = "input" if giver < 0 else "variable"
    return boxes.of(("variable", variable), Node(kind, name, rank, size, variable=variable))


def _left_out(edges: int) -> str:
    return f"The {MOST_EDGES} heaviest of {edges:,} arrows are drawn." if edges > MOST_EDGES else ""
