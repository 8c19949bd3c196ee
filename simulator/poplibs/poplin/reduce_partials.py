"""The Reduce0 step of a product: the partial sums of each output are sent to one tile and added there."""

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
from simulator.poplar.debug_context import DebugInfo
from simulator.poplar.graph import Graph
from simulator.poplar.graph_objects import ComputeSet
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import UNSIGNED_SHORT, Type
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.poplin.shares import Shares, nested
from simulator.poplibs.poputil import MIN_BYTES_PER_TILE, linear_shares
from simulator.poplibs.type_names import short_name

I8 = npt.NDArray[np.int64]


def add_reduce(
    graph: Graph, shares: Shares, partials: Tensor, type_: Type, name: DebugInfo
) -> tuple[ComputeSet, Tensor]:
    """Add the compute set and its [out groups, field, units] result, which lies where it is added.

    The result is spread evenly over all tiles, the channels of a position always together, so that no tile adds a
    partial sum of its own where that can be: what all comes by exchange arrives in one piece."""
    plan = shares.plan
    out = graph.addVariable(type_, [shares.out_groups, plan.field, plan.units], (name, "partialReduceOut"))
    tiles = graph.getTarget().getNumTiles()
    lines = shares.out_groups * plan.field
    ends = linear_shares(lines, tiles, 1, -(-MIN_BYTES_PER_TILE // (plan.units * type_.size)))
    begins = np.concatenate([[0], ends[:-1]])
    on = _adding_tiles(shares, ends, tiles)
    graph.setTileMappingIntervals(out, begins * plan.units, ends * plan.units, on)
    share = -(-(ends - begins) // WORKERS)
    part, step, _ = nested(-(-(ends - begins) // share))
    first = begins[part] + step * share[part]
    count = (np.minimum(first + share[part], ends[part]) - first) * plan.units
    place = first * plan.units
    cs = graph.addComputeSet((name, "Reduce0"))
    terms = int(partials.regions()[0][0]) + place[:, None] + np.arange(plan.in_split) * out.numElements()
    edges = {
        "out": vector_edges(int(out.regions()[0][0]) + place, count),
        "partials": vector_edges(
            terms.reshape(-1),
            np.repeat(count, plan.in_split),
            np.arange(len(place) + 1, dtype=np.int64) * plan.in_split,
        ),
    }
    type_pair = reduce_vertex(partials.elementType(), type_)
    graph.addVertices(cs, type_pair, on[part], edges, {"numPartials": plan.in_split})
    return cs, out


def _adding_tiles(shares: Shares, ends: I8, tiles: int) -> I8:
    """The tile of each run of positions: in order over the device, from the tile that makes fewest runs add a partial
    sum of their own tile; runs that still would change places with another."""
    producers, holder = _producers(shares, ends)
    shift = np.bincount((producers - holder) % tiles, minlength=tiles).argmin()
    on = (np.arange(len(ends), dtype=np.int64) + shift) % tiles
    held = set((holder * tiles + producers).tolist())
    for run in np.unique(holder[producers == on[holder]]).tolist():
        for other in range(len(ends)):
            if run * tiles + int(on[other]) not in held and other * tiles + int(on[run]) not in held:
                on[run], on[other] = on[other], on[run]
                break
    return on


def _producers(shares: Shares, ends: I8) -> tuple[I8, I8]:
    """(tile, run): each tile that holds a partial sum of a position, with the run of positions it belongs to."""
    plan = shares.plan
    line = np.arange(int(ends[-1]), dtype=np.int64)
    group, position = np.divmod(line, plan.field)
    field = position // -(-plan.field // plan.field_split)
    out = group // -(-shares.out_groups // plan.out_split)
    first = field * plan.in_split * plan.out_split + out
    tiles = first[:, None] + np.arange(plan.in_split) * plan.out_split
    holder = np.repeat(np.searchsorted(ends, line, side="right"), plan.in_split)
    return tiles.reshape(-1), holder


@lru_cache(maxsize=16)
def reduce_vertex(partials_type: Type, out_type: Type) -> VertexType:
    """Adds rows of partial sums that lie one after another, in float32, rounded once."""
    dtype, out_dtype = short_name(partials_type), short_name(out_type)

    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        terms = elements["partials"] // np.maximum(elements["out"], 1)
        cycles = strided("ADD", dtype, elements["out"], terms, out_dtype=out_dtype)
        source = "PopLibs Reduce estimator, strided form, published-numbers 7.4"
        return BlockCosts(cycles, "exact", source, elements["partials"] - elements["out"])

    def compute(vertex: Any) -> None:
        terms = np.asarray(vertex.partials, dtype=np.float32).reshape(int(vertex.numPartials), -1)
        store(vertex.out, terms.sum(0, dtype=np.float32))

    fields = (
        FieldSpec("out", "vector", "out", None, "short_span", 8),
        FieldSpec("partials", "vector", "in", None, "one_ptr", 8),
        FieldSpec("numPartials", "value", "", UNSIGNED_SHORT),
    )
    name = f"poplin::ReduceAdd<{out_dtype},{dtype},true,false>"
    return VertexType(name, "worker", fields, costs, compute, doc="sum of partial results")
