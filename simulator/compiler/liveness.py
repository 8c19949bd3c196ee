"""Liveness: over which positions of the static order each variable and buffer holds data that is still needed.

A variable is live from the program that writes all of it to the last program that reads it, both included. Programs
that together write all of it before anything reads it count as one such write. WriteUndef ends a range; the next begins
at the first write after it, so that a variable takes no memory while it is undefined (published-numbers 6.1: the curve
does not rise at WriteUndef). A variable that a loop reads before writing is needed again at the loop's end. A variable
that a branch of the root switch reads before writing must survive from run to run, so it is always live; so are
constants, variables with initial values and those the host reads or writes. Ranges are half-open. A variable that no
program touches is never live and takes no memory.

A function's code is the same at every call, and so is what its programs find live: a variable of a function that is
live at a program of its body in one call is live there in all calls (poplar-model 6.2). An overlay of a function (see
`simulator.compiler.overlays`) is live from the copy that brings it in to the last call; one that is called without a
copy stays for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simulator.compiler.element_map import union_in_groups
from simulator.compiler.program_table import ProgramTable
from simulator.compiler.static_order import StaticOrder
from simulator.poplar.regions import distinct

if TYPE_CHECKING:
    from simulator.compiler.overlays import Overlays

I8 = npt.NDArray[np.int64]

ALWAYS, NEVER = -1, -2

# What happens to a variable at a position, in the order in which it happens there.
_READ, _KILL, _WRITE, _UNDEFINED, _LOOP_END = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class LiveClasses:
    """Equivalence classes: class c is live over rows `offsets[c]:offsets[c + 1]` of starts and ends."""

    offsets: I8
    starts: I8
    ends: I8
    of_variable: I8  #: class of each variable, ALWAYS or NEVER
    of_buffer: I8
    of_overlay: I8 = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def hulls(self) -> tuple[I8, I8]:
        """First start and last end of each class."""
        return self.starts[self.offsets[:-1]], self.ends[self.offsets[1:] - 1]


@dataclass(frozen=True)
class _Events:
    variable: I8
    position: I8
    kind: I8

    def sorted(self) -> _Events:
        order = np.lexsort((self.kind, self.position, self.variable))
        return _Events(self.variable[order], self.position[order], self.kind[order])

    def plus(self, variable: I8, position: int, kind: int) -> _Events:
        n = len(variable)
        return _Events(
            np.concatenate([self.variable, variable]),
            np.concatenate([self.position, np.full(n, position, np.int64)]),
            np.concatenate([self.kind, np.full(n, kind, np.int64)]),
        )

    def exposed_in(self, begin: int, end: int) -> I8:
        """Variables whose first event in [begin, end) does not end what was before. Events are sorted."""
        inside = np.flatnonzero((self.position >= begin) & (self.position < end) & (self.kind != _LOOP_END))
        variable, first = np.unique(self.variable[inside], return_index=True)
        return np.asarray(variable[~np.isin(self.kind[inside[first]], (_KILL, _UNDEFINED))], dtype=np.int64)


def live_classes(
    table: ProgramTable,
    order: StaticOrder,
    numels: I8,
    always: npt.NDArray[np.bool_],
    n_buffers: int,
    overlays: Overlays | None = None,
) -> LiveClasses:
    """Analyse a program. `always` marks variables that are always live for reasons outside the programs."""
    n, extra = len(numels), len(overlays) if overlays is not None else 0
    events = _events(table, order, numels, overlays).sorted()
    numels = np.concatenate([numels, np.ones(extra, np.int64)])
    always = np.concatenate([always, np.zeros(extra, np.bool_)])
    forever = always.copy()
    for begin, end in order.branches:
        forever[events.exposed_in(begin, end)] = True
    touched = np.zeros(len(numels), np.bool_)
    touched[events.variable] = True
    loop_ends = events
    for begin, end in order.loops:
        loop_ends = loop_ends.plus(events.exposed_in(begin, end), end - 1, _LOOP_END)
    ranges = _alike_at_calls(_segments(loop_ends.sorted()), events, order)
    of_variable = np.where(forever, ALWAYS, NEVER)
    classes = _Classes()
    for variable, starts, ends in ranges:
        if of_variable[variable] != ALWAYS:
            of_variable[variable] = classes.number(starts, ends)
    of_variable[always & ~touched] = ALWAYS
    of_buffer = np.array([classes.number(*r) for r in _buffer_ranges(table, order, n_buffers)], np.int64)
    return replace(classes.columns(of_variable[:n], of_buffer), of_overlay=of_variable[n:])


class _Classes:
    """Numbers distinct lists of ranges in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._ranges: list[tuple[I8, I8]] = []

    def number(self, starts: I8, ends: I8) -> int:
        key = (starts.tobytes(), ends.tobytes())
        if key not in self._numbers:
            self._numbers[key] = len(self._ranges)
            self._ranges.append((starts, ends))
        return self._numbers[key]

    def columns(self, of_variable: I8, of_buffer: I8) -> LiveClasses:
        counts = [len(starts) for starts, _ in self._ranges]
        offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        none = [np.empty(0, np.int64)]
        starts = np.concatenate(none + [r[0] for r in self._ranges])
        ends = np.concatenate(none + [r[1] for r in self._ranges])
        return LiveClasses(offsets, starts, ends, of_variable, of_buffer)


