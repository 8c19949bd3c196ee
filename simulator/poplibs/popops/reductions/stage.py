"""One stage of a reduction: a [outputs, terms] tensor becomes [outputs, groups], or [outputs] for one group.

Where adjacent outputs are adjacent in memory a vertex works on runs of outputs (strided). Otherwise each output is
computed on the tile of its first term; six workers share the outputs of a tile, and the layout of the terms decides the
vertex of each worker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.types import Type
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.pieces import mapping_of, rows_edges, runs_of_rows, vector_edges
from simulator.poplibs.popops.reductions.vertices import Kind, ReduceForm, reduce_vertex
from simulator.poplibs.poputil.linear_mapping import map_from_hashed_tile
from simulator.poplibs.type_names import short_name
from simulator.programming.graph import Graph
from simulator.programming.mapping import grain


@dataclass(frozen=True)
class Stage:
    """The options of a stage. The last stage may scale, update, and write to a given tensor, [1, outputs] and
    contiguous (`mapped`: its mapping is fixed)."""

    op: str
    update: bool = False
    scale: Tensor | None = None
    in_half: bool = False
    out: Tensor | None = None
    mapped: bool = False


def add_stage(
    graph: Graph,
    cs: ComputeSet,
    matrix: Tensor,
    groups: int,
    type_: Type,
    stage: Stage,
    name: tuple[DebugInfo, str],
) -> Tensor:
    """Add the vertices of one stage to a compute set. Returns [outputs] for one group, else [outputs, groups]."""
    outputs, terms = matrix.shape()
    fan = -(-terms // groups)
    groups = -(-terms // fan)
    out = stage.out
    if out is None:
        label = "reduced" if groups == 1 else "partials"
        out = graph.addVariable(type_, [groups, outputs], (name[0], f"{name[1]}/{label}"))
    in_half = stage.in_half and short_name(matrix.elementType()) == "half"
    types = short_name(matrix.elementType()), short_name(out.elementType())
    form = ReduceForm(stage.op, *types, stage.update, stage.scale is not None, in_half)
    if runs_of_outputs(matrix):
        if not stage.mapped:
            map_from_hashed_tile(graph, out)
        _strided_vertices(graph, cs, matrix, out, fan, form, stage.scale)
    else:
        if not stage.mapped:
            _map_to_terms(graph, matrix, out, fan)
        _vertices_of_outputs(graph, cs, matrix, out, fan, form, stage.scale)
    return out.flatten() if groups == 1 else out.transpose()


def runs_of_outputs(matrix: Tensor) -> bool:
    """Whether adjacent outputs are adjacent in memory (rather than the terms of one output)."""
    outputs, terms = matrix.shape()
    if terms == 1:
        return True
    row = len(matrix.slice(0, 1, 0).regions()[0])
    column = len(matrix.slice(0, 1, 1).regions()[0])
    return row / terms >= column / outputs if outputs > 1 else False


def _with_scale(edges: dict[str, FieldEdges], scale: Tensor | None, n: int) -> dict[str, FieldEdges]:
    if scale is not None:
        at = int(scale.flatten().regions()[0][0])
        edges["k"] = vector_edges(np.full(n, at, np.int64), np.ones(n, np.int64))
    return edges


def _strided_vertices(
    graph: Graph, cs: ComputeSet, matrix: Tensor, out: Tensor, fan: int, form: ReduceForm, scale: Tensor | None
) -> None:
    """Add vertices over runs of outputs; each term of a run of outputs is one or more regions of the input."""
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
    edges = {"out": vector_edges(starts, lengths), "partials": rows_edges(r_starts, r_lengths, rows, pieces)}
    graph.addVertices(cs, reduce_vertex(form, "strided"), tiles, _with_scale(edges, scale, len(tiles)))


def _shares(graph: Graph, out: Tensor) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The output's runs on each tile, cut into up to six shares of whole vectors, never across two groups: (starts,
    lengths, tiles)."""
    starts, lengths, tiles = runs_of_rows(graph.store, out)
    unit = grain(out.elementType())
    share = np.maximum(-(-lengths // (WORKERS * unit)) * unit, unit)
    count = -(-lengths // share)
    owner = np.repeat(np.arange(len(starts)), count)
    ordinal = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    begin = ordinal * share[owner]
    size = np.minimum(share[owner], lengths[owner] - begin)
    return starts[owner] + begin, size, graph.state.graph_tiles(tiles[owner])


def _map_to_terms(graph: Graph, matrix: Tensor, out: Tensor, fan: int) -> None:
    """Map each output of each group to the tile of its first term in the group."""
    groups, outputs = out.shape()
    first = [matrix.slice(g * fan, g * fan + 1, 1).flatten() for g in range(groups)]
    elements = np.concatenate([regions.elements(*t.regions()) for t in first])
    ends, tiles = mapping_of(graph.store, matrix)
    on = graph.state.graph_tiles(np.asarray(tiles[np.searchsorted(ends, elements, side="right")], dtype=np.int64))
    begins = np.arange(groups * outputs, dtype=np.int64)
    graph.setTileMappingIntervals(out, begins, begins + 1, on)


def _vertices_of_outputs(
    graph: Graph, cs: ComputeSet, matrix: Tensor, out: Tensor, fan: int, form: ReduceForm, scale: Tensor | None
) -> None:
    """Add vertices of one or more whole outputs, by the layout of their terms."""
    outputs, terms = matrix.shape()
    count = out.numElements()
    elements = regions.elements(*out.regions())
    ends_of_tiles, tiles = mapping_of(graph.store, out)
    on = graph.state.graph_tiles(
        np.asarray(tiles[np.searchsorted(ends_of_tiles, elements, side="right")], dtype=np.int64)
    )
    order = np.argsort(on, kind="stable")
    place = np.arange(count, dtype=np.int64)[order]
    group, output = place // outputs, place % outputs
    begins = output * terms + group * fan
    stops = output * terms + np.minimum((group + 1) * fan, terms)
    starts, lengths, of = regions.cuts(*matrix.flatten().regions(), begins, stops)
    pieces = np.searchsorted(of, np.arange(count + 1), side="left").astype(np.int64)
    vertex = _workers(on[order], elements[order], stops - begins, np.diff(pieces))
    kinds = _kinds(vertex, starts, lengths, pieces)
    for kind in ("single", "continuous", "generic"):
        mine = kinds[vertex] == kind
        if mine.any():
            rows = pieces[np.flatnonzero(mine)], pieces[np.flatnonzero(mine) + 1]
            parts = _Outputs(elements[order][mine], vertex[mine], on[order][mine], starts, lengths, *rows)
            _add(graph, cs, parts, kind, form, scale)


@dataclass(frozen=True)
class _Outputs:
    """Outputs of one kind in order: element, vertex, tile, and the regions `first:last` of their terms."""

    element: Int64Array
    vertex: Int64Array
    tile: Int64Array
    starts: Int64Array
    lengths: Int64Array
    first: Int64Array
    last: Int64Array


def _workers(tile: Int64Array, element: Int64Array, terms: Int64Array, pieces: Int64Array) -> Int64Array:
    """The vertex of each output: the outputs of a tile in six equal shares. The outputs of one vertex are consecutive
    and have equal numbers of terms; a vertex has several only where the terms of each are one region."""
    total = np.bincount(tile)
    share = -(-total // WORKERS)[tile]
    begin = (np.cumsum(total) - total)[tile]
    worker = (np.arange(len(tile)) - begin) // share
    head = np.ones(len(tile), np.bool_)
    head[1:] = (tile[1:] != tile[:-1]) | (worker[1:] != worker[:-1]) | (element[1:] != element[:-1] + 1)
    head[1:] |= (terms[1:] != terms[:-1]) | (pieces[1:] > 1) | (pieces[:-1] > 1)
    return np.asarray(np.cumsum(head) - 1, np.int64)


def _kinds(vertex: Int64Array, starts: Int64Array, lengths: Int64Array, pieces: Int64Array) -> npt.NDArray[np.str_]:
    """The kind of each vertex."""
    size = np.bincount(vertex)
    first = pieces[:-1]
    gap = np.zeros(len(vertex), np.bool_)
    gap[1:] = (vertex[1:] == vertex[:-1]) & (starts[first[1:]] != (starts + lengths)[first[:-1]])
    apart = np.bincount(vertex, gap, len(size)) > 0
    return np.where(size == 1, "single", np.where(apart, "generic", "continuous"))


def _add(graph: Graph, cs: ComputeSet, parts: _Outputs, kind: Kind, form: ReduceForm, scale: Tensor | None) -> None:
    head = np.flatnonzero(np.diff(parts.vertex, prepend=-1))
    rows = np.append(head, len(parts.vertex)).astype(np.int64)
    sizes = np.diff(rows)
    count = parts.last - parts.first
    ends = np.cumsum(count)
    which = np.repeat(parts.first - ends + count, count) + np.arange(int(ends[-1]))
    starts, lengths, offsets = parts.starts[which], parts.lengths[which], np.append(0, ends).astype(np.int64)
    if kind == "generic":
        partials = rows_edges(starts, lengths, rows, offsets)
    elif kind == "continuous":
        partials = vector_edges(starts[head], np.add.reduceat(lengths, head))
    else:
        partials = vector_edges(starts, lengths, offsets)
    edges = {"out": vector_edges(parts.element[head], sizes), "partials": partials}
    type_ = reduce_vertex(form, kind)
    graph.addVertices(cs, type_, parts.tile[head], _with_scale(edges, scale, len(head)))
