"""Liveness: the positions of the static order at which elements of variables, and buffers, hold data still needed.

Ranges belong to *units*: elements of a variable that all programs access alike (`live_units`). A unit is live from the
program that writes it to the last program that reads it, inclusive; ranges are half-open. WriteUndef ends a range; the
next begins at the first write after it (published-numbers 6.1: the curve does not rise at WriteUndef). What a loop
reads before writing it is needed again at the loop's end. Choices: `simulator.compiler.memory.live_events`.

Always live are constants, variables with initial values, variables that the host reads or writes, and a variable of
which a branch of the root switch reads any element before writing it: it must survive from run to run (poplar-model
6.2: variables "not fully rewritten each run"). A variable that no program accesses is never live and takes no memory.
Elements that none accesses, of a variable that some do, are live while any other element of it is.

A function has one layout for all calls: a variable that it accesses and that is live at a program of its body in one
call is live there in all calls (poplar-model 6.2). An overlay of a function (`overlays`) is live from the copy that
loads it to the last call; one that is called without a copy is always live.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import Elements
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.ir.static_order import StaticOrder
from simulator.compiler.memory.live_events import KILL, LATER, READ, UNDEFINED, BranchEvents, Events
from simulator.compiler.memory.live_units import Units, units_of

if TYPE_CHECKING:
    from simulator.compiler.memory.overlays import Overlays


ALWAYS, NEVER = -1, -2


@dataclass(frozen=True)
class LiveClasses:
    """Equivalence classes of liveness: class c is live over rows `offsets[c]:offsets[c + 1]` of starts and ends."""

    offsets: Int64Array
    starts: Int64Array
    ends: Int64Array
    of_variable: Int64Array  #: class of each variable, live while any element is; or ALWAYS, NEVER
    of_buffer: Int64Array
    of_overlay: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    parted: LiveParts | None = None  #: variables whose parts differ in liveness

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def hulls(self) -> tuple[Int64Array, Int64Array]:
        """First start and last end of each class."""
        return self.starts[self.offsets[:-1]], self.ends[self.offsets[1:] - 1]


@dataclass(frozen=True)
class LiveParts:
    """Variables whose parts differ in liveness: part i covers elements `begin[i]` to `end[i]`, in ascending order. The
    parts of a variable cover all of it."""

    begin: Int64Array
    end: Int64Array
    live_class: Int64Array


def live_classes(
    table: ProgramTable,
    order: StaticOrder,
    numels: Int64Array,
    always: BoolArray,
    n_buffers: int,
    overlays: Overlays | None = None,
) -> LiveClasses:
    """Analyse all programs. `numels` = elements of each variable, in the order of the element space; `always` flags
    variables that are always live for reasons outside the programs."""
    n, extra = len(numels), len(overlays) if overlays is not None else 0
    events, units = _events(table, order, numels, overlays)
    variable = np.concatenate([units.variable, n + np.arange(extra)])  # an overlay counts as a variable of one unit
    always_live = np.concatenate([always, np.zeros(extra, np.bool_)])
    branches = BranchEvents(events, order.choices, order.loops, len(variable))
    outside = branches.outside.take(branches.outside.unit < len(variable))
    for begin, end in order.branches:
        always_live[variable[outside.upward_exposed(begin, end)]] = True
    touched = np.zeros(n + extra, np.bool_)
    touched[variable[events.unit]] = True
    ranges = _equalise_calls(_unite_branches(_segments(branches.events), branches), events, order)
    classes = _Classes()
    of_unit = np.full(len(variable), NEVER)
    for unit, starts, ends in ranges:
        if not always_live[variable[unit]]:
            of_unit[unit] = classes.number(starts, ends)
    of_buffer = np.array([classes.number(*r) for r in _buffer_ranges(table, order, n_buffers)], np.int64)
    of_variable = classes.of_variables(of_unit, variable, n + extra)
    of_variable[always_live & touched] = ALWAYS
    parted = _parted(units, of_unit[: len(units)], of_variable)
    return replace(classes.columns(of_variable[:n], of_buffer), of_overlay=of_variable[n:], parted=parted)


def _parted(units: Units, of_unit: Int64Array, of_variable: Int64Array) -> LiveParts | None:
    """The parts of variables with units of several classes."""
    wanted = of_variable[units.variable]
    of_unit = np.where(of_unit == NEVER, wanted, of_unit)
    several = np.zeros(len(of_variable), np.bool_)
    several[units.variable[(of_unit != wanted) & (wanted >= 0)]] = True
    in_parts = several[units.variable[units.unit]]
    if not in_parts.any():
        return None
    class_, begin, end = of_unit[units.unit][in_parts], units.begin[:-1][in_parts], units.begin[1:][in_parts]
    return LiveParts(begin, end, class_)


class _Classes:
    """Numbers distinct lists of ranges in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._ranges: list[tuple[Int64Array, Int64Array]] = []

    def number(self, starts: Int64Array, ends: Int64Array) -> int:
        key = (starts.tobytes(), ends.tobytes())
        if key not in self._numbers:
            self._numbers[key] = len(self._ranges)
            self._ranges.append((starts, ends))
        return self._numbers[key]

    def of_variables(self, of_unit: Int64Array, variable: Int64Array, variables: int) -> Int64Array:
        """The class of each variable: the union over its units; NEVER where none is live."""
        found = np.full(variables, NEVER)
        rows = np.flatnonzero(of_unit >= 0)
        key = np.unique(variable[rows] * (len(self._ranges) + 1) + of_unit[rows])
        owner, class_ = key // (len(self._ranges) + 1), key % (len(self._ranges) + 1)
        borders = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner))
        for first, last in itertools.pairwise(borders.tolist()):
            found[owner[first]] = self._union(class_[first:last].tolist())
        return found

    def _union(self, classes: list[int]) -> int:
        """The class of the union of these classes."""
        if len(classes) == 1:
            return classes[0]
        starts, ends = (np.concatenate([self._ranges[c][side] for c in classes]) for side in (0, 1))
        order = np.argsort(starts, kind="stable")
        return self.number(*_joined(starts[order], ends[order]))

    def columns(self, of_variable: Int64Array, of_buffer: Int64Array) -> LiveClasses:
        counts = [len(starts) for starts, _ in self._ranges]
        offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        none = [np.empty(0, np.int64)]
        starts = np.concatenate(none + [r[0] for r in self._ranges])
        ends = np.concatenate(none + [r[1] for r in self._ranges])
        return LiveClasses(offsets, starts, ends, of_variable, of_buffer)


