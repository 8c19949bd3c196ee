"""Rounding of the formulas: up to whole loops, vectors and shares of workers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array

WORKERS = 6  #: worker contexts of a tile, on every generation (published-numbers 1)

VECTOR_WIDTH = {"float": 2, "half": 4, "quarter": 8}  #: elements of one 64-bit data path access
_ELEMENT_BYTES = {"int": 4, "uint": 4, "short": 2, "ushort": 2, "char": 1, "schar": 1, "uchar": 1, "bool": 1}


def whole(values: npt.ArrayLike) -> Int64Array:
    """Cycles or counts as int64."""
    return np.asarray(values, dtype=np.int64)


def ceil_div(n: npt.ArrayLike, by: npt.ArrayLike) -> Int64Array:
    """n / by rounded up, element by element."""
    divisor = whole(by)
    return whole((whole(n) + (divisor - 1)) // divisor)


def passing_cycles(size: npt.ArrayLike, rate: float) -> Int64Array:
    """Cycles in which `size` bytes pass at `rate` bytes a cycle, rounded up; exact below 2^53 bytes for whole rates."""
    return whole(np.ceil(whole(size) / rate))


def per_worker(n: npt.ArrayLike) -> Int64Array:
    """The largest share when n items are dealt to the six workers of a tile."""
    return ceil_div(n, WORKERS)


def vector_width(dtype: str) -> int:
    """Elements that one 64-bit access moves: 2 float, 4 half, 8 quarter or bool, 2 int, 1 longlong."""
    return VECTOR_WIDTH.get(dtype) or 8 // _ELEMENT_BYTES.get(dtype, 8)
