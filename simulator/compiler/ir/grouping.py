"""Sorts by key; unions of intervals and sums of values, by key; digests."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array

#: Keys up to this many times the number of values are counted in a table; a table of more costs more than a sort.
_TABLE = 8


def in_order(keys: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(positions in ascending order of their keys, the keys in that order); equal ones as they are. Keys must not be
    negative. Key and position are sorted as one number where both fit, which takes half the time."""
    if not len(keys):
        return np.empty(0, np.int64), keys
    bits = (len(keys) - 1).bit_length()
    if int(keys.max()) >> (62 - bits):
        order = np.argsort(keys, kind="stable")
        return order, keys[order]
    both = (keys << bits) | np.arange(len(keys))
    both.sort(kind="stable")  # merges the sorted runs that keys of regions consist of
    return both & ((1 << bits) - 1), both >> bits


def sums_by_key(key: Int64Array, value: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(distinct keys, ascending; sum of the values of each), without sorting where keys are small. Keys and values must
    not be negative, sums must stay below 2**53."""
    if len(key) == 0:
        return key, value
    if int(key.max()) < _TABLE * len(key):
        occurs = np.flatnonzero(np.bincount(key))
        return occurs, np.bincount(key, weights=value)[occurs].astype(np.int64)
    order, key = in_order(key)
    head = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return key[head], np.add.reduceat(value[order], head)


def union_in_groups(
    group: Int64Array, start: Int64Array, length: Int64Array, span: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Merge intervals of a group that overlap or touch: (group, start, length) of the disjoint union, sorted. `span`
    must exceed every end; groups must not be negative."""
    if len(start) == 0:
        return group, start, length
    position = group * (span + 1) + start
    order, begin = in_order(position)
    reach = np.maximum.accumulate(begin + length[order])
    fresh = np.concatenate([[True], begin[1:] > reach[:-1]])
    head = np.flatnonzero(fresh)
    tail = np.concatenate([head[1:] - 1, [len(begin) - 1]])
    merged = begin[head]
    return merged // (span + 1), merged % (span + 1), reach[tail] - merged


def union(start: Int64Array, length: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Merge intervals that overlap or touch: (start, length) of the disjoint union, sorted."""
    if len(start) == 0:
        return start, length
    order, begin = in_order(start)
    reach = np.maximum.accumulate(begin + length[order])
    fresh = np.append(True, begin[1:] > reach[:-1])
    head = np.flatnonzero(fresh)
    return begin[head], reach[np.append(head[1:], len(begin)) - 1] - begin[head]


def mixed(values: Int64Array) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Well-mixed 64-bit digests of integers (the finaliser of splitmix64)."""
    x = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), np.uint64)
