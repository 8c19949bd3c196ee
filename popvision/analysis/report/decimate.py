"""Min-max decimation of a series for drawing: the minimum and maximum of each bucket, in their order.

At most two points a bucket, so that every peak and dip of the series is still on the screen. For drawing only; the
caller says so next to the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from popvision.arrays import Int64Array


@dataclass(frozen=True)
class Drawn:
    """Positions to draw (ascending, of the full series) and whether some were left out."""

    positions: Int64Array
    decimated: bool


def min_max_positions(series: npt.ArrayLike, limit: int) -> Drawn:
    """At most `limit` positions of a series of n values, all n when they fit.

    Keeps the first and last position, and the first minimum and first maximum of each of `(limit - 2) // 2` buckets of
    equal width. Raises ValueError for a limit below 4.
    """
    if limit < 4:
        raise ValueError(f"a drawing needs at least 4 points, {limit} is too few")
    values = np.asarray(series)
    n = len(values)
    if n <= limit:
        return Drawn(np.arange(n, dtype=np.int64), False)
    buckets = (limit - 2) // 2
    edges = np.linspace(0, n, buckets + 1).astype(np.int64)
    chosen = [0, n - 1]
    for first, last in pairwise(edges):
        part = values[first:last]
        chosen += [int(first + part.argmin()), int(first + part.argmax())]
    return Drawn(np.unique(np.asarray(chosen, dtype=np.int64)), True)
