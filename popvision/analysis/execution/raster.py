"""Raster of a BSP picture of one IPU: the share of every pixel that is compute, exchange, host, waiting or sync.

The slow obvious way: for every step and tile, cut the interval [begin, end) at the column edges and add each piece, in
the step's class, to the pixel of that column and of the tile's row; divide by the pixel's width times its number of
tiles. The fast way is equal because most steps of a wide window lie within one column: such a step adds its cycles and
needs no start times. A step that crosses edges adds its cycles to its last column; then what it takes before an edge
moves to the column before that edge, all tiles at once.

Positions are integer multiples of 1/1024 cycle, so every sum is an exact integer and so is the rounding to 31 levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from popvision.arrays import Int64Array, IntegerArray, UInt8Array, UInt32Array

#: Positions per cycle.
GRAIN = 1024

#: Classes of a pixel, in the order of their five bits in a packed pixel, lowest first.
CLASSES = ("compute", "exchange", "global", "host", "wait", "sync")

#: Levels of a share: 0 = nothing at all, 1 = something, 31 = the entire pixel.
LEVELS = 31

_BATCH = 512  #: steps whose arrays are in memory at once


class ArrayReader(Protocol):
    """Whoever gives stored arrays by id; `ProfileReader` does. `narrow` = in their stored, unsigned types."""

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[Any]: ...


@dataclass(frozen=True)
class Grid:
    """Columns `first .. first + columns` of a time axis cut every `pitch` / 1024 cycles from cycle 0, and
    `rows` rows of neighbouring tiles. Raises ValueError when a size is not positive or a position exceeds 62 bits."""

    pitch: int
    first: int
    columns: int
    rows: int = 1

    def __post_init__(self) -> None:
        if min(self.pitch, self.columns, self.rows) < 1 or self.first < 0:
            raise ValueError(
                f"a grid needs a pitch, columns and rows of at least 1 and a first column >= 0, not {self}"
            )
        if (self.first + self.columns) * self.pitch >= 1 << 62:
            raise ValueError(f"the grid reaches beyond the longest time that can be shown: {self}")

    @property
    def edges(self) -> Int64Array:
        """Positions of the `columns + 1` column edges."""
        return (self.first + np.arange(self.columns + 1, dtype=np.int64)) * self.pitch

    def twice_as_coarse(self) -> Grid:
        """Columns of twice the pitch that cover this grid, up to one of its columns more on either side."""
        first, end = self.first // 2, -(-(self.first + self.columns) // 2)
        return Grid(2 * self.pitch, first, end - first, self.rows)

    def row_tiles(self, tiles: int) -> Int64Array:
        """First tile of each row, and `tiles` at the end: row r holds tiles [result[r], result[r + 1])."""
        return np.arange(self.rows + 1, dtype=np.int64) * tiles // self.rows


@dataclass(frozen=True)
class StepSpans:
    """What the raster needs of the steps of one IPU; row = execution step, times in cycles."""

    pixel_class: UInt8Array  #: index into CLASSES, 255 = not drawn
    base: Int64Array
    busy_begin: Int64Array  #: first begin over the tiles that take part
    busy_end: Int64Array  #: last end over the tiles that take part
    start_array: Int64Array
    cycles_array: Int64Array


def raster(spans: StepSpans, reader: ArrayReader, tiles: int, grid: Grid) -> Int64Array:
    """Time of each class in each pixel: shape (6, columns, rows), in 1/1024 cycle summed over the row's tiles.

    Raises ValueError when the grid has more rows than tiles; FormatError when an array cannot be read.
    """
    if grid.rows > tiles:
        raise ValueError(f"{grid.rows} rows are more than the {tiles} tiles of an IPU")
    first, last = _columns_touched(spans, grid)
    drawn = (spans.pixel_class < len(CLASSES)) & (first < grid.columns) & (last >= 0)
    drawn &= (spans.busy_end > spans.busy_begin) & (spans.cycles_array >= 0)
    picture = _Picture(tiles, grid, np.unique(spans.pixel_class[drawn]))
    steps = np.flatnonzero(drawn)
    for at in range(0, len(steps), _BATCH):
        batch = steps[at : at + _BATCH]
        cycles = reader.arrays(spans.cycles_array[batch].tolist(), narrow=True)
        picture.add(spans.pixel_class[batch], last[batch], cycles)
        cut = np.flatnonzero((first[batch] < last[batch]) | (first[batch] < 0))
        starts = reader.arrays(spans.start_array[batch[cut]].tolist(), narrow=True)
        for row, start in zip(cut.tolist(), starts, strict=True):
            step = batch[row]
            columns = int(first[step]), int(last[step])
            picture.cut(int(spans.pixel_class[step]), columns, int(spans.base[step]), start, cycles[row])
    return picture.time()


def packed(time: Int64Array, tiles: int, grid: Grid) -> UInt32Array:
    """The pixels of `raster` as five-bit levels, shape (rows, columns): class c in bits 5c to 5c + 4.

    A level is the share of the pixel rounded to 31sts, but never 0 for a class that is there: small intervals
    merge, they do not vanish.
    """
    capacity = np.diff(grid.row_tiles(tiles)) * grid.pitch
    return pack_levels(time, capacity[None, None, :]).T.copy()


def pack_levels(time: Int64Array, capacity: Int64Array) -> UInt32Array:
    """Levels of `time` (classes first) out of `capacity`, packed over the first axis."""
    levels = (2 * LEVELS * time + capacity) // (2 * capacity)
    levels = np.maximum(levels, time > 0).astype(np.uint32)
    shifts = (5 * np.arange(len(time), dtype=np.uint32)).reshape(-1, *[1] * (time.ndim - 1))
    pixels: UInt32Array = np.bitwise_or.reduce(levels << shifts, axis=0)
    return pixels


def _columns_touched(spans: StepSpans, grid: Grid) -> tuple[Int64Array, Int64Array]:
    """First and last column of each step, relative to the grid and not clipped to it."""
    first = spans.busy_begin * GRAIN // grid.pitch - grid.first
    last = (spans.busy_end * GRAIN - 1) // grid.pitch - grid.first
    return first, last


class _Picture:
    """The sums of a raster while steps are added."""

    def __init__(self, tiles: int, grid: Grid, kinds: UInt8Array) -> None:
        """`kinds`: the classes that will be added."""
        self._grid = grid
        self._edges = grid.edges
        self._rows = grid.row_tiles(tiles)[:-1]
        self._kinds = kinds
        self._place = np.zeros(len(CLASSES), np.int64)
        self._place[kinds] = np.arange(len(kinds))
        self._whole = np.zeros((len(kinds), grid.columns, tiles), np.int64)
        # Of time that crosses an edge, summed over rows; one column more at each side takes what lies outside.
        self._moved = np.zeros((len(kinds), grid.columns + 2, grid.rows), np.int64)

    def add(self, kinds: UInt8Array, columns: Int64Array, cycles: list[IntegerArray]) -> None:
        """Add each step's cycles, in full, to a column; those of a column beyond the grid are dropped."""
        inside = columns < self._grid.columns
        places = self._place[kinds]
        for place, column, is_inside, values in zip(
            places.tolist(), columns.tolist(), inside.tolist(), cycles, strict=True
        ):
            if is_inside:
                pixels = self._whole[place, column]
                np.add(pixels, values, out=pixels, casting="unsafe")

    def cut(self, kind: int, columns: tuple[int, int], base: int, start: IntegerArray, cycles: IntegerArray) -> None:
        """Move what a step takes before each column edge that it crosses to the column before that edge; `add` put
        all of it into the last of its first and last `columns`."""
        low, high = max(columns[0] + 1, 0), min(columns[1], self._grid.columns)
        passed = (self._edges[low : high + 1] - base * GRAIN)[:, None] - np.multiply(start, GRAIN, dtype=np.int64)
        np.maximum(passed, 0, out=passed)
        np.minimum(passed, np.multiply(cycles, GRAIN, dtype=np.int64), out=passed)
        rows = np.add.reduceat(passed, self._rows, axis=1)
        moved = self._moved[self._place[kind]]
        moved[low : high + 1] += rows
        moved[low + 1 : high + 2] -= rows

    def time(self) -> Int64Array:
        """Shape (6, columns, rows), in 1/1024 cycle."""
        total = np.zeros((len(CLASSES), self._grid.columns, self._grid.rows), np.int64)
        if len(self._kinds):
            total[self._kinds] = np.add.reduceat(self._whole, self._rows, axis=2)
        total *= GRAIN
        total[self._kinds] += self._moved[:, 1:-1]
        return total
