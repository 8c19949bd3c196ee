"""Elements that one lowered program reads and writes, in variables, not buffers.

Elements are runs of the element space, disjoint and in ascending order; a run may reach across variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.regions import distinct
from simulator.compiler.ir.grouping import union

Elements = tuple[Int64Array, Int64Array]
"""(starts, lengths)"""

NOTHING: Elements = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class Accesses:
    """Elements read and elements written; an element in both is read first."""

    reads: Elements = NOTHING
    writes: Elements = NOTHING


def elements_of(parts: Sequence[Elements]) -> Elements:
    """The union of runs in any order."""
    parts = [part for part in parts if len(part[0])]
    if not parts:
        return NOTHING
    start, length = parts[0] if len(parts) == 1 else (np.concatenate(column) for column in zip(*parts, strict=True))
    if not length.all():
        start, length = start[length > 0], length[length > 0]
    if len(start) == 0:
        return NOTHING
    return union(start, length)


def variables_in(elements: Elements, bases: Int64Array) -> Int64Array:
    """The variables of these elements; `bases` = first element of each variable."""
    start, length = elements
    first = np.searchsorted(bases, start, side="right") - 1
    last = np.searchsorted(bases, start + length - 1, side="right") - 1
    count = last - first + 1
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return distinct(np.repeat(first, count) + within)


@dataclass(frozen=True)
class Moves:
    """Elements of variables that an exchange accesses: within IPUs, to fill packets for other IPUs, and where these
    arrive."""

    inside: Accesses = Accesses()
    packed: Accesses = Accesses()
    arriving: Accesses = Accesses()


def moves_of(
    crosses: BoolArray,
    length: Int64Array,
    reads: Int64Array | None,
    writes: Int64Array | None,
    landing: BoolArray | None = None,
    packed: BoolArray | None = None,
) -> Moves:
    """The accesses of an exchange. `reads` and `writes` hold the first element of each row, None where that end is a
    buffer; `crosses` flags rows between IPUs, `landing` those that end in a buffer although others do not, `packed`
    those that come from one."""

    def runs(start: Int64Array | None, keep: BoolArray) -> Elements:
        return NOTHING if start is None else elements_of([(start[keep], length[keep])])

    written = ~crosses if landing is None else ~crosses & ~landing
    read = ~crosses if packed is None else ~crosses & ~packed
    inside = Accesses(runs(reads, read), runs(writes, written))
    return Moves(inside, Accesses(reads=runs(reads, crosses)), Accesses(writes=runs(writes, crosses)))
