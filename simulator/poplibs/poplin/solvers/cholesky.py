"""poplin.cholesky: the triangular factor of symmetric, positive definite matrices [..., n, n], block by block.

    A11 is decomposed by a vertex, and inverted by another; A21 becomes A21 A11^-T; A22 loses A21 A21^T, and is next.

For an upper factor the same holds of the transposed matrix. Source: PopLibs' public library of 2021."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.library_calls import LAYER, operation
from simulator.poplibs.poplin.partials import rearrange
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.preplan import MatMulParams
from simulator.poplibs.poplin.products.matmul import matMulGrouped, matMulGroupedAcc
from simulator.poplibs.poplin.products.operands import createMatMulGroupedInputLHS, createMatMulGroupedInputRHS
from simulator.poplibs.poplin.solvers.block_vertices import add_blocks, cholesky_vertex, inverse_vertex
from simulator.poplibs.poplin.solvers.blocked import (
    Options,
    block_size,
    by_batch,
    check_square,
    check_types,
    matrix_of_blocks,
)

Cache = PlanningCache | None


def createCholeskyInput(
    graph: Graph,
    type: Type,
    shape: list[int],
    lower: bool,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """A new [..., n, n] tensor stored by the blocks that `choleskyInPlace` works on. Raises poplibs_error for another
    shape, `type_error` for a type other than FLOAT and HALF, `invalid_option`."""
    check_square("createCholeskyInput", shape)
    check_types("createCholeskyInput", type)
    n = shape[-1]
    block = min(block_size("createCholeskyInput", options)[0], max(n, 1))
    call = operation(graph, debugContext, "poplin", "createCholeskyInput", shape=shape)
    batches = prod(shape[:-2])
    return matrix_of_blocks(graph, type, [batches, n, n], block, block, call, not lower).reshape(shape)


def cholesky(
    graph: Graph,
    a: Tensor,
    lower: bool,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """The factor of each matrix of [..., n, n]: L with L L^T = A where `lower`, else U with U^T U = A. Only that
    triangle of A is read; the other one of the result is zeros. Options: blockSize (64), and those of products."""
    check_square("cholesky", a.shape())
    check_types("cholesky", a.elementType())
    made = createCholeskyInput(graph, a.elementType(), a.shape(), lower, debugContext, options, cache)
    prog.add(Copy(a, made))
    choleskyInPlace(graph, made, lower, prog, debugContext, options, cache)
    return made


def choleskyInPlace(
    graph: Graph,
    a: Tensor,
    lower: bool,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> None:
    """`cholesky`, written over A."""
    check_square("choleskyInPlace", a.shape())
    check_types("choleskyInPlace", a.elementType())
    size, products = block_size("choleskyInPlace", options)
    call = operation(graph, debugContext, "poplin", "choleskyInPlace", a=a, lower=lower)
    matrices = by_batch(a)
    n = matrices.dim(1)
    if matrices.numElements() == 0:
        return
    steps = _Decomposition(
        graph, prog, call, lower, min(size, n), products, PlanningCache() if cache is None else cache
    )
    steps.add(matrices)
    own = matrices if lower else matrices.dimShuffle([0, 2, 1])
    above = [own.slice([0, row, row + 1], [own.dim(0), row + 1, n]).flatten() for row in range(n - 1)]
    if above:
        blank = concat(above)
        zeros = rearrange.zeros_of(graph, a.elementType(), [blank.numElements()])
        prog.add(Copy(zeros, blank, False, (call, "maskOutput")))


def getCholeskyMatMulPrePlanParameters(
    type: Type, shape: list[int], lower: bool, options: Options = None
) -> list[tuple[MatMulParams, dict[str, Any]]]:
    """The products that the decomposition of [..., n, n] matrices uses, with their options, for `preplanMatMuls`."""
    check_square("getCholeskyMatMulPrePlanParameters", shape)
    size, products = block_size("getCholeskyMatMulPrePlanParameters", options)
    groups, n = prod(shape[:-2]), shape[-1]
    block = min(size, n)
    found = []
    for left in range(n - block, 0, -block):
        panel = ([left, block], [block, block]) if lower else ([block, block], [block, left])
        for a, b in (panel, ([left, block], [block, left])):
            found.append((MatMulParams(type, type, [groups, *a], [groups, *b]), products))
    return found


@dataclass
class _Decomposition:
    """The programs of one call."""

    graph: Graph
    prog: Sequence
    call: DebugInfo
    lower: bool
    block: int
    options: dict[str, Any]
    cache: PlanningCache

    def add(self, a: Tensor) -> None:
        """Decompose [batches, n, n] matrices, one block after the other."""
        while a.dim(1) > self.block:
            batches, n, size = a.dim(0), a.dim(1), self.block
            first = a.slice([0, 0, 0], [batches, size, size])
            self._factorise(first)
            turned = self._inverse(first).dimShuffle([0, 2, 1])
            rest = a.slice([0, size, size], [batches, n, n])
            if self.lower:
                panel = a.slice([0, size, 0], [batches, n, size])
                self._into(panel, panel, turned, "A21*A11IT")
                self._subtract(rest, panel, panel.dimShuffle([0, 2, 1]))
            else:
                panel = a.slice([0, 0, size], [batches, size, n])
                self._into(panel, turned, panel, "A11IT*A12")
                self._subtract(rest, panel.dimShuffle([0, 2, 1]), panel)
            a = rest
        self._factorise(a)

    def _factorise(self, block: Tensor) -> None:
        own = block if self.lower else block.dimShuffle([0, 2, 1])
        attributes: dict[str, Any] = {}
        kernel = ("poplin.decomposeBlock", [own], [own], attributes)
        name = (self.call, "cholesky")
        self.prog.add(add_blocks(self.graph, cholesky_vertex(own.elementType()), {"in": own}, kernel, name))

    def _inverse(self, block: Tensor) -> Tensor:
        """A new tensor with the inverse of a triangular block."""
        out = self.graph.clone(block.elementType(), block, (self.call, "inverse"))
        kernel = ("poplin.invertBlock", [block], [out], {"lower": self.lower})
        type_ = inverse_vertex(block.elementType(), self.lower)
        fields = {"in": block, "out": out}
        self.prog.add(add_blocks(self.graph, type_, fields, kernel, (self.call, "triangularInverse")))
        return out

    def _arranged(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        """Copies of both operands in the layout of their product."""
        what = (left.elementType(), left.elementType(), left.shape(), right.shape())
        made = (
            createMatMulGroupedInputLHS(self.graph, *what, (self.call, "createLHS"), self.options, self.cache),
            createMatMulGroupedInputRHS(self.graph, *what, (self.call, "createRHS"), self.options, self.cache),
        )
        for source, target in zip((left, right), made, strict=True):
            self.prog.add(Copy(source, target, False, self.call))
        return made

    def _into(self, target: Tensor, left: Tensor, right: Tensor, name: str) -> None:
        """target = left right."""
        a, b = self._arranged(left, right)
        context = self.graph.addDebugInfo((self.call, name), LAYER)
        product = matMulGrouped(self.graph, a, b, self.prog, target.elementType(), context, self.options, self.cache)
        self.prog.add(Copy(product, target, False, self.call))

    def _subtract(self, target: Tensor, left: Tensor, right: Tensor) -> None:
        """target -= left right."""
        a, b = self._arranged(left, right)
        context = self.graph.addDebugInfo((self.call, "A21*A21T"), LAYER)
        matMulGroupedAcc(self.graph, target, -1.0, a, b, self.prog, context, self.options, self.cache)
