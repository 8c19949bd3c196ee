"""Tensors laid out for slicing: createSliceableTensor, createSliceTensor, createIndicesTensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import UNSIGNED_INT, Type
from simulator.building.graph import Graph
from simulator.building.mapping import grain, linear_shares
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops.slices.embedding import LEAST_INDICES, Options, SlicePlan, chosen_options, column_grain
from simulator.poplibs.popops.slices.sliced_view import (
    as_slices,
    check_slice,
    column_runs,
    from_slices,
    in_columns,
    sliceable_by_columns,
)
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.poputil.linear_mapping import mapTensorLinearly


@dataclass(frozen=True)
class Blocks:
    """The ends of row, column and lookup blocks, and the tile of each block: [lookups, rows, columns]."""

    row_ends: Int64Array
    column_ends: Int64Array
    lookup_ends: Int64Array
    tiles: Int64Array

    def without_lookup_split(self, lookups: int) -> Blocks:
        """The same blocks with all lookups on the tiles of the first group."""
        return Blocks(self.row_ends, self.column_ends, np.array([lookups], np.int64), self.tiles[:1])


def blocks_of_plan(plan: SlicePlan, type_: Type, lookups: int) -> Blocks:
    """The blocks of a plan; tiles count columns fastest, then rows, then groups of lookups."""
    rows = _ends(plan.entries, plan.slicedDimSplit, 1)
    columns = _ends(plan.elements, plan.unslicedDimSplit, column_grain(type_))
    groups = _ends(max(lookups, 1), plan.lookupSplit, 1)
    shape = len(groups), len(rows), len(columns)
    return Blocks(rows, columns, groups, np.arange(prod(shape), dtype=np.int64).reshape(shape))


def _shares_of_groups(blocks: Blocks) -> tuple[Int64Array, Int64Array]:
    """(ends, tiles [shares, column blocks]) of slices dealt to all tiles of a plan: the lookups of a group to its row
    blocks, as PopLibs' second stage leaves them."""
    ends, tiles, first = [], [], 0
    for group, last in enumerate(blocks.lookup_ends.tolist()):
        shares = first + _ends(last - first, len(blocks.row_ends), 1)
        ends.append(shares)
        tiles.append(blocks.tiles[group, : len(shares)])
        first = last
    return np.concatenate(ends), np.concatenate(tiles)


def _ends(count: int, parts: int, unit: int) -> Int64Array:
    return linear_shares(count, parts, unit, 1)


@overload
def createSliceableTensor(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    minGrainSize: int = 0,
    debugContext: Context = "",
) -> Tensor: ...
@overload
def createSliceableTensor(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    plan: SlicePlan,
    options: Options,
    debugContext: Context = "",
) -> Tensor: ...
def createSliceableTensor(
    graph: Graph, type: Type, shape: Sequence[int], dims: Sequence[int], sizes: Sequence[int], *rest: Any, **named: Any
) -> Tensor:
    """A mapped tensor with a layout for slicing: (minGrainSize=0, debugContext=""), the elements of each slice spread
    over as many tiles as there are grains; or (plan, options, debugContext=""), cut as the plan says, each block spread
    over the tiles of all groups of lookups that use it."""
    check_slice("createSliceableTensor", shape, dims, sizes)
    arguments = list(rest)
    plan = arguments.pop(0) if arguments and isinstance(arguments[0], SlicePlan) else named.pop("plan", None)
    if plan is None:
        least = arguments.pop(0) if arguments and isinstance(arguments[0], int) else named.pop("minGrainSize", 0)
        context = arguments.pop(0) if arguments else named.pop("debugContext", "")
        return sliceable_by_columns(graph, type, shape, dims, least, context)
    chosen_options(arguments.pop(0) if arguments else named.pop("options", None))
    context = arguments.pop(0) if arguments else named.pop("debugContext", "")
    if not plan.is_plan:
        return sliceable_by_columns(graph, type, shape, dims, 0, context)
    rows, columns = prod(shape[d] for d in dims), prod(n for d, n in enumerate(shape) if d not in dims)
    if (rows, columns) != (plan.entries, plan.elements):
        raise poplibs_error(
            f"createSliceableTensor: the plan is for {plan.entries} entries of {plan.elements} elements, the shape has "
            f"{rows} of {columns}."
        )
    blocks = blocks_of_plan(plan, type, plan.lookupSplit)
    matrix = in_columns(graph, type, rows, blocks.column_ends, blocks.tiles, context, blocks.row_ends)
    return from_slices(matrix, shape, dims)


