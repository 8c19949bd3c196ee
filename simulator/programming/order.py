"""Tensors in the order of memory: sorted regions, rearrangers, and what a tensor was before it was broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions as region_lists
from simulator.base.errors import index_error
from simulator.base.types import Interval
from simulator.graph.contiguous_runs import memory_runs, sequences
from simulator.graph.tensor import Tensor, tensor_of
from simulator.programming.streams import StreamMethods


class TensorRearranger:
    """A reordering of the elements of flattened tensors, as intervals: interval i of the result is
    [begins[i], ends[i]) of the original. Made by `Graph.getSimplifyingRearranger`."""

    def __init__(self, begins: Int64Array, ends: Int64Array) -> None:
        self._begins = begins
        self._ends = ends
        order = np.argsort(begins, kind="stable")
        placed = np.cumsum(ends - begins)
        self._back_begins = (placed - (ends - begins))[order]
        self._back_ends = placed[order]

    def valid(self) -> bool:
        """Whether there is a rearrangement, as always here."""
        return True

    @overload
    def rearrange(self, t: Tensor, /) -> Tensor: ...
    @overload
    def rearrange(self, intervals: Sequence[tuple[int, int]], /) -> list[Interval]: ...
    def rearrange(self, what: Tensor | Sequence[tuple[int, int]], /) -> Tensor | list[Interval]:
        """A tensor of as many elements, flattened and reordered; or where intervals of the original come to lie."""
        if isinstance(what, Tensor):
            return _taken(what, self._begins, self._ends)
        return _moved(what, self._back_begins, self._back_ends)

    @overload
    def undoRearrangement(self, t: Tensor, /) -> Tensor: ...
    @overload
    def undoRearrangement(self, intervals: Sequence[tuple[int, int]], /) -> list[Interval]: ...
    def undoRearrangement(self, what: Tensor | Sequence[tuple[int, int]], /) -> Tensor | list[Interval]:
        """The inverse of `rearrange`."""
        if isinstance(what, Tensor):
            return _taken(what, self._back_begins, self._back_ends)
        return _moved(what, self._begins, self._ends)


def _taken(t: Tensor, begins: Int64Array, ends: Int64Array) -> Tensor:
    """The intervals of a flattened tensor, one after another."""
    total = int((ends - begins).sum())
    if t.numElements() != total:
        raise index_error(f"The rearrangement is of {total} elements, but the tensor has {t.numElements()}.")
    starts, lengths, _ = region_lists.cuts(*t.regions(), begins, ends)
    pieces = t.view.store.cut_at_variables(*region_lists.merged(starts, lengths))
    return tensor_of(t.element_type, t.view.with_pieces((total,), pieces, t.view.variable))


def _moved(intervals: Sequence[tuple[int, int]], begins: Int64Array, ends: Int64Array) -> list[Interval]:
    """The intervals of a sequence as intervals of the sequence that the given cuts spell."""
    given = np.array(list(intervals), np.int64).reshape(-1, 2)
    starts, lengths, _ = region_lists.cuts(begins, ends - begins, given[:, 0], given[:, 1])
    return [Interval(b, b + n) for b, n in zip(starts.tolist(), lengths.tolist(), strict=True)]


class OrderMethods(StreamMethods):
    @overload
    def getSortedContiguousRegions(
        self, t: Tensor, regions: Sequence[tuple[int, int]], removeAliasedIntervals: bool = False
    ) -> list[list[Interval]]: ...
    @overload
    def getSortedContiguousRegions(
        self,
        t: Tensor,
        regions: Sequence[tuple[int, int]],
        removeAliasedIntervals: bool = False,
        *,
        aliases: bool,
    ) -> tuple[list[list[Interval]], list[int]]: ...
    def getSortedContiguousRegions(
        self,
        t: Tensor,
        regions: Sequence[tuple[int, int]],
        removeAliasedIntervals: bool = False,
        aliases: bool | None = None,
    ) -> list[list[Interval]] | tuple[list[list[Interval]], list[int]]:
        """Flattened intervals of a tensor, grouped so that each group is one run of memory, in order of memory.

        `removeAliasedIntervals` leaves out elements that an earlier interval names. With `aliases`, the pair of that
        and one number for each interval returned, equal for intervals that are the same elements of memory; intervals
        are cut where only a part of them is. Raises `index_error` for intervals outside the tensor."""
        self._own(t, "getSortedContiguousRegions")
        given = np.array(list(regions), np.int64).reshape(-1, 2)
        if len(given) and (given.min() < 0 or given.max() > t.numElements() or (given[:, 0] > given[:, 1]).any()):
            bad = next(tuple(r) for r in given.tolist() if r[0] < 0 or r[1] > t.numElements() or r[0] > r[1])
            raise index_error(
                f"getSortedContiguousRegions: interval {bad} reaches outside the {t.numElements()} elements."
            )
        starts, begins, lengths = memory_runs(t, given, split=removeAliasedIntervals or bool(aliases))
        order = np.argsort(starts, kind="stable")
        if removeAliasedIntervals and len(order):
            order = order[np.append(True, starts[order][1:] != starts[order][:-1])]
        starts, begins, lengths = starts[order], begins[order], lengths[order]
        grouped = sequences(starts, begins, lengths, self.store.variable_of(starts))
        if not aliases:
            return grouped
        numbers = np.concatenate([[0], np.cumsum(starts[1:] != starts[:-1])]) if len(starts) else starts
        return grouped, numbers.tolist()

    def getSimplifyingRearranger(self, t: Tensor) -> TensorRearranger:
        """A rearranger that puts the elements of a tensor in the order of memory."""
        self._own(t, "getSimplifyingRearranger")
        starts, lengths = t.regions()
        ends = np.cumsum(lengths)
        order = np.argsort(starts, kind="stable")
        return TensorRearranger((ends - lengths)[order], ends[order])

    def reorderToSimplify(
        self, t: Tensor, ts: Sequence[Tensor] = (), requireSimplestOrder: bool = True
    ) -> tuple[Tensor, list[Tensor]]:
        """(`t`, `ts`) reordered in the same way: `t` in the order of memory, which has the fewest contiguous regions.

        Without `requireSimplestOrder` a tensor that already is one evenly spaced view of one variable stays as it is,
        as no reordering makes it simpler to work with. Raises `index_error` unless all have rank 1 and the same number
        of elements."""
        for each in (t, *ts):
            if each.rank() != 1 or each.numElements() != t.numElements():
                raise index_error(
                    f"reorderToSimplify: {each!r} is not a vector of {t.numElements()} elements; flatten it first."
                )
        if not requireSimplestOrder and t.strided() is not None:
            return t, list(ts)
        rearranger = self.getSimplifyingRearranger(t)
        return rearranger.rearrange(t), [rearranger.rearrange(each) for each in ts]

    def findUnbroadcastTensor(self, t: Tensor) -> Tensor:
        """The tensor before it was broadcast: each dimension cut to its shortest period."""
        self._own(t, "findUnbroadcastTensor")
        for axis in range(t.rank()):
            t = t.slice(0, _period(t, axis), axis)
        return t


def _period(t: Tensor, axis: int) -> int:
    """The smallest divisor of a dimension after which its elements repeat."""
    n = t.dim(axis)
    if t.view.strides is not None:
        # The strides of a view are those of different elements unless they are 0.
        return 1 if n and t.view.strides[axis] == 0 else n
    numbers = np.moveaxis(t.view.element_numbers(), axis, 0)
    for period in range(1, n):
        if n % period == 0 and (numbers[period:] == numbers[:-period]).all():
            return period
    return n
