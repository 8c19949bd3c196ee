"""Difference of two reports' heat maps of tiles x liveness indices.

Obvious way: subtract the curves of each tile, place by place. As in `liveness.heat`, the difference is piecewise
constant: only places where a curve of either report changes, or the pairing of the indices jumps, are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.liveness import match_indices
from popvision.analysis.liveness.heat import Changes, changes, check_window, edges_of, heat, highest_place
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.tiles import target_of
from popvision.arrays import BoolArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Tiles whose differences are worked out at a time.
_BLOCK = 128


@dataclass(frozen=True)
class HeatDifference:
    """`values[r, c]` is the difference target - source of largest size among the tiles `tile_edges[r]` to
    `tile_edges[r + 1] - 1` at the source's indices `index_edges[c]` to `index_edges[c + 1] - 1` (of two of one size the
    growth). `known[r, c]` is False where no such place has a partner in the target."""

    tile_edges: Int64Array
    index_edges: Int64Array
    values: Int64Array
    known: BoolArray


@dataclass(frozen=True)
class Place:
    """The place where a cell differs most: bytes of either report, and the target's index there (-1 and None where the
    target has no such place: then it is the highest place of the source)."""

    tile: int
    index: int
    target_index: int
    source: int
    target: int | None


def heat_difference(
    source: ReportSource,
    target: ReportSource,
    tiles: range,
    indices: range,
    grid: tuple[int, int],
    *,
    always: bool = False,
    by: str = "index",
) -> HeatDifference:
    """The picture of a window of the source; tile t is tile t of the target, indices are paired by `match_indices`.
    Raises as `live_heat.heat`, also when the target lacks what it needs."""
    check_window(source, tiles, indices, grid)
    tile_edges, index_edges = edges_of(tiles, grid[0]), edges_of(indices, grid[1])
    shape = len(tile_edges) - 1, len(index_edges) - 1
    high = np.full(shape, np.iinfo(np.int64).min)
    low = np.full(shape, np.iinfo(np.int64).max)
    partner = match_indices(source, target, by)[indices.start : indices.stop]
    both = np.arange(tiles.start, min(tiles.stop, target_of(target).num_tiles))
    below = _always_change(source, target, both) if always else np.zeros(len(both), dtype=np.int64)
    source_places, target_places = (_places(report)[:, both] for report in (source, target))
    pairs, of = np.unique(np.stack([source_places[0], target_places[0]]), axis=1, return_inverse=True)
    for number, (one, other) in enumerate(pairs.T.tolist()):
        layouts = changes(source)[one], changes(target)[other]
        points, starts, columns = _points(layouts, partner, indices.start, index_edges)
        points_of_layout = np.flatnonzero(of.ravel() == number) if len(points) else np.empty(0, dtype=np.int64)
        paired = points, partner[points - indices.start]
        for first in range(0, len(points_of_layout), _BLOCK):
            block = points_of_layout[first : first + _BLOCK]
            change = _change(layouts, paired, (source_places[1][block], target_places[1][block])) + below[block]
            row = np.searchsorted(tile_edges, both[block], side="right") - 1
            begins = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
            cells = np.ix_(row[begins], columns)
            most = np.maximum.reduceat(np.maximum.reduceat(change, starts, axis=0), begins, axis=1)
            least = np.minimum.reduceat(np.minimum.reduceat(change, starts, axis=0), begins, axis=1)
            high[cells] = np.maximum(high[cells], most.T)
            low[cells] = np.minimum(low[cells], least.T)
    known = high >= low
    high, low = np.where(known, high, 0), np.where(known, low, 0)
    return HeatDifference(tile_edges, index_edges, np.where(high >= -low, high, low), known)


def most_different_place(
    source: ReportSource,
    target: ReportSource,
    tiles: range,
    indices: range,
    *,
    always: bool = False,
    by: str = "index",
) -> Place:
    """Where a cell differs most (the first such place, by tile, then index). Raises as `heat_difference`."""
    by_tile = heat_difference(source, target, tiles, indices, (len(tiles), 1), always=always, by=by)
    if not by_tile.known.any():
        alone = highest_place(source, tiles, indices, always=always)
        return Place(alone.tile, alone.index, -1, alone.bytes, None)
    size = np.where(by_tile.known, np.abs(by_tile.values), -1)[:, 0]
    tile = tiles.start + int(size.argmax())
    one = range(tile, tile + 1)
    along = heat_difference(source, target, one, indices, (1, len(indices)), always=always, by=by)
    size = np.where(along.known, np.abs(along.values), -1)[0]
    at = int(size.argmax())
    index = indices.start + at
    before = int(heat(source, one, range(index, index + 1), (1, 1), always=always).values[0, 0])
    partner = int(match_indices(source, target, by)[index])
    return Place(tile, index, partner, before, before + int(along.values[0, at]))


def _always_change(source: ReportSource, target: ReportSource, tiles: Int64Array) -> Int64Array:
    one, other = (np.asarray(memory_by_tile(each, None).always_live, dtype=np.int64) for each in (source, target))
    return np.asarray(other[tiles] - one[tiles])


def _change(
    layouts: tuple[Changes, Changes], points: tuple[Int64Array, Int64Array], columns: tuple[Int64Array, Int64Array]
) -> Int64Array:
    """Target - source at pairs of indices (rows) on tiles of a pair of layouts (columns)."""
    levels = [
        layout.levels[np.ix_(np.searchsorted(layout.at, at, side="right") - 1, column)]
        for layout, at, column in zip(layouts, points, columns, strict=True)
    ]
    return np.asarray(np.subtract(levels[1], levels[0], dtype=np.int64))


def _places(source: ReportSource) -> Int64Array:
    """(number of its layout, column in the layout) of each tile."""

    def read() -> Int64Array:
        layout_of_tile = np.zeros((2, target_of(source).num_tiles), dtype=np.int64)
        for number, layout in enumerate(changes(source)):
            layout_of_tile[0, layout.tiles] = number
            layout_of_tile[1, layout.tiles] = np.arange(len(layout.tiles))
        return layout_of_tile

    return source.kept.once("live_change_places", read)


def _points(
    layouts: tuple[Changes, Changes], partner: Int64Array, start: int, edges: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(places of the window where a difference can change, ascending, those with a partner alone; the first of them of
    each column that has any; these columns)."""
    stop = start + len(partner)
    target_changes = np.flatnonzero(np.isin(partner, layouts[1].at)) + start
    jumps = np.flatnonzero(np.append(True, partner[1:] != partner[:-1] + 1)) + start
    source_changes = layouts[0].at[(layouts[0].at >= start) & (layouts[0].at < stop)]
    points = np.unique(np.concatenate([edges[:-1], source_changes, target_changes, jumps]))
    points = points[partner[points - start] >= 0]
    column = np.searchsorted(edges, points, side="right") - 1
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1])) if len(points) else points
    return points, starts, column[starts]
