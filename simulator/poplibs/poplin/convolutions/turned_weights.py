"""Turn weights on the tiles that hold them, so that whole groups of channels are exchanged.

The gradient of a convolution's input reads its weights with input and output channels exchanged. Copied directly, each
element would arrive as a run of its own, with three exchange instructions (`simulator.machine.exchange`). As in
PopLibs, each tile first transposes the blocks of [output channels, input channels] in its memory with Transpose2D; the
copy then moves one run for each column of a block. `turned_on_tiles` costs one sort of the elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Copy, Execute, LibraryGroup, Program
from simulator.graph.tensor import Tensor, taken
from simulator.poplibs.pieces import mapping_of, vector_edges
from simulator.poplibs.popops.transposes import transpose_vertex
from simulator.runtime.values.kernels import register

#: What the 16-bit fields of Transpose2D count to.
_MOST_ROWS = 2**16 - 1


@dataclass(frozen=True)
class _Blocks:
    """Matrices in the memory of tiles, sorted by size and tile. Row r of matrix i is the contiguous run
    `begin[first[i] + r]`, of `columns[i]` elements."""

    begin: Int64Array
    first: Int64Array
    rows: Int64Array
    columns: Int64Array
    tile: Int64Array
    start: Int64Array  #: of the transposed matrix in the variable of all transposed matrices


def turned_on_tiles(graph: Graph, source: Tensor, target: Tensor, call: DebugInfo) -> Program | None:
    """A program that copies `source`, weights [groups, output channels, input channels, kernel], to `target` of the
    same shape, by way of transposed blocks. None where that does not halve the runs to exchange, or where blocks cannot
    be transposed in place: elements of several variables, repeated or without a tile."""
    axes = [0, 1, *range(3, source.rank()), 2]
    by_output = source.dimShuffle(axes)
    elements = regions.elements(*by_output.regions())
    order = np.argsort(elements, kind="stable")
    position = elements[order]
    if len(source.view.variables()) != 1 or len(position) < 2 or (np.diff(position) == 0).any():
        return None
    ends, tiles = mapping_of(graph.store, source)
    tile = np.asarray(tiles[np.searchsorted(ends, position, side="right")], dtype=np.int64)
    if (tile < 0).any():
        return None
    width = len(elements) // (source.dim(0) * source.dim(1))
    blocks, turned_places = _blocks(position, order // width, order % width, tile)
    places = np.empty_like(turned_places)
    places[order] = turned_places
    received = np.argsort(regions.elements(*target.dimShuffle(axes).regions()), kind="stable")
    if 2 * _runs(places[received]) > _runs(elements[received]) or blocks.rows.max() > _MOST_ROWS:
        return None
    turned = graph.addVariable(source.elementType(), [len(elements)], (call, "partialTranspose"))
    size = blocks.rows * blocks.columns
    graph.setTileMappingIntervals(turned, blocks.start, blocks.start + size, graph.state.graph_tiles(blocks.tile))
    cs = graph.addComputeSet((call, "partialTranspose"))
    _add_vertices(graph, cs, blocks, turned)
    # In the order of the target's memory, in which runs of both are runs of the copy.
    copy = Copy(taken(turned, places[received]), taken(target.dimShuffle(axes), received), False, call)
    programs = [Execute(cs), copy]
    return LibraryGroup(programs, "poplin.turnedWeights", [source], [target])


def _blocks(
    position: Int64Array, channel: Int64Array, column: Int64Array, tile: Int64Array
) -> tuple[_Blocks, Int64Array]:
    """(matrices, place of each element after transposing) of elements in memory order. Consecutive output channels with
    the same columns on one tile are the rows of a matrix, wherever in its memory they lie."""
    head = np.ones(len(position), np.bool_)
    head[1:] = (np.diff(position) != 1) | (np.diff(channel) != 0) | (np.diff(column) != 1) | (np.diff(tile) != 0)
    begin = np.flatnonzero(head)
    length = np.diff(np.append(begin, len(position)))
    sorted_runs = np.lexsort((channel[begin], column[begin], length, tile[begin]))
    rank = np.empty_like(sorted_runs)
    rank[sorted_runs] = np.arange(len(begin))
    begin, length = begin[sorted_runs], length[sorted_runs]
    fresh = np.ones(len(begin), np.bool_)
    fresh[1:] = (np.diff(channel[begin]) != 1) | (np.diff(column[begin]) != 0)
    fresh[1:] |= (np.diff(length) != 0) | (np.diff(tile[begin]) != 0)
    first = np.flatnonzero(fresh)
    rows, columns, on = np.diff(np.append(first, len(begin))), length[first], tile[begin][first]
    by_size = np.lexsort((first, on, columns, rows))
    size = (rows * columns)[by_size]
    start = np.empty_like(first)
    start[by_size] = np.cumsum(size) - size
    row = rank[np.cumsum(head) - 1]
    matrix = (np.cumsum(fresh) - 1)[row]
    places = start[matrix] + (np.arange(len(position)) - begin[row]) * rows[matrix] + row - first[matrix]
    columns_of = (first, rows, columns, on, start)
    return _Blocks(position[begin], *(column[by_size] for column in columns_of)), places


def _runs(sequence: Int64Array) -> int:
    """Into how many runs of consecutive numbers a sequence falls."""
    return int(np.count_nonzero(np.diff(sequence) != 1)) + 1


def _add_vertices(graph: Graph, cs: ComputeSet, blocks: _Blocks, turned: Tensor) -> None:
    """One vertex for the matrices of one size on a tile."""
    base = int(turned.regions()[0][0])
    new_size = (np.diff(blocks.rows) != 0) | (np.diff(blocks.columns) != 0)
    cuts = [0, *(np.flatnonzero(new_size) + 1).tolist(), len(blocks.rows)]
    type_ = transpose_vertex(turned.elementType())
    for begin, end in pairwise(cuts):
        rows, columns = int(blocks.rows[begin]), int(blocks.columns[begin])
        tile = blocks.tile[begin:end]
        heads = np.flatnonzero(np.diff(tile, prepend=-1))
        matrices = np.diff(np.append(heads, end - begin))
        row = (blocks.first[begin:end, None] + np.arange(rows)).reshape(-1)
        vertex = np.repeat(np.repeat(np.arange(len(heads)), matrices), rows)
        starts = blocks.begin[row]
        apart = np.ones(len(starts), np.bool_)
        apart[1:] = (np.diff(starts) != columns) | (np.diff(vertex) != 0)
        piece = np.flatnonzero(apart)
        lengths = np.diff(np.append(piece, len(starts))) * columns
        offsets = np.searchsorted(vertex[piece], np.arange(len(heads) + 1), side="left").astype(np.int64)
        edges = {
            "src": vector_edges(starts[piece], lengths, offsets),
            "dst": vector_edges(base + blocks.start[begin:end][heads], matrices * rows * columns),
        }
        sizes = {"numSrcRows": rows, "numSrcColumns": columns}
        graph.addVertices(cs, type_, graph.state.graph_tiles(tile[heads]), edges, sizes)


@register("poplin.turnedWeights")
def _turned_weights_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    outputs[0][...] = inputs[0]
