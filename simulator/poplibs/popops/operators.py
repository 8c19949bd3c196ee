"""The element-wise operators: a table of what each computes in NumPy, and of its properties.

Halves are computed in float32 and rounded once at the end; integer division truncates towards zero, like the device's.
Each function takes operands that broadcast against each other and returns an array of the operands' type, or of bool
for comparisons. The kernels, the operators of expressions and their classes come from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simulator.arrays import AnyArray
from simulator.codelets.run import store


class Operator(NamedTuple):
    """One operator. `compute` takes one array per operand."""

    compute: Callable[..., Any]
    expression: str = ""  #: its class in popops.expr, "" for none
    boolean: bool = False  #: the result is BOOL for operands of any type
    commutative: bool = False  #: operands may be swapped, so that the broadcast operand comes second
    scalar_only: bool = False  #: the second operand must be one element in PopLibs' vertices
    popnn_only: bool = False  #: a non-linearity of popnn, which popops does not have


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
    """Halves away from zero, like the device's `round`; NEARBY_INT rounds them to even numbers."""
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


UNARY: dict[str, Operator] = {
    "ABSOLUTE": Operator(np.abs, "Abs"),
    "NEGATE": Operator(np.negative, "Neg"),
    "SQUARE": Operator(np.square, "Square"),
    "SQRT": Operator(np.sqrt, "Sqrt"),
    "RSQRT": Operator(lambda x: 1 / np.sqrt(x), "Rsqrt"),
    "EXPONENT": Operator(np.exp, "Exp"),
    "EXPONENT_MINUS_ONE": Operator(np.expm1, "Expm1"),
    "LOGARITHM": Operator(np.log, "Log"),
    "LOGARITHM_ONE_PLUS": Operator(np.log1p, "Log1p"),
    "TANH": Operator(np.tanh, "Tanh"),
    "SIGMOID": Operator(_sigmoid, "Sigmoid"),
    "RELU": Operator(lambda x: np.maximum(x, 0), "Relu"),
    "INVERSE": Operator(lambda x: 1 / x, "Inv"),
    "SIN": Operator(np.sin, "Sin"),
    "COS": Operator(np.cos, "Cos"),
    "TAN": Operator(np.tan, "Tan"),
    "ASIN": Operator(np.arcsin, "Asin"),
    "ERF": Operator(_erf, "Erf"),
    "GELU": Operator(_gelu, popnn_only=True),
    "GELU_ERF": Operator(lambda x: 0.5 * x * (1 + _erf(x * np.float32(0.7071067811865476))), "GeluErf"),
    "SWISH": Operator(lambda x: x * _sigmoid(x), popnn_only=True),
    "CBRT": Operator(np.cbrt, "Cbrt"),
    "CEIL": Operator(np.ceil, "Ceil"),
    "FLOOR": Operator(np.floor, "Floor"),
    "NEARBY_INT": Operator(np.rint, "NearbyInt"),
    "ROUND": Operator(_round, "Round"),
    "TRUNC": Operator(np.trunc, "Trunc"),
    "SIGNUM": Operator(np.sign, "Signum"),
    "BITWISE_NOT": Operator(np.invert, "BitwiseNot"),
    "POPCOUNT": Operator(lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)),
    "COUNT_LEADING_ZEROS": Operator(_count_leading_zeros),
    "LOGICAL_NOT": Operator(np.logical_not, "Not", boolean=True),
    "IS_FINITE": Operator(np.isfinite, "IsFinite", boolean=True),
    "IS_NAN": Operator(np.isnan, "IsNaN", boolean=True),
    "IS_INF": Operator(np.isinf, "IsInf", boolean=True),
}

BINARY: dict[str, Operator] = {
    "ADD": Operator(np.add, "Add", commutative=True),
    "SUBTRACT": Operator(np.subtract, "Sub"),
    "MULTIPLY": Operator(np.multiply, "Mul", commutative=True),
    "DIVIDE": Operator(_divide, "Divide"),
    "MAXIMUM": Operator(np.maximum, "Max", commutative=True),
    "MINIMUM": Operator(np.minimum, "Min", commutative=True),
    "POWER": Operator(_power, "Pow"),
    "REMAINDER": Operator(np.fmod, "Rem"),
    "ATAN2": Operator(np.arctan2, "Atan2"),
    "BITWISE_AND": Operator(np.bitwise_and, "BitwiseAnd", commutative=True),
    "BITWISE_OR": Operator(np.bitwise_or, "BitwiseOr", commutative=True),
    "BITWISE_XOR": Operator(np.bitwise_xor, "BitwiseXor", commutative=True),
    "BITWISE_XNOR": Operator(lambda a, b: np.invert(np.bitwise_xor(a, b)), "BitwiseXnor", commutative=True),
    "SHIFT_LEFT": Operator(np.left_shift, "Shl"),
    "SHIFT_RIGHT": Operator(_shift_right, "Shr"),
    "SHIFT_RIGHT_SIGN_EXTEND": Operator(np.right_shift, "ShrSE"),
    "LOGICAL_AND": Operator(np.logical_and, "And", commutative=True, boolean=True),
    "LOGICAL_OR": Operator(np.logical_or, "Or", commutative=True, boolean=True),
    "VARIANCE_TO_INV_STD_DEV": Operator(lambda a, b: 1.0 / np.sqrt(a + b), "VarianceToInvStdDev", scalar_only=True),
    "INV_STD_DEV_TO_VARIANCE": Operator(lambda a, b: 1.0 / np.square(a) - b, "InvStdDevToVariance", scalar_only=True),
    "EQUAL": Operator(np.equal, "Equal", commutative=True, boolean=True),
    "NOT_EQUAL": Operator(np.not_equal, "NotEqual", commutative=True, boolean=True),
    "GREATER_THAN": Operator(np.greater, "Gt", boolean=True),
    "GREATER_THAN_EQUAL": Operator(np.greater_equal, "Gte", boolean=True),
    "LESS_THAN": Operator(np.less, "Lt", boolean=True),
    "LESS_THAN_EQUAL": Operator(np.less_equal, "Lte", boolean=True),
}

#: operands: (a, lowest, highest), and (where true, where false, selector)
TERNARY: dict[str, Operator] = {
    "CLAMP": Operator(lambda a, low, high: np.minimum(np.maximum(a, low), high), "Clamp"),
    "SELECT": Operator(lambda a, b, selector: np.where(selector, a, b), "Select"),
}

_ALL = {**UNARY, **BINARY, **TERNARY}
BOOLEAN_RESULT = frozenset(name for name, operator in _ALL.items() if operator.boolean)
COMMUTATIVE = frozenset(name for name, operator in _ALL.items() if operator.commutative)
ONLY_WITH_SCALAR = frozenset(name for name, operator in _ALL.items() if operator.scalar_only)

#: ufuncs that write directly into the result, for operands of any type
_DIRECT = {name: operator.compute for name, operator in _ALL.items() if isinstance(operator.compute, np.ufunc)}


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
    return np.asarray(_ALL[op].compute(*arguments))
