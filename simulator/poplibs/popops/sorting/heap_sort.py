"""popops.sort: rows in ascending order.

As in PopLibs each stretch of a row on one tile is sorted by a heap. While the last element of some stretch exceeds the
first of the next, these two elements are swapped and all stretches are sorted again. The data decide the number of
rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Copy, Execute, LibraryGroup, RepeatWhileTrue, Sequence
from simulator.graph.tensor import Tensor, taken
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import sorting as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops import elementwise
from simulator.poplibs.popops.reductions.reduce import Operation, reduce
from simulator.poplibs.popops.ternary import ternary
from simulator.poplibs.poputil.copies import duplicate
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


def sort(graph: Graph, t: Tensor, dim: int, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A tensor with the elements of `t` in ascending order along a dimension. Raises `poplibs_error` for a dimension
    that does not exist."""
    call = operation(graph, debugContext, "popops", "sort", t=t, dim=dim)
    out = duplicate(graph, t, prog, (call, "sort"))
    sortInPlace(graph, out, dim, prog, call)
    return out


def sortInPlace(graph: Graph, t: Tensor, dim: int, prog: Sequence, debugContext: Context = "") -> None:
    """`sort` in place."""
    call = operation(graph, debugContext, "popops", "sortInPlace", t=t, dim=dim)
    _sort(graph, [t], dim, prog, call)


def sortKeyValue(graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Sequence, debugContext: Context = "") -> Tensor:
    """The elements of `v` in the order in which those of `k` ascend. Raises `poplibs_error` for different shapes."""
    call = operation(graph, debugContext, "popops", "sortKeyValue", k=k, v=v, dim=dim)
    _check(k, v)
    both = [duplicate(graph, t, prog, (call, name)) for t, name in ((k, "keys"), (v, "values"))]
    _sort(graph, both, dim, prog, call)
    return both[1]


def sortKeyValueInPlace(
    graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Sequence, debugContext: Context = ""
) -> None:
    """`sortKeyValue` in place; the keys are sorted too."""
    call = operation(graph, debugContext, "popops", "sortKeyValueInPlace", k=k, v=v, dim=dim)
    _check(k, v)
    _sort(graph, [k, v], dim, prog, call)


def _check(k: Tensor, v: Tensor) -> None:
    if k.shape() != v.shape():
        raise poplibs_error(f"sortKeyValue: keys {k.shape()} and values {v.shape()} must have one shape.")


def _sort(graph: Graph, tensors: list[Tensor], dim: int, prog: Sequence, call: DebugInfo) -> None:
    first = tensors[0]
    if not 0 <= dim < first.rank():
        raise poplibs_error(f"sort: a tensor of shape {first.shape()} has no dimension {dim}.")
    if first.numElements() == 0:
        return
    rows = [_as_rows(t, dim) for t in tensors]
    ends = _stretches(graph, rows[0])
    cs, attributes = _add_heaps(graph, rows, ends, (call, "sortCS"))
    heaps = LibraryGroup([Execute(cs)], "popops.heapSort", rows, rows, attributes)
    prog.add(heaps)
    width = rows[0].dim(1)
    inner = ends[ends % width != 0]
    if not len(inner):
        return
    flat = [r.flatten() for r in rows]
    step = Sequence()
    for odd in (0, 1):
        borders = inner[_numbers(inner, width) % 2 == odd]
        if len(borders):
            _exchange(graph, [(taken(f, borders - 1), taken(f, borders)) for f in flat], step, call)
    step.add(heaps)
    cond = Sequence()
    left, right = taken(flat[0], inner - 1), taken(flat[0], inner)
    wrong = elementwise.binary(graph, "LESS_THAN", right, left, cond, (call, "isNotSorted"), in_place=False)
    predicate = reduce(graph, wrong, [0], Operation.LOGICAL_OR, cond, (call, "isNotSorted"))
    prog.add(RepeatWhileTrue(cond, predicate, step, (call, "sort")))


