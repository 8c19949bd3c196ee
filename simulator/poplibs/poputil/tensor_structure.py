"""Runs of elements in tensors: the groups in which a layout keeps a dimension together, and tensors whose partitions
are runs.

A partition of a dimension of n elements into d parts has parts of ceil(n / d) elements, then one of what is left, then
empty ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import gcd
from typing import NamedTuple

from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.poputil.exceptions import poplibs_error


class GroupingInfo(NamedTuple):
    """A dimension of a tensor, and how many of its elements stand together."""

    dimension: int
    size: int


def detectInnermostGrouping(graph: Graph, t: Tensor) -> int:
    """How many consecutive elements of the innermost dimension stand together in a variable and on a tile: what
    divides both the first run of the first row and the longest part of that row on a tile, and the row. 1 where nothing
    stands together.

    Raises poplibs_error for a tensor of rank 0."""
    if not t.rank():
        raise poplibs_error("detectInnermostGrouping takes a tensor of at least one dimension, not one of rank 0.")
    if not t.numElements():
        return 1
    row = t.flatten()[: t.dim(t.rank() - 1)]
    run = row.getContiguousRegions()[0].size()
    on_tile = max((part.size() for parts in graph.getTileMapping(row) for part in parts), default=0)
    group = gcd(on_tile, run)
    return group if row.numElements() % group == 0 else 1


def detectDimGroupings(graph: Graph, t: Tensor) -> list[GroupingInfo]:
    """The dimensions that stand in groups, the innermost group first; a dimension may come several times.

    Raises poplibs_error for a tensor of rank 0."""
    if not t.rank():
        raise poplibs_error("detectDimGroupings takes a tensor of at least one dimension, not one of rank 0.")
    groupings: list[GroupingInfo] = []
    last, inside = t.rank() - 1, 1  # elements of all groups so far; their dimensions stand behind those of the tensor
    while True:
        best = GroupingInfo(0, 1)
        for dimension, size in enumerate(t.shape()[: last + 1]):
            rolled = t.dimRoll(dimension, last)
            group = detectInnermostGrouping(graph, rolled.flatten(last, t.rank())) if size > 1 else 1
            part = gcd(group // inside, size) if group % inside == 0 else 1
            best = max(best, GroupingInfo(dimension, part), key=lambda grouping: grouping.size)
        if best.size == 1:
            return groupings
        groupings.append(best)
        inside *= best.size
        outer = t.dim(best.dimension) // best.size
        split = t.reshapePartial(best.dimension, best.dimension + 1, [outer, best.size])
        t = split.dimRoll(best.dimension + 1, last + 1)


def createPartitionableTensor(
    graph: Graph, type: Type, shape: Sequence[int], nPartitions: Sequence[int], debugContext: Context = ""
) -> Tensor:
    """A tensor without a mapping, each of whose partitions is one run of elements.

    Raises poplibs_error where `nPartitions` does not have a positive number for each dimension."""
    groups = [_groups(size, count) for size, count in zip(shape, _checked(len(shape), nPartitions), strict=True)]

    def joined(chosen: tuple[int, ...]) -> Tensor:
        dimension = len(chosen)
        if dimension < len(shape):
            return concat([joined((*chosen, kind)) for kind in range(len(groups[dimension]))], dimension)
        number = [groups[place][kind][0] for place, kind in enumerate(chosen)]
        size = [groups[place][kind][1] for place, kind in enumerate(chosen)]
        partitions = graph.addVariable(type, [*number, *size], debugContext)
        order = [axis for place in range(dimension) for axis in (place, dimension + place)]
        return partitions.dimShuffle(order).reshape([n * m for n, m in zip(number, size, strict=True)])

    return joined(())


def iterateTensorPartitions(t: Tensor, nPartitions: Sequence[int], f: Callable[[list[int], Tensor], object]) -> None:
    """Call `f(indices, slice)` for each partition, the last dimension fastest; empty partitions too.

    Raises poplibs_error where `nPartitions` does not have a positive number for each dimension."""
    counts = _checked(t.rank(), nPartitions)
    parts = [_parts(size, count) for size, count in zip(t.shape(), counts, strict=True)]
    for indices in itertools.product(*map(range, counts)):
        begins, ends = zip(*(parts[axis][index] for axis, index in enumerate(indices)), strict=True)
        f(list(indices), t.slice(begins, ends))


def _checked(rank: int, nPartitions: Sequence[int]) -> list[int]:
    counts = list(nPartitions)
    if len(counts) != rank or any(count < 1 for count in counts):
        raise poplibs_error(f"nPartitions {counts} does not have a positive number for each of {rank} dimensions.")
    return counts


def _parts(size: int, count: int) -> list[tuple[int, int]]:
    """[begin, end) of each part of a dimension."""
    part = -(-size // count)
    return [(min(index * part, size), min((index + 1) * part, size)) for index in range(count)]


def _groups(size: int, count: int) -> list[tuple[int, int]]:
    """(number, elements) of the parts that are alike, without the empty ones of a dimension that has elements."""
    sizes = [end - begin for begin, end in _parts(size, count) if begin < end or not size]
    return [(len(list(alike)), elements) for elements, alike in itertools.groupby(sizes)]
