"""The Convolve step of a sliding plan: its windows of activations with halo, weights, worklists and vertices."""

from __future__ import annotations

from math import prod

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import UNSIGNED_SHORT
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges
from simulator.machine.flops import MAC
from simulator.poplibs.pieces import rows_edges, vector_edges
from simulator.poplibs.poplin.convolutions.sliding_shares import SlidingShares, geometry, rows_of
from simulator.poplibs.poplin.convolutions.sliding_vertices import ITEM, sliding_vertex
from simulator.poplibs.poplin.convolutions.work_items import WorkItems, strides, work_items
from simulator.poplibs.poplin.partials.convolve import map_in_parts, output_runs
from simulator.poplibs.poplin.partials.shares import nested
from simulator.poplibs.poplin.planning.plan import Plan


def acts_shape(plan: Plan) -> list[int]:
    """[conv groups, in groups, batch, field, in channels, side]."""
    method, params = plan.method, plan.params
    return [plan.conv_groups, plan.in_groups, params.batch, *params.field, method.in_group, method.conv_group]


def weights_shape(plan: Plan) -> list[int]:
    """[conv groups, out groups, in groups, kernel positions, out channels, in channels, side]."""
    method = plan.method
    kernel = prod(plan.params.kernel)
    return [
        plan.conv_groups,
        plan.out_groups,
        plan.in_groups,
        kernel,
        method.out_group,
        method.in_group,
        method.conv_group,
    ]


def map_inputs(graph: Graph, acts: Tensor, shares: SlidingShares) -> None:
    """Map activations of `acts_shape` to the tiles that read them. The tiles of all output shares of a box each hold an
    equal part of the inputs that the box owns."""
    plan = shares.plan
    row_offsets, row_first, row_size = rows_of(shares.owned, (plan.params.batch, *plan.params.field))
    first = shares.tiles[:: plan.out_split]
    rows = np.diff(row_offsets)[first]
    owner, step, offsets = nested((shares.group.size * shares.inp.size)[first] * rows)
    tile = first[owner]
    block, row = np.divmod(step, np.maximum(rows[owner], 1))
    run = row_offsets[tile] + row
    begin = shares.input_line(tile, block) * plan.params.input_positions + row_first[run]
    width = row_size[run]
    ends = np.concatenate([[0], np.cumsum(width)])
    before = ends[offsets[:-1]]
    total = ends[offsets[1:]] - before
    map_in_parts(graph, acts, shares, tile, (begin, width), (ends[:-1] - before[owner], total[owner]))


def add_sliding_convolve(
    graph: Graph,
    shares: SlidingShares,
    acts: Tensor,
    weights: Tensor,
    partials: Tensor,
    name: DebugInfo,
    wide_load: bool,
) -> ComputeSet:
    """Add the compute set. `acts` is a view of `acts_shape`, `weights` a view of `weights_shape`; both may have any
    layout."""
    cs = graph.addComputeSet((name, "Convolve"))
    plan, method = shares.plan, shares.plan.method
    items = work_items(shares)
    edges = {
        "in": windows(graph, shares, acts),
        "weights": _weights(graph, shares, weights),
        "out": boxes(graph, shares, partials),
        "worklists": worklist_edges(graph, shares, items, name),
    }
    step_out, step_in = strides(geometry(plan.params)[-1])
    values = {
        "numConvGroupsM1": shares.group.size - 1,
        "numOutGroupsM1": shares.out.size - 1,
        "numInGroups": shares.inp.size,
        "transformedInStride": step_in,
        "transformedOutStride": step_out,
    }
    type_ = sliding_vertex(method, plan.params.dtype, plan.params.kernel, wide_load, items)
    graph.addVertices(cs, type_, shares.tiles, edges, values, flops=_flops(shares, items))
    return cs


def _flops(shares: SlidingShares, items: WorkItems) -> Int64Array:
    """FLOPs of each tile. Padded channels count, padded positions do not."""
    method = shares.plan.method
    met = items.outputs_by_tile(len(shares.tiles))
    channels = shares.inp.size * method.in_group * shares.out.size * method.out_group
    return np.asarray(MAC * met * channels * shares.group.size * method.conv_group)


