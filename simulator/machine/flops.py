"""Floating point operations of a vertex, as PopLibs counts them.

Convention (published-numbers 7.5, last line, and PopLibs' public table): a multiply-accumulate is 2, an addition,
multiplication, division, comparison, exponential or other function 1, a remainder 3; bit operations, copies, fills and
selections are 0, and so is everything on integers. A figure counts what the program asks for, not what the device
spends.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array

FLOATING = ("float", "half", "quarter")
#: one multiply-accumulate
MAC = 2
#: a = a + k b
SCALED_ADD = 2

_BITS = ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "BITWISE_XNOR", "SHIFT_LEFT", "SHIFT_RIGHT")
_BINARY = {
    "REMAINDER": 3,
    "VARIANCE_TO_INV_STD_DEV": 2,
    "INV_STD_DEV_TO_VARIANCE": 2,
    **dict.fromkeys(_BITS, 0),
}
_UNARY = dict.fromkeys(("BITWISE_NOT", "COUNT_LEADING_ZEROS", "LOGICAL_NOT", "POPCOUNT"), 0)
_REDUCE = {"LOG_ADD": 6, "LOGICAL_AND": 0, "LOGICAL_OR": 0, "SQUARE_ADD": 2}
_NONLINEARITY = {"GELU": 8, "GELU_ERF": 8, "SWISH": 2}
_GRADIENT = {"GELU": 15, "GELU_ERF": 15, "SWISH": 5, "SIGMOID": 2, "TANH": 2}


def typed(count: npt.ArrayLike, dtype: str) -> Int64Array:
    """`count` where `dtype` is a floating point type, else 0."""
    counted = np.asarray(count, np.int64)
    return counted if dtype in FLOATING else np.zeros_like(counted)


def binary(op: str) -> int:
    """Operations of one element of a binary operator."""
    return _BINARY.get(op, 1)


def unary(op: str) -> int:
    """Operations of one element of a unary operator."""
    return _UNARY.get(op, 1)


def ternary(op: str) -> int:
    """Operations of one element: CLAMP compares twice, SELECT moves."""
    return 2 if op == "CLAMP" else 0


def reduction(op: str, outputs: npt.ArrayLike, partials: npt.ArrayLike, update: bool = False) -> Int64Array:
    """Operations of a reduction of `partials` elements in all to `outputs`: one combination less per output than
    it has terms, one more when added to what is there. SQUARE_ADD squares and adds each (2)."""
    combined = np.asarray(partials, np.int64) - (0 if update else 1) * np.asarray(outputs, np.int64)
    return np.asarray(combined * _REDUCE.get(op, 1), np.int64)


def nonlinearity(op: str) -> int:
    """Operations of one element: GELU 8, SWISH 2, others 1."""
    return _NONLINEARITY.get(op, 1)


def gradient(op: str) -> int:
    """Operations of one element of a gradient: GELU 15, SWISH 5, SIGMOID and TANH 2, RELU 1."""
    return _GRADIENT.get(op, 1)


def cast(from_dtype: str, to_dtype: str, count: npt.ArrayLike) -> Int64Array:
    """One per element where either type is floating point."""
    return np.asarray(count, np.int64) * int(from_dtype in FLOATING or to_dtype in FLOATING)


def inverse_std_deviation(count: npt.ArrayLike) -> Int64Array:
    """4 per element."""
    return 4 * np.asarray(count, np.int64)


def sum_squared(count: npt.ArrayLike) -> Int64Array:
    """3 per element."""
    return 3 * np.asarray(count, np.int64)


def cross_entropy(count: npt.ArrayLike) -> Int64Array:
    """6 per element and 2 per vertex."""
    return 6 * np.asarray(count, np.int64) + 2
