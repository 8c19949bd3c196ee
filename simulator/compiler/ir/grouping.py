"""Unions of intervals and sums of values, by key."""

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


def union_in_groups(
    group: Int64Array, start: Int64Array, length: Int64Array, span: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Merge intervals that overlap or touch within the same group: (group, start, length) of the disjoint union,
    sorted. `span` exceeds every end; groups are non-negative."""
    if len(start) == 0:
        return group, start, length
    position = group * (span + 1) + start
    order = np.argsort(position, kind="stable")
    begin = position[order]
    reach = np.maximum.accumulate(begin + length[order])
    fresh = np.concatenate([[True], begin[1:] > reach[:-1]])
    head = np.flatnonzero(fresh)
    tail = np.concatenate([head[1:] - 1, [len(begin) - 1]])
    merged = begin[head]
    return merged // (span + 1), merged % (span + 1), reach[tail] - merged
