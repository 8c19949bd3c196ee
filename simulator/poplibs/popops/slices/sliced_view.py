"""A tensor seen as [slices, elements of a slice], and the layout of tensors for slicing.

Each tile should hold the same part of every slice, so that slicing moves nothing between tiles. Within the tile the
parts of the slices follow each other in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import Interval, Type
from simulator.building.graph import Graph
from simulator.building.mapping import grain, linear_shares
from simulator.graph.debug_context import Context
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.poputil.exceptions import poplibs_error


def check_slice(name: str, shape: Sequence[int], dims: Sequence[int], sizes: Sequence[int]) -> None:
    """Raise `poplibs_error` for dimensions and sizes that do not fit the shape."""
    if len(dims) != len(sizes) or len(set(dims)) != len(dims):
        raise poplibs_error(
            f"{name}: dims {list(dims)} and sizes {list(sizes)} must have equal lengths, each dimension once."
        )
    for dim, size in zip(dims, sizes, strict=True):
        if not 0 <= dim < len(shape) or not 0 <= size <= shape[dim]:
            raise poplibs_error(f"{name}: cannot take {size} elements of dimension {dim} from shape {list(shape)}.")


def as_slices(t: Tensor, dims: Sequence[int]) -> Tensor:
    """[product of the sliced dimensions, product of the others]."""
    others = [d for d in range(t.rank()) if d not in dims]
    count = prod(t.dim(d) for d in dims)
    return t.dimShuffle([*dims, *others]).reshape([count, prod(t.dim(d) for d in others)])


def from_slices(matrix: Tensor, shape: Sequence[int], dims: Sequence[int]) -> Tensor:
    """The inverse of `as_slices` for a tensor of the given shape."""
    others = [d for d in range(len(shape)) if d not in dims]
    order = [*dims, *others]
    spread = matrix.reshape([shape[d] for d in order])
    return spread.dimShuffle([order.index(d) for d in range(len(shape))])


def in_columns(
    graph: Graph,
    type_: Type,
    rows: int,
    ends: Int64Array,
    tiles: Int64Array,
    context: Context,
    row_ends: Int64Array | None = None,
) -> Tensor:
    """A variable seen as [rows, columns]: columns up to `ends[i]` are on `tiles[i]`, each such block contiguous. With
    `row_ends` the rows are cut too, and `tiles` is [row blocks, column blocks], or [sharers, row blocks, column blocks]
    where the elements of a block are dealt to several tiles."""
    columns = int(ends[-1]) if len(ends) else 0
    flat = graph.addVariable(type_, [rows * columns], context)
    cuts = np.array([rows], np.int64) if row_ends is None else row_ends
    where = np.asarray(tiles, np.int64).reshape(-1, len(cuts) * len(ends))
    heights, widths = np.diff(cuts, prepend=0), np.diff(ends, prepend=0)
    sizes = (heights[:, None] * widths[None, :]).reshape(-1)
    stops = np.cumsum(sizes)
    within = _shares(sizes, len(where), grain(type_))
    begins = stops - sizes + np.concatenate([np.zeros((1, len(sizes)), np.int64), within[:-1]])
    until = stops - sizes + within
    some = until > begins
    order = np.argsort(begins[some], kind="stable")
    graph.setTileMappingIntervals(flat, *(column[some][order] for column in (begins, until, where)))
    bands, at = [], 0
    for height in heights.tolist():
        blocks = []
        for width in widths.tolist():
            blocks.append(flat.slice(at, at + height * width).reshape([height, width]))
            at += height * width
        bands.append(concat(blocks, 1) if len(blocks) > 1 else blocks[0])
    return concat(bands, 0) if len(bands) > 1 else bands[0]


def _shares(sizes: Int64Array, count: int, unit: int) -> Int64Array:
    """Where the shares of blocks of these sizes end, dealt to `count` tiles in pairs of units (two tiles of a bus
    receive at once what is 16 bytes long): [count, blocks]."""
    pairs = -(-sizes // (2 * unit))
    each = -(-pairs // count) * 2 * unit
    return np.asarray(np.minimum(np.arange(1, count + 1)[:, None] * each, sizes), np.int64)


def sliceable_by_columns(
    graph: Graph, type_: Type, shape: Sequence[int], dims: Sequence[int], least: int, context: Context
) -> Tensor:
    """Each slice spread over as many tiles as the grain and the least share allow."""
    rows = prod(shape[d] for d in dims)
    columns = prod(n for d, n in enumerate(shape) if d not in dims)
    if rows * columns == 0:
        return graph.addVariable(type_, shape, context)
    ends = linear_shares(columns, graph.getTarget().getNumTiles(), grain(type_), max(least, 1))
    matrix = in_columns(graph, type_, rows, ends, np.arange(len(ends)), context)
    return from_slices(matrix, shape, dims)


def column_runs(graph: Graph, matrix: Tensor) -> tuple[Int64Array, Int64Array]:
    """(ends, tiles) of the columns of a [slices, elements] view, by the mapping of its first slice."""
    _, ends, device = graph.getTileMappingIntervals(matrix.slice(0, 1, 0).flatten())
    tiles = graph.state.graph_tiles(device)
    if (tiles < 0).any():
        raise poplibs_error(f"The sliced tensor of shape {matrix.shape()} is not mapped; call setTileMapping.")
    last = np.append(tiles[1:] != tiles[:-1], True)
    return ends[last], tiles[last]


def getSliceMapping(graph: Graph, t: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> list[list[Interval]]:
    """The tile mapping of a slice of the given sizes: that of the first slices of the tensor."""
    check_slice("getSliceMapping", t.shape(), dims, sizes)
    first = t
    for dim, size in zip(dims, sizes, strict=True):
        first = first.slice(0, size, dim)
    return graph.getTileMapping(first)
