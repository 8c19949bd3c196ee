"""poplin.triangularSolve: x with A x = B, or x A = B, for triangular matrices A [..., n, n].

A matrix of more rows than a block is cut in halves, again and again: the half with the diagonal that knows its x first
is solved, its product with x is taken from the rest of B. A block with one right-hand side is a vertex; with several,
each row is a product of the row with the x that are known. Source: PopLibs' public library of 2021.

A matrix without a unit diagonal is divided by its diagonal before; one whose size is no block times a power of two is
padded with the diagonal of an identity."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, operation
from simulator.poplibs.poplin.partials import rearrange
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.preplan import MatMulParams
from simulator.poplibs.poplin.products.matmul import matMulGrouped
from simulator.poplibs.poplin.products.operands import createMatMulGroupedInputLHS, createMatMulGroupedInputRHS
from simulator.poplibs.poplin.solvers.block_vertices import add_blocks, solve_vertex
from simulator.poplibs.poplin.solvers.blocked import (
    Options,
    block_size,
    by_batch,
    check_square,
    check_types,
    matrix_of_blocks,
)
from simulator.poplibs.poputil import graphfn, mapTensorLinearly
from simulator.poplibs.poputil.exceptions import poplibs_error

Cache = PlanningCache | None


def createTriangularSolveInputLHS(
    graph: Graph,
    inputType: Type,
    outputType: Type,
    aShape: list[int],
    bShape: list[int],
    leftSide: bool,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """A new A [..., n, n] stored by the blocks that `triangularSolve` works on. Raises poplibs_error for shapes that do
    not fit, `type_error` for types other than FLOAT or HALF for both, `invalid_option`."""
    api = "createTriangularSolveInputLHS"
    _check_shapes(api, aShape, bShape, leftSide)
    check_types(api, inputType, outputType)
    call = operation(graph, debugContext, "poplin", api, aShape=aShape, bShape=bShape)
    n, size = aShape[-1], block_size(api, options)[0]
    return _stored(graph, inputType, [prod(aShape[:-2]), n, n], size, leftSide, call).reshape(aShape)


def createTriangularSolveInputRHS(
    graph: Graph,
    inputType: Type,
    outputType: Type,
    aShape: list[int],
    bShape: list[int],
    leftSide: bool,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """A new B for `triangularSolve`, its right-hand sides one after another. Raises as the other function."""
    api = "createTriangularSolveInputRHS"
    _check_shapes(api, aShape, bShape, leftSide)
    check_types(api, inputType, outputType)
    block_size(api, options)
    call = operation(graph, debugContext, "poplin", api, aShape=aShape, bShape=bShape)
    rows, columns = bShape[-2:]
    sides, n = (columns, rows) if leftSide else (rows, columns)
    made = graph.addVariable(outputType, [prod(bShape[:-2]), sides, n], call)
    mapTensorLinearly(graph, made)
    return (made.dimShuffle([0, 2, 1]) if leftSide else made).reshape(bShape)


def triangularMask(
    graph: Graph, a: Tensor, lower: bool, unitDiagonal: bool, prog: Sequence, debugContext: Context = ""
) -> Tensor:
    """A copy of [..., n, n] with zeros in the other triangle, and ones on the diagonal if `unitDiagonal`. Raises
    poplibs_error for another shape."""
    check_square("triangularMask", a.shape())
    call = operation(graph, debugContext, "poplin", "triangularMask", a=a, lower=lower, unitDiagonal=unitDiagonal)
    return _triangle(graph, by_batch(a), lower, unitDiagonal, prog, call).reshape(a.shape())


def triangularSolve(
    graph: Graph,
    a: Tensor,
    b: Tensor,
    leftSide: bool,
    lower: bool,
    unitDiagonal: bool,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """x, shaped like B, with A x = B where `leftSide`, else x A = B. A is [..., n, n], B [..., n, k] or [..., k, n].
    Only the triangle `lower` names is read, and with `unitDiagonal` ones in place of its diagonal. Options: blockSize
    (64), and those of products. Raises poplibs_error for shapes that do not fit, `type_error`, `invalid_option`."""
    _check_shapes("triangularSolve", a.shape(), b.shape(), leftSide)
    check_types("triangularSolve", a.elementType(), b.elementType())
    size, products = block_size("triangularSolve", options)
    call = operation(graph, debugContext, "poplin", "triangularSolve", a=a, b=b, leftSide=leftSide, lower=lower)
    if b.numElements() == 0:
        return graph.clone(b.elementType(), b, call)
    matrix = _triangle(graph, by_batch(a), lower, unitDiagonal, prog, call)
    sides = by_batch(b)
    if not leftSide:  # x A = B is A^T x^T = B^T
        matrix, sides, lower = matrix.dimShuffle([0, 2, 1]), sides.dimShuffle([0, 2, 1]), not lower
    if not unitDiagonal:
        sides = _scaled(graph, matrix, sides, prog, call)
    n = matrix.dim(1)
    whole = _padded_size(n, size)
    matrix, sides = _padded(graph, matrix, sides, whole, prog, call)
    x = _stored(graph, a.elementType(), sides.shape(), size, False, (call, "X"))
    solver = _Solver(graph, prog, call, lower, size, products, PlanningCache() if cache is None else cache, x)
    solver.solve(matrix, sides, 0, 0)
    x = x.slice([0, 0, 0], [x.dim(0), n, x.dim(2)])
    return (x if leftSide else x.dimShuffle([0, 2, 1])).reshape(b.shape())


def getTriangularSolveMatMulPrePlanParameters(
    inputType: Type,
    outputType: Type,
    aShape: list[int],
    bShape: list[int],
    leftSide: bool,
    lower: bool,
    options: Options = None,
) -> list[tuple[MatMulParams, dict[str, Any]]]:
    """The products that the solve uses, with their options, for `preplanMatMuls`."""
    api = "getTriangularSolveMatMulPrePlanParameters"
    n, columns = _check_shapes(api, aShape, bShape, leftSide)
    size, products = block_size(api, options)
    groups, whole, found = prod(aShape[:-2]), _padded_size(n, size), []
    widths = {columns}
    while whole > size:
        whole //= 2
        widths = {half for width in widths for half in (-(-width // 2), width // 2) if half}
        found += [([groups, whole, whole], [groups, whole, width]) for width in sorted(widths)]
    rows = min(n, size)
    found += [([groups, 1, k], [groups, k, w]) for w in sorted(widths) if w > 1 for k in range(1, rows)]
    return [(MatMulParams(inputType, inputType, a, b), products) for a, b in found]


def _check_shapes(api: str, a: list[int], b: list[int], left_side: bool) -> tuple[int, int]:
    """(n, right-hand sides). Raises poplibs_error for shapes that do not fit."""
    check_square(api, a)
    if len(a) != len(b) or a[:-2] != b[:-2] or b[-2 if left_side else -1] != a[-1]:
        wanted = "[..., n, k]" if left_side else "[..., k, n]"
        raise poplibs_error(f"{api}: B has shape {b}; for A {a} it must be {wanted} with the same leading dimensions.")
    return a[-1], b[-1 if left_side else -2]


def _stored(graph: Graph, type_: Type, shape: list[int], size: int, left_side: bool, name: Context) -> Tensor:
    """A new [batches, rows, columns] tensor by blocks; a matrix of no more rows than a block has no blocks."""
    block = size if shape[1 if left_side else 2] > size else 1
    return matrix_of_blocks(graph, type_, shape, block, block, name, not left_side)


def _triangle(graph: Graph, a: Tensor, lower: bool, unit: bool, prog: Sequence, call: DebugInfo) -> Tensor:
    batches, n, _ = a.shape()
    out = graph.clone(a.elementType(), a, (call, "triangle"))
    zeros = rearrange.zeros(graph, a.elementType(), n)
    one = graph.addConstant(a.elementType(), [1, 1, 1], 1, (call, "one"))
    graph.setTileMapping(one, 0)
    rows = []
    for row in range(n):
        begin, end = (0, row + 1 - unit) if lower else (row + unit, n)
        before, after = (
            zeros.slice(0, count, 0).expand([0, 0]).broadcast(batches, 0)
            for count in ((0, n - row - 1) if lower else (row, 0))
        )
        kept = a.slice([0, row, begin], [batches, row + 1, end])
        diagonal = [one.broadcast(batches, 0)] if unit else []
        rows.append(concat([before, *([kept, *diagonal] if lower else [*diagonal, kept]), after], 2))
    prog.add(Copy(concat(rows, 1), out, False, (call, "triangularMask")))
    return out


def _diagonal(a: Tensor) -> Tensor:
    """[batches, n] of [batches, n, n]."""
    batches, n, _ = a.shape()
    return a.reshape([batches, n * n]).slice(0, n * n, 1).subSample(n + 1, 1)


def _scaled(graph: Graph, a: Tensor, b: Tensor, prog: Sequence, call: DebugInfo) -> Tensor:
    """B divided by the diagonal of A, which is divided in place."""
    batches, n, _ = a.shape()
    diagonal = graph.addVariable(a.elementType(), [batches, n, 1], (call, "diagonal"))
    mapTensorLinearly(graph, diagonal)
    prog.add(Copy(_diagonal(a).reshape([batches, n, 1]), diagonal, False, call))
    popops.divInPlace(graph, a, diagonal, prog, (call, "scaleA"))
    return popops.div(graph, b, diagonal, prog, (call, "scaleB"))


def _padded_size(n: int, size: int) -> int:
    """A block times a power of two, for more rows than a block."""
    whole = size
    while whole < n:
        whole *= 2
    return whole if n > size else n


def _padded(graph: Graph, a: Tensor, b: Tensor, whole: int, prog: Sequence, call: DebugInfo) -> tuple[Tensor, Tensor]:
    """A with the diagonal of an identity after its end, B with zeros."""
    batches, n, _ = a.shape()
    if whole == n:
        return a, b
    missing = whole - n
    right = graph.addVariable(a.elementType(), [batches, n, missing], (call, "rightPadding"))
    bottom = graph.addVariable(a.elementType(), [batches, missing, whole], (call, "bottomPadding"))
    for part in (right, bottom):
        mapTensorLinearly(graph, part)
        prog.add(Copy(rearrange.zeros_of(graph, a.elementType(), part.shape()), part, False, call))
    padded = concat([concat([a, right], 2), bottom], 1)
    one = graph.addConstant(a.elementType(), [1, 1], 1, (call, "one"))
    graph.setTileMapping(one, 0)
    ones = one.broadcast(batches, 0).broadcast(missing, 1)
    prog.add(Copy(ones, _diagonal(padded).slice(n, whole, 1), False, call))
    return padded, rearrange.with_zeros(graph, b, 1, 0, missing)


@dataclass
class _Solver:
    """The programs of one call. `x` gets the solution; functions are built once for each shape."""

    graph: Graph
    prog: Sequence
    call: DebugInfo
    lower: bool
    size: int
    options: dict[str, Any]
    cache: PlanningCache
    x: Tensor
    products: dict[tuple[int, ...], graphfn.VoidFunction] = field(default_factory=dict)
    substitutions: dict[int, graphfn.VoidFunction] = field(default_factory=dict)

    def solve(self, a: Tensor, b: Tensor, top: int, left: int) -> None:
        """x[top ..., left ...] with A x = B."""
        batches, n, columns = b.shape()
        if columns == 0:
            return
        if n <= self.size:
            self._substitute(a, b, self.x.slice([0, top, left], [batches, top + n, left + columns]))
            return
        half = n // 2
        first, second = (0, half) if self.lower else (half, 0)  # rows of the half that is solved first

        def part(row: int, column: int) -> Tensor:
            return a.slice([0, row, column], [batches, row + half, column + half])

        middle = -(-columns // 2)
        ranges = [(0, middle), (middle, columns)]
        for begin, end in ranges:
            rows = b.slice([0, first, begin], [batches, first + half, end])
            self.solve(part(first, first), rows, top + first, left + begin)
        for begin, end in ranges:
            if begin == end:
                continue
            known = self.x.slice([0, top + first, left + begin], [batches, top + first + half, left + end])
            rest = b.slice([0, second, begin], [batches, second + half, end])
            product = self._product(part(second, first), known)
            rest = popops.sub(self.graph, rest, product, self.prog, (self.call, "B-A*X"))
            self.solve(part(second, second), rest, top + second, left + begin)

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        """A x B, by a function for each pair of shapes."""
        shapes = (*a.shape(), *b.shape())
        if shapes not in self.products:
            what = (a.elementType(), a.elementType(), a.shape(), b.shape())
            own = (
                createMatMulGroupedInputLHS(self.graph, *what, (self.call, "matmulInputA"), self.options, self.cache),
                createMatMulGroupedInputRHS(self.graph, *what, (self.call, "matmulInputB"), self.options, self.cache),
            )
            signature = [graphfn.input(own[0], "a"), graphfn.input(own[1], "b"), graphfn.created("product")]
            self.products[shapes] = graphfn.VoidFunction(self.graph, signature, self._multiply, False)
        arguments: graphfn.Arguments = [a, b, None]
        self.products[shapes](arguments, self.prog)
        (product,) = (t for t in arguments[2:] if t is not None)
        return product

    def _multiply(self, arguments: graphfn.Arguments, prog: Sequence) -> None:
        a, b, _ = arguments
        assert a is not None
        assert b is not None
        name = self.graph.addDebugInfo((self.call, "A*X"), LAYER)
        arguments[2] = matMulGrouped(self.graph, a, b, prog, a.elementType(), name, self.options, self.cache)

    def _substitute(self, a: Tensor, b: Tensor, x: Tensor) -> None:
        """One block: a vertex for one right-hand side, else a function, which blocks of the same shape share."""
        if b.dim(2) == 1:
            kernel = ("poplin.solveBlock", [a, b], [x], {"lower": self.lower})
            type_ = solve_vertex(a.elementType(), self.lower)
            fields = {"a": a, "b": b, "x": x}
            self.prog.add(add_blocks(self.graph, type_, fields, kernel, (self.call, "triangularSolve")))
            return
        columns = b.dim(2)
        if columns not in self.substitutions:
            signature = [graphfn.input(a, "a"), graphfn.input(b, "b"), graphfn.inout(x, "x")]
            self.substitutions[columns] = graphfn.VoidFunction(self.graph, signature, self._by_rows, False)
        self.substitutions[columns]([a, b, x], self.prog)

    def _by_rows(self, arguments: graphfn.Arguments, prog: Sequence) -> None:
        """x by rows: B less the product of a row of A with the rows of x that are known."""
        a, b, x = arguments
        assert a is not None
        assert b is not None
        assert x is not None
        batches, n, columns = b.shape()
        for step in range(n):
            row = step if self.lower else n - 1 - step
            known = (0, row) if self.lower else (row + 1, n)
            value = b.slice([0, row, 0], [batches, row + 1, columns])
            if step:
                left = a.slice([0, row, known[0]], [batches, row + 1, known[1]])
                right = x.slice([0, known[0], 0], [batches, known[1], columns])
                name = self.graph.addDebugInfo((self.call, f"substituteX{step}"), LAYER)
                dot = matMulGrouped(self.graph, left, right, prog, a.elementType(), name, self.options, self.cache)
                value = popops.sub(self.graph, value, dot, prog, (self.call, f"substituteB{step}"))
            prog.add(Copy(value, x.slice([0, row, 0], [batches, row + 1, columns]), False, self.call))
