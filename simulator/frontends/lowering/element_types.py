"""Poplar's element types of captured values, and the type that operands of several types meet in: one table."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_SHORT,
    Tensor,
    Type,
)

_TYPES = {
    "float32": FLOAT,
    "float16": HALF,
    "int32": INT,
    "uint32": UNSIGNED_INT,
    "int16": SHORT,
    "uint16": UNSIGNED_SHORT,
    "int8": SIGNED_CHAR,
    "uint8": UNSIGNED_CHAR,
    "bool": BOOL,
}
#: element types that a device stores in 32 bits, and the type that it stores instead
NARROWED = {"int64": "int32", "float64": "float32", "uint64": "uint32"}


def element_type(dtype: str) -> Type:
    """The Poplar type of a captured element type; 64-bit types become 32-bit ones. Raises KeyError for others."""
    return _TYPES[NARROWED.get(dtype, dtype)]


def is_known(dtype: str) -> bool:
    return NARROWED.get(dtype, dtype) in _TYPES


#: types whose element-wise arithmetic PopLibs has; others are computed in INT
COMPUTED = frozenset({FLOAT, HALF, INT, UNSIGNED_INT, BOOL})


def is_floating(type_: Type) -> bool:
    return type_ in (FLOAT, HALF)


def common_type(operands: Iterable[Tensor | float]) -> Type:
    """The type in which torch computes an operator on these operands: that of the tensors with dimensions, unless a
    scalar tensor, or else a number, is of a higher category (bool, integer, floating point)."""
    groups: tuple[list[Type], ...] = ([], [], [])
    for one in operands:
        if isinstance(one, Tensor):
            groups[0 if one.rank() else 1].append(one.elementType())
        else:
            groups[2].append(BOOL if isinstance(one, bool) else INT if isinstance(one, int) else FLOAT)
    chosen = BOOL
    for number, group in enumerate(groups):
        highest = max((_category(type_) for type_ in group), default=-1)
        empty = not any(groups[:number])
        if group and (empty or highest > _category(chosen)):
            chosen = _joined([type_ for type_ in group if _category(type_) == highest])
    return chosen


def _category(type_: Type) -> int:
    return 0 if type_ is BOOL else 2 if is_floating(type_) else 1


def _joined(types: list[Type]) -> Type:
    """The smallest type that holds all values of types of one category."""
    joined = types[0].dtype
    for type_ in types[1:]:
        joined = np.promote_types(joined, type_.dtype)
    return element_type(joined.name)
