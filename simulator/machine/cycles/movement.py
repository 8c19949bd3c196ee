"""Vertices that move or set data: fill, zero, cast, transpose, one-hot. Slices: `slices`.

Source: published-numbers 7.3; what its summary leaves out from PopLibs' public estimators.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, vector_width, whole


def fill(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of Fill: float or int 16 + n/2 + 6 + (n odd) + 1; half 26 + n/4 (n = 1: 15, n = 2: 21);
    8-bit 28 + n/4 below 64 elements, else 39 + n/8; 64-bit 5 + n."""
    n = whole(n)
    if dtype in ("float", "int", "uint"):
        return 16 + n // 2 + 6 + n % 2 + 1
    if dtype in ("half", "short", "ushort"):
        return np.where(n == 1, 15, np.where(n == 2, 21, 26 + n // 4))
    if dtype in ("longlong", "ulonglong"):
        return 5 + n
    return np.where(n < 64, 28 + n // 4, 39 + n // 8)


def fill_2d(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of Fill2d: Fill less the 3 cycles (2 half and 64-bit) of loads that it does once; add
    `fill_2d_base` per vertex."""
    return fill(dtype, n) - (2 if dtype in ("half", "longlong", "ulonglong") else 3)


def fill_2d_base(dtype: str) -> int:
    """Thread cycles of a Fill2d vertex beside its rows: 5, and 1 more for types of four and of one byte."""
    return 5 if dtype in ("half", "longlong", "ulonglong") else 6


def zero(dtype: str, n: npt.ArrayLike, groups: npt.ArrayLike = 1) -> Int64Array:
    """Tile cycles of ZeroSupervisor, which clears partial sums: 6 * groups * (ceil(n / v) + (14 float | 15) -
    (9 float | 10)), n = elements that the longest worker clears of each group."""
    return whole(WORKERS * whole(groups) * (ceil_div(n, vector_width(dtype)) + 5))


#: (elements of a loop, filling and draining the pipeline, cycles of each further loop, remainders of 1, 2, 3)
_BYTE_CASTS: dict[tuple[str, str], tuple[int, int, int, int, int, int]] = {
    ("uchar", "half"): (4, 14, 9, 12, 14, 22),
    ("schar", "half"): (4, 15, 13, 12, 14, 22),
    ("uchar", "float"): (4, 14, 10, 9, 15, 21),
    ("schar", "float"): (2, 9, 7, 10, 0, 0),
    ("half", "uchar"): (4, 19, 16, 14, 21, 29),
    ("half", "schar"): (4, 19, 16, 14, 21, 29),
    ("float", "uchar"): (4, 18, 14, 13, 21, 28),
    ("float", "schar"): (4, 18, 14, 13, 21, 28),
}


def cast_core(from_dtype: str, to_dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of the conversion of n elements by one worker.

    float <-> half: 19 + cpv (n // w) + per bit of w's remainder 1 (+ 2 where set), w = min(2 * elements of a load,
    elements of a store): float to half w = 4, cpv = 2; half to float w = 2, cpv = 1.
    8-bit to or from floating point: 4 (+ 3 | 4 to set up clamping) + filling + loops + remainder (2 without one).
    to 64 bits: 3 + n (4 | 5 signed); anything else 19 + 2 n."""
    n = whole(n)
    pair = ("schar" if from_dtype == "char" else from_dtype, "schar" if to_dtype == "char" else to_dtype)
    if pair == ("float", "half"):
        return whole(19 + 2 * (n // 4) + 2 + 2 * (n % 2 + n // 2 % 2))
    if pair == ("half", "float"):
        return whole(19 + n // 2 + 1 + 2 * (n % 2))
    if pair in _BYTE_CASTS:
        atom, filling, loop, *rest = _BYTE_CASTS[pair]
        loops, left = n // atom, n % atom
        clamp = 0 if pair[1] in ("half", "float") else 4
        body = np.where(loops > 0, filling + (loops - 1) * loop, 0)
        return whole(4 + clamp + body + np.select([left == 0, left == 1, left == 2], [2, rest[0], rest[1]], rest[2]))
    if to_dtype in ("longlong", "ulonglong"):
        return whole(3 + n * (5 if from_dtype in ("int", "short", "char") else 4))
    return 19 + 2 * n


def cast_1d(from_dtype: str, to_dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of Cast1D: 12 + 6 * (core + 18), core of the ceil(n/6) elements of a worker."""
    return 12 + WORKERS * (cast_core(from_dtype, to_dtype, per_worker(n)) + 18)


#: thread cycles of a Cast2D vertex beside its rows, and of a row beside its core
CAST_2D_BASE, CAST_2D_ROW = 5, 11


def encode_one_hot(index_dtype: str, dtype: str, indices: npt.ArrayLike) -> Int64Array:
    """EncodeOneHot: from unsigned int to half (a supervisor vertex) 11 + 74 n tile cycles, other types (compiled C++,
    one worker) 100 n thread cycles; n = indices that the vertex reads."""
    n = whole(indices)
    return 11 + 74 * n if (index_dtype, dtype) == ("uint", "half") else 100 * n


def iota(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of Iota on one region: 10 + 4 + 3 ceil(n / v)."""
    return 14 + 3 * ceil_div(n, vector_width(dtype))


#: rows and columns of one block that a transpose vertex turns in registers, by element size
TRANSPOSE_BLOCK = {4: 2, 2: 4}


def transpose_2d(
    element_bytes: int, rows: npt.ArrayLike, columns: npt.ArrayLike, matrices: npt.ArrayLike
) -> Int64Array:
    """Tile cycles of Transpose2D: 7 + 6 * max worker; a worker turns its matrices in grains of 2x2 floats (3 cycles)
    or 4x4 halves (4 cycles)."""
    grain = TRANSPOSE_BLOCK[element_bytes]
    per_grain = 3 if element_bytes == 4 else 4
    grains = ceil_div(rows, grain) * ceil_div(columns, grain)
    return 7 + WORKERS * (per_worker(matrices) * grains * per_grain)


def transpose_1d(
    element_bytes: int, rows: npt.ArrayLike, columns: npt.ArrayLike, matrices: npt.ArrayLike
) -> Int64Array:
    """Tile cycles of Transpose1D on matrices that lie one after another, with the loops of PopLibs' planner:

    7 + 6 * worker, r and c = rows and columns in grains (2x2 floats, 4x4 halves), g = 3 | 4 cycles a grain, m =
    matrices of the longest worker:
    one grain: 29 for m = 1, else 37 + (m - 2) g; one grain across: 27 + m (15 + 20 + g (r - 2));
    otherwise 29 + m (18 + r (12 + g (c - 2)))."""
    grain = TRANSPOSE_BLOCK[element_bytes]
    per_grain = 3 if element_bytes == 4 else 4
    r, c, m = ceil_div(rows, grain), ceil_div(columns, grain), per_worker(matrices)
    single = np.where(m == 1, 29, 37 + (m - 2) * per_grain)
    narrow = 27 + m * (35 + per_grain * (r - 2))
    wide = 29 + m * (18 + r * (12 + per_grain * (c - 2)))
    return whole(7 + WORKERS * np.select([(r == 1) & (c == 1), c == 1], [single, narrow], wide))
