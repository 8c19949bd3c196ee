"""A window of an address map for a screen: its bands or, where they are too many, cells from a 2-D difference array.

A cell spans an integer number of bytes and of liveness indices. Its amounts are exact areas (bytes x indices);
it takes the colour of the category with most of it, and shows the share of the cell that is live.

Obvious way: for each band, add its overlap to each cell that it touches. Here the overlap along one axis is written as
a running sum: [a, b) against cells of size s changes the first differences of the overlaps at no more than four
places, floor(a/s), floor(a/s)+1, floor(b/s), floor(b/s)+1. A band is the product of two such rows, so sixteen entries
in a table of differences; two running sums over the table give the areas of all bands: O(bands + cells).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.address_map import AddressMap, Bands
from popvision.arrays import Int64Array, UInt8Array
from popvision.formats.profile.model import CATEGORIES

NO_CATEGORY = 255


@dataclass(frozen=True)
class Window:
    """Addresses [bottom, top) and liveness indices [first, last), cut into at most `columns` x `rows` cells."""

    bottom: int
    top: int
    first: int
    last: int
    columns: int
    rows: int

    def __post_init__(self) -> None:
        if not (0 <= self.bottom < self.top and 0 <= self.first < self.last and self.columns > 0 and self.rows > 0):
            raise ValueError("a window of an address map needs at least one byte, one index and one cell")

    @property
    def cell_bytes(self) -> int:
        return -(-(self.top - self.bottom) // self.rows)

    @property
    def cell_indices(self) -> int:
        return -(-(self.last - self.first) // self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows (from the lowest address up) and columns of cells that cover the window."""
        return (
            -(-(self.top - self.bottom) // self.cell_bytes),
            -(-(self.last - self.first) // self.cell_indices),
        )


@dataclass(frozen=True)
class Cells:
    """(rows, columns), lowest addresses first: the category with the largest area (NO_CATEGORY where nothing is live),
    and the live area of the cell in bytes x indices."""

    category: UInt8Array
    area: Int64Array


def bands_in_window(bands: Bands, window: Window) -> Bands:
    """The bands that touch a window, with their full extent."""
    stop = int(np.searchsorted(bands.begin, window.top, side="left"))
    is_inside = (bands.end[:stop] > window.bottom) & (bands.live_from[:stop] < window.last)
    return bands.take(np.flatnonzero(is_inside & (bands.live_to[:stop] > window.first)))


def cells(bands: Bands, window: Window) -> Cells:
    """Exact areas of bands (all or those of the window) in the cells of a window."""
    rows, columns = window.shape
    begin = np.clip(bands.begin, window.bottom, window.top) - window.bottom
    end = np.clip(bands.end, window.bottom, window.top) - window.bottom
    first = np.clip(bands.live_from, window.first, window.last) - window.first
    last = np.clip(bands.live_to, window.first, window.last) - window.first
    best = np.zeros((rows, columns), dtype=np.int64)
    total = np.zeros_like(best)
    category = np.full((rows, columns), NO_CATEGORY, dtype=np.uint8)
    for code in range(len(CATEGORIES)):
        of_category = np.flatnonzero(bands.category == code)
        if not len(of_category):
            continue
        up = _Extents(begin[of_category], end[of_category], window.cell_bytes)
        along = _Extents(first[of_category], last[of_category], window.cell_indices)
        area = _areas(up, along, rows, columns)
        total += area
        wins = area > best
        category[wins] = code
        np.maximum(best, area, out=best)
    return Cells(category, total)


class _Extents:
    """[begin, end) against cells of `size`, along one axis."""

    def __init__(self, begin: Int64Array, end: Int64Array, size: int) -> None:
        self.begin, self.end, self.size = begin, end, size
        self.short = begin // size == end // size

    def changes(self, chosen: npt.NDArray[np.intp], short: bool) -> list[tuple[Int64Array, Int64Array]]:
        """(cell, change) of the first differences of the overlaps; two, not four, for those inside one cell."""
        begin, end = self.begin[chosen], self.end[chosen]
        if short:
            cell, length = begin // self.size, end - begin
            return [(cell, length), (cell + 1, -length)]
        changes_at_cells = []
        for at, sign in ((begin, 1), (end, -1)):
            cell = at // self.size
            rest = (cell + 1) * self.size - at
            changes_at_cells += [(cell, sign * rest), (cell + 1, sign * (self.size - rest))]
        return changes_at_cells


def _areas(up: _Extents, along: _Extents, rows: int, columns: int) -> Int64Array:
    width = columns + 2
    table = np.zeros((rows + 2) * width)
    for low, thin in ((True, True), (True, False), (False, True), (False, False)):
        chosen = np.flatnonzero((up.short == low) & (along.short == thin))
        if not len(chosen):
            continue
        pairs = [(r * width + c, h * w) for r, h in up.changes(chosen, low) for c, w in along.changes(chosen, thin)]
        place, change = (np.concatenate(column) for column in zip(*pairs, strict=True))
        # bincount adds in float64, exact up to 2^53: an area is at most a tile's bytes x indices.
        table += np.bincount(place, change, len(table))
    return np.asarray(table.reshape(rows + 2, width).cumsum(axis=0).cumsum(axis=1)[:rows, :columns]).astype(np.int64)


@dataclass(frozen=True)
class Margins:
    """Beside the map: per column of cells the most and the least bytes live at one of its indices, per row of cells the
    bytes that no allocation uses and the most allocations that use one of its addresses."""

    live_most: Int64Array
    live_least: Int64Array
    gap_bytes: Int64Array
    sharing: Int64Array


def margins(of: AddressMap, window: Window) -> Margins:
    """Margins of a window whose indices exist in the map."""
    rows, columns = window.shape
    starts = np.arange(columns) * window.cell_indices
    live = of.live[window.first : window.last]
    edges = window.bottom + np.arange(rows + 1) * window.cell_bytes
    edges[-1] = window.top
    most, least = np.maximum.reduceat(live, starts), np.minimum.reduceat(live, starts)
    return Margins(most, least, np.diff(_gap_bytes_below(of, edges)), _sharing(of, edges))


def _gap_bytes_below(of: AddressMap, edges: Int64Array) -> Int64Array:
    """Bytes of gaps at addresses below each edge."""
    if not len(of.gap_begin):
        return np.zeros(len(edges), dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(of.gap_end - of.gap_begin)])
    begun = np.searchsorted(of.gap_begin, edges, side="left")
    beyond = np.maximum(of.gap_end[np.maximum(begun - 1, 0)] - edges, 0)  # of the last gap that begins below the edge
    below: Int64Array = before[begun] - np.where(begun > 0, beyond, 0)
    return below


def _sharing(of: AddressMap, edges: Int64Array) -> Int64Array:
    """The most allocations that share an address of each [edges[i], edges[i + 1])."""
    if not len(of.sharing):
        return np.zeros(len(edges) - 1, dtype=np.int64)
    padded = np.concatenate([[0], of.sharing])  # before the first address nothing lies
    first = np.searchsorted(of.sharing_from, edges[:-1], side="right")
    after = np.searchsorted(of.sharing_from, edges[1:], side="left") + 1
    pairs = np.stack([first, np.maximum(after, first + 1)], axis=1).ravel()
    return np.maximum.reduceat(np.append(padded, 0), pairs)[::2]
