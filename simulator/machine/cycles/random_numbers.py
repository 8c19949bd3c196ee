"""Vertices of poprand. Source: published-numbers 7.6 and PopLibs' public estimators of poprand, which count elements of
the whole tile; all give tile cycles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, vector_width, whole

SET_SEED = 14 + 27 * WORKERS


def set_seed() -> int:
    """Tile cycles of SetSeed: 14 + 27 * 6."""
    return SET_SEED


def _loop(cycles: int, n: Int64Array, width: int) -> Int64Array:
    return whole(cycles * (n + width - 1) // width)


def uniform(dtype: str, n: npt.ArrayLike, scale: float = 1.0) -> Int64Array:
    """Tile cycles of Uniform: 4 + 22 * 6 (half 24 * 6) + 4 (n + w - 1) / w rounded down (+ 4 | 12 with a remainder),
    w = 32 float | 16 half; int 4 + 22 * 6 + 6 (n / 2) + 2 (n odd), n / 2 only over the whole range of 32 bits."""
    n = whole(n)
    if dtype == "int":
        return whole(4 + 22 * WORKERS + np.where(scale == 0, n // 2, 6 * (n // 2) + n % 2 * 2))
    width = 32 if dtype == "float" else 16
    rest = np.where(n % width, 4 if dtype == "float" else 12, 0)
    return whole(4 + _loop(4, n, width) + (22 if dtype == "float" else 24) * WORKERS + rest)


def bernoulli(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of Bernoulli: 4 + ceil(n / w) + 23 * 6 (half 21 * 6) + 1 (half 9) with a remainder, w = 32 | 16."""
    n = whole(n)
    half = dtype == "half"
    width = 16 if half else 32
    rest = np.where(n % width, 9 if half else 1, 0)
    return whole(4 + _loop(1, n, width) + (21 if half else 23) * WORKERS + rest)


def normal(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of Normal: 4 + 4 (n + v - 1) / v rounded down + 22 * 6 (half 24 * 6) + 3 (half 12) with a
    remainder."""
    n = whole(n)
    width, single = vector_width(dtype), dtype == "float"
    rest = np.where(n % width, 3 if single else 12, 0)
    return whole(4 + _loop(4, n, width) + (22 if single else 24) * WORKERS + rest)


def truncated_normal(dtype: str, n: npt.ArrayLike, iterations: int) -> Int64Array:
    """Tile cycles of TruncatedNormal of i iterations: 4 + 26 * 6 (half 28 * 6) + (11 i + 5 | half 12 i + 5)
    (n + v - 1) / v rounded down + 13 i + 2 (half 12 i + 10) with a remainder."""
    n = whole(n)
    width, single = vector_width(dtype), dtype == "float"
    rest = np.where(n % width, (13 * iterations + 2) if single else (12 * iterations + 10), 0)
    loop = _loop((11 if single else 12) * iterations + 5, n, width)
    return whole(4 + (26 if single else 28) * WORKERS + loop + rest)


def dropout(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of Dropout: 6 + 24 * 6 + 2 (n + v - 1) / v rounded down + 1 (half 9) with a remainder."""
    n = whole(n)
    width = vector_width(dtype)
    rest = np.where(n % width, 1 if dtype == "float" else 9, 0)
    return whole(6 + 24 * WORKERS + _loop(2, n, width) + rest)
