"""Divide regions of tensors among workers, and convert indices of flattened tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simulator.base.target import Target
from simulator.base.types import NO_LIMIT, Interval, Type, numpy_type
from simulator.poplibs.poputil.exceptions import poplibs_error

Pair = tuple[int, int]


def mergeAdjacentRegions(regions: Sequence[Any]) -> list[Any]:
    """Intervals, or a list of them for each tile, sorted and joined where adjacent. (C++ changes its argument.)"""
    if regions and not _is_interval(regions[0]):
        return [mergeAdjacentRegions(part) for part in regions]
    out: list[Interval] = []
    for begin, end in sorted(regions):
        if begin == end:
            continue
        if out and out[-1].end == begin:
            out[-1] = Interval(out[-1].begin, end)
        else:
            out.append(Interval(begin, end))
    return out


def _is_interval(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, int | np.integer) for v in value)


def splitRegions(
    regions: Sequence[Any],
    grainSize: int,
    maxPartitions: int,
    minElementsPerPartition: int = 0,
    maxElementsPerPartition: int = NO_LIMIT,
    maxElementsPerRegion: int = NO_LIMIT,
) -> list[Any]:
    """Intervals (or sequences of intervals) divided into at most `maxPartitions` parts of equally many whole grains.
    Each part is a list of intervals (or of sequences). There are more parts where one would exceed the largest number
    of elements."""
    nested = bool(regions) and not _is_interval(regions[0])
    rows = [list(r) for r in regions] if nested else [[r] for r in regions]
    total = sum(end - begin for row in rows for begin, end in row)
    if total == 0:
        return []
    grains = -(-total // grainSize)
    least = max(-(-minElementsPerPartition // grainSize), 1)
    parts = max(min(maxPartitions, grains // least), 1)
    most = max(maxElementsPerPartition // grainSize, 1)
    parts = max(parts, -(-grains // most))
    ends = [min(-(-grains * (i + 1) // parts) * grainSize, total) for i in range(parts)]
    return [
        part if nested else [interval for row in part for interval in row]
        for part in _cut(rows, ends, max(maxElementsPerRegion, 1))
        if part
    ]


def _cut(rows: list[list[Pair]], ends: list[int], longest: int) -> list[list[list[Interval]]]:
    """Rows cut at the places `ends`, counted through the elements of all rows."""
    parts: list[list[list[Interval]]] = [[] for _ in ends]
    place, part = 0, 0
    for row in rows:
        opened = -1
        for begin, end in row:
            while begin < end:
                while place >= ends[part]:
                    part += 1
                step = min(end - begin, ends[part] - place, longest)
                if opened != part:
                    parts[part].append([])
                    opened = part
                parts[part][-1].append(Interval(begin, begin + step))
                begin, place = begin + step, place + step
    return parts


def splitRegionsBetweenWorkers(
    target: Target,
    regions: Sequence[Any],
    grainSize: int,
    minElementsPerPartition: int = 0,
    maxElementsPerPartition: int = NO_LIMIT,
    maxElementsPerRegion: int = NO_LIMIT,
) -> list[Any]:
    """`splitRegions` for the worker contexts of a tile."""
    workers = target.getNumWorkerContexts()
    return splitRegions(
        regions, grainSize, workers, minElementsPerPartition, maxElementsPerPartition, maxElementsPerRegion
    )


def intervalSequenceNumElements(seq: Sequence[Sequence[Pair]]) -> int:
    """Elements in all intervals of all sequences."""
    return sum(end - begin for intervals in seq for begin, end in intervals)


def unflattenIndex(shape: Sequence[int], index: int) -> list[int]:
    """The coordinates of an element of the flattened tensor."""
    if not 0 <= index < prod(shape):
        raise poplibs_error(f"unflattenIndex: a tensor of shape {list(shape)} has no element {index}.")
    return [int(i) for i in np.unravel_index(index, tuple(shape))]


def flattenIndex(shape: Sequence[int], indices: Sequence[int]) -> int:
    """The index of an element in the flattened tensor."""
    if len(shape) != len(indices) or any(not 0 <= i < n for i, n in zip(indices, shape, strict=True)):
        raise poplibs_error(f"flattenIndex: a tensor of shape {list(shape)} has no element {list(indices)}.")
    index = 0
    for size, i in zip(shape, indices, strict=True):
        index = index * size + i
    return index


def balancedPartition(rangeUpperBound: int, splitCount: int) -> list[int]:
    """Sizes of `splitCount` parts of a range, as equal as possible, larger ones first."""
    each, more = divmod(rangeUpperBound, splitCount)
    return [each + (i < more) for i in range(splitCount)]


def checkAccuracyWhenCast(target: Target, input: float, inputType: Type, outputType: Type, tolerance: float) -> bool:
    """Whether a number survives the cast within the relative tolerance, without overflow."""
    with np.errstate(over="ignore"):
        before = np.asarray(input).astype(numpy_type(inputType)).astype(np.float64)
        after = before.astype(numpy_type(outputType)).astype(np.float64)
    return bool(np.isfinite(after) and abs(after - before) <= tolerance * abs(before))
