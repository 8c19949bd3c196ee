"""popnn's vertices: non-linearities, their gradients, loss transforms.

Source: published-numbers 7.6.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.machine.cycles.rounding import I8, per_worker, vector_width, whole

#: (c, cv) of the forward loop by function and type
FORWARD: dict[tuple[str, str], tuple[int, int]] = {
    ("RELU", "float"): (1, 1),
    ("RELU", "half"): (1, 1),
    ("SIGMOID", "float"): (5, 10),
    ("SIGMOID", "half"): (2, 4),
    ("TANH", "float"): (5, 10),
    ("TANH", "half"): (1, 2),
    ("GELU", "float"): (10, 10),
    ("GELU", "half"): (5, 5),
    ("SWISH", "float"): (6, 11),
    ("SWISH", "half"): (3, 5),
}
#: the same for the gradient; GELU's is not published and takes SWISH's
GRADIENT: dict[tuple[str, str], tuple[int, int]] = {
    **{(op, dtype): (3, 3) for op in ("RELU", "SIGMOID", "TANH") for dtype in ("float", "half")},
    **{(op, "float"): (10, 15) for op in ("SWISH", "GELU")},
    **{(op, "half"): (7, 9) for op in ("SWISH", "GELU")},
}


def _loop(dtype: str, n: npt.ArrayLike, c: int, cv: int) -> I8:
    n = whole(n)
    width = vector_width(dtype)
    vectors = per_worker(n // width)
    base = 20 + (2 + c + np.maximum(vectors - 1, 0) * cv + 1 + c)
    tail = (3 if dtype == "float" else 4) + np.where(n % width > 0, 2 + c if dtype == "float" else 3 + c, 0)
    return whole(9 + 6 * (base + tail))


def forward_1d(op: str, dtype: str, n: npt.ArrayLike) -> I8:
    """Tile cycles of NonLinearity1D: 9 + 6 * (20 + [2 + c + (nv - 1) cv + 1 + c] + tail), nv = ceil((n / v) / 6)
    vectors of the longest worker; tail 3 float | 4 half, + 2 + c | 3 + c with a remainder."""
    return _loop(dtype, n, *FORWARD[op, dtype])


def gradient_1d(op: str, dtype: str, n: npt.ArrayLike) -> I8:
    """Tile cycles of NonLinearityGrad1D: the forward form with the gradient's c and cv."""
    return _loop(dtype, n, *GRADIENT[op, dtype])


def loss_transform(dtype: str, n: npt.ArrayLike, softmax: bool = True) -> I8:
    """Thread cycles of LossCrossEntropyTransform (softmax) or LossSumSquaredTransform on n elements:
    20 (+ 1 half) + (9 | 4) * (n float | n / 2 half), an odd half one more step."""
    n = whole(n)
    steps = n if dtype == "float" else n // 2 + n % 2
    return 20 + (0 if dtype == "float" else 1) + (9 if softmax else 4) * steps
