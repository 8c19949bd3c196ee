"""The Convolve step of a product: its vertices, their operands and their partial sums."""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import FLOAT, HALF, UNSIGNED_SHORT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.pieces import rows_edges, vector_edges
from simulator.poplibs.poplin.partials.partial_vertices import convolve_vertex, outer_product_vertex
from simulator.poplibs.poplin.partials.shares import Shares, nested

#: entries of one worker in the worklist: output offset, positions, input offset (16 bits each)
_WORKLIST_ENTRIES = 3

#: dimensions of activations of which there is one copy
_ONE_COPY = ("conv groups", "in groups", "field", "group", "side")


def partials_type(shares: Shares) -> Type:
    """The type of the partial sums."""
    return FLOAT if shares.plan.method.partials == "float" else HALF


def map_inputs(graph: Graph, acts: Tensor, shares: Shares) -> None:
    """Map [conv groups, in groups, field, group] activations to the tiles that read them. The tiles that read the same
    (group, in, field) share each hold an equal part of it."""
    plan = shares.plan
    first = shares.tiles[:: plan.out_split]
    counts = (shares.group.size * shares.inp.size)[first]
    owner, step, _ = nested(counts)
    tile = first[owner]
    rows = shares.field.size[tile]
    begin = shares.input_line(tile, step) * plan.field + shares.field.begin[tile]
    total = (counts * rows[np.searchsorted(owner, np.arange(len(first)))])[owner]
    map_in_parts(graph, acts, shares, tile, (begin, rows), (step * rows, total))


def map_in_parts(
    graph: Graph,
    acts: Tensor,
    shares: Shares,
    tile: Int64Array,
    runs: tuple[Int64Array, Int64Array],
    within: tuple[Int64Array, Int64Array],
) -> None:
    """Map runs of positions (begin, size) to the tiles of all output shares, in equal parts.

    Tile `tile[i]` is the first of those that read run i. The positions of a share are numbered through all its runs:
    `within` = (number of the run's first position, positions of the share)."""
    (begin, width), (done, total), parts = runs, within, shares.plan.out_split
    cuts = np.arange(1, parts)[None, :] * total[:, None] // parts - done[:, None]
    bounds = np.concatenate([np.zeros_like(done)[:, None], np.clip(cuts, 0, width[:, None]), width[:, None]], axis=1)
    keep = bounds[:, 1:] > bounds[:, :-1]
    run, part = np.nonzero(keep)
    low, high = bounds[:, :-1][keep], bounds[:, 1:][keep]
    start = (begin[run] + low) * shares.input_block
    graph.setTileMappingIntervals(acts, start, start + (high - low) * shares.input_block, tile[run] + part)


def map_weights(graph: Graph, weights: Tensor, shares: Shares, kernels: int = 1) -> None:
    """Map [conv groups, out groups, in groups, kernel positions, units, group] weights to the tiles that read them. The
    tiles of a field split read the same weights; each holds an equal part."""
    owner, step, _ = nested(shares.group.size * shares.out.size * shares.inp.size * kernels)
    mine = step % shares.plan.field_split == shares.field.number[owner]
    owner, step = owner[mine], step[mine]
    block, kernel = np.divmod(step, kernels)
    start = (shares.weight_line(owner, block) * kernels + kernel) * shares.weight_block
    graph.setTileMappingIntervals(weights, start, start + shares.weight_block, shares.tiles[owner])


def partials_variable(graph: Graph, shares: Shares, name: DebugInfo, label: str) -> Tensor:
    """The [in split, conv groups, out groups, field, block] partial sums, mapped to the tiles that compute them."""
    plan = shares.plan
    shape = [plan.in_split, plan.conv_groups, plan.out_groups, plan.field, shares.block]
    partials = graph.addVariable(partials_type(shares), shape, (name, label))
    tile, starts, sizes, _ = output_runs(shares)
    graph.setTileMappingIntervals(partials, starts, starts + sizes, shares.tiles[tile])
    return partials


