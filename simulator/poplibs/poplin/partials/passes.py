"""Convolve and Reduce, once or in serial passes over slices of the channels.

Serial passes serve products too large for the memory allowed. In passes over output channels each trip of the loop
takes a slice of the weights (DynamicSlice), multiplies, and writes its result in place (DynamicUpdate); activations,
which all trips read, are broadcast to the tiles before the loop. In passes over input channels each trip slices
activations and weights and adds its result to the sum; a cast follows the loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import UNSIGNED_INT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Copy, Execute, Program, Repeat, Sequence, WriteUndef
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles.described import described
from simulator.machine.cycles.slices import CIRCULAR_BUFFER_INDEX, dynamic_slice_1d
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.poplin.partials import convolve
from simulator.poplibs.poplin.partials.reduce_partials import Reduction, add_reduce
from simulator.poplibs.poplin.partials.shares import Shares
from simulator.poplibs.poplin.planning.options import MatMulOptions
from simulator.poplibs.popops import addInPlace
from simulator.poplibs.popops.casting import castWithOutput
from simulator.poplibs.popops.filling import zero
from simulator.poplibs.type_names import short_name


def add_passes(
    graph: Graph, shares: Shares, acts: Tensor, weights: Tensor, type_: Type, name: DebugInfo, options: MatMulOptions
) -> tuple[list[Program], Tensor]:
    """The programs of all passes, and their [conv groups, all out groups, field, block] result. `acts` is [in passes,
    ...], `weights` [in passes, out passes, ...]."""
    plan = shares.plan
    index = _counter(graph, name)
    body = Sequence()
    over_inputs = plan.in_passes > 1
    before = Sequence()
    if over_inputs:
        own_acts = _add_slice(graph, body, acts, index, name, "actsSlice")
    else:
        own_acts = _add_broadcast(graph, before, shares, acts.squeeze([0]), name)
    stacked = weights.reshape([plan.passes, *weights.shape()[2:]])
    own_weights = _add_slice(graph, body, stacked, index, name, "weightsSlice")
    kept_type = convolve.partials_type(shares) if over_inputs else type_
    programs, result = add_pass(graph, shares, own_acts, own_weights, kept_type, name, options)
    for program in programs:
        body.add(program)
    start: list[Program] = [*before.programs, Copy(_constant(graph, name), index, False, name)]
    if over_inputs:
        total = _stack_like(graph, result, kept_type, [], name, "sum")
        zeroed = Sequence()
        zero(graph, total, zeroed, name)
        start += zeroed.programs
        addInPlace(graph, total, result, body, (name, "addInPlace"))
    else:
        total = _stack_like(graph, result, type_, [plan.out_passes], name, "out")
        start.append(WriteUndef(total))
        _add_update(graph, body, total, result, index, name)
    _add_count(graph, body, index, plan.passes, name)
    programs = [*start, Repeat(plan.passes, body)]
    return _cast_sum(graph, programs, total, type_, name, over_inputs)


def _cast_sum(
    graph: Graph, programs: list[Program], total: Tensor, type_: Type, name: DebugInfo, over_inputs: bool
) -> tuple[list[Program], Tensor]:
    if not over_inputs:
        passes, blocks, groups, field, block = total.shape()
        return programs, total.dimShuffle([1, 0, 2, 3, 4]).reshape([blocks, passes * groups, field, block])
    if total.elementType() is type_:
        return programs, total
    out = _stack_like(graph, total, type_, [], name, "out")
    cast = Sequence()
    castWithOutput(graph, total, out, cast, name)
    return [*programs, *cast.programs], out


def _counter(graph: Graph, name: DebugInfo) -> Tensor:
    index = graph.addVariable(UNSIGNED_INT, [1], (name, "loopIndex"))
    graph.setTileMapping(index, 0)
    return index


def _constant(graph: Graph, name: DebugInfo) -> Tensor:
    first = graph.addConstant(UNSIGNED_INT, [1], 0, (name, "firstPass"))
    graph.setTileMapping(first, 0)
    return first


def _stack_like(graph: Graph, model: Tensor, type_: Type, outer: list[int], name: DebugInfo, label: str) -> Tensor:
    """A variable of shape outer + the model's; each slice is mapped like the model, which is one run of memory."""
    out = graph.addVariable(type_, [*outer, *model.shape()], (name, label))
    begins, ends, tiles = graph.getTileMappingIntervals(model)
    numel = model.numElements()
    for number in range(out.numElements() // numel):
        graph.setTileMappingIntervals(out, number * numel + begins, number * numel + ends, tiles)
    return out


def _add_broadcast(graph: Graph, before: Sequence, shares: Shares, acts: Tensor, name: DebugInfo) -> Tensor:
    """Add the copy that gives each output share its own activations; returns what the vertices read."""
    parts = shares.plan.out_split
    if parts == 1:
        return acts
    everywhere = convolve.spread_inputs(graph, shares, acts, name)
    before.add(WriteUndef(everywhere, name))
    before.add(Copy(acts.expand([0]).broadcast(parts, 0), everywhere, False, (name, "broadcastActs")))
    return everywhere


def _add_slice(graph: Graph, body: Sequence, stacked: Tensor, index: Tensor, name: DebugInfo, label: str) -> Tensor:
    """Add the step that takes slice `index` of [passes, ...]; returns the slice."""
    part = _stack_like(graph, stacked[0], stacked.elementType(), [], name, label)
    cs = graph.addComputeSet((name, f"{label}/dynamicSlice"))
    _slice_vertices(graph, cs, stacked, part, index, update=False)
    body.add(Execute(cs))
    return part


def _add_update(graph: Graph, body: Sequence, stacked: Tensor, part: Tensor, index: Tensor, name: DebugInfo) -> None:
    """Add the step that writes slice `index` of [passes, ...]."""
    cs = graph.addComputeSet((name, "out/dynamicUpdateSlice"))
    _slice_vertices(graph, cs, stacked, part, index, update=True)
    body.add(Execute(cs))


def _slice_vertices(graph: Graph, cs: Any, stacked: Tensor, part: Tensor, index: Tensor, update: bool) -> None:
    """One vertex per tile that holds a part of the slice. All slices have the same mapping."""
    begins, ends, tiles = graph.getTileMappingIntervals(part)
    order = np.lexsort((begins, tiles))
    begins, ends, tiles = begins[order], ends[order], tiles[order]
    used, first = np.unique(tiles, return_index=True)
    offsets = np.append(first, len(tiles)).astype(np.int64)
    passes, numel = stacked.dim(0), part.numElements()
    edges = {
        "offset": vector_edges(np.full(len(used), int(index.regions()[0][0])), np.ones(len(used), np.int64)),
        "subT": _edges_of(part, begins, ends, offsets),
    }
    # The stack holds the runs of a tile in its first slice, then those in its second, and so on.
    runs = np.diff(offsets)
    vertex = np.repeat(np.arange(len(used)), runs * passes)
    inner = np.arange(len(vertex)) - np.repeat(np.cumsum(runs * passes) - runs * passes, runs * passes)
    number, run = np.divmod(inner, runs[vertex])
    row = offsets[:-1][vertex] + run
    edges["baseT"] = _edges_of(stacked, number * numel + begins[row], number * numel + ends[row], offsets * passes)
    size = np.add.reduceat(ends - begins, offsets[:-1])
    type_ = _slice_vertex(short_name(part.elementType()), update)
    values = {"numBaseElements": passes, "numSubElements": 1, "regionSize": size}
    graph.addVertices(cs, type_, used, edges, values)


def _edges_of(tensor: Tensor, begins: Int64Array, ends: Int64Array, offsets: Int64Array) -> Any:
    starts, lengths, owner = regions.cuts(*tensor.flatten().regions(), begins, ends)
    of_vertex = np.searchsorted(offsets, np.arange(len(begins)), side="right") - 1
    rows = np.searchsorted(of_vertex[owner], np.arange(len(offsets)), side="left").astype(np.int64)
    return vector_edges(starts, lengths, rows)


def _add_count(graph: Graph, body: Sequence, index: Tensor, passes: int, name: DebugInfo) -> None:
    """Add the step that counts the passes."""
    cs = graph.addComputeSet((name, "loopIndex/increment"))
    edges = {"index": vector_edges(index.regions()[0], np.ones(1, np.int64))}
    graph.addVertices(cs, _count_vertex(), np.zeros(1, np.int64), edges, {"hRange": passes})
    body.add(Execute(cs))


@lru_cache(maxsize=8)
def _slice_vertex(dtype: str, update: bool) -> VertexType:
    """Copies the slice of `baseT` that `offset` names to `subT`, or back."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        cycles = dynamic_slice_1d(dtype, elements["subT"], 1)
        return BlockCosts(cycles, "exact", described("7.3", dynamic_slice_1d), np.zeros_like(cycles))

    def compute(vertex: Any) -> None:
        slices = np.asarray(vertex.baseT).reshape(int(vertex.numBaseElements), -1)
        chosen = int(np.asarray(vertex.offset).reshape(-1)[0])
        if update:
            slices[chosen] = vertex.subT
            vertex.baseT[...] = slices.reshape(-1)
        else:
            vertex.subT[...] = slices[chosen]

    fields = (
        FieldSpec("offset", "vector", "in", None, "one_ptr", 4),
        FieldSpec("baseT", "vector", "inout" if update else "in", None, "one_ptr", 8),
        FieldSpec("subT", "vector", "in" if update else "out", None, "one_ptr", 8),
        FieldSpec("numBaseElements", "value", "", UNSIGNED_INT),
        FieldSpec("numSubElements", "value", "", UNSIGNED_INT),
        FieldSpec("regionSize", "value", "", UNSIGNED_INT),
    )
    name = f"popops::Dynamic{'UpdateSlice' if update else 'Slice'}1D<{dtype}>"
    return VertexType(name, "multi", fields, costs, compute, doc="one slice of a tensor")


@lru_cache(maxsize=1)
def _count_vertex() -> VertexType:
    """index = (index + 1) modulo hRange."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        cycles = np.full(len(block), CIRCULAR_BUFFER_INDEX, np.int64)
        source = "8 thread cycles: CircBufIncrIndex, published-numbers 7.3"
        return BlockCosts(cycles, "exact", source, np.zeros_like(cycles))

    def compute(vertex: Any) -> None:
        vertex.index[...] = (np.asarray(vertex.index) + 1) % int(vertex.hRange)

    fields = (FieldSpec("index", "vector", "inout", None, "one_ptr", 4), FieldSpec("hRange", "value", "", UNSIGNED_INT))
    return VertexType("popops::CircBufIncrIndex", "worker", fields, costs, compute, doc="counts passes")


def add_pass(
    graph: Graph, shares: Shares, acts: Tensor, weights: Tensor, type_: Type, name: DebugInfo, options: MatMulOptions
) -> tuple[list[Program], Tensor]:
    """The programs of Convolve and Reduce of one pass, and its [conv groups, out groups, field, block] result."""
    alone = shares.plan.in_split == 1 and convolve.partials_type(shares) is type_
    partials = convolve.partials_variable(graph, shares, name, "partialReduceOut" if alone else "partials")
    cs = convolve.add_convolve(graph, shares, acts, weights, partials, name, options.wide_weight_load)
    graph.store.compute_set_terms[cs.id] = shares.plan.cost_terms()
    how = Reduction(options.multi_stage_reduce, options.fast_reduce)
    added, out = add_reduce(graph, shares, partials, type_, name, how)
    return [Execute(cs), *added], out
