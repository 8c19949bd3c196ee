"""popnn's vertices that find the largest (or smallest) class and count hits.

Source: PopLibs' public cycle estimators of popnn (ReduceMaxClassGather, ReduceMaxClassSparse, CalcAccuracy)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, whole

#: elements that a worker takes at least, and partial results that a vertex of later stages takes (PopLibs' own)
WORKER_MIN, PARTIALS = 32, 32


def gather(dtype: str, n: npt.ArrayLike, worker_size: npt.ArrayLike) -> Int64Array:
    """Tile cycles of Reduce(Max|Min)ClassGather: 9 + 6 * (30 + 3 * (s - 1)), s = elements of a worker; whole numbers
    run compiled C++ on one worker: 9 + 6 * (22 + workers * (6 s + 25))."""
    n, size = whole(n), whole(worker_size)
    if dtype in ("float", "half"):
        return whole(9 + WORKERS * (30 + 3 * np.minimum(size - 1, n - 1)))
    return whole(9 + WORKERS * (22 + ceil_div(n, size) * (6 * size + 25)))


def sparse(dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of Reduce(Max|Min)ClassSparse on n partial results: 27 + 3 (n - 1); whole numbers 23 + 6 n."""
    n = whole(n)
    return whole(27 + 3 * (n - 1)) if dtype in ("float", "half") else whole(23 + 6 * n)


def accuracy(n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of CalcAccuracy on n rows: 14 + 4 n."""
    return whole(14 + 4 * whole(n))
