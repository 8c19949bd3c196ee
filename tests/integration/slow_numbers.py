"""NumPy as an interpreter of graph programs: one flat memory, an array of cell numbers for every view.

Each cell holds a value and a bound of what the machine's value may differ by. Operations whose order is fixed add
nothing to an exact operand; sums add what reordering can change: terms * unit * sum |x|. Nothing here knows tiles,
regions, strides or kernels; a view is the array of its cell numbers, made by NumPy's own indexing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Type

DTYPE: dict[Type, np.dtype[Any]] = {
    FLOAT: np.dtype("f4"),
    HALF: np.dtype("f2"),
    INT: np.dtype("i4"),
    UNSIGNED_INT: np.dtype("u4"),
}
UNIT = {FLOAT: 2.0**-23, HALF: 2.0**-10, INT: 0.0, UNSIGNED_INT: 0.0}
HALF_MAX = 65504.0
#: beyond this a value and whatever follows from it is not compared: it may overflow in one order and not in another
LARGE = {FLOAT: 1e30, HALF: np.inf, INT: np.inf, UNSIGNED_INT: np.inf}

Values = tuple[Any, Any]
"""(values, bounds): two arrays of one shape."""


@dataclass
class Memory:
    value: Any = field(default_factory=lambda: np.zeros(0))
    bound: Any = field(default_factory=lambda: np.zeros(0))

    def new(self, shape: list[int]) -> Any:
        """Cell numbers of a new variable, holding zeros."""
        count = int(np.prod(shape, dtype=int))
        cells = np.arange(len(self.value), len(self.value) + count).reshape(shape)
        self.value = np.append(self.value, np.zeros(count))
        self.bound = np.append(self.bound, np.zeros(count))
        return cells

    def copy(self) -> Memory:
        return Memory(self.value.copy(), self.bound.copy())

    def read(self, cells: Any, type_: Type) -> Values:
        return self.value[cells].astype(DTYPE[type_]), self.bound[cells]

    def write(self, cells: Any, type_: Type, values: Values) -> None:
        """Store values of the type, after `rounded`."""
        value, bound = values
        doubtful = ~np.isfinite(value.astype(float)) | (np.abs(value.astype(float)) > LARGE[type_]) | np.isnan(bound)
        self.value[cells] = np.where(doubtful, 0, value)
        self.bound[cells] = np.where(doubtful, np.inf, bound)


def wide(values: Any) -> Any:
    return values.astype(np.float32) if values.dtype == np.float16 else values


def rounded(values: Any, type_: Type) -> Any:
    """Values as the type; finite halves out of range become the largest half, floats become integers by truncation."""
    dtype = DTYPE[type_]
    if dtype == np.float16 and values.dtype != np.float16:
        values = np.where(np.isfinite(values), np.clip(values, -HALF_MAX, HALF_MAX), values)
    return np.asarray(values).astype(dtype)


def settled(value: Any, bound: Any, type_: Type) -> Values:
    """A computed value in its type; only inexact values pick up another rounding."""
    result = rounded(value, type_)
    return result, np.where(bound > 0, bound + UNIT[type_] * (np.abs(result.astype(float)) + bound) + 2.0**-24, 0)


def binary(op: str, a: Values, b: Values, type_: Type) -> Values:
    """a op b, element by element, both of the type."""
    (x, ex), (y, ey) = (wide(a[0]), a[1]), (wide(b[0]), b[1])
    value = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[op](x, y)
    if op == "mul":
        bound = np.abs(x.astype(float)) * ey + np.abs(y.astype(float)) * ex + ex * ey
    else:
        bound = ex + ey if op in ("add", "sub") else np.maximum(ex, ey)
    return settled(value, np.where(np.isnan(bound), np.inf, np.broadcast_to(bound, value.shape)), type_)


def unary(op: str, a: Values, type_: Type) -> Values:
    return settled({"abs": np.abs, "neg": np.negative, "relu": lambda x: np.maximum(x, 0)}[op](wide(a[0])), a[1], type_)


def scaled_add(a: Values, b: Values, scale: float, type_: Type) -> Values:
    product = wide(b[0]) * np.float32(scale)
    return settled(wide(a[0]) + product, a[1] + abs(scale) * b[1] * (1 + 2.0**-22), type_)


def reduced(op: str, a: Values, axes: tuple[int, ...], type_: Type) -> Values:
    x = wide(a[0])
    if op == "ADD":
        terms = np.abs(x.astype(float)).sum(axes)
        total = x.astype(float).sum(axes) if type_ in (FLOAT, HALF) else x.sum(axes, dtype=x.dtype)
        whole = x.size / max(np.asarray(total).size, 1)
        bound = a[1].sum(axes) + 4 * UNIT[FLOAT] * whole * terms * (type_ in (FLOAT, HALF))
        return settled(np.asarray(total), np.asarray(bound), type_)
    return settled(np.asarray((x.max if op == "MAX" else x.min)(axes)), np.asarray(a[1].max(axes)), type_)


def product(a: Values, b: Values, type_: Type) -> Values:
    x, y = a[0].astype(float), b[0].astype(float)
    magnitude = np.abs(x) @ np.abs(y)
    bound = a[1] @ np.abs(y) + np.abs(x) @ b[1] + a[1] @ b[1] + 2 * (x.shape[1] + 2) * UNIT[FLOAT] * magnitude
    return settled(x @ y, bound + UNIT[type_] * magnitude * (type_ is HALF), type_)


def cast(a: Values, source: Type, type_: Type) -> Values:
    value, bound = a
    if source in (FLOAT, HALF) and type_ in (INT, UNSIGNED_INT):
        limit = 2.0**31 if type_ is INT else 2.0**32
        inside = (value.astype(float) > (-limit if type_ is INT else -1.0)) & (value.astype(float) < limit)
        # Truncation moves a value that is inexact by less than one plus its bound.
        bound = np.where(inside, np.where(bound > 0, bound + 1, 0), np.inf)
        value = np.where(inside, value, 0)
    elif type_ in (FLOAT, HALF) and source in (INT, UNSIGNED_INT):
        value = value.astype(np.float64) if type_ is HALF else value
    return settled(np.asarray(value), bound, type_)


def each(function: Callable[[Any], Any], a: Values, gain: float, type_: Type) -> Values:
    """A function of one operand whose slope is at most `gain`."""
    return settled(function(wide(a[0])), a[1] * gain, type_)
