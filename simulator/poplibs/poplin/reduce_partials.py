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
from simulator.poplar.types import Type
from simulator.poplibs.pieces import rows_edges, vector_edges
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
    splits = np.arange(plan.in_split, dtype=np.int64) * out.numElements()
    terms = int(partials.regions()[0][0]) + begins[:, None] + splits
    edges = {
        "out": vector_edges(int(out.regions()[0][0]) + begins, count),
        "partials": rows_edges(
            terms.reshape(-1),
            np.repeat(count, plan.in_split),
            np.arange(len(begins) + 1, dtype=np.int64) * plan.in_split,
        ),
    }
    type_pair = reduce_vertex(partials.elementType(), type_)
    graph.addVertices(cs, type_pair, tiles[vertex], edges)
    return cs, out


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
    """Adds rows of partial sums in float32, rounded once."""
    dtype, out_dtype = short_name(partials_type), short_name(out_type)

    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        terms = elements["partials"] // np.maximum(elements["out"], 1)
        cycles = strided("ADD", dtype, elements["out"], terms, out_dtype=out_dtype)
        source = "PopLibs Reduce estimator, strided form, published-numbers 7.4"
        return BlockCosts(cycles, "exact", source, elements["partials"] - elements["out"])

    def compute(vertex: Any) -> None:
        total = np.zeros(len(vertex.out), np.float32)
        for row in vertex.partials:
            total += np.asarray(row, dtype=np.float32)
        store(vertex.out, total)

    fields = (
        FieldSpec("out", "vector", "out", None, "short_span", 8),
        FieldSpec("partials", "vectors", "in", None, "short_span", 8),
    )
    name = f"poplin::ReduceAdd<{out_dtype},{dtype},false,false>"
    return VertexType(name, "worker", fields, costs, compute, doc="sum of partial results")
