"""Columns of a scalar table, and their checksum.

The checksum runs over the columns in their declared order, each as the concatenation of its rows: integers as
little-endian 8-byte two's complement, reals as little-endian doubles, text as UTF-8 followed by a zero byte.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from popvision.arrays import AnyArray

#: A column in memory: an integer or float array, or a list of strings.
Column = AnyArray | list[str]


def as_column(values: Sequence[Any] | AnyArray, kind: str) -> Column:
    """The values in the type of the column kind: int64, float64 or list of str.

    Raises TypeError, ValueError or OverflowError when a value does not fit."""
    if kind == "t":
        texts = list(values)
        if not set(map(type, texts)) <= {str}:
            raise TypeError("a text column holds something else")
        return texts
    dtype = np.int64 if kind == "i" else np.float64
    column = np.asarray(values)
    if column.size and column.dtype.kind not in ("biu" if kind == "i" else "biuf"):
        column = np.array([_number(value, kind) for value in values], dtype=dtype)
    return column.astype(dtype, copy=False)


def _number(value: Any, kind: str) -> int | float:
    if isinstance(value, (bytes, str)) or value is None:
        raise TypeError("a number column holds something else")
    if kind == "i" and int(value) != value:
        raise ValueError("an integer column holds a fraction")
    return int(value) if kind == "i" else float(value)


def columns_crc(columns: Sequence[Column]) -> int:
    """crc32 over the columns, as defined at the head of this module."""
    crc = 0
    for column in columns:
        if isinstance(column, list):
            text = "\0".join(column) + "\0" if column else ""
            crc = zlib.crc32(text.encode("utf-8", "surrogatepass"), crc)
        else:
            crc = zlib.crc32(column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes(), crc)
    return crc
