"""Tensors in the order of memory: sorted regions, rearrangers, and tensors before they were broadcast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions as region_lists
from simulator.base.errors import index_error
from simulator.base.types import Interval
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments
from simulator.building.state import GraphState
from simulator.graph.tensor import Tensor, tensor_of


@methods_refuse_wrong_arguments()
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
        """Whether there is a rearrangement; always true here."""
        return True

    @overload
    def rearrange(self, t: Tensor, /) -> Tensor: ...
    @overload
    def rearrange(self, intervals: Sequence[tuple[int, int]], /) -> list[Interval]: ...
    def rearrange(self, what: Tensor | Sequence[tuple[int, int]], /) -> Tensor | list[Interval]:
        """A tensor of as many elements, flattened and reordered; or the new places of intervals of the original."""
        if isinstance(what, Tensor):
            return _taken(what, self._begins, self._ends)
        return _moved("rearrange", what, self._back_begins, self._back_ends)

    @overload
    def undoRearrangement(self, t: Tensor, /) -> Tensor: ...
    @overload
    def undoRearrangement(self, intervals: Sequence[tuple[int, int]], /) -> list[Interval]: ...
    def undoRearrangement(self, what: Tensor | Sequence[tuple[int, int]], /) -> Tensor | list[Interval]:
        """The inverse of `rearrange`."""
        if isinstance(what, Tensor):
            return _taken(what, self._back_begins, self._back_ends)
        return _moved("undoRearrangement", what, self._begins, self._ends)


def _taken(t: Tensor, begins: Int64Array, ends: Int64Array) -> Tensor:
    """The intervals of a flattened tensor, one after another."""
    total = int((ends - begins).sum())
    if t.numElements() != total:
        raise index_error(f"The rearrangement is of {total} elements, but the tensor has {t.numElements()}.")
    starts, lengths, _ = region_lists.cuts(*t.regions(), begins, ends)
    pieces = t.view.store.cut_at_variables(*region_lists.merged(starts, lengths))
    return tensor_of(t.element_type, t.view.with_pieces((total,), pieces, t.view.variable))


def _moved(call: str, intervals: Sequence[tuple[int, int]], begins: Int64Array, ends: Int64Array) -> list[Interval]:
    """The intervals of a sequence as intervals of the sequence that the given cuts spell."""
    given = _rows_of(call, intervals, int((ends - begins).sum()))
    starts, lengths, _ = region_lists.cuts(begins, ends - begins, given[:, 0], given[:, 1])
    return [Interval(b, b + n) for b, n in zip(starts.tolist(), lengths.tolist(), strict=True)]


def _rows_of(call: str, intervals: Iterable[tuple[int, int]], elements: int) -> Int64Array:
    """Intervals of so many elements as rows, [n, 2]. Raises `index_error` for what is no pair of whole numbers, and for
    those that reach outside."""
    given = list(intervals)
    for each in given:
        is_pair = isinstance(each, Sequence | np.ndarray) and not isinstance(each, str | bytes) and len(each) == 2
        if not is_pair or not all(isinstance(end, int | np.integer) for end in each):
            if not isinstance(intervals, Iterator):
                raise TypeError(each)  # the sentence comes from the annotation
            raise index_error(f"{call}: {each!r:.60} is not an interval; give pairs (begin, end).")
        if not 0 <= each[0] <= each[1] <= elements:
            begin, end = int(each[0]), int(each[1])
            raise index_error(f"{call}: interval ({begin}, {end}) reaches outside the {elements} elements.")
    return np.array([(int(begin), int(end)) for begin, end in given], np.int64).reshape(-1, 2)


def sorted_regions(
    state: GraphState, t: Tensor, intervals: Sequence[tuple[int, int]], remove_aliases: bool, aliases: bool | None
) -> list[list[Interval]] | tuple[list[list[Interval]], list[int]]:
    """`Graph.getSortedContiguousRegions`."""
    state.require_tensor(t, "getSortedContiguousRegions")
    given = _rows_of("getSortedContiguousRegions", intervals, t.numElements())
    starts, begins, lengths = _memory_runs(t, given, split=remove_aliases or bool(aliases))
    order = np.argsort(starts, kind="stable")
    if remove_aliases and len(order):
        order = order[np.append(True, starts[order][1:] != starts[order][:-1])]
    starts, begins, lengths = starts[order], begins[order], lengths[order]
    grouped = _sequences(starts, begins, lengths, state.store.variable_of(starts))
    if not aliases:
        return grouped
    numbers = np.concatenate([[0], np.cumsum(starts[1:] != starts[:-1])]) if len(starts) else starts
    return grouped, numbers.tolist()


def _memory_runs(t: Tensor, intervals: Int64Array, *, split: bool) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(starts in element space, begins in the flattened tensor, lengths) of the runs of memory of intervals of a
    tensor. `split`: cut them where other runs begin or end, so that two runs have all elements in common or none."""
    starts, lengths, of = region_lists.cuts(*t.regions(), intervals[:, 0], intervals[:, 1])
    before = np.cumsum(lengths) - lengths
    begins = intervals[of, 0] + before - before[np.searchsorted(of, of, side="left")] if len(of) else before
    if not split or not len(starts):
        return starts, begins, lengths
    bounds = region_lists.distinct(np.concatenate([starts, starts + lengths]))
    cut_starts, cut_lengths, _ = region_lists.split_by_table(starts, lengths, bounds)
    place = np.cumsum(cut_lengths) - cut_lengths
    owner = np.searchsorted(before, place, side="right") - 1
    return cut_starts, begins[owner] + place - before[owner], cut_lengths


def _sequences(
    starts: Int64Array, begins: Int64Array, lengths: Int64Array, variables: Int64Array
) -> list[list[Interval]]:
    """Runs in order of memory; those that follow each other within a variable are in one list."""
    out: list[list[Interval]] = []
    end, variable = -1, -1
    for start, begin, length, owner in zip(
        starts.tolist(), begins.tolist(), lengths.tolist(), variables.tolist(), strict=True
    ):
        if start != end or owner != variable:
            out.append([])
        out[-1].append(Interval(begin, begin + length))
        end, variable = start + length, owner
    return out


def simplifying_rearranger(state: GraphState, t: Tensor) -> TensorRearranger:
    """`Graph.getSimplifyingRearranger`."""
    state.require_tensor(t, "getSimplifyingRearranger")
    starts, lengths = t.regions()
    ends = np.cumsum(lengths)
    order = np.argsort(starts, kind="stable")
    return TensorRearranger((ends - lengths)[order], ends[order])


def reordered(
    state: GraphState, t: Tensor, ts: Sequence[Tensor], require_simplest: bool
) -> tuple[Tensor, list[Tensor]]:
    """`Graph.reorderToSimplify`."""
    ts = list(ts)
    for each in (t, *ts):
        state.require_tensor(each, "reorderToSimplify")
        if each.rank() != 1 or each.numElements() != t.numElements():
            raise index_error(
                f"reorderToSimplify: {each!r} is not a vector of {t.numElements()} elements; flatten it first."
            )
    if not require_simplest and t.strided() is not None:
        return t, list(ts)
    rearranger = simplifying_rearranger(state, t)
    return rearranger.rearrange(t), [rearranger.rearrange(each) for each in ts]


def unbroadcast(state: GraphState, t: Tensor) -> Tensor:
    """`Graph.findUnbroadcastTensor`."""
    state.require_tensor(t, "findUnbroadcastTensor")
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
