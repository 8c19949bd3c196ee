"""Index vectors of gather and scatter: the dimensions that they index, and single indices for slices that are rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from simulator.base.types import INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.poplibs.popops import elementwise
from simulator.poplibs.popops.reductions.reduce import Operation, reduce
from simulator.poplibs.poputil.exceptions import poplibs_error


def index_matrix(name: str, indices: Tensor, vector_dim: int, size: int) -> tuple[Tensor, list[int]]:
    """([vectors, size] of UNSIGNED_INT, shape of the vectors' dimensions). `vector_dim` may be the rank of the indices,
    which are then single numbers."""
    if indices.elementType() not in (INT, UNSIGNED_INT):
        raise poplibs_error(f"{name}: the indices hold {indices.elementType()}; UNSIGNED_INT is needed.")
    if not 0 <= vector_dim <= indices.rank():
        raise poplibs_error(f"{name}: indexVectorDim {vector_dim} is beyond indices of shape {indices.shape()}.")
    spread = indices.expand([indices.rank()]) if vector_dim == indices.rank() else indices
    if spread.dim(vector_dim) != size:
        raise poplibs_error(
            f"{name}: index vectors of {spread.dim(vector_dim)} numbers for {size} dimensions; they must be as many."
        )
    rolled = spread.dimRoll(vector_dim, spread.rank() - 1)
    matrix = rolled.reshape([prod(rolled.shape()[:-1]), size])
    return matrix.reinterpret(UNSIGNED_INT) if indices.elementType() is INT else matrix, rolled.shape()[:-1]


def as_rows(
    graph: Graph, t: Tensor, matrix: Tensor, dims: Sequence[int], prog: ProgramSequence, call: DebugInfo
) -> tuple[Tensor, Tensor]:
    """The tensor with its indexed dimensions joined into the first, and the index of each vector into it, [n, 1]."""
    others = [d for d in range(t.rank()) if d not in dims]
    rows = t.dimShuffle([*dims, *others]).reshape([prod(t.dim(d) for d in dims), prod(t.dim(d) for d in others)])
    if len(dims) == 1:
        return rows, matrix
    steps = np.append(np.cumprod([t.dim(d) for d in dims[:0:-1]])[::-1], 1)
    constant = graph.addConstant(UNSIGNED_INT, [len(dims)], steps, (call, "steps"))
    graph.setTileMapping(constant, 0)
    parts = elementwise.binary(graph, "MULTIPLY", matrix, constant, prog, (call, "index"), in_place=False)
    return rows, reduce(graph, parts, [1], Operation.ADD, prog, (call, "index")).expand([1])