def output_runs(shares: Shares) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """(tile, places, sizes, offsets): the runs of partial sums that each tile writes, one or more per convolution group
    and output group."""
    plan = shares.plan
    first, begin, size = shares.runs
    runs = np.diff(first)
    tile, step, offsets = nested(shares.group.size * shares.out.size * runs)
    block, run = np.divmod(step, runs[tile])
    group, out = np.divmod(block, shares.out.size[tile])
    line = shares.inp.number[tile] * plan.conv_groups + shares.group.begin[tile] + group
    line = line * plan.out_groups + shares.out.begin[tile] + out
    at = first[tile] + run
    return tile, (line * plan.field + begin[at]) * shares.block, size[at] * shares.block, offsets


def add_convolve(
    graph: Graph, shares: Shares, acts: Tensor, weights: Tensor, partials: Tensor, name: DebugInfo, wide_load: bool
) -> ComputeSet:
    """Add the compute set. `acts` [conv groups, in groups, field, group, side], or `spread_inputs` of it, is one
    variable; `weights` is a [conv groups, out groups, in groups, units, group, side] view of any layout."""
    cs = graph.addComputeSet((name, "Convolve"))
    if shares.plan.method.name == "OUTER_PRODUCT":
        _add_outer_products(graph, cs, shares, acts, weights, partials)
        return cs
    _, starts, sizes, offsets = output_runs(shares)
    edges = {
        "in": _input_edges(shares, acts),
        "weights": _weight_edges(graph, shares, weights),
        "out": rows_edges(_base(partials) + starts, sizes, offsets),
        "worklists": _worklists(graph, shares, name),
    }
    method = shares.plan.method
    values = {
        "numConvGroupsM1": shares.group.size - 1,
        "numOutGroupsM1": shares.out.size - 1,
        "numInGroups": shares.inp.size,
        "transformedInStride": shares.input_block,
        "outChansPerGroup": method.out_group,
        "transformedOutStride": shares.block,
    }
    type_ = convolve_vertex(method, shares.plan.params.dtype, wide_load)
    graph.addVertices(cs, type_, shares.tiles, edges, values)
    return cs


def _base(tensor: Tensor) -> int:
    return int(tensor.regions()[0][0])


def _input_edges(shares: Shares, acts: Tensor) -> FieldEdges:
    size = shares.input_block
    tile, step, offsets = nested(shares.group.size * shares.inp.size)
    begin = (shares.input_line(tile, step) * shares.plan.field + shares.field.begin[tile]) * size
    return _vectors(acts, _own_copy(shares, acts, tile) + begin, shares.field.size[tile] * size, offsets)