def _as_rows(t: Tensor, dim: int) -> Tensor:
    order = [d for d in range(t.rank()) if d != dim] + [dim]
    return t.dimShuffle(order).reshape([t.numElements() // t.dim(dim), t.dim(dim)])


def _stretches(graph: Graph, rows: Tensor) -> Int64Array:
    """Where the stretches of the flattened rows end: at the end of a row, or where the tile changes."""
    _, ends, device = graph.getTileMappingIntervals(rows.flatten())
    last = np.append(device[1:] != device[:-1], True)
    width = rows.dim(1)
    return np.union1d(ends[last], np.arange(width, rows.numElements() + 1, width))


def _numbers(borders: Int64Array, width: int) -> Int64Array:
    """The number of each border within its row."""
    row = borders // width
    return np.arange(len(borders)) - np.searchsorted(row, row, side="left")


def _exchange(graph: Graph, pairs: list[tuple[Tensor, Tensor]], prog: Sequence, call: DebugInfo) -> None:
    """Swap the elements at borders whose keys are in the wrong order."""
    left, right = pairs[0]
    wrong = elementwise.binary(graph, "LESS_THAN", right, left, prog, (call, "swap"), in_place=False)
    right_wrong = elementwise.unary(graph, "LOGICAL_NOT", wrong, prog, (call, "swap"), in_place=False)
    for a, b in pairs:
        selected = ternary(graph, "SELECT", (b, a, wrong), prog, (call, "select_left"), in_place=False)
        ternary(graph, "SELECT", (b, a, right_wrong), prog, (call, "select_right"), in_place=True)
        prog.add(Copy(selected, a, False, (call, "swap")))


def _add_heaps(
    graph: Graph, rows: list[Tensor], ends: Int64Array, name: tuple[DebugInfo, str]
) -> tuple[ComputeSet, dict[str, Any]]:
    cs = graph.addComputeSet(name)
    begins = np.append(0, ends[:-1])
    edges = {}
    for field, tensor in zip(("out", "value") if len(rows) == 1 else ("key", "value"), rows, strict=False):
        starts, lengths, of = regions.cuts(*tensor.flatten().regions(), begins, ends)
        offsets = np.searchsorted(of, np.arange(len(ends) + 1), side="left").astype(np.int64)
        edges[field] = vector_edges(starts, lengths, offsets)
    flat_begins, _, device = graph.getTileMappingIntervals(rows[0].flatten())
    tiles = graph.state.graph_tiles(device)[np.searchsorted(flat_begins, begins, side="right") - 1]
    graph.addVertices(cs, _vertex(tuple(short_name(t.elementType()) for t in rows)), tiles, edges)
    return cs, {"ends": ends.tolist()}


@register("popops.heapSort")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    flat = [np.array(i).reshape(-1) for i in inputs]
    begin = 0
    for end in attributes["ends"]:
        order = np.argsort(flat[0][begin:end], kind="stable")
        for f in flat:
            f[begin:end] = f[begin:end][order]
        begin = end
    for out, f in zip(outputs, flat, strict=True):
        out[...] = f.reshape(out.shape)


@lru_cache(maxsize=32)
def _vertex(types: tuple[str, ...]) -> VertexType:
    names = ["out"] if len(types) == 1 else ["key", "value"]

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements[names[0]]
        spent = cycles.heap_sort(n, with_values=len(types) > 1)
        return BlockCosts(spent, "exact", described("7.6", cycles.heap_sort), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        order = np.argsort(np.asarray(getattr(vertex, names[0])), kind="stable")
        for name in names:
            values = getattr(vertex, name)
            values[...] = np.asarray(values)[order]

    fields = tuple(FieldSpec(n, "vector", "inout", None, "span", 4) for n in names)
    name = f"popops::HeapSortVertex{'KV' if len(types) > 1 else ''}<{','.join(types)}>"
    return VertexType(name, "worker", fields, costs, compute, doc="a stretch in order")
