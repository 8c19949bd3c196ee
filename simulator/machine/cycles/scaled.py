"""Scaled addition: a += k * b.

Source: published-numbers 7.2; exact against the published estimates for 64, 128, 256 and 512 floats per tile (5.2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.machine.cycles.rounding import I8, WORKERS, ceil_div, vector_width, whole


def scaled_add(dtype: str, n: npt.ArrayLike, *, subtract: bool = False, mixed: bool = False) -> I8:
    """Tile cycles of the ScaledAdd/ScaledSubtract supervisor on n elements of a tile.

    21 + 11 + (7 | 13 with a remainder) + 12 + 6 (+ 7 subtract) + 6 * max worker, where
    worker = 15 + [6 + i * (vectors - 1)] + 1, and + 3 where the remainder (n not whole vectors) is worked on.
    i = 3; 4 where the two operands differ in type; 5 when half is added to by float."""
    n = whole(n)
    width = vector_width(dtype)
    vectors, remainder = n // width, n % width
    largest = ceil_div(vectors, WORKERS)
    step = (5 if dtype == "half" else 4) if mixed else 3
    core = np.where(largest > 0, 6 + step * (largest - 1), 0)
    # The remainder goes to the worker after the last with a full share: it is the longest only if all shares are equal.
    on_longest = (remainder > 0) & (vectors % WORKERS == 0)
    worker = 15 + core + 1 + np.where(on_longest, 3, 0)
    return whole(21 + 11 + np.where(remainder > 0, 13, 7) + 12 + 6 + (7 if subtract else 0) + WORKERS * worker)
