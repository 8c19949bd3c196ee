"""Sums by key, as `numpy.unique` with its inverse and `bincount` give them, without sorting where keys are small."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array

#: keys up to this, or up to a few times as many as there are values, are counted in a table
_TABLE = 1 << 22


def sums_by_key(key: Int64Array, value: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(keys that occur, ascending; sum of the values of each). Keys and values are not negative, sums stay below
    2**53."""
    if len(key) == 0:
        return key, value
    if int(key.max()) < max(_TABLE, 4 * len(key)):
        occurs = np.flatnonzero(np.bincount(key))
        return occurs, np.bincount(key, weights=value)[occurs].astype(np.int64)
    occurs, inverse = np.unique(key, return_inverse=True)
    return occurs, np.bincount(inverse, weights=value).astype(np.int64)