def windows(graph: Graph, shares: SlidingShares, acts: Tensor) -> FieldEdges:
    """The rows of each tile's window, per convolution group and input group."""
    plan = shares.plan
    size = shares.input_block
    row_offsets, row_first, row_size = rows_of(shares.window, (plan.params.batch, *plan.params.field))
    rows = np.diff(row_offsets)
    blocks = shares.group.size * shares.inp.size
    tile, step, _ = nested(blocks * rows)
    block, row = np.divmod(step, rows[tile])
    run = row_offsets[tile] + row
    begin = (shares.input_line(tile, block) * plan.params.input_positions + row_first[run]) * size
    vectors = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    return _ranges(graph, acts, begin, row_size[run] * size, vectors[tile] + block, vectors)


def boxes(graph: Graph, shares: SlidingShares, source: Tensor) -> FieldEdges:
    """The rows of each tile's box, per convolution group and output group, in a [(in split,) conv groups, out groups,
    positions, block] tensor."""
    _, starts, sizes, _ = output_runs(shares)
    runs = np.repeat(np.diff(shares.runs[0]), shares.group.size * shares.out.size)
    vectors = np.concatenate([[0], np.cumsum(shares.group.size * shares.out.size)]).astype(np.int64)
    return _ranges(graph, source, starts, sizes, np.repeat(np.arange(len(runs)), runs), vectors)


def _weights(graph: Graph, shares: SlidingShares, weights: Tensor) -> FieldEdges:
    """One vector per tile, convolution group, output group and input group."""
    size = prod(shares.plan.params.kernel) * shares.weight_block
    tile, step, vectors = nested(shares.group.size * shares.out.size * shares.inp.size)
    begin = shares.weight_line(tile, step) * size
    return _ranges(graph, weights, begin, np.full(len(begin), size, np.int64), np.arange(len(begin)), vectors)


def _ranges(
    graph: Graph, source: Tensor, begins: Int64Array, sizes: Int64Array, vector: Int64Array, vectors: Int64Array
) -> FieldEdges:
    """Inner vectors that are ranges of the flattened `source`; `vector` gives the vector of each range. Adjacent pieces
    are joined."""
    starts, lengths, row = regions.cuts(*source.flatten().regions(), begins, begins + sizes)
    owner = vector[row]
    fresh = np.ones(len(starts), np.bool_)
    variable = graph.store.variable_of(starts)  # pieces of different variables are not adjacent
    fresh[1:] = (starts[1:] != (starts + lengths)[:-1]) | (owner[1:] != owner[:-1]) | (variable[1:] != variable[:-1])
    first = np.flatnonzero(fresh)
    inner = np.searchsorted(owner[first], np.arange(int(vectors[-1]) + 1), side="left").astype(np.int64)
    return rows_edges(starts[first], np.add.reduceat(lengths, first), vectors, inner)


def worklist_edges(graph: Graph, shares: SlidingShares, items: WorkItems, name: DebugInfo) -> FieldEdges:
    """The constant that holds the work items of each tile; a tile whose inputs are all padding gets one item without
    outputs."""
    n = len(shares.tiles)
    lists = np.stack([items.kernel, items.first_output, items.outputs, items.first_input], axis=1)
    idle = np.setdiff1d(np.arange(n), items.tile)
    tile = np.concatenate([items.tile, idle])
    order = np.argsort(tile, kind="stable")
    lists = np.concatenate([lists, np.zeros((len(idle), ITEM), np.int64)])[order]
    count = np.bincount(tile, minlength=n)
    ends = np.cumsum(count) * ITEM
    begins = ends - count * ITEM
    worklists = graph.addConstant(
        UNSIGNED_SHORT, [lists.size], lists.astype(np.uint16).reshape(-1), (name, "worklists")
    )
    graph.setTileMappingIntervals(worklists, begins, ends, shares.tiles)
    return vector_edges(int(worklists.regions()[0][0]) + begins, ends - begins)
