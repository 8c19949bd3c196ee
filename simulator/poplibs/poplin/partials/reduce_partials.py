"""The Reduce steps of a product: add the partial sums of the same outputs on the tiles that computed them.

PopLibs' rule: the tiles that share outputs cut them into equal parts of whole blocks, one part per tile (the channels
of a position stay together). One vertex adds the rows of a tile's part: the tile's own row in place, the others
received by exchange. A depth of 16 rows or more is added in two stages, 125 or more in three (published-numbers 7.4,
`stage_depths`); the first stages leave partial sums of groups of rows. Outputs that need no adding but another type are
cast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import UNSIGNED_SHORT, Type
from simulator.building.graph import Graph
from simulator.codelets.run import store
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Execute, Program, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import partial_reduction
from simulator.machine.cycles.described import described
from simulator.poplibs.pieces import rows_edges, vector_edges
from simulator.poplibs.poplin.partials.convolve import output_runs
from simulator.poplibs.poplin.partials.shares import Shares
from simulator.poplibs.popops.casting import castWithOutput
from simulator.poplibs.type_names import short_name


class _Parts(NamedTuple):
    """The outputs of one row that each adding tile takes. Part p adds elements `starts[r] .. + lengths[r]` for r in
    `offsets[p]:offsets[p + 1]` on tile `tiles[p]`, whose own row of partial sums is `own[p]`."""

    tiles: Int64Array
    own: Int64Array
    starts: Int64Array
    lengths: Int64Array
    offsets: Int64Array


class Reduction(NamedTuple):
    """Options for adding the partial sums of a product."""

    multi_stage: bool
    fast: bool


def add_reduce(
    graph: Graph, shares: Shares, partials: Tensor, type_: Type, name: DebugInfo, how: Reduction
) -> tuple[list[Program], Tensor]:
    """The programs that turn [in split, ...] partial sums into a [...] result of `type_`, mapped to the tiles that add
    it."""
    depth = partials.dim(0)
    if depth == 1:
        return _cast(graph, shares, partials, type_, name)
    programs: list[Program] = []
    stages = [*partial_reduction.stage_depths(depth, how.multi_stage), 1]
    left = depth
    for stage, rows_left in enumerate(stages):
        last = stage == len(stages) - 1
        label = "partialReduceOut" if last or len(stages) == 2 else f"Stage{stage}/partialReduceOut"
        shape = [rows_left, *partials.shape()[1:]]
        out = graph.addVariable(type_ if last else partials.elementType(), shape, (name, label))
        cs = graph.addComputeSet((name, f"Reduce{stage}"))
        for row in range(rows_left):
            rows = (row * left // rows_left, (row + 1) * left // rows_left)
            _add_rows(graph, cs, shares, partials, out, row, rows, how.fast)
        programs.append(Execute(cs))
        partials, left = out, rows_left
    return programs, partials.squeeze([0])


def result_variable(graph: Graph, shares: Shares, type_: Type, name: DebugInfo) -> Tensor:
    """A [conv groups, out groups, field, block] variable mapped like the outputs of one pass."""
    plan = shares.plan
    out = graph.addVariable(type_, [plan.conv_groups, plan.out_groups, plan.field, shares.block], name)
    if plan.in_split == 1:
        tile, starts, sizes, _ = output_runs(shares)
        graph.setTileMappingIntervals(out, starts, starts + sizes, shares.tiles[tile])
        return out
    parts = _parts(shares, 0, 1)
    owner = np.repeat(parts.tiles, np.diff(parts.offsets))
    graph.setTileMappingIntervals(out, parts.starts, parts.starts + parts.lengths, owner)
    return out


def _cast(graph: Graph, shares: Shares, partials: Tensor, type_: Type, name: DebugInfo) -> tuple[list[Program], Tensor]:
    if partials.elementType() is type_:
        return [], partials.squeeze([0])
    out = graph.addVariable(type_, partials.shape(), (name, "partialReduceOut"))
    tile, starts, sizes, _ = output_runs(shares)
    graph.setTileMappingIntervals(out, starts, starts + sizes, shares.tiles[tile])
    cast = Sequence()
    castWithOutput(graph, partials, out, cast, name)
    return list(cast.programs), out.squeeze([0])


def _add_rows(
    graph: Graph,
    cs: ComputeSet,
    shares: Shares,
    partials: Tensor,
    out: Tensor,
    row: int,
    rows: tuple[int, int],
    fast: bool,
) -> None:
    """Row `row` of `out` = the sum of rows [begin, end) of `partials`."""
    numel = out.numElements() // out.dim(0)
    parts = _parts(shares, row, out.dim(0))
    graph.setTileMappingIntervals(
        out,
        row * numel + parts.starts,
        row * numel + parts.starts + parts.lengths,
        np.repeat(parts.tiles, np.diff(parts.offsets)),
    )
    base, target = int(partials.regions()[0][0]), int(out.regions()[0][0]) + row * numel
    depth = rows[1] - rows[0]
    size = np.add.reduceat(parts.lengths, parts.offsets[:-1])
    whole = size % partial_reduction.accumulator(short_name(partials.elementType())) == 0
    # The other rows can come as a single block where the tile has a row of its own.
    owns = (parts.own >= rows[0]) & (parts.own < rows[1]) & (partials.dim(0) == shares.plan.in_split)
    single = whole & owns & (depth > 1) if fast else np.zeros(len(size), np.bool_)
    for chosen, form in ((~single, False), (single, True)):
        if not chosen.any():
            continue
        some = _take(parts, np.flatnonzero(chosen))
        edges = {"out": vector_edges(target + some.starts, some.lengths, some.offsets)}
        edges |= _terms(some, base, numel, rows, form)
        type_ = reduce_vertex(partials.elementType(), out.elementType(), form)
        graph.addVertices(cs, type_, some.tiles, edges, {"numPartials": depth - form, "numElems": size[chosen]})


def _terms(parts: _Parts, base: int, numel: int, rows: tuple[int, int], single: bool) -> dict[str, Any]:
    """The rows that each part adds: one vector each, or the tile's own row and one block of the others."""
    numbers = np.arange(*rows)
    own = parts.own[:, None]
    if not single:
        row, offsets = _for_rows(parts, np.broadcast_to(numbers, (len(parts.tiles), len(numbers))))
        starts = base + row * numel + parts.starts[_runs(parts, len(numbers))]
        lengths = parts.lengths[_runs(parts, len(numbers))]
        of_vertex = np.arange(len(parts.tiles) + 1) * len(numbers)
        return {"partials": rows_edges(starts, lengths, of_vertex, offsets)}
    others = np.broadcast_to(numbers, (len(parts.tiles), len(numbers)))
    others = others[others != own].reshape(len(parts.tiles), len(numbers) - 1)
    row, offsets = _for_rows(parts, others)
    runs = _runs(parts, len(numbers) - 1)
    block = vector_edges(base + row * numel + parts.starts[runs], parts.lengths[runs], offsets[:: len(numbers) - 1])
    first = np.repeat(parts.own, np.diff(parts.offsets)) * numel + base + parts.starts
    return {"initialPartial": vector_edges(first, parts.lengths, parts.offsets), "partials": block}


