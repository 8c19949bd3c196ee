"""Interval map from elements to tiles: the tile mapping of all variables, and cutting regions at its borders.

All variables lie end to end in one element space (see `simulator.graph.store`). A region is a half-open interval of
that space. Cutting regions at the borders of the mapping gives *pieces*, each on one tile and within one variable. All
passes compute places and sizes from pieces. A look-up of many elements finds its row in a table of equal buckets, some
four a row, and steps to the next row where a bucket holds several; where it holds many, it is a binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.arrays import BoolArray, Int64Array

#: Look-ups of fewer elements, in fewer rows, or in more rows are binary searches; a table of more is too large.
_FEW, _MOST = 256, 1 << 18
#: Buckets of elements per row; rows that a look-up steps on from its bucket's first before it searches.
_BUCKETS_PER_ROW, _STEPS = 4, 3


@dataclass(frozen=True)
class ElementMap:
    """Row i covers elements `begin[i] .. end[i]`; rows are in ascending order."""

    begin: Int64Array
    end: Int64Array
    tile: Int64Array  #: -1 = not mapped
    variable: Int64Array
    item_bytes: Int64Array

    @cached_property
    def held(self) -> Int64Array:
        """The elements that the variable of each row has on the row's tile."""
        last = np.zeros(len(self.begin), np.int64)
        order = np.lexsort((self.begin, self.tile, self.variable))
        end = (self.place + self.end - self.begin)[order]
        changes = (np.diff(self.variable[order]) != 0) | (np.diff(self.tile[order]) != 0)
        tails = np.append(np.flatnonzero(changes), len(order) - 1)[: len(order)]
        last[order] = np.repeat(end[tails], np.diff(np.append(-1, tails)))
        return last

    def offset(self, row: Int64Array, start: Int64Array) -> Int64Array:
        """The byte offset of elements, each in a row, in the memory of their variable on the row's tile."""
        return np.asarray((self._shift[row] + start) * self.item_bytes[row], np.int64)

    @cached_property
    def _shift(self) -> Int64Array:
        """What is added to an element of each row for its offset in elements."""
        return np.asarray(self.place - self.begin, np.int64)

    @cached_property
    def place(self) -> Int64Array:
        """The offset of each row in its variable's memory on its tile, in elements. The rows of a variable on a tile
        lie one after another, in ascending order."""
        order = np.lexsort((self.begin, self.tile, self.variable))
        length = (self.end - self.begin)[order]
        before = np.cumsum(length) - length
        fresh = np.ones(len(order), dtype=np.bool_)
        fresh[1:] = (np.diff(self.variable[order]) != 0) | (np.diff(self.tile[order]) != 0)
        heads = np.flatnonzero(fresh)
        place = np.empty(len(order), np.int64)
        place[order] = before - before[heads][np.cumsum(fresh) - 1]
        return place

    @cached_property
    def has_unmapped(self) -> bool:
        """Whether some element has no tile."""
        return bool((self.tile < 0).any())

    def find(self, elements: Int64Array) -> Int64Array:
        """The row that holds each element."""
        if len(elements) < _FEW or not _FEW <= len(self.end) <= _MOST:
            return np.searchsorted(self.end, elements, side="right")
        table, shift = self._buckets
        row: Int64Array = table[np.minimum(elements >> shift, len(table) - 1)]
        later = np.flatnonzero(self._ends[row] <= elements)
        for _ in range(_STEPS):
            row[later] += 1
            later = later[self._ends[row[later]] <= elements[later]]
            if not len(later):
                return row
        row[later] = np.searchsorted(self.end, elements[later], side="right")
        return row

    def variable_around(self, element: int) -> tuple[int, int]:
        """The first row of the variable that holds an element, and the row behind its last."""
        variable = self.variable[np.searchsorted(self.end, element, side="right")]
        first, end = np.searchsorted(self.variable, [variable, variable + 1]).tolist()
        return first, end

    @cached_property
    def _buckets(self) -> tuple[Int64Array, int]:
        """(the row of the first element of each bucket of 2**shift elements, shift), some buckets a row."""
        last = int(self.end[-1])
        shift = max((last // (_BUCKETS_PER_ROW * len(self.end))).bit_length() - 1, 0)
        first = np.arange((last >> shift) + 2, dtype=np.int64) << shift
        return np.searchsorted(self.end, first, side="right"), shift

    @cached_property
    def _ends(self) -> Int64Array:
        """The ends, and one past all elements, for elements that no row holds."""
        return np.append(self.end, np.iinfo(np.int64).max)

    def cut(self, starts: Int64Array, lengths: Int64Array) -> Pieces:
        """Cut regions at the borders of the mapping; empty regions give no piece."""
        keep = np.flatnonzero(lengths > 0)
        starts, lengths = starts[keep], lengths[keep]
        first = self.find(starts)
        longer = starts + lengths > self.end[first]
        if not longer.any():
            return Pieces(keep, starts, lengths, first)
        last = first.copy()
        last[longer] = self.find((starts + lengths)[longer] - 1)
        count = last - first + 1
        region = np.repeat(np.arange(len(starts)), count)
        ordinal = np.arange(len(region)) - np.repeat(np.cumsum(count) - count, count)
        row = first[region] + ordinal
        begin = np.maximum(starts[region], self.begin[row])
        end = np.minimum(starts[region] + lengths[region], self.end[row])
        return Pieces(keep[region], begin, end - begin, row)


@dataclass(frozen=True)
class Pieces:
    """Parts of regions, in order. `region` = index of the region that each is cut from, `row` = row of the
    ElementMap."""

    region: Int64Array
    start: Int64Array
    length: Int64Array
    row: Int64Array

    def take(self, index: BoolArray | Int64Array | slice) -> Pieces:
        return Pieces(self.region[index], self.start[index], self.length[index], self.row[index])


def element_map(
    bases: Int64Array, numels: Int64Array, item_bytes: Int64Array, ends: Int64Array, tiles: Int64Array
) -> ElementMap:
    """Join the mapping table of a GraphStore with its variables; empty variables have no row."""
    begin = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    owners = np.flatnonzero(numels > 0)
    variable = owners[np.searchsorted(bases[owners], begin, side="right") - 1] if len(ends) else begin
    return ElementMap(begin, ends, tiles.astype(np.int64), variable, item_bytes[variable] if len(ends) else begin)
