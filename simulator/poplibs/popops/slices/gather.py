"""popops.gather: slices of a tensor at index vectors, with the semantics of XLA's Gather.

XLA clamps indices beyond the tensor. Here rows are then 0, and larger slices follow the rule of `dynamicSlice`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popops.slices.index_vectors import as_rows, index_matrix
from simulator.poplibs.popops.slices.multi_slice import multiSlice
from simulator.poplibs.popops.slices.sliced_view import sliceable_by_columns
from simulator.poplibs.poputil.exceptions import poplibs_error


@dataclass(frozen=True)
class GatherParams:
    """`maxElementsPerTile`: the largest number of elements of the input on a tile."""

    maxElementsPerTile: int = 65535


@overload
def createGatherInput(
    graph: Graph,
    type: Type,
    operandShape: Sequence[int],
    axis: int,
    params: GatherParams = ...,
    debugContext: Context = "",
) -> Tensor: ...
@overload
def createGatherInput(
    graph: Graph,
    type: Type,
    inputShape: Sequence[int],
    sliceSizes: Sequence[int],
    startIndexMap: Sequence[int],
    debugContext: Context = "",
) -> Tensor: ...
def createGatherInput(graph: Graph, type: Type, *rest: Any, **named: Any) -> Tensor:
    """A mapped tensor to gather from: (axis, params, debugContext=""), or (sliceSizes, startIndexMap, debugContext="").
    Each slice is spread over the tiles.

    Raises `poplibs_error` where a tile would hold more than `params.maxElementsPerTile` elements."""
    shape: Sequence[int] = rest[0] if rest else named.pop("operandShape", None) or named.pop("inputShape")
    rest = rest[1:]
    if (rest and isinstance(rest[0], int)) or "axis" in named:
        given = dict(zip(("axis", "params", "debugContext"), rest, strict=False)) | named
        dims, limit = [given["axis"]], given.get("params", GatherParams()).maxElementsPerTile
    else:
        given = dict(zip(("sliceSizes", "startIndexMap", "debugContext"), rest, strict=False)) | named
        dims, limit = list(given["startIndexMap"]), GatherParams().maxElementsPerTile
    out = sliceable_by_columns(graph, type, shape, dims, 0, given.get("debugContext", ""))
    fullest = max((sum(i.size() for i in tile) for tile in graph.getTileMapping(out)), default=0)
    if fullest > limit:
        raise poplibs_error(
            f"createGatherInput: a tile would hold {fullest} elements, more than maxElementsPerTile {limit}."
        )
    return out


@overload
def gather(
    graph: Graph,
    input: Tensor,
    indices: Tensor,
    axis: int,
    prog: ProgramSequence,
    params: GatherParams = ...,
    debugContext: Context = "",
) -> Tensor: ...
@overload
def gather(
    graph: Graph,
    input: Tensor,
    indices: Tensor,
    indexVectorDim: int,
    offsetDims: Sequence[int],
    sliceSizes: Sequence[int],
    collapsedSliceDims: Sequence[int],
    startIndexMap: Sequence[int],
    prog: ProgramSequence,
    debugContext: Context = "",
) -> Tensor: ...
def gather(graph: Graph, input: Tensor, indices: Tensor, *rest: Any, **named: Any) -> Tensor:
    """(axis, prog, params, debugContext=""): the slices of depth 1 along an axis at each index, shaped as input[:axis]
    + indices + input[axis + 1:]. (indexVectorDim, offsetDims, sliceSizes, collapsedSliceDims, startIndexMap, prog,
    debugContext=""): XLA's Gather.

    Raises `poplibs_error` for dimensions and sizes that do not fit."""
    if (len(rest) > 1 and isinstance(rest[1], ProgramSequence)) or "axis" in named:
        given = dict(zip(("axis", "prog", "params", "debugContext"), rest, strict=False)) | named
        return _along(graph, input, indices, given["axis"], given["prog"], given.get("debugContext", ""))
    names = (
        "indexVectorDim",
        "offsetDims",
        "sliceSizes",
        "collapsedSliceDims",
        "startIndexMap",
        "prog",
        "debugContext",
    )
    given = dict(zip(names, rest, strict=False)) | named
    return _general(graph, input, indices, given)


def _along(graph: Graph, input: Tensor, indices: Tensor, axis: int, prog: ProgramSequence, context: Context) -> Tensor:
    if not 0 <= axis < input.rank():
        raise poplibs_error(f"gather: a tensor of shape {input.shape()} has no axis {axis}.")
    batch = indices.rank()
    offset_dims = [*range(axis), *range(axis + batch, axis + batch + input.rank() - axis - 1)]
    sizes = [1 if d == axis else n for d, n in enumerate(input.shape())]
    given = {
        "indexVectorDim": batch,
        "offsetDims": offset_dims,
        "sliceSizes": sizes,
        "collapsedSliceDims": [axis],
        "startIndexMap": [axis],
        "prog": prog,
        "debugContext": context,
    }
    return _general(graph, input, indices, given)


def _general(graph: Graph, input: Tensor, indices: Tensor, given: dict[str, Any]) -> Tensor:
    dims, sizes, collapsed = list(given["startIndexMap"]), list(given["sliceSizes"]), list(given["collapsedSliceDims"])
    offset_dims, prog = list(given["offsetDims"]), given["prog"]
    matrix, batch = index_matrix("gather", indices, given["indexVectorDim"], len(dims))
    fits = len(sizes) == input.rank() and all(0 <= s <= n for s, n in zip(sizes, input.shape(), strict=True))
    if not fits or any(not 0 <= d < input.rank() for d in [*dims, *collapsed]):
        raise poplibs_error(
            f"gather: sliceSizes {sizes}, startIndexMap {dims} and collapsedSliceDims {collapsed} do not fit a tensor "
            f"of shape {input.shape()}."
        )
    remaining = [d for d in range(input.rank()) if d not in collapsed]
    if any(sizes[d] != 1 for d in collapsed) or len(offset_dims) != len(remaining):
        raise poplibs_error(
            f"gather: collapsedSliceDims {collapsed} of sizes {[sizes[d] for d in collapsed]} must be 1, and "
            f"offsetDims {offset_dims} as many as the other {len(remaining)} dimensions."
        )
    call = operation(graph, given.get("debugContext", ""), "popops", "gather", input=input, indices=indices)
    for d in range(input.rank()):
        if d not in dims:
            input = input.slice(0, sizes[d], d)
    if all(sizes[d] == 1 for d in dims) and dims:
        rows, index = as_rows(graph, input, matrix, dims, prog, call)
        taken = multiSlice(graph, rows, index, [0], [1], prog, debugContext=call)
        others = [d for d in range(input.rank()) if d not in dims]
        slices = taken.reshape([matrix.dim(0), *[1] * len(dims), *[sizes[d] for d in others]])
        order = [*dims, *others]
        slices = slices.dimShuffle([0, *[1 + order.index(d) for d in range(input.rank())]])
    else:
        slices = multiSlice(graph, input, matrix, dims, [sizes[d] for d in dims], prog, debugContext=call)
    found = slices.reshape([*batch, *[sizes[d] for d in remaining]])
    rank = found.rank()
    batch_dims = [d for d in range(rank) if d not in offset_dims]
    place = {d: i for i, d in enumerate([*batch_dims, *offset_dims])}
    return found.dimShuffle([place[d] for d in range(rank)])
