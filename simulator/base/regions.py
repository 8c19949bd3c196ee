"""Regions, (starts, lengths) arrays of runs of elements in a meaningful order, and pure functions over them.

A list of regions spells a flattened tensor: the elements of region 0 in ascending order, then those of region 1, ...
A region is a run of consecutive elements of the element space (`simulator.graph.store`).
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array

Regions = tuple[Int64Array, Int64Array]


def empty() -> Regions:
    return np.empty(0, np.int64), np.empty(0, np.int64)


def one(start: int, length: int) -> Regions:
    return np.array([start], np.int64), np.array([length], np.int64)


def merged(starts: Int64Array, lengths: Int64Array) -> Regions:
    """The same elements in the same order in as few regions as possible; empty regions dropped."""
    if (lengths == 0).any():
        keep = lengths > 0
        starts, lengths = starts[keep], lengths[keep]
    if len(starts) < 2:
        return starts, lengths
    begins = np.flatnonzero(starts[1:] != starts[:-1] + lengths[:-1]) + 1
    if len(begins) == len(starts) - 1:
        return starts, lengths
    first = np.concatenate([[0], begins])
    return starts[first], np.add.reduceat(lengths, first)


def distinct(values: Int64Array) -> Int64Array:
    """The different values, ascending: by a mark for each where they lie close together, else by sorting, as the
    hashing of NumPy's `unique` takes fifty times as long on millions of values. A stable sort merges sorted runs."""
    if values.size:
        first = int(values.min())
        span = int(values.max()) - first + 1
        if span <= values.size:
            seen = np.zeros(span, np.bool_)
            seen[values.reshape(-1) - first] = True
            return np.flatnonzero(seen) + first
    ordered = np.sort(values, axis=None, kind="stable")
    return ordered[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])]


def ranked(values: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(the different values, ascending; the place of each value among them): in a pass where the values lie close
    together, else by sorting."""
    flat = values.reshape(-1)
    first = int(flat.min()) if len(flat) else 0
    span = int(flat.max()) - first + 1 if len(flat) else 0
    if span > 4 * len(flat):
        used, place = np.unique(flat, return_inverse=True)
        return used, place.reshape(-1).astype(np.int64)
    seen = np.zeros(span, np.bool_)
    seen[flat - first] = True
    return np.flatnonzero(seen) + first, (np.cumsum(seen) - 1)[flat - first]


def of_elements(elements: Int64Array) -> Regions:
    """The regions of a list of elements, in the order of the list."""
    flat = elements.reshape(-1)
    if flat.size == 0:
        return empty()
    first = np.flatnonzero(np.append(True, np.diff(flat) != 1))
    return flat[first].astype(np.int64, copy=False), np.diff(np.append(first, flat.size))


def elements(starts: Int64Array, lengths: Int64Array) -> Int64Array:
    """Every element, in order: the inverse of `of_elements`."""
    if len(lengths) and (lengths == lengths[0]).all():
        return np.asarray(starts[:, None] + np.arange(int(lengths[0])), np.int64).reshape(-1)
    numbers = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    numbers += np.arange(len(numbers))
    return numbers


def of_strided(start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Regions:
    """The regions of a strided view, in row-major order of its indices."""
    dims = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    if any(n == 0 for n, _ in dims):
        return empty()
    run = 1
    while dims and dims[-1][1] == run:
        run *= dims.pop()[0]
    starts = np.array([start], np.int64)
    for n, s in dims:
        starts = (starts[:, None] + np.arange(n, dtype=np.int64) * s).reshape(-1)
    # A run may continue the one before it, so merging can still save regions.
    return merged(starts, np.full(len(starts), run, np.int64))


def cut(starts: Int64Array, lengths: Int64Array, begin: int, end: int) -> Regions:
    """The regions of positions [begin, end) of the flattened list."""
    if end <= begin:
        return empty()
    ends = np.cumsum(lengths)
    first = int(np.searchsorted(ends, begin, side="right"))
    last = int(np.searchsorted(ends, end, side="left"))
    out_starts = starts[first : last + 1].copy()
    out_lengths = lengths[first : last + 1].copy()
    skipped = begin - int(ends[first] - lengths[first])
    out_starts[0] += skipped
    out_lengths[0] -= skipped
    out_lengths[-1] -= int(ends[last]) - end
    return out_starts, out_lengths


def cuts(
    starts: Int64Array, lengths: Int64Array, begins: Int64Array, ends: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """`cut` for many intervals at once: (starts, lengths, index of the interval that each region belongs to)."""
    stops = np.cumsum(lengths)
    wanted = np.flatnonzero(ends > begins)
    begins, ends = begins[wanted], ends[wanted]
    first = np.searchsorted(stops, begins, side="right")
    count = np.ones(len(wanted), np.int64)
    longer = ends > stops[first]
    if longer.any():
        count[longer] += np.searchsorted(stops, ends[longer], side="left") - first[longer]
    of = np.repeat(np.arange(len(wanted)), count)
    row = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count) + first[of]
    low = np.maximum(begins[of], stops[row] - lengths[row])
    high = np.minimum(ends[of], stops[row])
    return starts[row] + low - (stops[row] - lengths[row]), high - low, wanted[of]


def split_by_table(
    starts: Int64Array, lengths: Int64Array, table_ends: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Split regions where the intervals of a table end: (starts, lengths, row of the table of each piece).

    The table's interval r is [table_ends[r - 1], table_ends[r]); it must cover every region."""
    if (lengths == 0).any():
        keep = lengths > 0
        starts, lengths = starts[keep], lengths[keep]
    first = np.searchsorted(table_ends, starts, side="right")
    longer = starts + lengths > table_ends[first]
    if not longer.any():
        return starts, lengths, first
    count = np.ones(len(starts), np.int64)
    count[longer] += np.searchsorted(table_ends, (starts + lengths)[longer], side="left") - first[longer]
    of = np.repeat(np.arange(len(starts)), count)
    row = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count) + first[of]
    low = np.maximum(starts[of], np.where(row > 0, table_ends[row - 1], 0))
    # A first piece begins where its region begins; that also holds for row 0, which has no row before it.
    low = np.where(row == first[of], starts[of], low)
    high = np.minimum(starts[of] + lengths[of], table_ends[row])
    return low, high - low, row


def overlap_themselves(starts: Int64Array, lengths: Int64Array) -> bool:
    """Whether some element occurs more than once."""
    if len(starts) < 2:
        return False
    first, total = int(starts.min()), int(lengths.sum())
    span = int((starts + lengths).max()) - first
    if span < total:
        return True
    if span <= 4 * total < 32 * len(starts):  # short and dense: a mark for each element, which needs no order
        seen = np.zeros(span, np.bool_)
        seen[elements(starts - first, lengths)] = True
        return int(np.count_nonzero(seen)) < total
    order = np.argsort(starts, kind="stable")
    s, n = starts[order], lengths[order]
    return bool((s[1:] < (s + n)[:-1]).any())


def intersect(a: Regions, b: Regions) -> bool:
    """Whether two lists of regions share an element."""
    if len(a[0]) == 0 or len(b[0]) == 0:
        return False
    order = np.argsort(b[0], kind="stable")
    starts = b[0][order]
    reach = np.maximum.accumulate(starts + b[1][order])
    before = np.searchsorted(starts, a[0] + a[1], side="left") - 1
    live = (a[1] > 0) & (before >= 0)
    return bool((reach[before[live]] > a[0][live]).any())