def _events(table: ProgramTable, order: StaticOrder, numels: I8, overlays: Overlays | None) -> _Events:
    columns: list[tuple[I8, int, int]] = []
    for number, position, loaded in overlays.uses(order) if overlays is not None else ():
        columns.append((np.array([len(numels) + number]), position, _KILL if loaded else _READ))
    partial: list[tuple[int, I8, I8, I8]] = []
    for position, row in enumerate(order.program):
        work = table.work[row]
        if work.undefined is not None:
            columns.append((work.undefined, position, _UNDEFINED))
        if work.accesses is None:
            continue
        columns.append((work.accesses.reads, position, _READ))
        columns.append((work.accesses.full_writes, position, _KILL))
        if len(work.accesses.partial_writes[0]):
            partial.append((position, *work.accesses.partial_writes))
            columns.append((distinct(work.accesses.partial_writes[0]), position, _WRITE))
    none = np.empty(0, np.int64)
    events = _Events(
        np.concatenate([none] + [c[0] for c in columns]),
        np.concatenate([none] + [np.full(len(c[0]), c[1], np.int64) for c in columns]),
        np.concatenate([none] + [np.full(len(c[0]), c[2], np.int64) for c in columns]),
    )
    return _with_joint_writes(events, partial, order, numels) if partial else events


def _with_joint_writes(
    events: _Events, partial: list[tuple[int, I8, I8, I8]], order: StaticOrder, numels: I8
) -> _Events:
    """Turn the first of several partial writes that cover a variable before any read into a kill.

    The writes must lie in the same loop body and the same branch, so that all of them run whenever the first does."""
    s = events.sorted()
    block_of = _innermost(order)
    fresh = np.concatenate([[True], (s.variable[1:] != s.variable[:-1])]) | (s.kind != _WRITE)
    block = block_of[s.position]
    fresh[1:] |= block[1:] != block[:-1]
    fresh |= np.concatenate([[True], s.kind[:-1] != _WRITE])
    run = np.cumsum(fresh)  # a run = consecutive partial writes of one variable in one block
    writes = s.kind == _WRITE
    run_of = dict(
        zip(
            zip(s.variable[writes].tolist(), s.position[writes].tolist(), strict=True),
            run[writes].tolist(),
            strict=True,
        )
    )
    group, start, length = [], [], []
    owner: dict[int, int] = {}
    for position, variable, begin, size in partial:
        ids = [run_of[(v, position)] for v in variable.tolist()]
        group.append(np.array(ids, np.int64))
        start.append(begin)
        length.append(size)
        owner.update(zip(ids, variable.tolist(), strict=True))
    starts = np.concatenate(start)
    span = int((starts + np.concatenate(length)).max())
    of, _, covered = union_in_groups(np.concatenate(group), starts, np.concatenate(length), span)
    total = np.bincount(of, weights=covered)
    complete = [r for r, v in owner.items() if total[r] == numels[v]]
    first = np.flatnonzero(fresh & writes & np.isin(run, complete))
    kind = s.kind.copy()
    kind[first] = _KILL
    return _Events(s.variable, s.position, kind)


