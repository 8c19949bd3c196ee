"""Heat map of live bytes over tiles x liveness indices: the maximum of each cell, from piecewise constant curves.

Obvious way: the curve of each tile (`liveness.tile_curve`), one number per tile and index, 180 million of them for
5,888 tiles and 31,000 indices. This module stores per tile only the places where its curve changes: the begins and ends
of the live ranges of its allocations, in order, and the bytes live from there on. The maximum of a cell is then the
maximum of one run of these, computed with one `reduceat` for all tiles that share their layout (the file stores their
columns once). Memory grows with the allocations of a tile, not with the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.lowered import class_rows
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.columns import eq_classes, liveness
from popvision.analysis.report.not_recorded import LOWERED_VARIABLES, NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import AnyArray, Int64Array, IntegerArray
from popvision.formats.profile.model import EquivalenceClasses

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: From so many tiles of a layout on, a loop over the columns of the picture is faster than one over the tiles.
_MANY = 12

#: Tiles whose changes are added up at a time: keeps the work in the processor's cache.
_BLOCK = 128


@dataclass(frozen=True)
class Changes:
    """Tiles of one layout: `levels[j, k]` are the not-always-live bytes of tile `tiles[k]` from index `at[j]` until the
    next change. `at` ascends and begins with -1, before the first index, where nothing is live."""

    tiles: Int64Array
    at: Int64Array
    levels: IntegerArray


@dataclass(frozen=True)
class Heat:
    """`values[r, c]` is the highest number of bytes live on any of the tiles `tile_edges[r]` to `tile_edges[r + 1] - 1`
    at any of the indices `index_edges[c]` to `index_edges[c + 1] - 1`."""

    tile_edges: Int64Array
    index_edges: Int64Array
    values: Int64Array


@dataclass(frozen=True)
class Cell:
    """The highest place of a cell: `bytes` on `tile` at `index` (the first such place, by tile, then index)."""

    tile: int
    index: int
    bytes: int


def changes(source: ReportSource) -> list[Changes]:
    """The changes of all tiles, grouped by layout. Raises NotRecordedError without lowered variables."""
    return source.kept.once("live_changes", lambda: _read(source))


def heat(source: ReportSource, tiles: range, indices: range, grid: tuple[int, int], *, always: bool = False) -> Heat:
    """The picture of `tiles` x `indices` in at most `grid` = (rows, columns) cells of equal size. With `always` the
    always-live bytes of each tile are included. Raises ValueError for an empty or unknown range."""
    check_window(source, tiles, indices, grid)
    tile_edges, index_edges = edges_of(tiles, grid[0]), edges_of(indices, grid[1])
    values = np.zeros((len(tile_edges) - 1, len(index_edges) - 1), dtype=np.int64)
    below = memory_by_tile(source, None).always_live if always else np.zeros(tiles.stop, dtype=np.int64)
    if always:  # a tile without any change has no layout below
        values += np.maximum.reduceat(below[tiles.start : tiles.stop], tile_edges[:-1] - tiles.start)[:, None]
    for layout in changes(source):
        chosen = np.flatnonzero((layout.tiles >= tiles.start) & (layout.tiles < tiles.stop))
        if len(chosen):
            _raise(values, layout, chosen, below[layout.tiles[chosen]], (tile_edges, index_edges))
    return Heat(tile_edges, index_edges, values)


def highest_place(source: ReportSource, tiles: range, indices: range, *, always: bool = False) -> Cell:
    """Where the maximum of a cell is reached. Raises as `heat`."""
    by_tile = heat(source, tiles, indices, (len(tiles), 1), always=always).values[:, 0]
    tile = tiles.start + int(by_tile.argmax())
    curve = heat(source, range(tile, tile + 1), indices, (1, len(indices)), always=always).values[0]
    return Cell(tile, indices.start + int(curve.argmax()), int(curve.max()))


def check_window(source: ReportSource, tiles: range, indices: range, grid: tuple[int, int]) -> None:
    """Raises ValueError for an empty or unknown range and for a picture without cells."""
    count = len(liveness(source).program)
    for wanted, most, noun in ((tiles, target_of(source).num_tiles, "tiles"), (indices, count, "liveness indices")):
        if not (0 <= wanted.start < wanted.stop <= most and wanted.step == 1):
            last = wanted.stop - 1
            raise ValueError(f"{noun} {wanted.start} to {last} do not exist: this report has {noun} 0 to {most - 1}")
    if min(grid) < 1:
        raise ValueError("a picture needs at least one row and one column")


def edges_of(of: range, most: int) -> Int64Array:
    """Edges of at most `most` cells of equal size; the last one may be smaller."""
    size = -(-len(of) // most)
    return np.append(np.arange(of.start, of.stop, size), of.stop).astype(np.int64)


def _raise(
    values: Int64Array,
    layout: Changes,
    chosen: npt.NDArray[np.intp],
    below: Int64Array,
    edges: tuple[Int64Array, Int64Array],
) -> None:
    """Raise the cells of a picture to the maximum of the chosen tiles of a layout, each on top of its bytes `below`."""
    row = np.searchsorted(edges[0], layout.tiles[chosen], side="right") - 1
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    together = len(chosen) == chosen[-1] - chosen[0] + 1
    levels = layout.levels[:, chosen[0] : chosen[-1] + 1] if together else layout.levels[:, chosen]
    highest = _by_column if len(chosen) >= _MANY else _in_one_pass
    maxima = np.maximum.reduceat(highest(layout.at, levels, edges[1]) + below, starts, axis=1).T
    values[row[starts]] = np.maximum(values[row[starts]], maxima)


def _by_column(at: Int64Array, levels: AnyArray, edges: Int64Array) -> AnyArray:
    """Maximum between neighbouring edges (rows) of each tile: over the level at the left edge and the levels from each
    change before the right edge."""
    first = np.searchsorted(at, edges[:-1], side="right") - 1
    last = np.searchsorted(at, edges[1:], side="left")
    maxima = np.empty((len(first), levels.shape[1]), dtype=levels.dtype)
    for row, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        np.max(levels[begin:end], axis=0, out=maxima[row])
    return maxima


def _in_one_pass(at: Int64Array, levels: AnyArray, edges: Int64Array) -> AnyArray:
    """The same for few tiles: runs that follow each other, each from the level at its left edge to the one before the
    next left edge. Where no change happens at an edge, the level there belongs to the run before it too."""
    first = np.searchsorted(at, edges[:-1], side="right") - 1
    last = np.searchsorted(at, edges[1:], side="left")
    maxima = np.maximum.reduceat(levels[: int(last[-1])], first, axis=0)
    carried = np.flatnonzero(last[:-1] == first[1:] + 1)
    maxima[carried] = np.maximum(maxima[carried], levels[first[carried + 1]])
    return np.asarray(maxima)


def _read(source: ReportSource) -> list[Changes]:
    classes, count = eq_classes(source), len(liveness(source).program)
    tiles = range(target_of(source).num_tiles)
    grouped: dict[bytes, tuple[Any, list[int], list[Any]]] = {}
    seen = 0
    for batch in source.reader.lowered_tiles(tiles, ("eq_class", "bytes")):
        seen += len(batch)
        names: dict[int, bytes] = {}
        for tile, columns in batch:
            owner = columns["eq_class"]
            name = names.setdefault(id(owner), blake2b(owner.astype(np.int64).tobytes()).digest())
            _, members, sizes = grouped.setdefault(name, (owner, [], []))
            members.append(tile)
            sizes.append(columns["bytes"])
    if seen < len(tiles):
        raise NotRecordedError(LOWERED_VARIABLES)
    return [_changes(owner, members, sizes, classes, count) for owner, members, sizes in grouped.values()]


def _changes(
    owner: IntegerArray,
    tiles: Sequence[int],
    sizes: Sequence[IntegerArray],
    classes: EquivalenceClasses,
    indices: int,
) -> Changes:
    """The changes of tiles whose allocations belong to the same classes."""
    classes_of = np.asarray(owner, dtype=np.int64)
    temporary = np.flatnonzero(classes_of >= 0)
    rows, of = class_rows(classes, classes_of[temporary])
    begin = np.clip(np.asarray(classes.starts, dtype=np.int64)[rows], 0, indices)
    end = np.clip(np.asarray(classes.ends, dtype=np.int64)[rows], 0, indices)
    when = np.concatenate([begin, end])
    order = np.argsort(when, kind="stable")
    when, which = when[order], of[np.concatenate([np.arange(len(of))] * 2)[order]]
    sign = np.where(order < len(begin), 1, -1)[:, None]
    last = np.flatnonzero(np.append(when[1:] != when[:-1], True)) if len(when) else np.empty(0, dtype=np.int64)
    total = max(int(size.sum(dtype=np.int64)) for size in sizes)
    kind = np.int32 if total < 2**31 else np.int64
    levels = np.zeros((len(last) + 1, len(tiles)), dtype=kind)
    for first in range(0, len(tiles), _BLOCK):
        block = np.stack([size[temporary] for size in sizes[first : first + _BLOCK]]).astype(kind).T.copy()
        change = block[which] * sign.astype(kind)
        levels[1:, first : first + _BLOCK] = np.cumsum(change, axis=0, dtype=kind)[last]
    return Changes(np.asarray(tiles, dtype=np.int64), np.append(-1, when[last]), levels)