def _events(
    table: ProgramTable, order: StaticOrder, numels: Int64Array, overlays: Overlays | None
) -> tuple[Events, Units]:
    """The events of all units, sorted; overlays are numbered after the units."""
    uses: dict[tuple[int, int], tuple[Elements, int, list[int]]] = {}  # by identity of the elements, and by kind
    for position, row in enumerate(order.program):
        work = table.work[row]
        parts = [] if work.undefined is None else [(work.undefined, UNDEFINED)]
        if work.accesses is not None:
            parts += [(work.accesses.reads, READ), (work.accesses.writes, KILL)]
        for elements, kind in parts:
            if len(elements[0]):
                uses.setdefault((id(elements), kind), (elements, kind, []))[2].append(position)
    units = units_of([elements for elements, _, _ in uses.values()], numels)
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), READ)]
    for elements, kind, positions in uses.values():
        unit, at = units.touched(elements), np.array(positions, np.int64)
        columns.append((np.tile(unit, len(at)), np.repeat(at, len(unit)), kind))
    for number, position, loaded in overlays.uses(order) if overlays is not None else ():
        columns.append((np.array([len(units) + number]), np.array([position]), KILL if loaded else READ))
    found = Events(
        np.concatenate([c[0] for c in columns]),
        np.concatenate([c[1] for c in columns]),
        np.concatenate([np.full(len(c[0]), c[2], np.int64) for c in columns]),
    )
    return found.sorted(), units


