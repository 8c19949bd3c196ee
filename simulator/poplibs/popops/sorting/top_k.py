"""popops.topK: the largest or smallest elements of each row, by a bitonic sorting network.

With K = k rounded up to a power of two, rows become blocks of K elements (padded with values that lose) and all blocks
are sorted. Then pairs of blocks are merged, keeping the better half, until one block of each row is left. The number of
steps, and the cost of each, depend on shapes only. PopLibs works alike, without padding.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from simulator.base.types import FLOAT, HALF, INT, NO_LIMIT, UNSIGNED_INT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.casting import cast
from simulator.poplibs.popops.elementwise import binary
from simulator.poplibs.popops.one_hot import iota
from simulator.poplibs.popops.slices import multiSlice
from simulator.poplibs.popops.sorting.compare_swap import Work, add_step, laid_out
from simulator.poplibs.poputil.copies import duplicate
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly


class SortOrder(Enum):
    NONE = "none"
    ASCENDING = "ascending"
    DESCENDING = "descending"


@dataclass(frozen=True)
class TopKParams:
    """The number of elements, whether the largest or the smallest, and their order. `stableSort`: equal elements keep
    the order that they have in the row; slower."""

    k: int
    largest: bool
    sortOrder: SortOrder
    stableSort: bool = False

    @property
    def turned(self) -> bool:
        """Whether the order is that from the worst to the best."""
        return self.sortOrder is (SortOrder.ASCENDING if self.largest else SortOrder.DESCENDING)


def createTopKInput(
    graph: Graph, type: Type, shape: SequenceOf[int], params: TopKParams, debugContext: Context = ""
) -> Tensor:
    """A mapped tensor for `topK`: spread linearly, in pairs of elements."""
    out = graph.addVariable(type, shape, debugContext)
    mapTensorLinearly(graph, out, 2, 2)
    return out


def topK(graph: Graph, prog: Sequence, t: Tensor, params: TopKParams, debugContext: Context = "") -> Tensor:
    """The first `k` elements of each row (the innermost dimension) in order of size.

    Raises `poplibs_error` for more elements than a row has and for types other than FLOAT, HALF, INT and
    UNSIGNED_INT."""
    call = operation(graph, debugContext, "popops", "topK", t=t, k=params.k, largest=params.largest)
    places = _row_indices(graph, t, prog, call) if params.stableSort else None
    return _top(graph, prog, t, places, params, call)[0]


def topKKeyValue(
    graph: Graph, prog: Sequence, keys: Tensor, values: Tensor, params: TopKParams, debugContext: Context = ""
) -> tuple[Tensor, Tensor]:
    """`topK` of the keys, and the values that belong to them."""
    if keys.shape() != values.shape():
        raise poplibs_error(f"topKKeyValue: keys {keys.shape()} and values {values.shape()} must have one shape.")
    call = operation(graph, debugContext, "popops", "topKKeyValue", keys=keys, values=values, k=params.k)
    if params.stableSort:
        first, places = _top(graph, prog, keys, _row_indices(graph, keys, prog, call), params, call)
        assert places is not None
        return first, _take_values(graph, values, places, prog, call)
    first, second = _top(graph, prog, keys, values, params, call)
    assert second is not None
    return first, second


def topKWithPermutation(
    graph: Graph, prog: Sequence, t: Tensor, params: TopKParams, debugContext: Context = ""
) -> tuple[Tensor, Tensor]:
    """`topK`, and the indices of the elements in their rows (UNSIGNED_INT)."""
    call = operation(graph, debugContext, "popops", "topKWithPermutation", t=t, k=params.k)
    first, second = _top(graph, prog, t, _row_indices(graph, t, prog, call), params, call)
    assert second is not None
    return first, second


def _row_indices(graph: Graph, t: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """The index of each element in its row."""
    n = t.dim(t.rank() - 1) if t.rank() else 0
    places = graph.addVariable(UNSIGNED_INT, [n], (call, "indices"))
    mapTensorLinearly(graph, places)
    iota(graph, places, 0, prog, (call, "indices"))
    rows = t.numElements() // max(n, 1)
    return places.expand([0]).broadcast(rows, 0).reshape(t.shape())


def _take_values(graph: Graph, values: Tensor, places: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """The values at these indices of their rows."""
    k, n = places.dim(places.rank() - 1), values.dim(values.rank() - 1)
    rows = values.numElements() // max(n, 1)
    if rows * k == 0:
        return graph.clone(values.elementType(), places, (call, "values"))
    begins = graph.addConstant(UNSIGNED_INT, [rows, 1], [n * row for row in range(rows)], (call, "rows"))
    graph.setTileMapping(begins, 0)
    at = binary(graph, "ADD", places.reshape([rows, k]), begins.broadcast(k, 1), prog, (call, "places"), in_place=False)
    found = multiSlice(
        graph, values.reshape([rows * n, 1]), at.reshape([rows * k, 1]), [0], [1], prog, debugContext=call
    )
    return found.reshape(places.shape())


def _top(
    graph: Graph, prog: Sequence, t: Tensor, values: Tensor | None, params: TopKParams, call: DebugInfo
) -> tuple[Tensor, Tensor | None]:
    _check(t, params)
    n, k = t.dim(t.rank() - 1), params.k
    shape = [*t.shape()[:-1], k]
    rows = prod(shape[:-1])
    if rows * k == 0:
        empty = [graph.addVariable(x.elementType(), shape, (call, "topK")) for x in (t, values) if x is not None]
        return empty[0], empty[1] if len(empty) > 1 else None
    keys = cast(graph, t, FLOAT, prog, (call, "castKeys")) if t.elementType() is HALF else t
    size = 1 << max(k - 1, 0).bit_length()
    if n < 2 * size:  # no fewer elements than in one row
        size = min(size, 1 << max(n - 1, 0).bit_length())
    size = max(size, 2)
    tensors = [x.reshape([rows, n]) for x in (keys, values) if x is not None]
    ties = 0 if not params.stableSort else -1 if params.turned else 1
    work, blocks = _fill_blocks(graph, tensors, size, params.largest, ties, prog, call)
    _sorted_blocks(graph, work, size, params.largest, prog, call)
    while blocks > 1:
        work, blocks = _merge_pairs(graph, work, rows, blocks, size, params.largest, prog, call)
    found = [w.reshape([rows, size]).slice(0, k, 1) for w in work.tensors]
    if params.turned:
        found = [f.reverse(1) for f in found]
    outs = [duplicate(graph, f.reshape(shape), prog, (call, "topK")) for f in found]
    if t.elementType() is HALF:
        outs[0] = cast(graph, outs[0], HALF, prog, (call, "castResult"))
    return outs[0], outs[1] if len(outs) > 1 else None


def _check(t: Tensor, params: TopKParams) -> None:
    if t.rank() == 0 or t.elementType() not in (FLOAT, HALF, INT, UNSIGNED_INT):
        raise poplibs_error(
            f"topK: {t.elementType()} of shape {t.shape()}; FLOAT, HALF, INT or UNSIGNED_INT of rank 1 is needed."
        )
    if not 0 <= params.k <= t.dim(t.rank() - 1):
        raise poplibs_error(f"topK: k is {params.k}, rows have {t.dim(t.rank() - 1)} elements.")


def _fill_blocks(
    graph: Graph, tensors: list[Tensor], size: int, largest: bool, ties: int, prog: Sequence, call: DebugInfo
) -> tuple[Work, int]:
    """(rows padded to whole blocks, blocks of a row)."""
    rows, n = tensors[0].shape()
    blocks = -(-n // size)
    work = laid_out(graph, tuple(t.elementType() for t in tensors), rows * blocks * size, ties, (call, "work"))
    for i, (tensor, into) in enumerate(zip(tensors, work.tensors, strict=True)):
        if blocks * size > n:
            loser = _loser(tensor.elementType(), largest) if i == 0 else NO_LIMIT if ties > 0 else 0
            more = graph.addConstant(tensor.elementType(), [], loser, (call, "fill"))
            graph.setTileMapping(more, 0)
            rest = more.reshape([1, 1]).broadcast(rows, 0).broadcast(blocks * size - n, 1)
            tensor = concat([tensor, rest], 1)
        prog.add(Copy(tensor.reshape([rows * blocks * size]), into, False, (call, "work")))
    return work, blocks


def _loser(type_: Type, largest: bool) -> Any:
    """A key that no other key loses to."""
    if type_ is FLOAT:
        return -np.inf if largest else np.inf
    assert type_.dtype is not None
    limits = np.iinfo(type_.dtype)
    return int(limits.min if largest else limits.max)


def _sorted_blocks(graph: Graph, work: Work, size: int, largest: bool, prog: Sequence, call: DebugInfo) -> None:
    half = 1
    while half < size:
        add_step(graph, work, half, True, largest, prog, (call, f"sort{2 * half}/mirrored"))
        _sort_bitonic(graph, work, half, largest, prog, call, f"sort{2 * half}")
        half *= 2


def _sort_bitonic(
    graph: Graph, work: Work, size: int, largest: bool, prog: Sequence, call: DebugInfo, name: str
) -> None:
    """Sort bitonic blocks of `size` elements, which first rise and then fall."""
    distance = size // 2
    while distance:
        add_step(graph, work, distance, False, largest, prog, (call, f"{name}/distance{distance}"))
        distance //= 2


def _merge_pairs(
    graph: Graph, work: Work, rows: int, blocks: int, size: int, largest: bool, prog: Sequence, call: DebugInfo
) -> tuple[Work, int]:
    """Merge pairs of sorted blocks of each row into their better halves; an odd block stays."""
    pairs = blocks // 2
    types = tuple(t.elementType() for t in work.tensors)
    together = laid_out(graph, types, rows * pairs * 2 * size, work.ties, (call, "pairs"))
    views = [t.reshape([rows, blocks, size]) for t in work.tensors]
    for view, into in zip(views, together.tensors, strict=True):
        prog.add(Copy(view.slice(0, 2 * pairs, 1).flatten(), into, False, (call, "pairs")))
    add_step(graph, together, size, True, largest, prog, (call, f"merge{blocks}"))
    left = pairs + blocks % 2
    result = laid_out(graph, types, rows * left * size, work.ties, (call, "work"))
    for view, pair, into in zip(views, together.tensors, result.tensors, strict=True):
        better = pair.reshape([rows, pairs, 2, size]).slice(0, 1, 2).reshape([rows, pairs, size])
        merged = concat([better, view.slice(2 * pairs, blocks, 1)], 1) if blocks % 2 else better
        prog.add(Copy(merged.flatten(), into, False, (call, "work")))
    _sort_bitonic(graph, result, size, largest, prog, call, f"merge{blocks}")
    return result, left
