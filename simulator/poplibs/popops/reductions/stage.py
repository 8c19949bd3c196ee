"""The vertices of one stage of a reduction, from groups of rows on tiles (`terms`).

A vertex of a run of outputs reads a row of each term (strided). Single outputs are dealt to six workers; the layout of
their terms decides the vertex of each worker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.pieces import rows_edges, vector_edges
from simulator.poplibs.popops.reductions.terms import Groups
from simulator.poplibs.popops.reductions.vertices import COUNTS, Kind, ReduceForm, reduce_vertex
from simulator.poplibs.type_names import short_name


@dataclass(frozen=True)
class Stage:
    """What the vertices of a stage do: the last stage may scale, and add to its output."""

    op: str
    update: bool = False
    scale: Tensor | None = None
    in_half: bool = False

    def form(self, in_type: Type, out_type: Type) -> ReduceForm:
        in_half = self.in_half and short_name(in_type) == "half"
        types = short_name(in_type), short_name(out_type)
        return ReduceForm(self.op, *types, self.update, self.scale is not None, in_half)


def add_vertices(
    graph: Graph, cs: ComputeSet, groups: Groups, out: Int64Array, form: ReduceForm, scale: Tensor | None, near: bool
) -> None:
    """Add the vertices of groups, of which group g writes elements from `out[g]` on. `near`: the rows lie on the tile;
    rows that come by exchange follow each other there."""
    if len(groups) == 0:
        return
    wide = groups.length > 1
    if near:
        wide |= (groups.rows > 1) & (np.maximum.reduceat(groups.size, groups.offsets[:-1]) == 1)
    if wide.any():
        rows, place = groups.take(wide), out[wide]
        strided = _at_a_stride(rows) if near else np.ones(len(rows), np.bool_)
        kinds: tuple[tuple[Kind, npt.NDArray[np.bool_]], ...] = (("strided", strided), ("rows", ~strided))
        for kind, mine in kinds:
            if mine.any():
                _vertices_of_rows(graph, cs, rows.take(mine), place[mine], kind, form, scale)
    if not wide.all():
        _vertices_of_outputs(graph, cs, groups.take(~wide), out[~wide], form, scale)


def _with_scale(edges: dict[str, FieldEdges], scale: Tensor | None, n: int) -> dict[str, FieldEdges]:
    if scale is not None:
        at = int(scale.flatten().regions()[0][0])
        edges["k"] = vector_edges(np.full(n, at, np.int64), np.ones(n, np.int64))
    return edges


def _at_a_stride(groups: Groups) -> npt.NDArray[np.bool_]:
    """The groups whose rows lie one stride apart, or two by turns, as those of two dimensions do."""
    step = np.diff(groups.start, append=0)
    inside = np.ones(len(step), np.bool_)
    inside[groups.offsets[1:] - 1] = False
    group = np.repeat(np.arange(len(groups)), groups.rows)
    least = np.full(len(groups), np.iinfo(np.int64).max)
    most = np.full(len(groups), np.iinfo(np.int64).min)
    np.minimum.at(least, group[inside], step[inside])
    np.maximum.at(most, group[inside], step[inside])
    other = inside & (step != least[group]) & (step != most[group])
    return np.asarray(np.bincount(group, other, len(groups)) == 0)


def _vertices_of_rows(
    graph: Graph, cs: ComputeSet, groups: Groups, out: Int64Array, kind: Kind, form: ReduceForm, scale: Tensor | None
) -> None:
    """Add a vertex over runs of outputs for each group; each row is one region of the input."""
    partials = rows_edges(groups.start, groups.size, groups.offsets)
    edges = _with_scale({"out": vector_edges(out, groups.length), "partials": partials}, scale, len(groups))
    values = {}
    if kind == "strided":
        values = dict.fromkeys(COUNTS, 0) | {"numOutputsM1": groups.length - 1, "numPartialsM1": groups.rows - 1}
    graph.addVertices(cs, reduce_vertex(form, kind), groups.tile, edges, values)


def _vertices_of_outputs(
    graph: Graph, cs: ComputeSet, groups: Groups, out: Int64Array, form: ReduceForm, scale: Tensor | None
) -> None:
    """Add vertices of one or more whole outputs, by the layout of their terms."""
    order = np.lexsort((out, groups.tile))
    starts, lengths = groups.start, groups.size
    first, last = groups.offsets[:-1][order], groups.offsets[1:][order]
    on, element = groups.tile[order], out[order]
    vertex = _workers(on, element, groups.terms[order], last - first)
    kinds = _kinds(vertex, starts, lengths, first)
    for kind in ("single", "continuous", "generic"):
        mine = kinds[vertex] == kind
        if mine.any():
            parts = _Outputs(element[mine], vertex[mine], on[mine], starts, lengths, first[mine], last[mine])
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


def _kinds(vertex: Int64Array, starts: Int64Array, lengths: Int64Array, first: Int64Array) -> npt.NDArray[np.str_]:
    """The kind of each vertex. `first`: the first region of each output."""
    size = np.bincount(vertex)
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
