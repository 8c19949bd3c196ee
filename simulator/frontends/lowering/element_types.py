"""Poplar's element types of captured values, and back: one table."""

from __future__ import annotations

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