def _runs(parts: _Parts, rows: int) -> Int64Array:
    """Run numbers of each part, repeated `rows` times."""
    count = np.diff(parts.offsets)
    each = np.repeat(count, rows)
    begin = np.repeat(parts.offsets[:-1], rows)
    ends = np.cumsum(each)
    return np.asarray(np.arange(int(ends[-1])) - np.repeat(ends - each, each) + np.repeat(begin, each))


def _for_rows(parts: _Parts, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(row number of each run in the order of `_runs`, offsets of runs per (part, row))."""
    each = np.repeat(np.diff(parts.offsets), rows.shape[1])
    return np.repeat(rows.reshape(-1), each), np.concatenate([[0], np.cumsum(each)]).astype(np.int64)


def _take(parts: _Parts, chosen: Int64Array) -> _Parts:
    if len(chosen) == len(parts.tiles):
        return parts
    count = np.diff(parts.offsets)
    run = np.isin(np.repeat(np.arange(len(count)), count), chosen)
    offsets = np.concatenate([[0], np.cumsum(count[chosen])]).astype(np.int64)
    return _Parts(parts.tiles[chosen], parts.own[chosen], parts.starts[run], parts.lengths[run], offsets)


def _parts(shares: Shares, row: int, rows_left: int) -> _Parts:
    """The parts of row `row` of `rows_left` rows: of the tiles that share outputs, numbered by their input share, those
    whose turn this row is."""
    split = shares.plan.in_split
    first = row * split // rows_left
    adders = max(first + 1, (row + 1) * split // rows_left) - first
    tile, starts, sizes, offsets = output_runs(shares)
    # The tile with the first input share stands for all tiles with the same outputs.
    makers = np.flatnonzero(shares.inp.number == 0)
    mine = shares.inp.number[tile] == 0
    begin, width = starts[mine], sizes[mine]
    done = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    of_maker = np.concatenate([[0], np.cumsum(np.diff(offsets)[makers])]).astype(np.int64)
    low, total = done[of_maker[:-1]], np.diff(done[of_maker])
    part = -(-(total // shares.block) // adders) * shares.block
    number = np.arange(adders)[None, :] * part[:, None]
    maker, which = np.nonzero(number < total[:, None])
    begins = low[maker] + number[maker, which]
    ends = np.minimum(begins + part[maker], low[maker] + total[maker])
    places, lengths, owner = regions.cuts(begin, width, begins, ends)
    adding = makers[maker] + (first + which) * shares.plan.field_split * shares.plan.out_split
    ends_of = np.searchsorted(owner, np.arange(len(begins) + 1), side="left").astype(np.int64)
    return _Parts(shares.tiles[adding], first + which, places, lengths, ends_of)


@lru_cache(maxsize=16)
def reduce_vertex(partials_type: Type, out_type: Type, single: bool) -> VertexType:
    """Adds rows of partial sums in float32 and rounds once. `single`: the tile's own row and one block of
    the others."""
    dtype, out_dtype = short_name(partials_type), short_name(out_type)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        formula: Callable[..., Int64Array]
        depth = np.broadcast_to(np.asarray(block.values["numPartials"], np.int64), elements["out"].shape)
        if single:
            cycles = partial_reduction.reduce_add_single_input(dtype, out_dtype, elements["out"], depth, True)
            added, formula = elements["partials"], partial_reduction.reduce_add_single_input
        else:
            cycles = partial_reduction.reduce_add(dtype, out_dtype, elements["out"], depth)
            added, formula = elements["partials"] - elements["out"], partial_reduction.reduce_add
        return BlockCosts(cycles, "exact", described("7.4", formula), added)

    def compute(vertex: Any) -> None:
        if single:
            rows = np.asarray(vertex.partials, dtype=np.float32).reshape(int(vertex.numPartials), -1)
            rows = np.concatenate([np.asarray(vertex.initialPartial, dtype=np.float32)[None], rows])
        else:
            rows = np.stack([np.asarray(p, dtype=np.float32) for p in vertex.partials])
        store(vertex.out, rows.sum(0, dtype=np.float32))

    terms = (
        (
            FieldSpec("initialPartial", "vector", "in", None, "one_ptr", 8),
            FieldSpec("partials", "vector", "in", None, "one_ptr", 16, interleaved=True),
        )
        if single
        else (FieldSpec("partials", "vectors", "in", None, "one_ptr", 8, outer="one_ptr"),)
    )
    fields = (
        FieldSpec("out", "vector", "out", None, "one_ptr", 8),
        *terms,
        FieldSpec("numPartials", "value", "", UNSIGNED_SHORT),
        FieldSpec("numElems", "value", "", UNSIGNED_SHORT),
    )
    yes = str(single).lower()
    name = f"poplin::ReduceAdd<{out_dtype},{dtype},{yes},{yes}>"
    return VertexType(name, "supervisor", fields, costs, compute, doc="sum of partial results")