def _segments(events: Events) -> list[tuple[int, Int64Array, Int64Array]]:
    """(unit, starts, ends) of every unit with events. A segment begins at the first event and at each kill, and ends
    after the last event before the next segment."""
    if len(events.unit) == 0:
        return []
    new_unit = np.concatenate([[True], events.unit[1:] != events.unit[:-1]])
    events, new_unit = _without_undefined(events, new_unit)
    if len(events.unit) == 0:
        return []
    head = np.flatnonzero(new_unit | (events.kind == KILL))
    tail = np.concatenate([head[1:] - 1, [len(events.unit) - 1]])
    starts, ends, unit = events.position[head], events.position[tail] + 1, events.unit[head]
    borders = np.concatenate([np.flatnonzero(new_unit[head]), [len(head)]])
    rows = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    return [(int(unit[a]), *_joined(starts[a:b], ends[a:b])) for a, b in rows]


def _unite_branches(
    ranges: list[tuple[int, Int64Array, Int64Array]], branches: BranchEvents
) -> list[tuple[int, Int64Array, Int64Array]]:
    """Unite the ranges of units over branches and enclosing code."""
    found: dict[int, tuple[int, Int64Array, Int64Array]] = {}
    for number, starts, ends in ranges:
        unit = branches.plain_unit(number)
        if unit in found:
            starts, ends = np.concatenate([found[unit][1], starts]), np.concatenate([found[unit][2], ends])
            order = np.argsort(starts, kind="stable")
            starts, ends = _joined(starts[order], ends[order])
        found[unit] = (unit, starts, ends)
    return [found[unit] for unit in sorted(found)]


def _without_undefined(events: Events, new_unit: BoolArray) -> tuple[Events, BoolArray]:
    """Drop UNDEFINED events; the event after each becomes a KILL, so that a range begins there."""
    undefined = events.kind == UNDEFINED
    if not undefined.any():
        return events, new_unit
    after = np.concatenate([[False], undefined[:-1]]) & (events.kind != LATER)
    kind = np.where(after, KILL, events.kind)
    defined = ~undefined
    unit = events.unit[defined]
    fresh = np.concatenate([[True], unit[1:] != unit[:-1]])
    return Events(unit, events.position[defined], kind[defined]), fresh


def _equalise_calls(
    ranges: list[tuple[int, Int64Array, Int64Array]], events: Events, order: StaticOrder
) -> list[tuple[int, Int64Array, Int64Array]]:
    """Make the ranges within a function's body equal over all its calls, for units that the function accesses."""
    for function, begins in sorted(order.bodies.items()):
        if len(begins) < 2:
            continue
        length = order.lengths[function]
        first = np.array(begins, np.int64)
        inside = (events.position >= first[0]) & (events.position < first[0] + length)
        of_function = set(events.unit[inside].tolist())
        ranges = [
            (unit, *_repeat_in_bodies(starts, ends, first, length)) if unit in of_function else (unit, starts, ends)
            for unit, starts, ends in ranges
        ]
    return ranges


def _repeat_in_bodies(
    starts: Int64Array, ends: Int64Array, bodies: Int64Array, length: int
) -> tuple[Int64Array, Int64Array]:
    """Repeat the part of ranges within any body [b, b + length) in all bodies."""
    begin = np.maximum(starts[:, None] - bodies, 0)
    end = np.minimum(ends[:, None] - bodies, length)
    inside = begin < end
    if not inside.any():
        return starts, ends
    begins = np.concatenate([starts, (begin[inside][:, None] + bodies).reshape(-1)])
    lasts = np.concatenate([ends, (end[inside][:, None] + bodies).reshape(-1)])
    order = np.argsort(begins, kind="stable")
    return _joined(begins[order], lasts[order])


def _joined(starts: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Join sorted ranges that touch or overlap."""
    if len(starts) == 1:
        return starts, ends
    reach = np.maximum.accumulate(ends)
    fresh = np.concatenate([[True], starts[1:] > reach[:-1]])
    head = np.flatnonzero(fresh)
    return starts[head], reach[np.concatenate([head[1:] - 1, [len(starts) - 1]])]


def _buffer_ranges(table: ProgramTable, order: StaticOrder, n_buffers: int) -> Sequence[tuple[Int64Array, Int64Array]]:
    used: list[list[int]] = [[] for _ in range(n_buffers)]
    for position, row in enumerate(order.program):
        for buffer in table.work[row].buffers:
            used[buffer].append(position)
    ranges = []
    for positions in used:
        at = np.array(positions, np.int64)
        ranges.append(_joined(at, at + 1))
    return ranges