def _innermost(order: StaticOrder) -> I8:
    """A number per position that differs between loop bodies and branches."""
    block = np.zeros(len(order), np.int64)
    for number, (begin, end) in enumerate(sorted(order.branches + order.loops, key=lambda r: r[0] - r[1]), start=1):
        block[begin:end] = number
    return block


def _segments(events: _Events) -> list[tuple[int, I8, I8]]:
    """(variable, starts, ends) of every variable with events: a segment begins at each kill (and at the first event)
    and ends after the last event before the next."""
    if len(events.variable) == 0:
        return []
    new_variable = np.concatenate([[True], events.variable[1:] != events.variable[:-1]])
    events, new_variable = _without_undefined(events, new_variable)
    if len(events.variable) == 0:
        return []
    head = np.flatnonzero(new_variable | (events.kind == _KILL))
    tail = np.concatenate([head[1:] - 1, [len(events.variable) - 1]])
    starts, ends, variable = events.position[head], events.position[tail] + 1, events.variable[head]
    borders = np.concatenate([np.flatnonzero(new_variable[head]), [len(head)]])
    rows = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    return [(int(variable[a]), *_joined(starts[a:b], ends[a:b])) for a, b in rows]


def _without_undefined(events: _Events, new_variable: npt.NDArray[np.bool_]) -> tuple[_Events, npt.NDArray[np.bool_]]:
    """Drop the marks of undefined contents: what follows each becomes the beginning of a range."""
    undefined = events.kind == _UNDEFINED
    if not undefined.any():
        return events, new_variable
    after = np.concatenate([[False], undefined[:-1]]) & (events.kind != _LOOP_END)
    kind = np.where(after, _KILL, events.kind)
    kept = ~undefined
    variable = events.variable[kept]
    fresh = np.concatenate([[True], variable[1:] != variable[:-1]])
    return _Events(variable, events.position[kept], kind[kept]), fresh


def _alike_at_calls(ranges: list[tuple[int, I8, I8]], events: _Events, order: StaticOrder) -> list[tuple[int, I8, I8]]:
    """Where a function is called more than once: live at a place of its body in one call is live there in all, if the
    function does something to the variable."""
    for function, begins in sorted(order.bodies.items()):
        if len(begins) < 2:
            continue
        length = order.lengths[function]
        first = np.array(begins, np.int64)
        inside = (events.position >= first[0]) & (events.position < first[0] + length)
        of_function = set(events.variable[inside].tolist())
        ranges = [
            (variable, *_alike(starts, ends, first, length)) if variable in of_function else (variable, starts, ends)
            for variable, starts, ends in ranges
        ]
    return ranges


def _alike(starts: I8, ends: I8, bodies: I8, length: int) -> tuple[I8, I8]:
    """Ranges with what lies within one body [b, b + length) repeated in all; unchanged where no body has any."""
    begin = np.maximum(starts[:, None] - bodies, 0)
    end = np.minimum(ends[:, None] - bodies, length)
    inside = begin < end
    if not inside.any():
        return starts, ends
    begins = np.concatenate([starts, (begin[inside][:, None] + bodies).reshape(-1)])
    lasts = np.concatenate([ends, (end[inside][:, None] + bodies).reshape(-1)])
    order = np.argsort(begins, kind="stable")
    return _joined(begins[order], lasts[order])


def _joined(starts: I8, ends: I8) -> tuple[I8, I8]:
    """Join sorted ranges that touch or overlap (an undefined mark and a write at neighbouring positions, say)."""
    if len(starts) == 1:
        return starts, ends
    reach = np.maximum.accumulate(ends)
    fresh = np.concatenate([[True], starts[1:] > reach[:-1]])
    head = np.flatnonzero(fresh)
    return starts[head], reach[np.concatenate([head[1:] - 1, [len(starts) - 1]])]


def _buffer_ranges(table: ProgramTable, order: StaticOrder, n_buffers: int) -> Sequence[tuple[I8, I8]]:
    used: list[list[int]] = [[] for _ in range(n_buffers)]
    for position, row in enumerate(order.program):
        for buffer in table.work[row].buffers:
            used[buffer].append(position)
    ranges = []
    for positions in used:
        at = np.array(positions, np.int64)
        ranges.append(_joined(at, at + 1))
    return ranges
