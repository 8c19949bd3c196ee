"""The Convolve step of a product: one AMP vertex per tile, its operands and its partial sums."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine.cycles.convolution import amp_1x1, amp_launch, amp_worker
from simulator.machine.cycles.described import described
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplar import regions
from simulator.poplar.debug_context import DebugInfo
from simulator.poplar.graph import Graph
from simulator.poplar.graph_objects import ComputeSet
from simulator.poplar.store import FieldEdges, VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import UNSIGNED_SHORT, Type
from simulator.poplibs.pieces import rows_edges, vector_edges
from simulator.poplibs.poplin import rearrange
from simulator.poplibs.poplin.shares import Shares, nested
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.type_names import short_name

I8 = npt.NDArray[np.int64]

#: entries of one worker in the worklist: output offset, positions, input offset (16 bits each)
_WORKLIST_ENTRIES = 3


def map_inputs(graph: Graph, acts: Tensor, shares: Shares) -> None:
    """Spread [in groups, field, group] activations over the tiles that use them: each block of (input groups,
    positions) evenly over the tiles of all output shares."""
    plan = shares.plan
    group = plan.in_group
    begins, ends, tiles = [], [], []
    for first in range(0, plan.tiles, plan.out_split):
        rows = int(shares.rows[first])
        in_groups = int(shares.in_end[first] - shares.in_begin[first])
        total = rows * in_groups
        cuts = np.union1d(np.arange(in_groups + 1) * rows, np.arange(plan.out_split + 1) * total // plan.out_split)
        low, high = cuts[:-1], cuts[1:]
        line, position = np.divmod(low, rows)
        start = ((shares.in_begin[first] + line) * plan.field + shares.field_begin[first] + position) * group
        begins.append(start)
        ends.append(start + (high - low) * group)
        shared = np.arange(plan.out_split + 1) * total // plan.out_split
        tiles.append(first + np.searchsorted(shared, low, side="right") - 1)
    graph.setTileMappingIntervals(acts, np.concatenate(begins), np.concatenate(ends), np.concatenate(tiles))


def map_weights(graph: Graph, weights: Tensor, shares: Shares) -> None:
    """Spread [out groups, in groups, units, group] weights over the tiles that use them: each tile of a field split
    holds an equal part of the weights that all of them read."""
    plan = shares.plan
    size = plan.units * plan.in_group
    tiles = shares.tiles
    counts = (shares.out_end - shares.out_begin) * (shares.in_end - shares.in_begin)
    owner, step, _ = nested(counts)
    # Of the tiles with equal in and out shares, the one whose turn it is holds this block.
    mine = step % plan.field_split == shares.field_index[owner]
    owner, step = owner[mine], step[mine]
    out, inp = np.divmod(step, (shares.in_end - shares.in_begin)[owner])
    start = ((shares.out_begin[owner] + out) * shares.in_groups + shares.in_begin[owner] + inp) * size
    graph.setTileMappingIntervals(weights, start, start + size, tiles[owner])


def partials_variable(graph: Graph, shares: Shares, type_: Type, name: DebugInfo) -> Tensor:
    """The [in split, out groups, field, units] partial sums, each run on the tile that computes it."""
    plan = shares.plan
    shape = [plan.in_split, shares.out_groups, plan.field, plan.units]
    partials = graph.addVariable(type_, shape, (name, "partials" if plan.in_split > 1 else "partialReduceOut"))
    starts, sizes, _ = _output_runs(shares)
    owner, _, _ = nested(shares.out_end - shares.out_begin)
    graph.setTileMappingIntervals(partials, starts, starts + sizes, shares.tiles[owner])
    return partials


def _output_runs(shares: Shares) -> tuple[I8, I8, I8]:
    """(places, sizes, offsets): the runs of the partials variable that each tile writes, one per output group."""
    plan = shares.plan
    tile, step, offsets = nested(shares.out_end - shares.out_begin)
    group = shares.in_index[tile] * shares.out_groups + shares.out_begin[tile] + step
    starts = (group * plan.field + shares.field_begin[tile]) * plan.units
    return starts, shares.rows[tile] * plan.units, offsets


def add_convolve(
    graph: Graph, shares: Shares, acts: Tensor, weights: Tensor, partials: Tensor, name: DebugInfo
) -> ComputeSet:
    """Add the compute set. `acts` is [in groups, field, group]; `weights` a [out channels, in channels] view,
    whatever its layout, padded to whole groups or not."""
    cs = graph.addComputeSet((name, "Convolve"))
    starts, sizes, offsets = _output_runs(shares)
    base = int(partials.regions()[0][0])
    edges = {
        "in": _input_edges(shares, int(acts.regions()[0][0])),
        "weights": _weight_edges(graph, shares, weights),
        "out": rows_edges(base + starts, sizes, offsets),
        "worklists": _worklists(graph, shares, name),
    }
    values = {
        "numInGroups": shares.in_end - shares.in_begin,
        "numOutGroups": shares.out_end - shares.out_begin,
        "numRows": shares.rows,
    }
    type_ = convolve_vertex(acts.elementType(), partials.elementType(), shares.plan.units)
    graph.addVertices(cs, type_, shares.tiles, edges, values)
    return cs


def _input_edges(shares: Shares, base: int) -> FieldEdges:
    plan = shares.plan
    tile, step, offsets = nested(shares.in_end - shares.in_begin)
    start = ((shares.in_begin[tile] + step) * plan.field + shares.field_begin[tile]) * plan.in_group
    return rows_edges(base + start, shares.rows[tile] * plan.in_group, offsets)


def _weight_edges(graph: Graph, shares: Shares, weights: Tensor) -> FieldEdges:
    """Per tile, output group and input group one vector of units x group elements, in that order of memory. What the
    operand is short of whole groups is read from a constant of zeros."""
    plan = shares.plan
    group, units = plan.in_group, plan.units
    inputs = shares.in_end - shares.in_begin
    tile, step, offsets = nested((shares.out_end - shares.out_begin) * inputs)
    out, inp = np.divmod(step, inputs[tile])
    out, inp = out + shares.out_begin[tile], inp + shares.in_begin[tile]
    channels, width = weights.shape()
    row = (out[:, None] * units + np.arange(units)).reshape(-1)
    column = np.repeat(inp * group, units)
    real = np.where(row < channels, np.clip(width - column, 0, group), 0)
    begins = np.minimum(row, channels - 1) * width + np.minimum(column, width)
    starts, lengths, line = regions.cuts(*weights.flatten().regions(), begins, begins + real)
    short = np.flatnonzero(real < group)
    if len(short):
        zeros = int(rearrange.zeros(graph, weights.elementType(), group).regions()[0][0])
        order = np.argsort(np.concatenate([line, short]), kind="stable")
        starts = np.concatenate([starts, np.full(len(short), zeros, np.int64)])[order]
        lengths = np.concatenate([lengths, group - real[short]])[order]
        line = np.concatenate([line, short])[order]
    vector = line // units
    fresh = np.ones(len(starts), dtype=np.bool_)
    variable = graph.store.variable_of(starts)  # variables that follow each other do not touch
    fresh[1:] = (starts[1:] != (starts + lengths)[:-1]) | (vector[1:] != vector[:-1]) | (variable[1:] != variable[:-1])
    first = np.flatnonzero(fresh)
    inner = np.searchsorted(vector[first], np.arange(len(tile) + 1), side="left").astype(np.int64)
    return rows_edges(starts[first], np.add.reduceat(lengths, first), offsets, inner)


def _worklists(graph: Graph, shares: Shares, name: DebugInfo) -> FieldEdges:
    """The constant that tells each worker of each tile its positions."""
    per_worker = _WORKLIST_ENTRIES * WORKERS
    share = -(-shares.rows // WORKERS)
    begin = np.minimum(np.arange(WORKERS) * share[:, None], shares.rows[:, None])
    count = np.minimum(begin + share[:, None], shares.rows[:, None]) - begin
    lists = np.stack([begin * shares.plan.units, count, begin * shares.plan.in_group], axis=2) & 0xFFFF
    n = len(shares.tiles)
    worklists = graph.addConstant(UNSIGNED_SHORT, [n, per_worker], lists.astype(np.uint16), (name, "worklists"))
    begins = np.arange(n, dtype=np.int64) * per_worker
    graph.setTileMappingIntervals(worklists, begins, begins + per_worker, shares.tiles)
    return vector_edges(int(worklists.regions()[0][0]) + begins, np.full(n, per_worker, np.int64))


@lru_cache(maxsize=32)
def convolve_vertex(input_type: Type, partials_type: Type, units: int) -> VertexType:
    """The AMP vertex of a 1x1 convolution. Sums in float32, rounded once per output."""
    dtype, partials = short_name(input_type), short_name(partials_type)

    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        inputs, outputs, rows = (block.values[k] for k in ("numInGroups", "numOutGroups", "numRows"))
        cycles = amp_1x1(dtype, rows, inputs, outputs, units=units, partials=partials)
        flops = 2 * elements["in"] * outputs * units
        source = described("7.5", amp_1x1, amp_worker)
        launch = np.broadcast_to(amp_launch(rows), cycles.shape)
        return BlockCosts(cycles, "exact", source, flops, launch)

    def compute(vertex: Any) -> None:
        inputs = int(vertex.numInGroups)
        acts = [wide(np.asarray(a)).reshape(int(vertex.numRows), -1) for a in getattr(vertex, "in")]
        for group, out in enumerate(vertex.out):
            kernels = vertex.weights[group * inputs : (group + 1) * inputs]
            total = sum(a @ wide(np.asarray(w)).reshape(units, -1).T for a, w in zip(acts, kernels, strict=True))
            store(out, np.asarray(total).reshape(-1))

    fields = (
        FieldSpec("in", "vectors", "in", None, "one_ptr", 8),
        FieldSpec("weights", "vectors", "in", None, "one_ptr", 16),
        FieldSpec("out", "vectors", "out", None, "one_ptr", 16, interleaved=True),
        FieldSpec("worklists", "vector", "in", None, "scaled_ptr32", 4),
        FieldSpec("numInGroups", "value", "", UNSIGNED_SHORT),
        FieldSpec("numOutGroups", "value", "", UNSIGNED_SHORT),
        FieldSpec("numRows", "value", "", UNSIGNED_SHORT),
    )
    name = f"poplin::ConvPartial1x1Out<{dtype},{partials},true,false,{units},4,false>"
    return VertexType(name, "supervisor", fields, costs, compute, doc="partial sums of a product")
