"""One tile's memory over address and time, as rectangles to draw.

A rectangle spans an allocation's addresses and one of its live ranges, so allocations that take turns at an address lie
side by side and an unused address stays blank. When there are more than can be drawn, the allocations of one category
that begin in the same cell of addresses become one rectangle, their hull, and the cell is doubled until they fit; the
map says the size of the cell, and each rectangle how many allocations it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.kept import kept
from popvision.analysis.liveness import class_rows
from popvision.analysis.lowered import lowered_tile
from popvision.formats.profile.model import CATEGORIES, EquivalenceClasses, LoweredTile

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource

Int64Array = npt.NDArray[np.int64]

#: Rectangles that a chart draws fluently.
LIMIT = 1500


@dataclass(frozen=True)
class AddressMap:
    """Rectangle i covers addresses [begin, end) and liveness indices [live_from, live_to). `row` is its (first)
    allocation's row in the tile's table, `merged` how many allocations it stands for."""

    begin: Int64Array
    end: Int64Array
    live_from: Int64Array
    live_to: Int64Array
    category: Int64Array
    row: Int64Array
    merged: Int64Array
    indices: int  #: liveness indices of the report, at least 1
    cell: int  #: bytes within which neighbours were merged, 0 = every allocation is drawn


def address_map(
    source: ReportSource, tile: int, window: tuple[int, int] | None = None, limit: int = LIMIT
) -> AddressMap:
    """The map of the allocations of a tile that touch the addresses `window` (all when None).

    Raises NotRecordedError without lowered variables and ValueError for a tile that does not exist.
    """
    low = lowered_tile(source, tile)
    stored = kept(source, "liveness", source.reader.liveness)
    classes = kept(source, "eq_classes", source.reader.eq_classes)
    indices = max(1, len(stored.program) if stored is not None else 1)
    rectangles = _rectangles(low, classes, indices)
    inside = np.ones(len(rectangles), dtype=bool)
    if window is not None:
        inside = (rectangles[:, 1] > window[0]) & (rectangles[:, 0] < window[1])
    rectangles = rectangles[inside]
    merged, cell = np.ones(len(rectangles), dtype=np.int64), 0
    if len(rectangles) > limit:
        rectangles, merged, cell = _merge(rectangles, limit)
    begin, end, live_from, live_to, category, row = rectangles.T
    return AddressMap(begin, end, live_from, live_to, category, row, merged, indices, cell)


def _rectangles(low: LoweredTile, classes: EquivalenceClasses | None, indices: int) -> Int64Array:
    """(n, 6): begin, end, live_from, live_to, category, row; one per allocation and live range."""
    begin = np.asarray(low.address, dtype=np.int64)
    columns = np.stack([begin, begin + np.asarray(low.bytes, dtype=np.int64)], axis=1)
    category, owner = np.asarray(low.category, dtype=np.int64), np.asarray(low.eq_class, dtype=np.int64)
    rows = np.arange(len(begin))
    temporary = np.flatnonzero(owner >= 0) if classes is not None else np.empty(0, dtype=np.int64)
    always = np.setdiff1d(rows, temporary)
    parts = [_table(columns[always], np.zeros(len(always)), np.full(len(always), indices), category, always)]
    if classes is not None:
        ranges, of = class_rows(classes, owner[temporary])
        allocation = temporary[of]
        starts, ends = np.asarray(classes.starts)[ranges], np.asarray(classes.ends)[ranges]
        parts.append(_table(columns[allocation], starts, ends, category, allocation))
    table = np.concatenate(parts)
    table = table[(table[:, 1] > table[:, 0]) & (table[:, 3] > table[:, 2])]
    return table[np.lexsort((table[:, 2], table[:, 0]))]


def _table(
    addresses: Int64Array,
    live_from: npt.NDArray[np.generic],
    live_to: npt.NDArray[np.generic],
    category: Int64Array,
    rows: Int64Array,
) -> Int64Array:
    return np.column_stack([addresses, live_from, live_to, category[rows], rows]).astype(np.int64)


def _merge(rectangles: Int64Array, limit: int) -> tuple[Int64Array, Int64Array, int]:
    cell = 16
    while True:
        key = rectangles[:, 0] // cell * 256 + rectangles[:, 4]
        unique, group = np.unique(key, return_inverse=True)
        if len(unique) <= max(limit, len(CATEGORIES)):
            break
        cell *= 2
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(len(unique)))
    ordered = rectangles[order]
    hull = ordered[first].copy()
    for column, reduce in ((0, np.minimum), (1, np.maximum), (2, np.minimum), (3, np.maximum)):
        hull[:, column] = reduce.reduceat(ordered[:, column], first)
    allocations = np.stack([group[order], ordered[:, 5]])
    distinct = np.unique(allocations, axis=1)
    return hull, np.bincount(distinct[0], minlength=len(unique)), cell
