"""The Reduce0 step of a product: the tiles that hold the partial sums of the same outputs add them, each its part."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine.cycles.reduction import strided
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplar.graph import Graph
from simulator.poplar.graph_objects import ComputeSet
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import UNSIGNED_SHORT, Type
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.poplin.shares import Shares, nested
from simulator.poplibs.type_names import short_name

I8 = npt.NDArray[np.int64]


def add_reduce(graph: Graph, shares: Shares, partials: Tensor, type_: Type, name: str) -> tuple[ComputeSet, Tensor]:
    """Add the compute set and its [out groups, field, units] result, which lies where it is added."""
    plan = shares.plan
    out = graph.addVariable(type_, [shares.out_groups, plan.field, plan.units], f"{name}/partialReduceOut")
    places, sizes, tiles = _parts(shares)
    graph.setTileMappingIntervals(out, places, places + sizes, tiles)
    share = -(-sizes // (WORKERS * plan.units)) * plan.units
    vertex, step, _ = nested(-(-sizes // share))
    share = share[vertex]
    begins = places[vertex] + step * share
    count = np.minimum(share, sizes[vertex] - step * share)
    cs = graph.addComputeSet(f"{name}/Reduce0")
    terms, own = _terms(shares, begins, tiles[vertex], int(partials.regions()[0][0]), out.numElements())
    others = np.arange(len(begins) + 1, dtype=np.int64) * (plan.in_split - 1)
    edges = {
        "out": vector_edges(int(out.regions()[0][0]) + begins, count),
        "initialPartial": vector_edges(own, count),
        "partials": vector_edges(terms, np.repeat(count, plan.in_split - 1), others),
    }
    type_pair = reduce_vertex(partials.elementType(), type_)
    graph.addVertices(cs, type_pair, tiles[vertex], edges, {"numPartials": plan.in_split - 1})
    return cs, out


def _terms(shares: Shares, begins: I8, tiles: I8, base: int, size: int) -> tuple[I8, I8]:
    """(elements of the other tiles' terms, vertex by vertex; element of the term that the vertex's own tile holds)."""
    splits = np.arange(shares.plan.in_split, dtype=np.int64)
    mine = shares.in_index[tiles]
    every = base + begins[:, None] + splits * size
    return every[splits != mine[:, None]], every[np.arange(len(begins)), mine]


def _parts(shares: Shares) -> tuple[I8, I8, I8]:
    """(places, sizes, tiles): runs of the output and the tile that adds each.

    The outputs of one (field, out) share are one run per output group; together they are cut evenly over the tiles of
    the in split, and each tile's part over workers, never within the channels of one position."""
    plan = shares.plan
    first = np.flatnonzero(shares.in_index == 0)
    line = shares.rows[first] * plan.units
    total = line * (shares.out_end - shares.out_begin)[first]
    places, sizes, tiles = [], [], []
    for row, width, size in zip(first.tolist(), line.tolist(), total.tolist(), strict=True):
        part = -(-size // (plan.in_split * plan.units)) * plan.units
        cuts = np.union1d(np.arange(0, size + 1, width), np.minimum(np.arange(plan.in_split + 1) * part, size))
        low, high = cuts[:-1], cuts[1:]
        group, into = np.divmod(low, width)
        start = ((shares.out_begin[row] + group) * plan.field + shares.field_begin[row]) * plan.units
        places.append(start + into)
        sizes.append(high - low)
        tiles.append(row + (low // part) * plan.out_split)
    return np.concatenate(places), np.concatenate(sizes), np.concatenate(tiles)


@lru_cache(maxsize=16)
def reduce_vertex(partials_type: Type, out_type: Type) -> VertexType:
    """Adds rows of partial sums in float32, rounded once: the one that lies on the tile and those that were sent to it,
    which the exchange puts one after another."""
    dtype, out_dtype = short_name(partials_type), short_name(out_type)

    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        terms = 1 + elements["partials"] // np.maximum(elements["out"], 1)
        cycles = strided("ADD", dtype, elements["out"], terms, out_dtype=out_dtype)
        source = "PopLibs Reduce estimator, strided form, published-numbers 7.4"
        return BlockCosts(cycles, "exact", source, elements["partials"])

    def compute(vertex: Any) -> None:
        others = np.asarray(vertex.partials, dtype=np.float32).reshape(int(vertex.numPartials), -1)
        store(vertex.out, np.asarray(vertex.initialPartial, dtype=np.float32) + others.sum(0, dtype=np.float32))

    fields = (
        FieldSpec("out", "vector", "out", None, "short_span", 8),
        FieldSpec("initialPartial", "vector", "in", None, "one_ptr", 8),
        FieldSpec("partials", "vector", "in", None, "one_ptr", 8),
        FieldSpec("numPartials", "value", "", UNSIGNED_SHORT),
    )
    name = f"poplin::ReduceAdd<{out_dtype},{dtype},false,false>"
    return VertexType(name, "worker", fields, costs, compute, doc="sum of partial results")
