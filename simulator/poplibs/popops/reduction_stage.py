"""One stage of a reduction: a [outputs, terms] tensor becomes [outputs, groups], or [outputs] for one group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import reduction as cycles
from simulator.machine.cycles.described import described
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplar import regions
from simulator.poplar.debug_context import DebugInfo
from simulator.poplar.graph import Graph
from simulator.poplar.graph_objects import ComputeSet
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import Type
from simulator.poplibs.pieces import aligned_runs, mapping_of, rows_edges, vector_edges
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.poputil import mapTensorLinearly
from simulator.poplibs.type_names import grain, short_name

I8 = npt.NDArray[np.int64]

_TEMPLATE = {
    "ADD": "ReduceAdd",
    "SQUARE_ADD": "ReduceSquareAdd",
    "MUL": "ReduceMul",
    "MIN": "ReduceMin",
    "MAX": "ReduceMax",
    "LOGICAL_AND": "ReduceAnd",
    "LOGICAL_OR": "ReduceOr",
}


def add_stage(
    graph: Graph, matrix: Tensor, groups: int, type_: Type, op: str, name: tuple[DebugInfo, str]
) -> tuple[ComputeSet, Tensor]:
    """Add the compute set of one stage and its output variable.

    Returns (compute set, [outputs] for one group, else [outputs, groups])."""
    outputs, terms = matrix.shape()
    fan = -(-terms // groups)
    groups = -(-terms // fan)
    cs = graph.addComputeSet(name)
    out = graph.addVariable(
        type_, [groups, outputs], (name[0], f"{name[1]}/{'reduced' if groups == 1 else 'partials'}")
    )
    if _runs_of_outputs(matrix):
        mapTensorLinearly(graph, out)
        _strided_vertices(graph, cs, matrix, out, fan, op)
    else:
        _map_to_terms(graph, matrix, out, fan)
        _continuous_vertices(graph, cs, matrix, out, fan, op)
    return cs, out.flatten() if groups == 1 else out.transpose()


def _runs_of_outputs(matrix: Tensor) -> bool:
    """Whether neighbouring outputs are neighbours in memory (rather than the terms of one output)."""
    outputs, terms = matrix.shape()
    if terms == 1:
        return True
    row = len(matrix.slice(0, 1, 0).regions()[0])
    column = len(matrix.slice(0, 1, 1).regions()[0])
    return row / terms >= column / outputs if outputs > 1 else False


def _strided_vertices(graph: Graph, cs: ComputeSet, matrix: Tensor, out: Tensor, fan: int, op: str) -> None:
    """Vertices over runs of outputs; each term of a run of outputs is one region (or more) of the input."""
    outputs, terms = matrix.shape()
    starts, lengths, tiles = _shares(graph, out)
    place = starts - int(out.regions()[0][0])
    group, first = place // outputs, place % outputs
    count = np.minimum((group + 1) * fan, terms) - group * fan
    rows = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    vertex = np.repeat(np.arange(len(starts)), count)
    term = np.arange(len(vertex)) - rows[vertex] + (group * fan)[vertex]
    begins = term * outputs + first[vertex]
    by_term = matrix.transpose().flatten()
    r_starts, r_lengths, of = regions.cuts(*by_term.regions(), begins, begins + lengths[vertex])
    pieces = np.searchsorted(of, np.arange(len(vertex) + 1), side="left").astype(np.int64)
    type_ = _vertex(op, short_name(matrix.elementType()), short_name(out.elementType()), True)
    edges = {"out": vector_edges(starts, lengths), "partials": rows_edges(r_starts, r_lengths, rows, pieces)}
    graph.addVertices(cs, type_, tiles, edges)


def _shares(graph: Graph, out: Tensor) -> tuple[I8, I8, I8]:
    """The output's runs on each tile, cut into up to six shares of whole vectors and never across two groups:
    (starts, lengths, tiles)."""
    groups = out.dim(0)
    runs = [aligned_runs(graph.store, out.slice(g, g + 1, 0), []) for g in range(groups)]
    starts = np.concatenate([r.starts for r in runs])
    lengths = np.concatenate([r.lengths for r in runs])
    tiles = np.concatenate([r.tiles for r in runs])
    unit = grain(out.elementType())
    share = np.maximum(-(-lengths // (WORKERS * unit)) * unit, unit)
    count = -(-lengths // share)
    owner = np.repeat(np.arange(len(starts)), count)
    ordinal = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    begin = ordinal * share[owner]
    size = np.minimum(share[owner], lengths[owner] - begin)
    return starts[owner] + begin, size, graph._graph_tiles(tiles[owner])


def _map_to_terms(graph: Graph, matrix: Tensor, out: Tensor, fan: int) -> None:
    """Map each output of each group to the tile of the group's first term of it."""
    groups, outputs = out.shape()
    first = [matrix.slice(g * fan, g * fan + 1, 1).flatten() for g in range(groups)]
    elements = np.concatenate([regions.elements(*t.regions()) for t in first])
    ends, tiles = mapping_of(graph.store, matrix)
    on = graph._graph_tiles(np.asarray(tiles[np.searchsorted(ends, elements, side="right")], dtype=np.int64))
    begins = np.arange(groups * outputs, dtype=np.int64)
    graph.setTileMappingIntervals(out, begins, begins + 1, on)


