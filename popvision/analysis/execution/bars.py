"""Level of detail of one row of bars in a window: bars of a pixel or more, and merged cells of smaller ones.

Every bar of the window is either in `Bars` or counted in exactly one cell of `Merged` (the column in which it begins,
or the window's first one), so none is dropped. A merged cell covers its entire pixel column and holds the share of
the column that each class takes, whatever bars that time belongs to. The answer has at most two entries per pixel
column, however many bars the window has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from popvision.analysis.execution.flame import GROUP, RUN, STREAM_COPY, Level
from popvision.analysis.execution.raster import CLASSES, GRAIN, LEVELS, Grid, pack_levels
from popvision.analysis.execution.timeline import NOT_DRAWN, PIXEL_CLASS
from popvision.arrays import AnyArray, BoolArray, Int32Array, Int64Array, UInt8Array, UInt32Array

#: Time of bars that group others is counted apart from the classes of raster.CLASSES.
_GROUP_CLASS = len(CLASSES)

_CLASS_OF_KIND = np.full(256, NOT_DRAWN, np.uint8)
_CLASS_OF_KIND[: len(PIXEL_CLASS)] = PIXEL_CLASS
_CLASS_OF_KIND[[GROUP, RUN, STREAM_COPY]] = _GROUP_CLASS


@dataclass(frozen=True)
class Bars:
    """Bars at least one column wide. Times in cycles; `first` and `last` are execution steps, inclusive."""

    level: UInt8Array  #: row of the requested levels
    begin: Int64Array
    end: Int64Array
    kind: UInt8Array  #: program type, or GROUP, STREAM_COPY or RUN of flame
    name: Int32Array
    first: Int32Array
    last: Int32Array


@dataclass(frozen=True)
class Merged:
    """One cell per column that holds bars narrower than a column."""

    level: UInt8Array  #: row of the requested levels
    column: Int32Array  #: relative to the grid
    shares: UInt32Array  #: packed shares of the classes, as in raster.packed
    group: UInt8Array  #: share of grouping bars, 0 to 31
    count: Int32Array  #: bars in the cell
    first: Int32Array  #: the first of their steps


@dataclass(frozen=True)
class Spread:
    """Bars of the window in positions of 1/1024 cycle, cut to it, and the columns they touch."""

    begin: Int64Array
    end: Int64Array
    first_column: Int64Array
    last_column: Int64Array
    pixel_class: UInt8Array


def bars_in_window(levels: Sequence[Level], grid: Grid) -> tuple[Bars, Merged]:
    """The bars of every level that overlap the grid's columns (a bar of no length: that begin in them)."""
    parts = [_level_in_window(row, level, grid) for row, level in enumerate(levels)]
    bars = (np.concatenate([getattr(bars, each.name) for bars, _ in parts]) for each in fields(Bars))
    cells = (np.concatenate([getattr(cells, each.name) for _, cells in parts]) for each in fields(Merged))
    return Bars(*bars), Merged(*cells)


def strip(level: Level, grid: Grid) -> UInt32Array:
    """Packed shares of the classes in every column, for the overview."""
    _, spread = _spread(level, grid)
    return pack_levels(_time_in_columns(spread, grid)[: len(CLASSES)], np.int64(grid.pitch).reshape(1))


def _level_in_window(row: int, level: Level, grid: Grid) -> tuple[Bars, Merged]:
    shown, spread = _spread(level, grid)
    small = (level.end[shown] - level.begin[shown]) * GRAIN < grid.pitch
    large = shown[~small]
    columns: tuple[AnyArray, ...] = (level.begin, level.end, level.kind, level.name, level.first, level.last)
    bars = Bars(np.full(len(large), row, np.uint8), *(column[large] for column in columns))
    return bars, _merge(row, level.first[shown], spread, small, grid)


def _spread(level: Level, grid: Grid) -> tuple[Int64Array, Spread]:
    begin, end = level.begin, level.end
    left, right = grid.first * grid.pitch, (grid.first + grid.columns) * grid.pitch
    from_row = int(np.searchsorted(end, left // GRAIN, side="left"))
    to_row = int(np.searchsorted(begin, -(-right // GRAIN), side="left"))
    begin, end = begin[from_row:to_row] * GRAIN, end[from_row:to_row] * GRAIN
    inside = (begin < right) & ((end > left) | ((end == begin) & (begin >= left)))
    rows = np.arange(from_row, to_row, dtype=np.int64)[inside]
    begin, end = np.maximum(begin[inside], left), np.minimum(end[inside], right)
    first = _columns(begin, grid)
    last = np.maximum(_columns(np.maximum(end - 1, left), grid), first)
    return rows, Spread(begin, end, first, last, _CLASS_OF_KIND[level.kind[rows]])


def _columns(positions: Int64Array, grid: Grid) -> Int64Array:
    """position // pitch - first of ascending positions within the grid, without a division for each."""
    borders = np.searchsorted(positions, grid.edges)
    return np.repeat(np.arange(grid.columns, dtype=np.int64), np.diff(borders))


def _merge(row: int, first_step: Int32Array, spread: Spread, small: BoolArray, grid: Grid) -> Merged:
    count = np.bincount(spread.first_column[small], minlength=grid.columns)
    touched = count > 0
    touched[spread.last_column[small]] = True
    column = np.flatnonzero(touched)
    time = _time_at_ends(spread, grid)[:, column]
    column_cycles = np.int64(grid.pitch).reshape(1)
    first = np.full(grid.columns, np.iinfo(np.int32).max, np.int32)
    for touching in (spread.last_column, spread.first_column):
        np.minimum.at(first, touching[small], first_step[small])
    group = (2 * LEVELS * time[_GROUP_CLASS] + column_cycles) // (2 * column_cycles)
    return Merged(
        np.full(len(column), row, np.uint8),
        column.astype(np.int32),
        pack_levels(time[:_GROUP_CLASS], column_cycles),
        np.maximum(group, time[_GROUP_CLASS] > 0).astype(np.uint8),
        count[column].astype(np.int32),
        first[column],
    )


def _time_at_ends(spread: Spread, grid: Grid) -> Int64Array:
    """Time of each class (grouping bars last) in the first and last column of every bar."""
    time = np.zeros((_GROUP_CLASS + 1, grid.columns), np.int64)
    drawn = spread.pixel_class <= _GROUP_CLASS
    kind, begin, end = spread.pixel_class[drawn], spread.begin[drawn], spread.end[drawn]
    first, last = spread.first_column[drawn], spread.last_column[drawn]
    flat = time.reshape(-1)  # adding at one-dimensional places is many times faster
    place = kind * np.int64(grid.columns)
    np.add.at(flat, place + first, np.minimum(end, (grid.first + first + 1) * grid.pitch) - begin)
    two = np.flatnonzero(last > first)
    np.add.at(flat, (place + last)[two], end[two] - (grid.first + last[two]) * grid.pitch)
    return time


def _time_in_columns(spread: Spread, grid: Grid) -> Int64Array:
    """`_time_at_ends` plus the full columns between a bar's first and last one."""
    time = _time_at_ends(spread, grid)
    change = np.zeros((_GROUP_CLASS + 1, grid.columns + 1), np.int64)
    wide = (spread.last_column > spread.first_column + 1) & (spread.pixel_class <= _GROUP_CLASS)
    kind = spread.pixel_class[wide]
    np.add.at(change, (kind, spread.first_column[wide] + 1), 1)
    np.add.at(change, (kind, spread.last_column[wide]), -1)
    return time + np.cumsum(change, axis=1)[:, :-1] * grid.pitch
