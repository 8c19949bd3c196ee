"""The operation of the instruction table that each NumPy function counts as, on floats and on integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.machine.instructions import OperationCounts


class NotCountableError(Exception):
    """The codelet does something that the instruction table does not have; the text is a verb phrase that names it."""


class TooLongError(NotCountableError):
    """The codelet takes too many steps to be run at this size."""


_ADD = ("float add", "integer")
_MULTIPLY = ("float multiply", "integer multiply")
_COMPARE = ("float compare", "integer")
_ROUND = ("rounding", "integer")
_LOGIC = ("integer", "integer")

#: ufunc -> (on floats, on integers)
OPERATION_OF: dict[np.ufunc, tuple[str | None, str | None]] = {
    **dict.fromkeys((np.add, np.subtract, np.negative, np.positive, np.absolute, np.fabs, np.sign, np.copysign), _ADD),
    **dict.fromkeys((np.multiply, np.square), _MULTIPLY),
    **dict.fromkeys((np.maximum, np.minimum, np.fmax, np.fmin), _COMPARE),
    **dict.fromkeys((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal), _COMPARE),
    **dict.fromkeys((np.isnan, np.isfinite, np.isinf, np.signbit), _COMPARE),
    **dict.fromkeys((np.floor, np.ceil, np.rint, np.trunc), _ROUND),
    **dict.fromkeys((np.logical_and, np.logical_or, np.logical_not, np.logical_xor), _LOGIC),
    **dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert), _LOGIC),
    **dict.fromkeys((np.left_shift, np.right_shift), _LOGIC),
    np.true_divide: ("division", "division"),
    np.floor_divide: ("division", "integer division"),
    np.remainder: ("remainder", "integer remainder"),
    np.fmod: ("remainder", "integer remainder"),
    np.reciprocal: ("inverse", "integer division"),
    np.sqrt: ("square root", "square root"),
    np.cbrt: ("power", "power"),
    **dict.fromkeys((np.exp, np.exp2, np.expm1), ("exponential", "exponential")),
    **dict.fromkeys((np.log, np.log2, np.log10, np.log1p), ("logarithm", "logarithm")),
    **dict.fromkeys((np.sin, np.cos), ("sine", "sine")),
    np.tan: ("tangent", "tangent"),
    **dict.fromkeys((np.arcsin, np.arccos, np.arctan), ("arc sine", "arc sine")),
    np.arctan2: ("arc tangent of two", "arc tangent of two"),
    np.tanh: ("hyperbolic tangent", "hyperbolic tangent"),
    **dict.fromkeys((np.power, np.float_power), ("power", "power")),
    np.hypot: ("square root", "square root"),
}

#: functions that NumPy composes of ufuncs, which are counted by themselves
THROUGH = frozenset(
    (
        np.sum,
        np.prod,
        np.mean,
        np.max,
        np.min,
        np.amax,
        np.amin,
        np.any,
        np.all,
        np.clip,
        np.var,
        np.std,
        np.round,
        np.ravel,
        np.reshape,
        np.transpose,
        np.swapaxes,
        np.squeeze,
        np.expand_dims,
        np.broadcast_to,
        np.shape,
        np.ndim,
        np.size,
        np.split,
        np.array_split,
    )
)

Rule = Callable[[OperationCounts, list[Any], Any], None]


def _choose(counts: OperationCounts, arguments: list[Any], result: Any) -> None:
    counts.add("branch", int(np.size(result)))


def _search(counts: OperationCounts, arguments: list[Any], result: Any) -> None:
    elements = int(np.size(arguments[0]))
    counts.add("float compare" if np.asarray(arguments[0]).dtype.kind == "f" else "integer", elements)
    counts.add("integer", elements)
    counts.add("trip", elements)


def _products(counts: OperationCounts, arguments: list[Any], result: Any) -> None:
    """The operands were counted once already; a product of matrices reads them again for each result."""
    a = np.asarray(arguments[0])
    products = int(np.size(result)) * int(a.shape[-1] if a.ndim else 1)
    floating = np.asarray(result).dtype.kind == "f"
    counts.add("float multiply" if floating else "integer multiply", products)
    counts.add("float add" if floating else "integer", products)
    counts.add("load", max(2 * products - sum(int(np.size(x)) for x in arguments[:2]), 0))
    counts.add("trip", products)


def _running_sum(counts: OperationCounts, arguments: list[Any], result: Any) -> None:
    elements = int(np.size(arguments[0]))
    counts.add("float add" if np.asarray(arguments[0]).dtype.kind == "f" else "integer", elements)
    counts.add("store", elements)
    counts.add("trip", elements)


def _nothing(counts: OperationCounts, arguments: list[Any], result: Any) -> None:
    """Count nothing: the values stay in registers."""


#: functions that are no ufuncs -> how to count them, beside the loads of their arguments
ARRAY_FUNCTIONS: dict[Any, Rule] = {
    np.where: _choose,
    **dict.fromkeys((np.argmax, np.argmin), _search),
    **dict.fromkeys((np.dot, np.vdot, np.inner), _products),
    np.cumsum: _running_sum,
    **dict.fromkeys(
        (np.concatenate, np.stack, np.copy, np.zeros_like, np.ones_like, np.empty_like, np.full_like), _nothing
    ),
}