def _own_copy(shares: Shares, acts: Tensor, tile: Int64Array) -> Int64Array:
    """Where the activations that each tile reads begin in `acts`: 0, or its own copy in `spread_inputs`."""
    if acts.rank() == len(_ONE_COPY):
        return np.zeros_like(tile)
    return shares.out.number[tile] * (acts.numElements() // acts.dim(0))


def spread_inputs(graph: Graph, shares: Shares, acts: Tensor, name: DebugInfo) -> Tensor:
    """A new [out split, *acts] variable: a copy of the activations for the tiles of each output share, where they are
    read."""
    plan = shares.plan
    out = graph.addVariable(acts.elementType(), [plan.out_split, *acts.shape()], (name, "actsBroadcast"))
    tile, step, _ = nested(shares.group.size * shares.inp.size)
    line = shares.out.number[tile] * plan.conv_groups * plan.in_groups + shares.input_line(tile, step)
    begin = (line * plan.field + shares.field.begin[tile]) * shares.input_block
    end = begin + shares.field.size[tile] * shares.input_block
    graph.setTileMappingIntervals(out, begin, end, shares.tiles[tile])
    return out


def _vectors(source: Tensor, begins: Int64Array, sizes: Int64Array, offsets: Int64Array) -> FieldEdges:
    """Inner vectors that are ranges of the flattened `source`, whatever its layout in memory."""
    starts, lengths = source.flatten().regions()
    if len(starts) == 1:
        return rows_edges(int(starts[0]) + begins, sizes, offsets)
    pieces, widths, vector = regions.cuts(starts, lengths, begins, begins + sizes)
    return rows_edges(pieces, widths, offsets, _starts_of(vector, len(begins)))


def _starts_of(rows: Int64Array, count: int) -> Int64Array:
    return np.searchsorted(rows, np.arange(count + 1), side="left").astype(np.int64)


def _weight_edges(graph: Graph, shares: Shares, weights: Tensor) -> FieldEdges:
    """One vector per tile, convolution group, output group and input group."""
    size = shares.weight_block
    tile, step, offsets = nested(shares.group.size * shares.out.size * shares.inp.size)
    begins = shares.weight_line(tile, step) * size
    return _vectors(weights, begins, np.full(len(begins), size, np.int64), offsets)


def worker_cuts(rows: Int64Array) -> Int64Array:
    """[tiles, 7]: where the positions of each worker begin and end, in equal parts rounded down."""
    return np.asarray(np.arange(WORKERS + 1) * rows[:, None] // WORKERS)


def _worklists(graph: Graph, shares: Shares, name: DebugInfo) -> FieldEdges:
    """The constant that lists the positions of each worker of each tile."""
    per_worker = _WORKLIST_ENTRIES * WORKERS
    cuts = worker_cuts(shares.field.size)
    width = shares.input_block
    lists = np.stack([cuts[:, :-1] * shares.block, np.diff(cuts, axis=1), cuts[:, :-1] * width], axis=2) & 0xFFFF
    n = len(shares.tiles)
    worklists = graph.addConstant(UNSIGNED_SHORT, [n, per_worker], lists.astype(np.uint16), (name, "worklists"))
    begins = np.arange(n, dtype=np.int64) * per_worker
    graph.setTileMappingIntervals(worklists, begins, begins + per_worker, shares.tiles)
    return vector_edges(_base(worklists) + begins, np.full(n, per_worker, np.int64))


def _add_outer_products(
    graph: Graph, cs: ComputeSet, shares: Shares, acts: Tensor, weights: Tensor, partials: Tensor
) -> None:
    """Add one vertex per tile, convolution group and worker that has positions."""
    plan, units = shares.plan, shares.plan.method.out_group
    cuts = worker_cuts(shares.field.size)
    tile, worker = np.nonzero(np.diff(cuts, axis=1))
    part, step, _ = nested(shares.group.size[tile])
    tile, worker, group = tile[part], worker[part], shares.group.begin[tile[part]] + step
    low, high = cuts[tile, worker], cuts[tile, worker + 1]
    begin = shares.field.begin[tile] + low
    source = acts.flatten().regions()
    at = _own_copy(shares, acts, tile) + group * plan.field + begin
    starts, lengths, row = regions.cuts(*source, at, at + high - low)
    acts_edges = vector_edges(starts, lengths, _starts_of(row, len(tile)))
    first = (group * plan.out_groups + shares.out.begin[tile]) * units
    source = weights.flatten().regions()
    starts, lengths, row = regions.cuts(*source, first, first + shares.out.size[tile] * units)
    weight_edges = vector_edges(starts, lengths, _starts_of(row, len(tile)))
    vertex, out, offsets = nested(shares.out.size[tile])
    line = group[vertex] * plan.out_groups + shares.out.begin[tile[vertex]] + out
    places = (line * plan.field + begin[vertex]) * units
    sizes = (high - low)[vertex] * units
    edges = {"in": acts_edges, "weights": weight_edges, "out": rows_edges(_base(partials) + places, sizes, offsets)}
    type_ = outer_product_vertex(plan.params.dtype)
    graph.addVertices(cs, type_, shares.tiles[tile], edges, {"chansPerGroup": units})
