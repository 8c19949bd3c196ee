"""popnn's vertices: non-linearities, their gradients, loss transforms. Pooling: `pooling`.

Source: published-numbers 7.6; the loops of gradients and rows of 2-D forms from PopLibs' public estimators.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, per_worker, vector_width, whole

#: (c, cv) of the forward loop by function and type: cycles of one element, and of one vector in the loop
FORWARD: dict[tuple[str, str], tuple[int, int]] = {
    ("RELU", "float"): (1, 1),
    ("RELU", "half"): (1, 1),
    ("SIGMOID", "float"): (5, 10),
    ("SIGMOID", "half"): (2, 4),
    ("TANH", "float"): (5, 10),
    ("TANH", "half"): (1, 2),
    ("GELU", "float"): (10, 10),
    ("GELU", "half"): (5, 5),
    ("GELU_ERF", "float"): (30, 30),
    ("GELU_ERF", "half"): (15, 15),
    ("SWISH", "float"): (6, 11),
    ("SWISH", "half"): (3, 5),
}
#: the same for the gradient; those of GELU and GELU_ERF are not published and take SWISH's
GRADIENT: dict[tuple[str, str], tuple[int, int]] = {
    **{(op, dtype): (3, 3) for op in ("RELU", "SIGMOID", "TANH") for dtype in ("float", "half")},
    **{(op, "float"): (10, 15) for op in ("SWISH", "GELU", "GELU_ERF")},
    **{(op, "half"): (7, 9) for op in ("SWISH", "GELU", "GELU_ERF")},
}
#: thread cycles of 2-D vertices beside their rows: 5 to start, 9 (gradient 12) to unpack the lists
FORWARD_2D_BASE, GRADIENT_2D_BASE = 14, 17


def _forward_loop(c: int, cv: int, vectors: Int64Array) -> Int64Array:
    """2 + c + (vectors - 1) cv + 1 + c; nothing without a whole vector."""
    return whole(np.where(vectors > 0, 2 + c + (vectors - 1) * cv + 1 + c, 0))


def _gradient_loop(cv: int, vectors: Int64Array) -> Int64Array:
    """4 to warm the pipeline up, (vectors - 1) cv, 1 to store the last."""
    return whole(np.where(vectors > 0, 4 + (vectors - 1) * cv + 1, 0))


def _rest(dtype: str, left: Int64Array, pair: int, single: int) -> Int64Array:
    """Elements beyond whole vectors: one of 32 bits (half: a pair), and one of 16 bits."""
    if dtype == "float":
        return np.where(left > 0, pair, 0)
    return np.where(left & 2, pair, 0) + np.where(left & 1, single, 0)


def forward_1d(op: str, dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of NonLinearity1D: 9 + 6 * (20 + [2 + c + (nv - 1) cv + 1 + c] + tail), nv = ceil((n / v) / 6)
    vectors of the longest worker; tail 3 float | 4 half, + 2 + c (32 bits left) + 3 + c (16 bits left)."""
    n, width = whole(n), vector_width(dtype)
    c, cv = FORWARD[op, dtype]
    tail = (3 if dtype == "float" else 4) + _rest(dtype, n % width, 2 + c, 3 + c)
    return whole(9 + WORKERS * (20 + _forward_loop(c, cv, per_worker(n // width)) + tail))


def forward_2d_row(op: str, dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of NonLinearity2D: 9 float | 12 half + loop + tests (3 | 5) + remainder."""
    n, width = whole(n), vector_width(dtype)
    c, cv = FORWARD[op, dtype]
    start, tests = (9, 3) if dtype == "float" else (12, 5)
    return whole(start + _forward_loop(c, cv, n // width) + tests + _rest(dtype, n % width, 2 + c, 3 + c))


def gradient_1d(op: str, dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Tile cycles of NonLinearityGrad1D: 9 + 6 * (20 + [4 + (nv - 1) cv + 1] + tail), tail 4 float | 6 half, +
    1 + c (float left), 2 + c (a pair of halves left), 4 + c (one half left)."""
    n, width = whole(n), vector_width(dtype)
    c, cv = GRADIENT[op, dtype]
    is_float = dtype == "float"
    tail = (4 if is_float else 6) + _rest(dtype, n % width, c + (1 if is_float else 2), c + 4)
    return whole(9 + WORKERS * (20 + _gradient_loop(cv, per_worker(n // width)) + tail))


def gradient_2d_row(op: str, dtype: str, n: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one row of NonLinearityGrad2D: 9 + loop + tests (3 float | 5 half) + remainder."""
    n, width = whole(n), vector_width(dtype)
    c, cv = GRADIENT[op, dtype]
    is_float = dtype == "float"
    rest = _rest(dtype, n % width, c + (1 if is_float else 2), c + 4)
    return whole(9 + _gradient_loop(cv, n // width) + (3 if is_float else 5) + rest)


def loss_transform(dtype: str, n: npt.ArrayLike, softmax: bool = True) -> Int64Array:
    """Thread cycles of LossCrossEntropyTransform (softmax) or LossSumSquaredTransform on n elements:
    20 (+ 1 half; sum of squares 1 less) + (9 | 4) * (n float | n // 2 half), half + 2 and an odd one 11 | 6 more."""
    n = whole(n)
    start = 20 if softmax else 19
    loop, last = (9, 11) if softmax else (4, 6)
    if dtype == "float":
        return start + loop * n
    return whole(start + 1 + loop * (n // 2) + 2 + last * (n % 2))
