"""Slots: interval map from (tile, element) to addresses, of variables or of a buffer."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import poplar_error
from simulator.compiler.ir.element_map import ElementMap
from simulator.runtime.address_accurate.claims import NOWHERE, Claims


class Slots:
    """Runs of elements on tiles: run i is `length[i]` elements from `start[i]` on, at `address[i]`. Runs of a tile are
    disjoint. `what` names the memory in errors."""

    def __init__(
        self,
        what: str,
        tile: Int64Array,
        start: Int64Array,
        length: Int64Array,
        item_bytes: Int64Array,
        address: Int64Array,
    ) -> None:
        self._what = what
        self._span = int((start + length).max(initial=0)) + 1
        order = np.argsort(tile * self._span + start, kind="stable")
        self._tile, self._start, self._length = tile[order], start[order], length[order]
        self._item_bytes, self._address = item_bytes[order], address[order]
        self._key = self._tile * self._span + self._start

    def addresses(self, tile: Int64Array, element: Int64Array) -> Int64Array:
        """The address of each element on its tile. Raises poplar_error for an element without one."""
        if len(element) == 0:
            return element
        at = np.searchsorted(self._key, tile * self._span + element, side="right") - 1
        inside = (at >= 0) & (element < self._span)
        at = np.maximum(at, 0)
        if len(self._key):
            inside &= (self._tile[at] == tile) & (element < self._start[at] + self._length[at])
        else:
            inside[:] = False
        if not inside.all():
            bad = int(np.flatnonzero(~inside)[0])
            raise poplar_error(
                f"Element {int(element[bad])} of the element space has no place in {self._what} "
                f"on tile {int(tile[bad])}."
            )
        return np.asarray(self._address[at] + (element - self._start[at]) * self._item_bytes[at], dtype=np.int64)

    def bytes_of(self, tile: Int64Array, start: Int64Array, length: Int64Array, item_bytes: Int64Array) -> Int64Array:
        """The address of every byte of runs of elements, in order."""
        first = self.addresses(np.repeat(tile, length), regions.elements(start, length))
        return bytes_from(first, np.repeat(item_bytes, length))


def bytes_from(address: Int64Array, size: Int64Array) -> Int64Array:
    """The address of every byte of runs that begin at `address`, in order."""
    return regions.elements(address, size)


def stacked(tile: Int64Array, size: Int64Array) -> Int64Array:
    """Offsets of entries that are stacked on each tile, in order."""
    order = np.argsort(tile, kind="stable")
    end = np.cumsum(size[order])
    before = end - size[order]
    first = np.flatnonzero(np.append(True, tile[order][1:] != tile[order][:-1])[: len(order)])
    count = np.diff(np.append(first, len(order)))
    offset = np.empty(len(size), np.int64)
    offset[order] = before - np.repeat(before[first], count)
    return offset


def variable_slots(claims: Claims, emap: ElementMap, tiles: int, replica: int, names: list[str]) -> Slots:
    """Slots of all variables of one replica, in the order of `emap.place`. Raises poplar_error where the bytes in the
    report differ from the mapped ones."""
    rows = np.flatnonzero(emap.tile >= 0)
    variable, tile = emap.variable[rows], emap.tile[rows] + replica * tiles
    length = emap.end[rows] - emap.begin[rows]
    size = length * emap.item_bytes[rows]
    begin = claims.begin[variable, tile]
    pair = variable * claims.begin.shape[1] + tile
    mapped = np.bincount(pair, weights=size, minlength=claims.size.size).astype(np.int64)[pair]
    wrong = np.flatnonzero((begin != NOWHERE) & (mapped != claims.size[variable, tile]))
    if len(wrong):
        v, t = int(variable[wrong[0]]), int(tile[wrong[0]])
        raise poplar_error(
            f"The report gives '{names[v]}' {int(claims.size[v, t])} bytes on tile {t}, but "
            f"{int(mapped[wrong[0]])} bytes of it are mapped there."
        )
    address = begin + emap.place[rows] * emap.item_bytes[rows]
    listed = begin != NOWHERE
    columns = (column[listed] for column in (tile, emap.begin[rows], length, emap.item_bytes[rows], address))
    return Slots("any variable that the report lists", *columns)
