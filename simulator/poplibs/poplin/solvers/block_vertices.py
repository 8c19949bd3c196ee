"""Vertices that solve, invert or decompose one block of a matrix, and their kernels over all batches.

A vertex is a worker on the tile that holds most of its block, one for each batch. Values are computed in float64 and
rounded to the type at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.codelets.run import store
from simulator.graph.debug_context import Context
from simulator.graph.program import Execute, LibraryGroup, Program
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import solvers as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


def solved(a: AnyArray, b: AnyArray, lower: bool) -> AnyArray:
    """x with a x = b for triangular matrices [..., n, n] whose diagonals count as ones, by substitution."""
    wide_a, x = a.astype(np.float64), b.astype(np.float64)
    n = a.shape[-1]
    for row in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, row) if lower else slice(row + 1, n)
        x[..., row, :] -= np.einsum("...k,...kc->...c", wide_a[..., row, known], x[..., known, :])
    return x


def inverted(a: AnyArray, lower: bool) -> AnyArray:
    """The inverses of triangular matrices [..., n, n], by substitution; the other triangle counts as zeros."""
    wide_a = a.astype(np.float64)
    triangle = np.tril(wide_a) if lower else np.triu(wide_a)
    diagonal = np.einsum("...ii->...i", triangle)[..., None]
    unit = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    return solved(triangle / diagonal, unit / diagonal, lower)


def decomposed(a: AnyArray) -> AnyArray:
    """The lower factor L of L L^T = a, from the lower triangles of [..., n, n]; the other triangle stays."""
    out = a.astype(np.float64)
    for column in range(a.shape[-1]):
        before = out[..., column:, :column]
        out[..., column:, column] -= np.einsum("...rk,...k->...r", before, before[..., 0, :])
        out[..., column:, column] /= np.sqrt(out[..., column, column])[..., None]
    return out


def tile_of_most(graph: Graph, block: Tensor) -> int:
    """The tile that holds most elements of a block, the first of several."""
    held = [sum(part.end - part.begin for part in parts) for parts in graph.getTileMapping(block)]
    return int(np.argmax(held))


def add_blocks(
    graph: Graph,
    type_: VertexType,
    fields: dict[str, Tensor],
    kernel: tuple[str, list[Tensor], list[Tensor], dict[str, Any]],
    name: Context,
) -> Program:
    """One vertex for each batch of [batches, rows, columns] `fields`, on the tile of most of the first. `kernel`: its
    name, inputs, outputs and attributes."""
    cs = graph.addComputeSet(name)
    first = next(iter(fields.values()))
    batches, dim = first.dim(0), first.dim(1)
    tiles = np.array([tile_of_most(graph, first[batch]) for batch in range(batches)], np.int64)
    edges = {field: tensor.reshape([batches, tensor.numElements() // batches]) for field, tensor in fields.items()}
    graph.addVertices(cs, type_, tiles, edges, {"dim": dim})
    return LibraryGroup([Execute(cs)], *kernel)


def _vertex(
    name: str,
    fields: tuple[FieldSpec, ...],
    formula: Callable[..., Any],
    arguments: tuple[Any, ...],
    compute: Callable[[Any], None],
    apart: tuple[tuple[str, str], ...] = (),
) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        dim = np.broadcast_to(np.asarray(block.values["dim"], np.int64), (len(block),))
        return BlockCosts(formula(*arguments, dim), "exact", described("7.5", formula))

    state = FieldSpec("dim", "value", "", UNSIGNED_INT)
    return VertexType(name, "worker", (*fields, state), costs, compute, doc="one block of a matrix", apart=apart)


@lru_cache(maxsize=8)
def solve_vertex(type_: Any, lower: bool) -> VertexType:
    """Substitution for one right-hand side; the diagonal counts as ones."""
    dtype = short_name(type_)

    def compute(vertex: Any) -> None:
        n = int(vertex.dim)
        store(vertex.x, solved(np.asarray(vertex.a).reshape(n, n), np.asarray(vertex.b).reshape(n, 1), lower).ravel())

    fields = (
        FieldSpec("a", "vector", "in", None, "span", 8),
        FieldSpec("b", "vector", "in", None),
        FieldSpec("x", "vector", "out", None, "span", 8),
    )
    name = f"poplin::TriangularSolve<{dtype},{str(lower).lower()}>"
    return _vertex(name, fields, cycles.triangular_solve, (dtype, lower), compute, (("a", "x"),))


@lru_cache(maxsize=8)
def inverse_vertex(type_: Any, lower: bool) -> VertexType:
    dtype = short_name(type_)

    def compute(vertex: Any) -> None:
        n = int(vertex.dim)
        store(vertex.out, inverted(np.asarray(getattr(vertex, "in")).reshape(n, n), lower).ravel())

    fields = (FieldSpec("in", "vector", "in", None, "span", 8), FieldSpec("out", "vector", "out", None, "span", 8))
    name = f"poplin::TriangularInverse<{dtype},{str(lower).lower()}>"
    return _vertex(name, fields, cycles.triangular_inverse, (dtype, lower), compute)


@lru_cache(maxsize=8)
def cholesky_vertex(type_: Any) -> VertexType:
    """Decomposition in place, into a lower factor."""
    dtype = short_name(type_)

    def compute(vertex: Any) -> None:
        n = int(vertex.dim)
        block = getattr(vertex, "in")
        store(block, decomposed(np.asarray(block).reshape(n, n)).ravel())

    fields = (FieldSpec("in", "vector", "inout", None, "span", 8),)
    return _vertex(f"poplin::Cholesky<{dtype},true>", fields, cycles.cholesky, (dtype,), compute)


@register("poplin.solveBlock")
def _solve_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    store(outputs[0], solved(inputs[0], inputs[1], attributes["lower"]))


@register("poplin.invertBlock")
def _invert_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    store(outputs[0], inverted(inputs[0], attributes["lower"]))


@register("poplin.decomposeBlock")
def _decompose_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    store(outputs[0], decomposed(inputs[0]))
