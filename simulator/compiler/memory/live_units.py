"""Units: elements of one variable that every program accesses alike, so that they have the same liveness.

The borders of all accesses cut the element space into atoms. Atoms of a variable that the same accesses cover form a
unit. Each access has a random 64-bit number; the wrapping sum of the numbers that cover an atom identifies their set
(Zobrist hashing; 1e6 atoms collide in about one of 1e7 programs). One sort of all borders finds the atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array, UInt64Array
from simulator.compiler.ir.accesses import Elements
from simulator.compiler.ir.grouping import in_order


@dataclass(frozen=True)
class Units:
    """Atom i covers elements `begin[i]` to `begin[i + 1]` (one more entry than atoms) and belongs to `unit[i]`. Per
    unit: its `variable` and its first atom, `example`. Units are numbered by their first atoms."""

    begin: Int64Array
    unit: Int64Array
    variable: Int64Array
    example: Int64Array

    def __len__(self) -> int:
        return len(self.variable)

    def touched(self, elements: Elements) -> Int64Array:
        """The units of the elements of an access, ascending."""
        if len(elements[0]) == 0 or len(self) == 0:
            return np.empty(0, np.int64)
        at = self.begin[self.example]  # ascending, as units are numbered by their first atom
        first = np.searchsorted(at, elements[0])
        count = np.searchsorted(at, elements[0] + elements[1]) - first
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        return np.asarray(np.repeat(first, count) + within, dtype=np.int64)


def units_of(accesses: Sequence[Elements], numels: Int64Array) -> Units:
    """The units of all variables, of `numels` elements each, under these accesses."""
    ends = np.cumsum(numels)
    number = np.repeat(np.arange(len(accesses)), [len(a[0]) for a in accesses])
    mark, none = _hashed(number + 1), np.zeros(len(ends) + 1, np.uint64)
    starts = [a[0] for a in accesses]
    stops = [a[0] + a[1] for a in accesses]
    border = np.concatenate([np.zeros(1, np.int64), ends, *starts, *stops])
    change = np.concatenate([none, mark, np.uint64(0) - mark])  # at its end an access is subtracted; sums wrap around
    order, border = in_order(border)
    head = np.flatnonzero(np.append(True, border[1:] != border[:-1]))
    begin = border[head]
    sums = np.cumsum(np.add.reduceat(change[order], head)[:-1], dtype=np.uint64)
    return _numbered(begin, np.searchsorted(ends, begin[:-1], side="right"), sums)


def _numbered(begin: Int64Array, variable: Int64Array, sums: UInt64Array) -> Units:
    """Number the units: atoms of equal variable and sum. Equal neighbours are joined to one atom."""
    if len(variable) == 0:
        return Units(begin, variable, variable, variable)
    fresh = np.ones(len(variable), np.bool_)
    fresh[1:] = (variable[1:] != variable[:-1]) | (sums[1:] != sums[:-1])
    head = np.flatnonzero(fresh)
    key = sums[head] + _hashed(-1 - variable[head])  # no access has these numbers
    by_key = np.argsort(key)
    new = np.append(True, np.diff(key[by_key]) != 0)
    first = np.minimum.reduceat(by_key, np.flatnonzero(new))  # the first atom of each unit
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    unit = np.empty(len(key), np.int64)
    unit[by_key] = rank[np.cumsum(new) - 1]
    example = first[order]
    return Units(np.append(begin[head], begin[-1]), unit, variable[head[example]], example)


def _hashed(number: Int64Array) -> UInt64Array:
    """Hash numbers to 64 bits (splitmix64)."""
    x = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)
