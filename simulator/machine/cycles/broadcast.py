"""Broadcast vertices of popops: a tensor with one scalar, with a vector along its rows, or along its columns.

Source: published-numbers 7.1 (PopLibs cycle estimators). 1-D forms are MultiVertices (tile cycles), 2-D forms workers
(thread cycles).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles import rates
from simulator.machine.cycles.elementwise import CHEAP
from simulator.machine.cycles.rates import Rate
from simulator.machine.cycles.rounding import ceil_div, per_worker, vector_width, whole

#: thread cycles of a 2-D scalar broadcast before its first row, and of each row beside its loop
SCALAR_2D_BASE, SCALAR_2D_ROW = 20, 28

#: longest vector that the paths of half take before they fall back
_ADD_LIMIT, _MULTIPLY_LIMIT = 2048, 2044
#: cycles of one division of floats (1 or 3 on hardware, by value; the estimators take 3)
_DIVISION = 3


def _scalar_rate(op: str, dtype: str) -> Rate:
    table = rates.BROADCAST_SCALAR if dtype in rates.BROADCAST_SCALAR.get(op, {}) else rates.BINARY
    return rates.rate_of(table, op, dtype)


def scalar_loop(
    op: str, dtype: str, n: npt.ArrayLike, *, in_place: bool = False, interleaved: bool = False
) -> Int64Array:
    """Thread cycles of the inner loop of a tensor with one scalar: ceil(n/u) * cpl; per-vector forms add 1 for ADD,
    SUBTRACT and MULTIPLY (0 in place in interleaved memory), 4 for the rest."""
    rate = _scalar_rate(op, dtype)
    cycles = rate.cycles
    if rate.form == "plus":
        cycles += (0 if in_place and interleaved else 1) if op in CHEAP else 4
    return ceil_div(n, rate.elements) * cycles


def scalar_1d(
    op: str, dtype: str, n: npt.ArrayLike, *, in_place: bool = False, interleaved: bool = False
) -> Int64Array:
    """Tile cycles of BroadcastScalar1D: 6 * (20 + L) + 11; L of ceil(n/6)."""
    return 6 * (20 + scalar_loop(op, dtype, per_worker(n), in_place=in_place, interleaved=interleaved)) + 11


def scalar_2d_row(op: str, dtype: str, n: npt.ArrayLike, *, in_place: bool = False) -> Int64Array:
    """Thread cycles of one row of BroadcastScalar2DData, one scalar for all rows: 28 + L; 20 once per vertex."""
    return SCALAR_2D_ROW + scalar_loop(op, dtype, n, in_place=in_place)


def outer(
    op: str,
    dtype: str,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    *,
    by_row: bool,
    in_place: bool = False,
    interleaved: bool = False,
) -> Int64Array:
    """Tile cycles of BroadcastVectorOuterByRow1D and ByColumn1D, one element of the vector per row:

    6 * (15 + rows' * (7 | 25 misaligned + loops * (cpl + 1))) + 11, loops = ceil(n / v). By row a worker takes
    rows' = ceil(rows/6) whole rows, by column all rows and n = ceil(columns/6) of each. Misaligned = columns are no
    whole vectors. In place in interleaved memory the loop is a cycle shorter; rates that are not per vector take
    (cpl + 1) per element."""
    rows, columns = whole(rows), whole(columns)
    rate = _scalar_rate(op, dtype)
    cycles = rate.cycles + (0 if in_place and interleaved else 1)
    n = columns if by_row else per_worker(columns)
    loop = ceil_div(n, rate.elements if rate.form == "plus" else 1) * cycles
    entry = np.where(columns % vector_width(dtype) == 0, 7, 25)
    turns = per_worker(rows) if by_row else rows
    return whole(6 * (15 + turns * (entry + loop)) + 11)


#: (tile cycles, thread cycles) that 1-D forms of inner broadcasts add to the common code: (not in place, in place)
_EXTRA_1D: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "ADD": ((6, 3), (0, 2)),
    "SUBTRACT": ((6, 3), (6, 3)),
    "MULTIPLY": ((0, 2), (6, 3)),
    "DIVIDE": ((4, 0), (2, 0)),
}


def inner_1d(op: str, dtype: str, length: npt.ArrayLike, blocks: npt.ArrayLike, in_place: bool = False) -> Int64Array:
    """Tile cycles of BroadcastVectorInner1D: a vector of `length` over `blocks` rows, dealt to six workers.

    ADD, SUBTRACT: 13 + 6 * worker + 6 + 18 (ADD in place + 12 only); MULTIPLY: 13 + 6 * (17 float | 24 half) +
    6 * worker + 12 (in place + 24); DIVIDE: 13 + 6 * (19 | 24) + 6 * core + 5 (in place + 3);
    worker = 17 float | 19 half (+ 7 if length is odd, half only) + core."""
    length, blocks = whole(length), per_worker(blocks)
    tile, thread = _EXTRA_1D[op][in_place]
    extra = tile + 6 * thread
    is_float = dtype == "float"
    core = inner_core(op, dtype, length, blocks, in_place)
    if op == "DIVIDE":
        return whole(13 + 6 * (19 if is_float else 24) + 6 * core + 1 + extra)
    worker = (17 if is_float else 19 + 7 * (length % 2)) + core
    first = 6 * (17 if is_float else 24) if op == "MULTIPLY" else 0
    return whole(13 + first + 6 * worker + extra)


#: thread cycles of a BroadcastVectorInner2D vertex: (once, not in place), (once, in place)
_BASE_2D = {"ADD": (7, 6), "SUBTRACT": (8, 8), "MULTIPLY": (6, 7), "DIVIDE": (10, 9)}


def inner_2d_base(op: str, in_place: bool = False) -> int:
    """Thread cycles of a BroadcastVectorInner2D vertex beside its rows."""
    return _BASE_2D[op][in_place]


def inner_2d_row(op: str, dtype: str, length: npt.ArrayLike, blocks: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one work item of BroadcastVectorInner2D: 9 float | 15 half (MULTIPLY 13) + core; in place takes
    the same core, as the estimators do."""
    start = 9 if dtype == "float" else (13 if op == "MULTIPLY" else 15)
    return start + inner_core(op, dtype, whole(length), whole(blocks), False)


def inner_core(op: str, dtype: str, length: Int64Array, blocks: Int64Array, in_place: bool) -> Int64Array:
    """Thread cycles of one worker over `blocks` rows of `length`, call included.

    float ADD, MULTIPLY: 7 + length (8 + 2 blocks); the other cores are below."""
    if op == "DIVIDE":
        core = _divide_float(length, blocks) if dtype == "float" else _divide_half(length, blocks)
    elif dtype == "float":
        core = 7 + length * (8 + 2 * blocks)
    else:
        core = _multiply_half(length, blocks, in_place) if op == "MULTIPLY" else _add_half(length, blocks)
    return whole(np.where(blocks == 0, 2 if dtype == "float" else 1, core))


def _add_half(length: Int64Array, blocks: Int64Array) -> Int64Array:
    """5, then for length % 8 = 0: 2 + (blocks = 1: 4 + 7 length/8; else 5 + (length/8) (15 + 2 (blocks - 1))); for
    length % 4 = 0 and blocks >= 2: + 4, 6 + (length/4) (13 + 2 (blocks/2 - 1) + blocks % 2); otherwise the scalar path
    6 + length (5 + 9 blocks), reached after 0 (length > 2048), 2 (blocks < 2) or 4 further tests."""
    eights = 2 + np.where(blocks == 1, 4 + 7 * (length // 8), 5 + (length // 8) * (15 + 2 * (blocks - 1)))
    fours = 4 + 6 + (length // 4) * (13 + 2 * (blocks // 2 - 1) + blocks % 2)
    scalar = 6 + length * (5 + 9 * blocks)
    short = np.select(
        [length % 8 == 0, blocks < 2, length % 4 == 0], [5 + eights, 5 + 2 + scalar, 5 + fours], 5 + 4 + scalar
    )
    return whole(np.where(length > _ADD_LIMIT, 3 + scalar, short))


def _multiply_half(length: Int64Array, blocks: Int64Array, in_place: bool) -> Int64Array:
    """length % 4 != 0: 8 + length (5 + 9 blocks); else in place 9 + (length/4) (7 + 2 blocks); not in place the same
    after further tests (2 for length > 2044, 4 for one block), or 13 + (length/4) (9 + blocks)."""
    scalar = 8 + length * (5 + 9 * blocks)
    vector = 9 + (length // 4) * (7 + 2 * blocks)
    if not in_place:
        pipelined = 13 + (length // 4) * (9 + blocks)
        vector = np.select([length > _MULTIPLY_LIMIT, blocks < 2], [vector + 2, vector + 4], pipelined)
    return whole(np.where(length % 4 == 0, vector, scalar))


def _divide_float(length: Int64Array, blocks: Int64Array) -> Int64Array:
    """Even: 10 + (length/2) (11 + 6 (blocks - 1)); odd: 9 + length (9 + 4 (blocks - 1))."""
    even = 10 + (length // 2) * (11 + 6 * (blocks - 1))
    return whole(np.where(length % 2 == 0, even, 9 + length * (9 + 4 * (blocks - 1))))


def _divide_half(length: Int64Array, blocks: Int64Array) -> Int64Array:
    """Even: 14 + (length/2) (13 + 8 (blocks - 1)); odd: pairs of rows of which the second is misaligned; one element:
    pairs of rows."""
    d = _DIVISION
    even = 14 + (length // 2) * (7 + 2 * d + (blocks - 1) * (2 + 2 * d))
    trips = np.maximum(length // 2 - 1, 0)
    first = 6 + 2 * d + trips * (3 + 2 * d)
    second = 12 + 4 * d + trips * (4 + 2 * d)
    odd = 10 + blocks // 2 * (first + second) + np.where(blocks % 2, first + 5 + d, 0)
    pairs = 13 + 2 * d + (np.maximum(blocks // 2, 1) - 1) * (2 + 2 * d) + np.where(blocks % 2, 5 + d, 0)
    single = 9 + np.where(blocks == 1, 12 + d, pairs)
    return whole(np.where(length % 2 == 0, even, np.where(length == 1, single, odd)))
