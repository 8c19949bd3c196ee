"""The difference of two figures: target - source, and its share of the source."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popvision.arrays import AnyArray, Float64Array


def signed(source: npt.ArrayLike, target: npt.ArrayLike) -> AnyArray:
    """target - source: positive where the target has more. Integers stay integers (unsigned ones do not wrap)."""
    before, after = np.asarray(source), np.asarray(target)
    if np.issubdtype(before.dtype, np.floating) or np.issubdtype(after.dtype, np.floating):
        return np.asarray(after, np.float64) - np.asarray(before, np.float64)
    return np.asarray(after, np.int64) - np.asarray(before, np.int64)


def relative(source: npt.ArrayLike, target: npt.ArrayLike) -> Float64Array:
    """(target - source) / |source|: 0.02 = 2 % more. Infinite (with the sign of the change) where the source is 0 and
    the target is not, 0 where both are 0."""
    before = np.asarray(source, np.float64)
    change = np.asarray(signed(source, target), np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = change / np.abs(before)
    return np.asarray(np.where(change == 0, 0.0, share), np.float64)
