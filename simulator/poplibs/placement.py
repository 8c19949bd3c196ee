"""Place the vertices of an element-wise operation on the tiles that hold its output.

A tile whose part is one run gets one vertex over that run (flat: a MultiVertex for its six workers). A tile with
several runs gets up to six worker vertices over rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.building.graph import Graph
from simulator.building.mapping import grain
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import FieldEdges, VertexType
from simulator.poplibs.pieces import Runs, aligned_runs, rows_edges, vector_edges


@dataclass(frozen=True)
class Forms:
    """The two vertex types of an operation: over one run (None where it has none), and over rows."""

    flat: VertexType | None
    rows: VertexType


def place_elementwise(
    graph: Graph,
    cs: ComputeSet,
    forms: Forms,
    out: tuple[str, Tensor],
    vectors: Mapping[str, Tensor],
    scalars: Mapping[str, Tensor],
    values: Mapping[str, Any] | None = None,
    only: Int64Array | None = None,
) -> None:
    """Add the vertices, on the tiles `only` where given. `out` = (field, tensor) determines the tiles; `vectors` =
    operands of the same size, by field; `scalars` = tensors of one element that each vertex reads; `values` = simple
    fields, equal for all vertices."""
    field, tensor = out
    if tensor.numElements() == 0:
        return
    share = max([grain(tensor.elementType())] + [grain(t.elementType()) for t in vectors.values()])
    runs = aligned_runs(graph.store, tensor, list(vectors.values()), share, forms.flat is None)
    if only is not None:
        runs = runs.take(np.isin(runs.tiles, only))
    names, flat = [field, *vectors], runs.workers < 0

    def add(type_: VertexType, edges: dict[str, FieldEdges], tiles: Int64Array) -> None:
        graph.addVertices(cs, type_, graph.state.graph_tiles(tiles), edges | _scalars(scalars, len(tiles)), values)

    if flat.any() and forms.flat is not None:
        add(forms.flat, *_run_edges(runs.take(flat), names))
    if not flat.all():
        add(forms.rows, *_row_edges(runs.take(~flat), names))


def _run_edges(runs: Runs, names: list[str]) -> tuple[dict[str, FieldEdges], Int64Array]:
    """(edges of one vertex per run: the output, then the operands; tiles)."""
    out, *operands = names
    edges = {out: vector_edges(runs.starts, runs.lengths)}
    for name, (starts, lengths), offsets in zip(operands, runs.operands, runs.offsets, strict=True):
        edges[name] = vector_edges(starts, lengths, offsets)
    return edges, runs.tiles


def _row_edges(runs: Runs, names: list[str]) -> tuple[dict[str, FieldEdges], Int64Array]:
    """(edges of one vertex per worker, whose rows are its runs; tiles)."""
    out, *operands = names
    first = np.flatnonzero(np.diff(runs.tiles * 8 + runs.workers, prepend=-1))
    rows = np.append(first, len(runs.tiles))
    edges = {out: rows_edges(runs.starts, runs.lengths, rows)}
    for name, (starts, lengths), offsets in zip(operands, runs.operands, runs.offsets, strict=True):
        edges[name] = rows_edges(starts, lengths, rows, offsets)
    return edges, runs.tiles[first]


def _scalars(scalars: Mapping[str, Tensor], n: int) -> dict[str, FieldEdges]:
    """The same element for each vertex."""
    return {
        name: vector_edges(np.full(n, int(tensor.regions()[0][0]), np.int64), np.ones(n, np.int64))
        for name, tensor in scalars.items()
    }
