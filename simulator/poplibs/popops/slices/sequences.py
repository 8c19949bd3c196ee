"""popops.sequenceSlice: copy runs of rows between two tensors, at places and lengths that a program computes.

One compute set of SequenceSlice vertices, each with some columns of all rows of both tensors, on the tile that has
those columns of the larger one. The other tensor's columns come by exchange where they lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import UNSIGNED_INT, numpy_type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops.filling import zero
from simulator.poplibs.popops.slices.dynamic import copy_values, parts_of_slices
from simulator.poplibs.popops.slices.row_blocks import offset_edges
from simulator.poplibs.popops.slices.sliced_view import column_runs
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


def sequenceSlice(
    graph: Graph,
    tIn: Tensor,
    tOut: Tensor,
    tN: Tensor,
    tInOffset: Tensor,
    tOutOffset: Tensor,
    zeroUnused: bool,
    prog: Sequence,
    debugContext: Context = "",
) -> None:
    """tOut[tOutOffset[i] : tOutOffset[i] + tN[i]] = tIn[tInOffset[i] : tInOffset[i] + tN[i]] for each i, in order; with
    `zeroUnused` all other rows of tOut become 0. Rows beyond the end of either tensor are left out (PopLibs leaves open
    what happens).

    Raises `poplibs_error` for tensors of rank below 2, of different types or rows of different sizes, and unless tN and
    the offsets are vectors of as many UNSIGNED_INT."""
    call = operation(graph, debugContext, "popops", "sequenceSlice", tIn=tIn, tOut=tOut, tN=tN, zeroUnused=zeroUnused)
    source, target = _rows(tIn), _rows(tOut)
    if source.dim(1) != target.dim(1) or source.elementType() is not target.elementType():
        raise poplibs_error(
            f"sequenceSlice: rows of {tIn.elementType()} {tIn.shape()} do not fit those of {tOut.elementType()} "
            f"{tOut.shape()}; both must have one type and as many elements in a row."
        )
    numbers = tN, tInOffset, tOutOffset
    if any(one.rank() != 1 or one.elementType() is not UNSIGNED_INT or one.shape() != tN.shape() for one in numbers):
        raise poplibs_error("sequenceSlice: tN, tInOffset and tOutOffset are vectors of as many UNSIGNED_INT.")
    if zeroUnused:
        zero(graph, tOut, prog, (call, "zero"))
    if source.numElements() and target.numElements() and tN.numElements():
        _add(graph, source, target, numbers, prog, call)


def _rows(t: Tensor) -> Tensor:
    """[rows, elements of a row]"""
    if t.rank() < 2:
        raise poplibs_error(f"sequenceSlice: a tensor of shape {t.shape()} has no rows; its rank must be 2 or more.")
    return t.reshape([t.dim(0), t.numElements() // max(t.dim(0), 1)])


def _add(
    graph: Graph,
    source: Tensor,
    target: Tensor,
    numbers: tuple[Tensor, Tensor, Tensor],
    prog: Sequence,
    call: DebugInfo,
) -> None:
    larger = source if source.numElements() >= target.numElements() // 2 else target
    ends, tiles = column_runs(graph, larger)
    begins = np.append(0, ends[:-1])
    count = len(ends)
    edges = {
        "srcT": vector_edges(*parts_of_slices(source, begins, ends - begins)),
        "dstT": vector_edges(*parts_of_slices(target, begins, ends - begins)),
    }
    for name, tensor in zip(("nElementsT", "srcOffsetT", "dstOffsetT"), numbers, strict=True):
        edges[name] = offset_edges(tensor, (0, tensor.numElements()), count)
    type_ = _vertex(short_name(source.elementType()), numpy_type(source.elementType()).itemsize)
    cs = graph.addComputeSet((call, "SequenceSlice"))
    graph.addVertices(cs, type_, tiles, edges, {"regionSize": (ends - begins).astype(np.uint32)})
    given = [source, *numbers, target]
    prog.add(LibraryGroup([Execute(cs)], "popops.sequenceSlice", given, [target]))


@register("popops.sequenceSlice")
def _slice_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    source, counts, from_rows, to_rows, before = inputs
    copy_values(outputs[0], before)
    _copy_rows(source.copy(), outputs[0], counts, from_rows, to_rows)


def _copy_rows(source: AnyArray, target: AnyArray, *numbers: AnyArray) -> None:
    """Copy runs of rows, one after another."""
    for count, first, place in zip(*(np.asarray(one).tolist() for one in numbers), strict=True):
        length = max(min(count, len(source) - first, len(target) - place), 0)
        target[place : place + length] = source[first : first + length]


@lru_cache(maxsize=32)
def _vertex(dtype: str, size: int) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        copied = np.minimum(elements["srcT"], elements["dstT"])
        spent = cycles.sequence_slice(size, copied, elements["nElementsT"])
        return BlockCosts(spent, "exact", described("7.3", cycles.sequence_slice), np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        width = int(vertex.regionSize)
        target = np.asarray(vertex.dstT).reshape(-1, width).copy()
        source = np.asarray(vertex.srcT).reshape(-1, width)
        _copy_rows(source, target, vertex.nElementsT, vertex.srcOffsetT, vertex.dstOffsetT)
        vertex.dstT[...] = target.reshape(-1)

    numbers = [
        FieldSpec(name, "vector", "in", UNSIGNED_INT, "span", 4) for name in ("nElementsT", "srcOffsetT", "dstOffsetT")
    ]
    fields = (
        FieldSpec("srcT", "vector", "in", None, "one_ptr", 4),
        FieldSpec("dstT", "vector", "inout", None, "one_ptr", 4),
        *numbers,
        FieldSpec("regionSize", "value", "", UNSIGNED_INT),
    )
    return VertexType(f"popops::SequenceSlice<{dtype}>", "multi", fields, costs, compute, doc="runs of rows")
