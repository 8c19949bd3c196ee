"""Vertices that move or set data: fill, zero, cast, transpose, local copy.

Source: published-numbers 7.3; the on-tile copy of the runtime from section 3 (288 cycles, then 8 bytes a cycle).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.machine.cycles.rounding import I8, WORKERS, ceil_div, per_worker, whole


def fill(dtype: str, n: npt.ArrayLike) -> I8:
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


_CAST_LOOP = {("float", "half"): 2, ("half", "float"): 2}


def cast_1d(from_dtype: str, to_dtype: str, n: npt.ArrayLike) -> I8:
    """Tile cycles of Cast1D: 12 + 6 * (core + 18), core of ceil(n/6) elements.

    float <-> half: 19 + 2 cycles per 4 elements + 2 per element of the remainder; unsigned char to half 14 + 9 per 4;
    half to 8-bit 19 + 16 per 4; integer conversions 1 element in 2 cycles."""
    share = per_worker(n)
    pair = (from_dtype, to_dtype)
    if pair in _CAST_LOOP:
        core = 19 + _CAST_LOOP[pair] * (share // 4) + 2 * (share % 4)
    elif pair == ("uchar", "half"):
        core = 14 + 9 * ceil_div(share, 4)
    elif from_dtype == "half" and to_dtype in ("uchar", "schar", "char"):
        core = 19 + 16 * ceil_div(share, 4)
    else:
        core = 19 + 2 * share
    return 12 + 6 * (core + 18)


#: rows and columns of one block that a transpose vertex turns in registers, by element size
TRANSPOSE_BLOCK = {4: 2, 2: 4}


def transpose_2d(element_bytes: int, rows: npt.ArrayLike, columns: npt.ArrayLike, matrices: npt.ArrayLike) -> I8:
    """Tile cycles of Transpose2D: 7 + 6 * max worker; a worker turns its matrices in grains of 2x2 floats (3 cycles)
    or 4x4 halves (4 cycles)."""
    grain = TRANSPOSE_BLOCK[element_bytes]
    per_grain = 3 if element_bytes == 4 else 4
    grains = ceil_div(rows, grain) * ceil_div(columns, grain)
    return 7 + WORKERS * (per_worker(matrices) * grains * per_grain)
