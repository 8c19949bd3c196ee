"""Pooling vertices of popnn: a supervisor shares work items out to six workers.

Source: published-numbers 7.6, with the fixed costs of PopLibs' public estimator. Tile cycles.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, whole

Kind = Literal["max", "avg", "sum", "max backward", "max scale"]
#: cycles of the innermost repeat: (fixed, per element)
_INNER: dict[str, tuple[int, int]] = {
    "max": (4, 3),
    "avg": (5, 3),
    "sum": (5, 3),
    "max backward": (7, 5),
    "max scale": (4, 3),
}
#: thread cycles of a row and of a work item beside their loops, and to unpack one pointer
ROW, ITEM, UNPACK = 13, 20, 2


def pooling(
    kind: Kind,
    rows: npt.ArrayLike,
    items: npt.ArrayLike,
    elements: npt.ArrayLike,
    *,
    channel_vectors: npt.ArrayLike,
    channel_groups: npt.ArrayLike = 1,
    initialised: npt.ArrayLike = 0,
) -> Int64Array:
    """Tile cycles of MaxPooling, SumPooling and their gradients: 7 + 6 * longest worker + 6.

    The first dimension counts the workers, or is 1 for the longest alone: of each, rows, work items of all rows, and
    positions of all items (`elements`), for `channel_groups` groups of `channel_vectors` vectors of channels, and a
    share of `initialised` positions to clear.
    item = 20 + groups (2 + vectors (2 + inner + 1)) + 4 (groups - 1) (+ 2 backward) + 3, inner = fixed + step *
    elements: 4 + 3 n max (and how many are the largest), 5 + 3 n avg and sum, 7 + 5 n backward; row = 13 + items
    + 2."""
    groups, vectors, count = whole(channel_groups), whole(channel_vectors), whole(rows)
    fixed, step = _INNER[kind]
    backward = kind == "max backward"
    item = ITEM + groups * (2 + vectors * (2 + fixed + 1)) + (groups - 1) * (6 if backward else 4) + 3
    spent = count * (ROW + 2) + whole(items) * item + whole(elements) * groups * vectors * step
    clearing = (4 + ceil_div(whole(initialised) * vectors, WORKERS)) * groups
    start = 4 + 2 + 2 + 7 + 2 + UNPACK + clearing + 5 + 1 + UNPACK
    busy = 2 + (1 if kind.startswith("max") else 2) + ((6 + 2 * UNPACK) if backward else 0) + 3 + 2 + 2 * UNPACK + 1
    worker = start + np.where(count > 0, busy + spent, 0) + 1
    return whole(7 + WORKERS * worker.max(axis=0) + 6)
