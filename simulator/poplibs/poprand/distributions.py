"""Values of the distributions from random bits, in float64, rounded once to the type of the result."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, erfc, log10, sqrt
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, UInt64Array
from simulator.poplibs.poprand.counter import halves, redrawn

#: largest number of draws of a truncated normal before values outside are clipped (PopLibs folds them back)
MOST_ATTEMPTS = 64


def values(kind: str, bits: UInt64Array, parameters: Mapping[str, Any], dtype: np.dtype[Any]) -> AnyArray:
    """The distribution `kind` at each place, not yet rounded to `dtype`."""
    if kind == "uniform":
        return _uniform(bits, parameters, dtype)
    if kind == "bernoulli":
        return _bernoulli(bits, parameters["prob"])
    if kind == "normal":
        return np.asarray(parameters["mean"] + parameters["stdDev"] * _standard_normal(bits))
    if kind == "truncatedNormal":
        truncated = _truncated(bits, parameters["alpha"])
        return np.asarray(parameters["mean"] + parameters["stdDev"] * truncated)
    raise ValueError(f"there is no distribution '{kind}'")


def _uniform(bits: UInt64Array, parameters: Mapping[str, Any], dtype: np.dtype[Any]) -> AnyArray:
    low, high = parameters["minVal"], parameters["maxVal"]
    first, _ = halves(bits)
    if dtype.kind == "i":
        return np.asarray(int(low) + np.floor(first * (int(high) - int(low) + 1)))
    return np.asarray(low + first * (high - low))


def _bernoulli(bits: UInt64Array, probability: float) -> AnyArray:
    """1 with the probability, in steps of 2^-16 as the device has it."""
    return np.asarray((bits >> np.uint64(48)) < np.uint64(int(probability * 65536)), np.float64)


def _standard_normal(bits: UInt64Array) -> AnyArray:
    """Box and Muller."""
    first, second = halves(bits)
    return np.asarray(np.sqrt(-2 * np.log(first + 2.0**-33)) * np.cos(2 * np.pi * second))


def _truncated(bits: UInt64Array, alpha: float) -> AnyArray:
    """Normal numbers; those beyond alpha are drawn again."""
    result = _standard_normal(bits)
    for attempt in range(1, MOST_ATTEMPTS):
        outside = np.abs(result) > alpha
        if not outside.any():
            return result
        result[outside] = _standard_normal(redrawn(bits[outside], attempt))
    return np.asarray(np.clip(result, -alpha, alpha))


def attempts(alpha: float) -> int:
    """The number of draws in PopLibs' vertex: until fewer than 1 in 10,000 numbers lie outside."""
    outside = erfc(alpha / sqrt(2))
    return 1 if outside <= 0 else ceil(-4 / log10(outside))


def dropped(bits: UInt64Array, given: AnyArray, keep: float, scale: float) -> AnyArray:
    """The values of `given` that dropout keeps, scaled; 0 for the others."""
    return np.asarray(np.where(_bernoulli(bits, keep) > 0, given * np.float32(scale), np.float32(0)))
