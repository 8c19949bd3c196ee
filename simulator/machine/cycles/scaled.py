"""Scaled arithmetic: A += k B, and A = a A + b B.

Source: published-numbers 7.2; exact against the published estimates for 64, 128, 256 and 512 floats per tile (5.2).
Supervisor forms give tile cycles, 2-D forms thread cycles. The estimators deal whole vectors evenly and let one
worker take the rest, which they do not add to its loop: the count of vectors is rounded down.
PopLibs' estimators leave out 6 cycles (and the 7 of a subtraction) for scales that are constants; the published
summary adds them always, and so do we.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, vector_width, whole

#: memory-constrained loops of at least so many vectors a worker take one cycle less
LONG_LOOP = 16


def _step(dtypes: tuple[str, str], vectors: Int64Array, constrained: bool, interleaved: bool) -> Int64Array:
    """Cycles per vector: 3, 4 where the two operands differ in type; operands in different memory elements
    ("memory constrained") 2, or 1 from 16 vectors a worker on; one less in interleaved memory (same types)."""
    if constrained:
        step = np.where(vectors >= LONG_LOOP, 1, 2)
    else:
        step = np.full_like(vectors, 3 if dtypes[0] == dtypes[1] else 4)
    return np.maximum(step - 1, 1) if interleaved and dtypes[0] == dtypes[1] else step


def _remainder(dtype: str, rest: Int64Array) -> Int64Array:
    """Cycles for the elements that are no whole vector: float 8; half 5, + 7 from two on, + 6 for three."""
    if dtype == "float":
        return np.where(rest > 0, 8, 0)
    return np.where(rest > 0, 5, 0) + np.where(rest >= 2, 7, 0) + np.where(rest == 3, 6, 0)


def scaled_add(
    dtypes: tuple[str, str],
    n: npt.ArrayLike,
    *,
    subtract: bool = False,
    constrained: bool = False,
    interleaved: bool = False,
    scaled_pointers: bool = False,
) -> Int64Array:
    """Tile cycles of the ScaledAdd/ScaledSubtract supervisor; `dtypes` = types of A and B, `n` elements of the tile.

    21 (+ 6 with scaled pointers, as on Mk1) + 11 + (7 | 13 with a remainder) + 12 + 6 (+ 7 subtract) + 6 * worker;
    worker = 15 + [6 + i (vectors - 1)] + 2 + 1 + remainder + 1, vectors = n // v // 6, i = `_step`.
    half += float: worker = 16 + [8 + 5 (vectors - 1)] + 2 + 1 + remainder + 1, vectors rounded up where no remainder.
    int: 53 + 26 (n // 3) + 6 + 26 (n % 3) + 14."""
    n = whole(n)
    if dtypes[0] not in ("float", "half"):
        return whole(53 + 26 * (n // 3) + 6 + 26 * (n % 3) + 14 + (1 if subtract else 0))
    width = vector_width(dtypes[0])
    vectors, rest = n // width // WORKERS, n % width
    if dtypes == ("half", "float"):
        worker = _half_plus_float(n // width, rest)
    else:
        step = _step(dtypes, vectors, constrained, interleaved)
        core = np.where(vectors > 0, 6 + step * (vectors - 1), 0)
        worker = 15 + core + 2 + 1 + _remainder(dtypes[0], rest) + 1
    start = 21 + (6 if scaled_pointers else 0) + 11 + np.where(rest > 0, 13, 7) + 12 + 6 + (7 if subtract else 0)
    return whole(start + WORKERS * worker)


def _half_plus_float(vectors: Int64Array, rest: Int64Array) -> Int64Array:
    """The longest worker: one of those with a vector more, or the one that handles the remainder."""
    few, many = vectors // WORKERS, ceil_div(vectors, WORKERS)

    def loop(count: Int64Array) -> Int64Array:
        return np.where(count > 0, 8 + 5 * (count - 1), 0)

    tail = np.where(rest > 0, 4, 0) + np.where(rest >= 2, 5, 0) + np.where(rest % 2 == 1, 7, 0)
    return whole(np.maximum(16 + loop(many) + 2 + 1, 16 + loop(few) + 2 + 1 + tail + 1))


def scaled_2d_base(dtype: str, subtract: bool = False) -> int:
    """Thread cycles of ScaledAdd2D beside its rows: 10, int 9; a subtraction takes 2 (int 1) more."""
    return (10 + 2 * subtract) if dtype in ("float", "half") else (9 + subtract)


def scaled_2d_row(dtype: str, n: npt.ArrayLike, *, constrained: bool = False, interleaved: bool = False) -> Int64Array:
    """Thread cycles of one row of ScaledAdd2D: 15 + (5 + i (n // v) with a whole vector) + remainder; i = 3, memory
    constrained 2, one less in interleaved memory; remainder float 7, half 4 (+ 6 from two on, + 7 if odd).
    int: 7 + 5 n."""
    n = whole(n)
    if dtype not in ("float", "half"):
        return 7 + 5 * n
    width = vector_width(dtype)
    step = (2 if constrained else 3) - (1 if interleaved else 0)
    vectors, rest = n // width, n % width
    if dtype == "float":
        tail = np.where(rest > 0, 7, 0)
    else:
        tail = np.where(rest > 0, 4, 0) + np.where(rest >= 2, 6, 0) + np.where(rest % 2 == 1, 7, 0)
    return whole(15 + np.where(vectors > 0, 5, 0) + step * vectors + tail)


def scaled_sum(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of aXPlusbYSupervisor with scales that are tensors, `n` elements of the tile.

    float: as `scaled_add` with a worker prologue of 16 and 12 more tile cycles to fetch the second scale.
    half with float scales: 6 + 10 + 90 + 14 + 28 (+ 5 where 6 divides n) + 6 * (19 + 1 + core of the longest worker),
    core = 4 + 11 + 5 (pairs - 1) + 4 (+ 9 if odd) + 1 with pairs of the vectors beyond the first four elements."""
    n = whole(n)
    if dtype == "float":
        return scaled_add(("float", "float"), n) + 12 + WORKERS
    count = n // WORKERS // 2 * 2 + 2
    beyond = np.maximum(count - 4, 0)
    long = 11 + 5 * np.maximum(beyond // 2 - 1, 0) + 4 + np.where(beyond % 2, 9, 0)
    core = 4 + np.where(beyond > 0, long, 1 + 13) + 1
    return whole(6 + 10 + 90 + 14 + 28 + np.where(n % WORKERS == 0, 5, 0) + 1 + WORKERS * (19 + 1 + core))
