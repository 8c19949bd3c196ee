"""Transpose small matrices that lie one after another, on the tiles that have them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import UNSIGNED_SHORT, Type
from simulator.building.graph import Graph
from simulator.graph.objects import ComputeSet
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles.movement import transpose_2d
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.type_names import short_name


def add_transposes(
    graph: Graph, cs: ComputeSet, source: Tensor, target: Tensor, shares: tuple[Int64Array, Int64Array, Int64Array]
) -> None:
    """Vertices that transpose the matrices [matrices, rows, columns] of `source` into `target`, both contiguous:
    vertex i those from begins[i] to ends[i] on tiles[i]."""
    begins, ends, tiles = shares
    _, rows, columns = source.shape()
    block = rows * columns
    edges = {
        name: vector_edges(int(tensor.regions()[0][0]) + begins * block, (ends - begins) * block)
        for name, tensor in (("src", source), ("dst", target))
    }
    type_ = transpose_vertex(source.elementType())
    graph.addVertices(cs, type_, tiles, edges, {"numSrcRows": rows, "numSrcColumns": columns})


@lru_cache(maxsize=8)
def transpose_vertex(type_: Type) -> VertexType:
    """Transposes matrices of one size that lie one after another; the six workers of a tile share them."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        rows, columns = block.values["numSrcRows"], block.values["numSrcColumns"]
        matrices = elements["src"] // (rows * columns)
        spent = transpose_2d(type_.size, rows, columns, matrices)
        return BlockCosts(spent, "exact", "PopLibs Transpose2D, published-numbers 7.3", np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        shape = (-1, int(vertex.numSrcRows), int(vertex.numSrcColumns))
        vertex.dst[...] = np.asarray(vertex.src).reshape(shape).swapaxes(1, 2).reshape(-1)

    fields = (
        FieldSpec("src", "vector", "in", None, "one_ptr", 8),
        FieldSpec("dst", "vector", "out", None, "one_ptr", 8),
        FieldSpec("numSrcRows", "value", "", UNSIGNED_SHORT),
        FieldSpec("numSrcColumns", "value", "", UNSIGNED_SHORT),
    )
    return VertexType(
        f"poplin::Transpose2D<{short_name(type_)}>",
        "multi",
        fields,
        costs,
        compute,
        doc="transposed blocks",
        apart=(("src", "dst"),),
    )