def _continuous_vertices(graph: Graph, cs: ComputeSet, matrix: Tensor, out: Tensor, fan: int, op: str) -> None:
    """One vertex per output and group, its terms one vector."""
    outputs, terms = matrix.shape()
    groups = out.dim(0)
    place = np.arange(groups * outputs, dtype=np.int64)
    group, output = place // outputs, place % outputs
    begins = output * terms + group * fan
    ends = output * terms + np.minimum((group + 1) * fan, terms)
    starts, lengths, of = regions.cuts(*matrix.flatten().regions(), begins, ends)
    offsets = np.searchsorted(of, np.arange(len(place) + 1), side="left").astype(np.int64)
    ends_of_tiles, tiles = mapping_of(graph.store, out)
    elements = place + int(out.regions()[0][0])
    on = graph._graph_tiles(np.asarray(tiles[np.searchsorted(ends_of_tiles, elements, side="right")], dtype=np.int64))
    type_ = _vertex(op, short_name(matrix.elementType()), short_name(out.elementType()), False)
    edges = {"out": vector_edges(elements, np.ones_like(elements)), "partials": vector_edges(starts, lengths, offsets)}
    graph.addVertices(cs, type_, on, edges)


@lru_cache(maxsize=256)
def _vertex(op: str, dtype: str, out_dtype: str, strided: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        source = described("7.4", cycles.strided if strided else cycles.single_output)
        if strided:
            terms = elements["partials"] // np.maximum(elements["out"], 1)
            spent = cycles.strided(op, dtype, elements["out"], terms, out_dtype=out_dtype)
        else:
            spent = cycles.single_output(op, dtype, elements["partials"], out_dtype)
        count = flop_counts.reduction(op, elements["out"], elements["partials"])
        return BlockCosts(spent, "exact", source, flop_counts.typed(count, dtype))

    def compute(vertex: Any) -> None:
        from simulator.poplibs.popops.reduction import reduced

        partials = np.stack(vertex.partials) if strided else np.asarray(vertex.partials)
        result = reduced(op, wide(partials), 0)
        store(vertex.out, result if strided else result.reshape(1))

    name = "StridedReduce" if strided else "ContinuousReduce"
    fields = (
        FieldSpec("out", "vector", "out", None, "short_span", 8),
        FieldSpec("partials", "vectors" if strided else "vector", "in", None, "short_span", 8),
    )
    template = f"<popops::{_TEMPLATE[op]},{dtype},{out_dtype},false>"
    return VertexType(f"popops::{name}{template}", "worker", fields, costs, compute, doc=f"{op} of partials")
