"""popnn.argMax, argMin and topK: the largest or smallest elements of each row and their indices.

As in PopLibs the elements of all rows are cut evenly over tiles, starting at the last tile. On each tile six workers
find the extreme of their part of a row (ReduceMaxClassGather). Then vertices on further tiles reduce 32 partial results
at a time (ReduceMaxClassSparse) until each row has one. Of equal elements the first wins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.errors import graph_connection_error, type_error
from simulator.base.types import FLOAT, HALF, INT, UNSIGNED_INT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, LibraryGroup, Program, Sequence
from simulator.graph.tensor import Tensor, concat, taken
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import classes as cycles
from simulator.machine.cycles.described import described_as
from simulator.machine.cycles.rounding import WORKERS, ceil_div
from simulator.poplibs import popops
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

ESTIMATORS = "PopLibs' public cycle estimators of popnn"


def argMax(graph: Graph, input: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """The index of the largest element of each row of [batch, values], UNSIGNED_INT, [batch]."""
    call = operation(graph, debugContext, "popnn", "argMax", input=input)
    return extremes(graph, input, UNSIGNED_INT, True, prog, call)[1]


def argMin(graph: Graph, input: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """The index of the smallest element of each row, UNSIGNED_INT, [batch]."""
    call = operation(graph, debugContext, "popnn", "argMin", input=input)
    return extremes(graph, input, UNSIGNED_INT, False, prog, call)[1]


def maxAndArgMax(graph: Graph, input: Tensor, prog: Sequence, debugContext: Context = "") -> tuple[Tensor, Tensor]:
    """(the largest element of each row in the type of `input`, its index)."""
    call = operation(graph, debugContext, "popnn", "maxAndArgMax", input=input)
    return _both(graph, input, True, prog, call)


def minAndArgMin(graph: Graph, input: Tensor, prog: Sequence, debugContext: Context = "") -> tuple[Tensor, Tensor]:
    """(the smallest element of each row in the type of `input`, its index)."""
    call = operation(graph, debugContext, "popnn", "minAndArgMin", input=input)
    return _both(graph, input, False, prog, call)


def _both(graph: Graph, tensor: Tensor, largest: bool, prog: Sequence, call: Any) -> tuple[Tensor, Tensor]:
    values, places = extremes(graph, tensor, UNSIGNED_INT, largest, prog, call)
    if values.elementType() is not tensor.elementType():
        values = popops.cast(graph, values, tensor.elementType(), prog, call)
    return values, places


class _Cuts(NamedTuple):
    """The part of each vertex of the first stage: elements `begin .. + size` of `row`, in `workers` parts of
    `worker_size`."""

    tile: Int64Array
    row: Int64Array
    begin: Int64Array
    size: Int64Array
    worker_size: Int64Array
    workers: Int64Array


def extremes(
    graph: Graph, tensor: Tensor, place_type: Type, largest: bool, prog: Sequence, call: Any
) -> tuple[Tensor, Tensor]:
    """(values, FLOAT for halves too; indices) of [rows, columns]. Raises `type_error`, `graph_connection_error`."""
    name = "max" if largest else "min"
    if tensor.rank() != 2 or tensor.numElements() == 0:
        raise graph_connection_error(f"arg{name}: shape {tensor.shape()} is not [batch, values].")
    if tensor.elementType() not in (FLOAT, HALF, INT, UNSIGNED_INT):
        raise type_error(f"arg{name}: {tensor.elementType()} is neither FLOAT, HALF, INT nor UNSIGNED_INT.")
    label = f"maxMinArgMaxMin({name})/"
    programs: list[Program] = []
    values, places, counts = _add_first_stage(graph, tensor, place_type, largest, programs, (call, label))
    stage, tile = 1, graph.getTarget().getTilesPerIPU() - 1
    while (counts > 1).any():
        what = (values, places, counts, tile)
        values, places, counts, tile = _add_stage(graph, what, place_type, largest, programs, (call, label), stage)
        stage += 1
    attributes = {"largest": largest}
    prog.add(LibraryGroup(programs, "popnn.extremes", [tensor], [values, places], attributes))
    return values, places


def _add_first_stage(
    graph: Graph, tensor: Tensor, place_type: Type, largest: bool, programs: list[Program], name: tuple[Any, str]
) -> tuple[Tensor, Tensor, Int64Array]:
    """The first stage: (partial values, their indices, the number of them for each row)."""
    call, label = name
    cuts = _first_cuts(graph, tensor.dim(0), tensor.dim(1))
    kind = FLOAT if tensor.elementType() in (FLOAT, HALF) else tensor.elementType()
    ends = np.cumsum(cuts.workers)
    values = graph.addVariable(kind, [int(ends[-1])], (call, f"{label}ValuePartials[0]"))
    places = graph.addVariable(place_type, [int(ends[-1])], (call, f"{label}IndexPartials[0]"))
    for partials in (values, places):
        graph.setTileMappingIntervals(partials, ends - cuts.workers, ends, cuts.tile)
    begins = cuts.row * tensor.dim(1) + cuts.begin
    starts, lengths, of = regions.cuts(*tensor.flatten().regions(), begins, begins + cuts.size)
    offsets = np.searchsorted(of, np.arange(len(begins) + 1), side="left").astype(np.int64)
    out = [int(t.regions()[0][0]) + ends - cuts.workers for t in (values, places)]
    edges = {
        "activations": vector_edges(starts, lengths, offsets),
        f"{_word(largest)}Value": vector_edges(out[0], cuts.workers),
        f"{_word(largest)}Index": vector_edges(out[1], cuts.workers),
    }
    cs = graph.addComputeSet((call, f"{label}ReduceClass[0]"))
    type_ = _gather_vertex(short_name(tensor.elementType()), short_name(place_type), largest)
    graph.addVertices(
        cs, type_, cuts.tile, edges, {"index": cuts.begin, "size": cuts.size, "workerSize": cuts.worker_size}
    )
    programs.append(Execute(cs))
    return values, places, np.bincount(cuts.row, weights=cuts.workers).astype(np.int64)


def _first_cuts(graph: Graph, rows: int, columns: int) -> _Cuts:
    target = graph.getTarget()
    total, per_ipu = rows * columns, target.getTilesPerIPU()
    most = target.getRptCountMax() * WORKERS
    used = -(-total // max(WORKERS * cycles.WORKER_MIN, -(-total // per_ipu)))
    borders = np.concatenate([np.arange(used) * total // used, np.arange(rows) * columns])
    begins = regions.distinct(borders.astype(np.int64))
    sizes = np.diff(np.append(begins, total))
    pieces = ceil_div(sizes, most)
    owner = np.repeat(np.arange(len(begins)), pieces)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = begins[owner] + step * most
    size = np.minimum(sizes[owner] - step * most, most)
    enough = size // WORKERS >= cycles.WORKER_MIN
    worker_size = np.where(enough, ceil_div(size, WORKERS), cycles.WORKER_MIN)
    workers = np.where(enough, WORKERS, ceil_div(size, cycles.WORKER_MIN))
    ends = np.arange(1, used + 1) * total // used
    tile = per_ipu - 1 - np.searchsorted(ends, begin, side="right")
    return _Cuts(tile, begin // columns, begin % columns, size, worker_size, workers)


def _add_stage(
    graph: Graph,
    what: tuple[Tensor, Tensor, Int64Array, int],
    place_type: Type,
    largest: bool,
    programs: list[Program],
    name: tuple[Any, str],
    stage: int,
) -> tuple[Tensor, Tensor, Int64Array, int]:
    """Add one more stage for the rows that have several partial results; the other rows keep theirs."""
    values, places, counts, tile = what
    call, label = name
    after = np.where(counts > 1, ceil_div(counts, cycles.PARTIALS), 0)
    first = np.cumsum(counts) - counts
    row = np.repeat(np.arange(len(counts)), after)
    step = np.arange(len(row)) - np.repeat(np.cumsum(after) - after, after)
    begins = first[row] + step * cycles.PARTIALS
    ends = np.minimum(begins + cycles.PARTIALS, (first + counts)[row])
    tiles = (tile - np.arange(len(row))) % graph.getTarget().getTilesPerIPU()
    made, edges = [], {}
    for part, field in ((values, "Value"), (places, "Index")):
        out = graph.addVariable(part.elementType(), [len(row)], (call, f"{label}{field}Partials[{stage}]"))
        graph.setTileMappingIntervals(out, np.arange(len(row)), np.arange(len(row)) + 1, tiles)
        starts, lengths, of = regions.cuts(*part.regions(), begins, ends)
        offsets = np.searchsorted(of, np.arange(len(row) + 1), side="left").astype(np.int64)
        edges["activations" if field == "Value" else "labels"] = vector_edges(starts, lengths, offsets)
        edges[f"{_word(largest)}{field}"] = vector_edges(
            int(out.regions()[0][0]) + np.arange(len(row)), np.ones(len(row), np.int64)
        )
        made.append(_merge_rows(part, out, counts, after))
    cs = graph.addComputeSet((call, f"{label}ReduceClass[{stage}]"))
    type_ = _sparse_vertex(short_name(values.elementType()), short_name(place_type), largest)
    graph.addVertices(cs, type_, tiles, edges)
    programs.append(Execute(cs))
    left = int((tile - len(row)) % graph.getTarget().getTilesPerIPU())
    return made[0], made[1], np.where(counts > 1, after, 1), left


def _merge_rows(part: Tensor, out: Tensor, counts: Int64Array, after: Int64Array) -> Tensor:
    """For each row the new results, or the only one that it had."""
    whole = concat([part, out])
    alone = counts == 1
    size = np.where(alone, 1, after)
    begin = np.where(alone, np.cumsum(counts) - counts, part.numElements() + np.cumsum(after) - after)
    row = np.repeat(np.arange(len(size)), size)
    return taken(whole, begin[row] + np.arange(len(row)) - (np.cumsum(size) - size)[row])


def _word(largest: bool) -> str:
    return "max" if largest else "min"


def _index_of_extreme(values: AnyArray, largest: bool) -> int:
    return int(np.argmax(values) if largest else np.argmin(values))


@register("popnn.extremes")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    function = np.argmax if attributes["largest"] else np.argmin
    places = function(inputs[0], axis=1)
    outputs[0][...] = np.take_along_axis(inputs[0], places[:, None], 1)[:, 0]
    outputs[1][...] = places


@lru_cache(maxsize=16)
def _gather_vertex(dtype: str, label: str, largest: bool) -> VertexType:
    word = _word(largest)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = np.asarray(block.values["size"], np.int64)
        spent = cycles.gather(dtype, n, np.asarray(block.values["workerSize"], np.int64))
        source = described_as(ESTIMATORS, cycles.gather)
        return BlockCosts(spent, "exact", source, flop_counts.typed(n, dtype))

    def compute(vertex: Any) -> None:
        values, places = getattr(vertex, f"{word}Value"), getattr(vertex, f"{word}Index")
        acts, size = np.asarray(vertex.activations), int(vertex.workerSize)
        for worker in range(len(values)):
            part = acts[worker * size : (worker + 1) * size]
            at = _index_of_extreme(part, largest)
            values[worker] = part[at]
            places[worker] = int(vertex.index) + worker * size + at

    fields = (
        FieldSpec("activations", "vector", "in", None, "one_ptr", 8),
        FieldSpec(f"{word}Value", "vector", "out", None, "one_ptr", 4),
        FieldSpec(f"{word}Index", "vector", "out", None, "one_ptr", 4),
        *(FieldSpec(name, "value", "", UNSIGNED_INT) for name in ("index", "size", "workerSize")),
    )
    name = f"popnn::Reduce{word.capitalize()}ClassGather<{dtype},{label}>"
    return VertexType(name, "supervisor", fields, costs, compute, doc=f"{word} of a part of a row, by worker")


@lru_cache(maxsize=16)
def _sparse_vertex(dtype: str, label: str, largest: bool) -> VertexType:
    word = _word(largest)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["activations"]
        source = described_as(ESTIMATORS, cycles.sparse)
        return BlockCosts(cycles.sparse(dtype, n), "exact", source, flop_counts.typed(n, dtype))

    def compute(vertex: Any) -> None:
        at = _index_of_extreme(np.asarray(vertex.activations), largest)
        getattr(vertex, f"{word}Value")[...] = vertex.activations[at]
        getattr(vertex, f"{word}Index")[...] = vertex.labels[at]

    fields = (
        FieldSpec("activations", "vector", "in", None, "span", 4),
        FieldSpec("labels", "vector", "in", None, "one_ptr", 4),
        FieldSpec(f"{word}Value", "vector", "out", None, "one_ptr", 4),
        FieldSpec(f"{word}Index", "vector", "out", None, "one_ptr", 4),
    )
    name = f"popnn::Reduce{word.capitalize()}ClassSparse<{dtype},{label}>"
    return VertexType(name, "worker", fields, costs, compute, doc=f"{word} of partial results")


def topK(
    graph: Graph, input: Tensor, K: int, sort: bool, prog: Sequence, debugContext: Context = ""
) -> tuple[Tensor, Tensor]:
    """(the K largest elements of each row of [batch, values], their indices in the row), each [batch, 1, K]. With
    `sort` the largest comes first, else they have no order. C++ returns the indices in an argument.

    Raises `poplibs_error` for another rank, more elements than a row has, and types that `popops.topK` refuses."""
    call = operation(graph, debugContext, "popnn", "topK", input=input, K=K, sort=sort)
    if input.rank() != 2:
        raise poplibs_error(f"topK: shape {input.shape()} is not [batch, values].")
    order = popops.SortOrder.DESCENDING if sort else popops.SortOrder.NONE
    values, places = popops.topKWithPermutation(graph, prog, input, popops.TopKParams(K, True, order), call)
    return values.expand([1]), places.expand([1])
