"""Interval map from elements to tiles: the tile mapping of all variables, and cutting regions at its borders.

All variables lie end to end in one element space (see `simulator.graph.store`). A region is a half-open interval of
that space. Cutting regions at the borders of the mapping gives *pieces*, each on one tile and within one variable. All
passes compute places and sizes from pieces. A look-up is a binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.arrays import BoolArray, Int64Array


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
        return np.asarray((self.place[row] + start - self.begin[row]) * self.item_bytes[row], np.int64)

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

    def find(self, elements: Int64Array) -> Int64Array:
        """The row that holds each element."""
        return np.searchsorted(self.end, elements, side="right")

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

    def take(self, index: BoolArray | Int64Array) -> Pieces:
        return Pieces(self.region[index], self.start[index], self.length[index], self.row[index])


def element_map(
    bases: Int64Array, numels: Int64Array, item_bytes: Int64Array, ends: Int64Array, tiles: Int64Array
) -> ElementMap:
    """Join the mapping table of a GraphStore with its variables; empty variables have no row."""
    begin = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    owners = np.flatnonzero(numels > 0)
    variable = owners[np.searchsorted(bases[owners], begin, side="right") - 1] if len(ends) else begin
    return ElementMap(begin, ends, tiles.astype(np.int64), variable, item_bytes[variable] if len(ends) else begin)
