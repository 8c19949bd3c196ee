"""Vertices of sorting and of choosing one element of each row.

Source: PopLibs' public estimators (HeapSort also published-numbers 7.6)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, whole


def heap_sort(n: npt.ArrayLike, *, with_values: bool = False) -> Int64Array:
    """Thread cycles of HeapSortVertex on n elements: 8 (19 n floor(log2 n) + 6 n + 2); with values 16 times."""
    n = whole(n)
    levels = np.floor(np.log2(np.maximum(n, 1)))
    return whole((16 if with_values else 8) * (19 * n * levels + 6 * n + 2))


#: (inner loop, first inner loop, outer loop, first outer loop, work item, overhead) by keys, and by keys with values
_SWAP: dict[tuple[bool, str], tuple[int, int, int, int, int, int]] = {
    (True, "no"): (13, 13, 13, 3, 17, 40),
    (False, "no"): (12, 12, 17, 3, 22, 42),
    (True, "carried"): (11, 8, 11, 11, 4, 23),
    (False, "carried"): (17, 17, 22, 5, 30, 43),
    (True, "second key"): (25, 25, 24, 6, 30, 45),
    (False, "second key"): (27, 27, 25, 7, 30, 49),
}


def compare_and_swap(dtype: str, values: str, comparisons: npt.ArrayLike, distance: npt.ArrayLike) -> Int64Array:
    """Tile cycles of CompareAndSwapAtDistance: 19 + 6 (overhead + one work item + first inner + (m - 1) inner + first
    outer + (ceil(m / distance) - 1) outer + 2), m comparisons of the longest worker; every pair is swapped."""
    inner, first, outer, first_outer, item, overhead = _SWAP[dtype in ("float", "half"), values]
    m = per_worker(comparisons)
    turns = ceil_div(m, np.maximum(whole(distance), 1))
    worker = overhead + item + first + (m - 1) * inner + first_outer + (turns - 1) * outer + 2
    return whole(19 + WORKERS * np.where(m > 0, worker, overhead))


def select_scalars(dtype: str, rows: npt.ArrayLike) -> Int64Array:
    """Thread cycles of SelectFromInterval and UpdateIntervalDEC: 27 + 8 (half 12) for each row."""
    return 27 + (12 if dtype == "half" else 8) * whole(rows)
