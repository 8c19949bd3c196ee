"""The element-wise operators in NumPy.

Halves are computed in float32 and rounded once at the end; integer division truncates towards zero, like the device's.
Each function takes operands that broadcast against each other and returns an array of the operands' type, or of bool
for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.codelets.run import store

_COMPARISONS: dict[str, Callable[[AnyArray, AnyArray], AnyArray]] = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "GREATER_THAN": np.greater,
    "GREATER_THAN_EQUAL": np.greater_equal,
    "LESS_THAN": np.less,
    "LESS_THAN_EQUAL": np.less_equal,
}
_TESTS: dict[str, Callable[[AnyArray], AnyArray]] = {"IS_FINITE": np.isfinite, "IS_NAN": np.isnan, "IS_INF": np.isinf}
#: operators whose result is BOOL for operands of any type
BOOLEAN_RESULT = frozenset((*_COMPARISONS, *_TESTS, "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"))

#: operators whose second operand must be one element in PopLibs' vertices
ONLY_WITH_SCALAR = frozenset({"VARIANCE_TO_INV_STD_DEV", "INV_STD_DEV_TO_VARIANCE"})

#: operators whose operands may be swapped, so that the broadcast operand comes second
COMMUTATIVE = frozenset(
    {"ADD", "MULTIPLY", "MAXIMUM", "MINIMUM", "EQUAL", "NOT_EQUAL", "LOGICAL_AND", "LOGICAL_OR"}
    | {"BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "BITWISE_XNOR"}
)


def _divide(a: AnyArray, b: AnyArray) -> AnyArray:
    if np.issubdtype(a.dtype, np.floating):
        return np.asarray(np.divide(a, b))
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient)).astype(a.dtype)


def _power(a: AnyArray, b: AnyArray) -> AnyArray:
    if np.issubdtype(a.dtype, np.floating):
        return np.asarray(np.power(a, b))
    return np.power(a.astype(np.float64), b).astype(a.dtype)


def _shift_right(a: AnyArray, b: AnyArray) -> AnyArray:
    """Fill with zeros from the left, whatever the sign."""
    unsigned = a.astype(f"u{a.dtype.itemsize}")
    return np.asarray(np.right_shift(unsigned, np.asarray(b).astype(unsigned.dtype))).astype(a.dtype)


BINARY: dict[str, Callable[[AnyArray, AnyArray], AnyArray]] = {
    "ADD": np.add,
    "SUBTRACT": np.subtract,
    "MULTIPLY": np.multiply,
    "DIVIDE": _divide,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "POWER": _power,
    "REMAINDER": np.fmod,
    "ATAN2": np.arctan2,
    "BITWISE_AND": np.bitwise_and,
    "BITWISE_OR": np.bitwise_or,
    "BITWISE_XOR": np.bitwise_xor,
    "BITWISE_XNOR": lambda a, b: np.invert(np.bitwise_xor(a, b)),
    "SHIFT_LEFT": np.left_shift,
    "SHIFT_RIGHT": _shift_right,
    "SHIFT_RIGHT_SIGN_EXTEND": np.right_shift,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "VARIANCE_TO_INV_STD_DEV": lambda a, b: 1.0 / np.sqrt(a + b),
    "INV_STD_DEV_TO_VARIANCE": lambda a, b: 1.0 / np.square(a) - b,
    **_COMPARISONS,
}


def _sigmoid(x: AnyArray) -> AnyArray:
    """1 / (1 + exp(-x)) without overflow for large negative x."""
    return np.asarray(0.5 * (np.tanh(0.5 * x) + 1))


def _gelu(x: AnyArray) -> AnyArray:
    """The tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    return np.asarray(0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))


def _erf(x: AnyArray) -> AnyArray:
    """Abramowitz and Stegun 7.1.26: absolute error below 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.asarray(np.sign(x) * (1 - poly * np.exp(-x * x)))


def _round(x: AnyArray) -> AnyArray:
    """Halves away from zero, like the device's `round`."""
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))


def _count_leading_zeros(x: AnyArray) -> AnyArray:
    bits = 8 * x.dtype.itemsize
    unsigned = x.astype(f"u{x.dtype.itemsize}").astype(np.uint64)
    length = np.zeros(x.shape, dtype=np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        high = unsigned >> np.uint64(shift)
        length += np.where(high > 0, shift, 0)
        unsigned = np.where(high > 0, high, unsigned)
    return np.asarray(bits - length - (unsigned > 0)).astype(x.dtype)


UNARY: dict[str, Callable[[AnyArray], AnyArray]] = {
    "ABSOLUTE": np.abs,
    "NEGATE": np.negative,
    "SQUARE": np.square,
    "SQRT": np.sqrt,
    "RSQRT": lambda x: 1 / np.sqrt(x),
    "EXPONENT": np.exp,
    "EXPONENT_MINUS_ONE": np.expm1,
    "LOGARITHM": np.log,
    "LOGARITHM_ONE_PLUS": np.log1p,
    "TANH": np.tanh,
    "SIGMOID": _sigmoid,
    "RELU": lambda x: np.maximum(x, 0),
    "INVERSE": lambda x: 1 / x,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "ASIN": np.arcsin,
    "ERF": _erf,
    "GELU": _gelu,
    "GELU_ERF": lambda x: 0.5 * x * (1 + _erf(x * np.float32(0.7071067811865476))),
    "SWISH": lambda x: x * _sigmoid(x),
    "CBRT": np.cbrt,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "ROUND": _round,
    "TRUNC": np.trunc,
    "SIGNUM": np.sign,
    "BITWISE_NOT": np.invert,
    "POPCOUNT": lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype),
    "COUNT_LEADING_ZEROS": _count_leading_zeros,
    "LOGICAL_NOT": np.logical_not,
    **_TESTS,
}

#: (a, lowest, highest), and (where true, where false, selector)
TERNARY: dict[str, Callable[[AnyArray, AnyArray, AnyArray], AnyArray]] = {
    "CLAMP": lambda a, low, high: np.minimum(np.maximum(a, low), high),
    "SELECT": lambda a, b, selector: np.where(selector, a, b),
}

#: ufuncs that write directly into the result, for operands of any type
_DIRECT: dict[str, Any] = {
    name: f for name, f in [*dict[str, Any](BINARY).items(), *dict[str, Any](UNARY).items()] if isinstance(f, np.ufunc)
}


def wide(x: AnyArray) -> AnyArray:
    """Halves as float32; other types unchanged."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def evaluate(op: str, operands: list[AnyArray], out: AnyArray) -> None:
    """out[...] = op(operands), rounded once to the type of `out`; finite values beyond the range of half become its
    largest."""
    direct = _DIRECT.get(op)
    if direct is not None and out.dtype != np.float16:
        direct(*operands, out=out, casting="unsafe")
        return
    store(out, apply(op, [wide(x) for x in operands]))


def apply(op: str, arguments: list[AnyArray]) -> AnyArray:
    """The operator on its arguments, halves given as float32; the result is not rounded."""
    table: dict[str, Any] = (UNARY, BINARY, TERNARY)[len(arguments) - 1]
    return np.asarray(table[op](*arguments))
