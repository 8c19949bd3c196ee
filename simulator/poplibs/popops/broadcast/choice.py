"""Choose the vertex of each tile for an operator of a tensor and a broadcast operand.

PopLibs' rules (popops, ElementWise) are tried in this order on each tile, whose memory is cut into patterns
(`broadcast.patterns`):

1. Scalar, where each run meets one element, or a run has several patterns: a vertex for each of up to 256 elements, as
MultiVertices one after another or as rows of workers, whichever PopLibs' formulas say is faster. Many short rows are
refused. 2. Inner vector (`+ - * /`), where all patterns are whole repeats of vectors of one length: halves with whole
64-bit vectors, or any division. Other floats take the general vertex, whose loop is vectorised. Up to two patterns
become MultiVertices, more become rows of workers. 3. Outer vector (`+ - *`), where there are at most six patterns and
all elements repeat: rows for each worker where rows are shorter than six vectors, else a part of each row. 4. Otherwise
BinaryOp, with the operand gathered to the size of the result.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.graph.vertices import segment_sums
from simulator.machine.cycles import broadcast, rates
from simulator.machine.cycles.rounding import WORKERS, vector_width
from simulator.poplibs.popops.broadcast.patterns import Patterns, Segments

#: largest number of elements of the scalar form on one tile
MOST_SCALARS = 256
#: largest number of patterns of a tile that become MultiVertices: inner, outer
MOST_INNER, MOST_OUTER = 2, WORKERS
#: largest number of blocks of an inner MultiVertex: its field has 13 bits
MOST_BLOCKS = 0x1FFF
#: largest number of rows, columns, vectors: their fields have 16 bits
MOST_COUNTED = 0xFFFF
INNER_OPERATORS = ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE")
_OUTER = ("ADD", "SUBTRACT", "MULTIPLY")


class Choice(IntEnum):
    GENERAL = 0
    SCALAR_1D = 1
    SCALAR_2D = 2
    INNER_1D = 3
    INNER_2D = 4
    BY_ROW = 5
    BY_COLUMN = 6


def choices(
    op: str, dtype: str, in_place: bool, segments: Segments, patterns: Patterns, tile_of_run: Int64Array
) -> Int64Array:
    """The `Choice` of each tile; `tile_of_run` numbers the tiles 0, 1, ..."""
    tiles = int(tile_of_run.max(initial=-1)) + 1
    taken = np.zeros(tiles, np.int64)
    if dtype not in ("float", "half"):
        return taken
    covered = np.bincount(tile_of_run, ~patterns.complete, tiles) == 0
    if op in _OUTER:
        by_row = _outer(dtype, patterns, tile_of_run, tiles)
        taken = np.where(covered, by_row, taken)
    if op in INNER_OPERATORS:
        inner = _inner(op, dtype, patterns, tile_of_run, tiles)
        taken = np.where(covered & (inner > 0), inner, taken)
    if dtype in rates.BROADCAST_SCALAR.get(op, {}):
        scalar = _scalar(op, dtype, in_place, segments, patterns, tile_of_run, tiles)
        taken = np.where(scalar > 0, scalar, taken)
    return taken


def _every(condition: BoolArray, tile: Int64Array, tiles: int) -> BoolArray:
    return np.asarray(np.bincount(tile, ~condition, tiles) == 0)


def _inner(op: str, dtype: str, patterns: Patterns, tile_of_run: Int64Array, tiles: int) -> Int64Array:
    if dtype == "float" and op != "DIVIDE":
        return np.zeros(tiles, np.int64)
    tile = tile_of_run[patterns.run]
    length = np.zeros(tiles, np.int64)
    length[tile[::-1]] = patterns.size[::-1]  # of the first pattern
    fits = (patterns.inner == 1) & (patterns.outer > 1) & (patterns.size == length[tile])
    if op != "DIVIDE":
        fits &= patterns.size % vector_width(dtype) == 0
    fits &= np.maximum(patterns.size, patterns.outer) <= MOST_COUNTED
    few = np.bincount(tile, minlength=tiles) <= MOST_INNER
    few &= _every(patterns.outer <= MOST_BLOCKS, tile, tiles)
    return np.where(_every(fits, tile, tiles), np.where(few, Choice.INNER_1D, Choice.INNER_2D), 0)


def _outer(dtype: str, patterns: Patterns, tile_of_run: Int64Array, tiles: int) -> Int64Array:
    tile = tile_of_run[patterns.run]
    fits = _every((patterns.size > 1) & (patterns.inner > 1), tile, tiles)
    fits &= np.bincount(tile, minlength=tiles) <= MOST_OUTER
    fits &= _every(np.maximum(patterns.inner, patterns.size * patterns.outer) <= MOST_COUNTED, tile, tiles)
    short = patterns.inner < WORKERS * vector_width(dtype)
    by_row, by_column = _every(short, tile, tiles), _every(~short, tile, tiles)
    return np.where(fits & by_row, Choice.BY_ROW, np.where(fits & by_column, Choice.BY_COLUMN, 0))


def _scalar(
    op: str, dtype: str, in_place: bool, segments: Segments, patterns: Patterns, tile_of_run: Int64Array, tiles: int
) -> Int64Array:
    tile = tile_of_run[patterns.run]
    single = (patterns.inner > 1) & (patterns.size == 1) & (patterns.outer == 1)
    several = np.bincount(tile, minlength=tiles) != np.bincount(tile_of_run, minlength=tiles)
    tried = _every(single, tile, tiles) | several
    of = tile_of_run[segments.run]
    tried &= np.bincount(of, minlength=tiles) <= MOST_SCALARS
    rows = tried[of]
    if not rows.any():
        return np.zeros(tiles, np.int64)
    of, length = of[rows], segments.length[rows]
    flat = np.bincount(of, broadcast.scalar_1d(op, dtype, length, in_place=in_place), tiles)
    source, _, size, worker = share_among_workers(of, length, np.full(tiles, vector_width(dtype)), 2)
    head = np.flatnonzero(np.diff(of[source] * WORKERS + worker, prepend=-1))
    spent = segment_sums(broadcast.scalar_2d_row(op, dtype, size, in_place=in_place), np.append(head, len(size)))
    counted = np.diff(np.append(head, len(size)))
    # PopLibs costs the first worker of those with the most rows.
    fullest = np.lexsort((-counted, of[source][head]))
    on, first = np.unique(of[source][head][fullest], return_index=True)
    by_rows = np.zeros(tiles)
    by_rows[on] = WORKERS * (broadcast.SCALAR_2D_BASE + spent[fullest][first])
    parts = np.bincount(of[source], minlength=tiles)
    total = np.bincount(of, length, tiles)
    meagre = (parts > WORKERS) & (total // np.maximum(parts, 1) < 2 * vector_width(dtype))
    rows_choice = np.where(meagre, 0, Choice.SCALAR_2D)
    return np.where(tried, np.where(flat < by_rows, Choice.SCALAR_1D, rows_choice), 0)


def share_among_workers(
    tile: Int64Array, lengths: Int64Array, unit: Int64Array, least: int
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Share the pieces of each tile among six workers, in the order of tiles: (piece, begin within it, length, worker).

    The workers of a tile take equal numbers of units (`unit[t]` elements on tile t), at least `least` of them."""
    total = np.bincount(tile, lengths, len(unit)).astype(np.int64)
    share = np.maximum(-(-total // (WORKERS * unit)), least) * unit
    before = np.cumsum(lengths) - lengths - (np.cumsum(total) - total)[tile]
    low, high = before // share[tile], (before + lengths - 1) // share[tile]
    count = high - low + 1
    piece = np.repeat(np.arange(len(tile)), count)
    worker = low[piece] + np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    of = share[tile][piece]
    begin = np.maximum(before[piece], worker * of) - before[piece]
    end = np.minimum((before + lengths)[piece], (worker + 1) * of) - before[piece]
    return piece, begin, end - begin, worker
