"""popops.selectScalarFromRows, updateScalarInRows: one element of each row of a matrix, by index; hasNaN, hasNaNOrInf.

A row is processed on the tile of its first element; six workers share the rows of a tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.types import BOOL, FLOAT, HALF, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.codelets.run import store
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import sorting as cycles
from simulator.machine.cycles.described import described_as
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops import elementwise
from simulator.poplibs.popops.expr.mapping import map_expression
from simulator.poplibs.popops.expr.nodes import PlaceHolder, UnaryOp
from simulator.poplibs.popops.expr.op_types import UnaryOpType
from simulator.poplibs.popops.one_hot import MASKED_LABEL_CODE
from simulator.poplibs.popops.reductions.reduce import Operation, reduce
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


def selectScalarFromRows(
    graph: Graph, params: Tensor, indices: Tensor, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """The vector of params[i][indices[i]]: 0 where the index is MASKED_LABEL_CODE, NaN for other indices out of range.
    Raises `poplibs_error` unless params is a matrix of FLOAT or HALF with an UNSIGNED_INT index for each row."""
    _check("selectScalarFromRows", params, indices)
    call = operation(graph, debugContext, "popops", "selectScalarFromRows", params=params, indices=indices)
    rows = params.dim(0)
    out = graph.addVariable(params.elementType(), [rows], (call, "selectScalarFromRows/out"))
    tiles = _tiles_of_rows(graph, params)
    begins = np.arange(rows, dtype=np.int64)
    graph.setTileMappingIntervals(out, begins, begins + 1, tiles)
    if params.numElements():
        cs = _add(graph, params, indices, tiles, (call, "SelectScalarFromRows"), out)
        prog.add(LibraryGroup([Execute(cs)], "popops.selectScalarFromRows", [params, indices], [out]))
    return out


def updateScalarInRows(
    graph: Graph, params: Tensor, indices: Tensor, program: Sequence, debugContext: Context = ""
) -> None:
    """params[i][indices[i]] -= 1. Rows with the index MASKED_LABEL_CODE stay unchanged; rows with another index out of
    range become NaN. Raises `poplibs_error` as `selectScalarFromRows` does."""
    _check("updateScalarInRows", params, indices)
    call = operation(graph, debugContext, "popops", "updateScalarInRows", params=params, indices=indices)
    if params.numElements():
        cs = _add(graph, params, indices, _tiles_of_rows(graph, params), (call, "UpdateScalarInRows"), None)
        program.add(LibraryGroup([Execute(cs)], "popops.updateScalarInRows", [params, indices], [params]))


def _check(name: str, params: Tensor, indices: Tensor) -> None:
    fits = params.rank() == 2 and params.elementType() in (FLOAT, HALF) and indices.shape() == [params.dim(0)]
    if not fits or indices.elementType() is not UNSIGNED_INT:
        raise poplibs_error(
            f"{name}: {params.elementType()} of shape {params.shape()} with indices of {indices.elementType()}, shape "
            f"{indices.shape()}; a matrix of FLOAT or HALF and an UNSIGNED_INT for each row are needed."
        )


def _tiles_of_rows(graph: Graph, params: Tensor) -> Int64Array:
    first = params.slice(0, 1, 1).flatten() if params.dim(1) else params.flatten()
    begins, ends, device = graph.getTileMappingIntervals(first)
    return np.repeat(graph.state.graph_tiles(device), ends - begins)


def _add(graph: Graph, params: Tensor, indices: Tensor, tiles: Int64Array, name: Any, out: Tensor | None) -> Any:
    """One vertex for the rows of each worker."""
    rows, columns = params.shape()
    order = np.argsort(tiles, kind="stable")
    count = np.bincount(tiles)
    worker = (np.arange(rows) - (np.cumsum(count) - count)[tiles[order]]) // -(-count // WORKERS)[tiles[order]]
    head = np.flatnonzero(np.diff(tiles[order] * WORKERS + worker, prepend=-1))
    vertices = np.append(head, rows).astype(np.int64)
    cs = graph.addComputeSet(name)
    parts = [("params", params.flatten(), columns), ("indices", indices.flatten(), 1)]
    if out is not None:
        parts.append(("out", out, 1))
    edges = {}
    for field, tensor, each in parts:
        starts, lengths, of = regions.cuts(*tensor.regions(), order * each, (order + 1) * each)
        edges[field] = vector_edges(starts, lengths, np.searchsorted(of, vertices, side="left").astype(np.int64))
    type_ = _vertex(short_name(params.elementType()), out is None)
    graph.addVertices(cs, type_, tiles[order][head], edges, {"rowCount": np.diff(vertices)})
    return cs


def selected(params: AnyArray, indices: AnyArray) -> AnyArray:
    """params[i][indices[i]] with 0 and NaN as above, in float32."""
    at = indices.astype(np.int64).reshape(-1)
    there = at < params.shape[1]
    found = params[np.arange(len(at)), np.where(there, at, 0)].astype(np.float32)
    return np.where(there, found, np.where(at == MASKED_LABEL_CODE, np.float32(0), np.float32(np.nan)))


def decremented(params: AnyArray, indices: AnyArray) -> AnyArray:
    """The matrix after the update, in float32."""
    at = indices.astype(np.int64).reshape(-1)
    result = params.astype(np.float32)
    there = at < params.shape[1]
    rows = np.flatnonzero(there)
    result[rows, at[rows]] -= np.float32(1)
    result[~there & (at != MASKED_LABEL_CODE)] = np.nan
    return result


@register("popops.selectScalarFromRows")
def _select_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
    store(outputs[0], selected(inputs[0], inputs[1]))


@register("popops.updateScalarInRows")
def _update_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
    store(outputs[0], decremented(inputs[0], inputs[1]))


@lru_cache(maxsize=4)
def _vertex(dtype: str, update: bool) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        spent = cycles.select_scalars(dtype, elements["indices"])
        count = flop_counts.typed(elements["indices"] * int(update), dtype)
        return BlockCosts(spent, "exact", described_as("PopLibs estimator", cycles.select_scalars), count)

    def compute(vertex: Any) -> None:
        matrix = np.asarray(vertex.params).reshape(len(vertex.indices), -1)
        if update:
            store(vertex.params, decremented(matrix, np.asarray(vertex.indices)).reshape(-1))
        else:
            store(vertex.out, selected(matrix, np.asarray(vertex.indices)))

    fields = [
        FieldSpec("params", "vector", "inout" if update else "in", None, "one_ptr", 4),
        FieldSpec("indices", "vector", "in", UNSIGNED_INT, "span", 4),
        FieldSpec("rowCount", "value", "", UNSIGNED_INT),
    ]
    if not update:
        fields.append(FieldSpec("out", "vector", "out", None, "one_ptr", 4))
    name = "popops::UpdateIntervalDEC" if update else "popops::SelectFromInterval"
    return VertexType(f"{name}<{dtype}>", "worker", tuple(fields), costs, compute, doc="one element of each row")


def hasNaN(graph: Graph, src: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A BOOL scalar: whether any element is NaN. Made of IsNaN and a reduction (PopLibs has a vertex)."""
    return _any(graph, src, prog, debugContext, "hasNaN")


def hasNaNOrInf(graph: Graph, src: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """A BOOL scalar: whether any element is not finite."""
    return _any(graph, src, prog, debugContext, "hasNaNOrInf")


def _any(graph: Graph, src: Tensor, prog: Sequence, context: Context, name: str) -> Tensor:
    if src.elementType() not in (FLOAT, HALF):
        raise poplibs_error(f"{name}: {src.elementType()} holds only finite numbers; FLOAT or HALF is needed.")
    call = operation(graph, context, "popops", name, src=src)
    if src.numElements() == 0:
        none = graph.addConstant(BOOL, [], False, (call, name))
        graph.setTileMapping(none, 0)
        return none
    flat = src.flatten()
    if name == "hasNaN":
        flags = elementwise.unary(graph, "IS_NAN", flat, prog, (call, name), in_place=False)
    else:
        not_finite = UnaryOp(UnaryOpType.LOGICAL_NOT, UnaryOp(UnaryOpType.IS_FINITE, PlaceHolder(1)))
        flags = map_expression(graph, not_finite, [flat], prog, (call, name), None, in_place=False)
    return reduce(graph, flags, [0], Operation.LOGICAL_OR, prog, (call, f"{name}/any"))