@overload
def createSliceTensor(
    graph: Graph, t: Tensor, dims: Sequence[int], sizes: Sequence[int], numIndices: int, debugContext: Context = ""
) -> Tensor: ...
@overload
def createSliceTensor(
    graph: Graph,
    type: Type,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    numIndices: int,
    plan: SlicePlan,
    options: Options,
    debugContext: Context = "",
) -> Tensor: ...
def createSliceTensor(graph: Graph, *arguments: Any, **named: Any) -> Tensor:
    """A mapped tensor [numIndices, shape of a slice] to slice into or update from: (t, dims, sizes, numIndices,
    debugContext=""), laid out like the sliced tensor; or (type, shape, dims, sizes, numIndices, plan, options,
    debugContext=""), as the plan says."""
    of_tensor = "t" in named or (bool(arguments) and isinstance(arguments[0], Tensor))
    names = ["t", "dims", "sizes", "numIndices", "debugContext"]
    if not of_tensor:
        names = ["type", "shape", "dims", "sizes", "numIndices", "plan", "options", "debugContext"]
    given = dict(zip(names, arguments, strict=False)) | named
    shape = given["t"].shape() if of_tensor else list(given["shape"])
    type_ = given["t"].elementType() if of_tensor else given["type"]
    dims, sizes, n = given["dims"], given["sizes"], int(given["numIndices"])
    check_slice("createSliceTensor", shape, dims, sizes)
    count, columns = prod(sizes), prod(s for d, s in enumerate(shape) if d not in dims)
    part = [sizes[list(dims).index(d)] if d in dims else s for d, s in enumerate(shape)]
    context = given.get("debugContext", "")
    if n * count * columns == 0:
        return graph.addVariable(type_, [n, *part], context)
    plan, row_ends = given.get("plan"), None
    if of_tensor:
        ends, tiles = column_runs(graph, as_slices(given["t"], dims))
    elif plan is not None and plan.is_plan:
        blocks = blocks_of_plan(plan, type_, n * count)
        ends, (row_ends, tiles) = blocks.column_ends, _shares_of_groups(blocks)
    else:
        ends = linear_shares(columns, graph.getTarget().getNumTiles(), grain(type_), 1)
        tiles = np.arange(len(ends), dtype=np.int64)
    matrix = in_columns(graph, type_, n * count, ends, tiles, context, row_ends)
    return from_slices(matrix, [n, *part], [0, *[d + 1 for d in dims]])


def createIndicesTensor(
    graph: Graph,
    dims: Sequence[int],
    numIndices: int,
    plan: SlicePlan = SlicePlan(),  # noqa: B008 - frozen
    options: Options = None,
    debugContext: Context = "",
) -> Tensor:
    """A mapped UNSIGNED_INT tensor [numIndices, dimensions], spread linearly; with a plan at least 32 on a tile."""
    chosen_options(options)
    out = graph.addVariable(UNSIGNED_INT, [numIndices, len(dims)], debugContext)
    if plan.is_plan:
        mapTensorLinearly(graph, out, LEAST_INDICES, len(dims))
    else:
        mapTensorLinearly(graph, out)
    return out


def createSliceableTensorFromSlice(
    graph: Graph, s: Tensor, dims: Sequence[int], numSlices: Sequence[int], debugContext: Context = ""
) -> Tensor:
    """A mapped tensor of which `s` is one slice: `numSlices[i]` times as long in each dimension `dims[i]`, each slice
    laid out like `s`."""
    if len(dims) != len(numSlices) or any(not 0 <= d < s.rank() for d in dims):
        raise poplibs_error(
            f"createSliceableTensorFromSlice: dims {list(dims)} and numSlices {list(numSlices)} do not fit "
            f"shape {s.shape()}."
        )
    shape = [n * numSlices[list(dims).index(d)] if d in dims else n for d, n in enumerate(s.shape())]
    matrix = as_slices(s, dims)
    ends, tiles = column_runs(graph, matrix)
    rows = prod(shape[d] for d in dims)
    return from_slices(in_columns(graph, s.elementType(), rows, ends, tiles, debugContext), shape, dims)
