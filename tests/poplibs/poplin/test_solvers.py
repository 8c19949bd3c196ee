"""poplin.triangularSolve and poplin.cholesky: results of vertices, of kernels and of NumPy; cycles of the published
programs by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.building.estimates import elements_of
from simulator.poplar import FLOAT, HALF, INT, Graph, Tensor, invalid_option, type_error
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poputil.exceptions import poplibs_error
from tests.poplibs.programs import both_ways, small_graph


def triangle(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Matrices whose both triangles have small elements, beside a diagonal of about 1."""
    return rng.uniform(-0.5, 0.5, shape) / shape[-1] + rng.uniform(0.75, 1.25, shape) * np.eye(shape[-1])


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(
    ("batch", "n", "columns", "block", "unit"),
    [((), 5, 1, 8, True), ((2, 2), 4, 3, 4, False), ((3,), 10, 1, 4, False), ((), 9, 4, 3, True)],
)
def test_solutions(
    left: bool, lower: bool, batch: tuple[int, ...], n: int, columns: int, block: int, unit: bool
) -> None:
    rng = np.random.default_rng(n)
    a, b = triangle(rng, (*batch, n, n)), rng.normal(size=(*batch, *((n, columns) if left else (columns, n))))
    options = {"blockSize": str(block)}
    made = (list(a.shape), list(b.shape), left)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        matrix = poplin.createTriangularSolveInputLHS(graph, FLOAT, FLOAT, *made, "a", options)
        sides = poplin.createTriangularSolveInputRHS(graph, FLOAT, FLOAT, *made, "b", options)
        x = poplin.triangularSolve(graph, matrix, sides, left, lower, unit, program, "solve", options)
        return {"a": (matrix, a), "b": (sides, b)}, x

    whole = np.tril(a) if lower else np.triu(a)
    if unit:
        whole = whole * (1 - np.eye(n)) + np.eye(n)
    wanted = np.linalg.solve(whole, b) if left else np.linalg.solve(whole.swapaxes(-1, -2), b.swapaxes(-1, -2))
    for result in both_ways(build, 8):
        np.testing.assert_allclose(result, wanted if left else wanted.swapaxes(-1, -2), atol=1e-4)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("batch", "n", "block"), [((), 6, 8), ((2,), 8, 3), ((2, 2), 4, 2)])
def test_factors(lower: bool, batch: tuple[int, ...], n: int, block: int) -> None:
    root = triangle(np.random.default_rng(n), (*batch, n, n))
    a = root @ root.swapaxes(-1, -2)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        matrix = graph.addVariable(FLOAT, list(a.shape), "a")
        graph.setTileMapping(matrix, 1)
        factor = poplin.cholesky(graph, matrix, lower, program, "factor", {"blockSize": block})
        return {"a": (matrix, a)}, factor

    wanted = np.linalg.cholesky(a)
    for result in both_ways(build, 8):
        np.testing.assert_allclose(result, wanted if lower else wanted.swapaxes(-1, -2), atol=1e-4)


def test_masks() -> None:
    a = np.arange(1.0, 19.0).reshape(2, 3, 3)
    for lower, unit in ((True, True), (True, False), (False, True), (False, False)):

        def build(
            graph: Graph, program: Sequence, lower: bool = lower, unit: bool = unit
        ) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
            matrix = graph.addVariable(HALF, [2, 3, 3], "a")
            graph.setTileMapping(matrix, 0)
            return {"a": (matrix, a)}, poplin.triangularMask(graph, matrix, lower, unit, program)

        wanted = np.tril(a) if lower else np.triu(a)
        wanted = wanted * (1 - np.eye(3)) + np.eye(3) if unit else wanted
        for result in both_ways(build, 4):
            np.testing.assert_array_equal(result, wanted)


def cycles_of(graph: Graph, vertex: str) -> list[int]:
    blocks = [b for b in graph.store.blocks if vertex in b.type.name]
    return [int(c) for b in blocks for c in b.type.costs(b, elements_of(b), graph.getTarget()).cycles]


def test_cycles_by_hand() -> None:
    """Of the published programs: cholesky of 2 x 2 blocks of 16, a solve of 64 rows from both sides. Six threads take
    191,556, 246,312 and 105,228 or 228,996 cycles, of 635,636, 110,505 and 940,061 / 4 published."""
    graph, program = small_graph(64), Sequence()
    options = {"blockSize": "16"}
    matrix = poplin.createCholeskyInput(graph, FLOAT, [1, 32, 32], False, "A", options)
    poplin.choleskyInPlace(graph, matrix, False, program, "c", options)
    assert cycles_of(graph, "Cholesky") == [16**3 + 102 * 16**2 + 101 * 16 + 102] * 2
    assert cycles_of(graph, "TriangularInverse") == [6 * 16**3 + 51 * 16**2 + 213 * 16 + 12]
    for left in (True, False):
        a = graph.addVariable(FLOAT, [64, 64], "a")
        b = graph.addVariable(FLOAT, [64, 1] if left else [1, 64], "b")
        for tensor in (a, b):
            graph.setTileMapping(tensor, 0)
        poplin.triangularSolve(graph, a, b, left, True, True, program)
    assert cycles_of(graph, "TriangularSolve") == [
        3 * 64**2 // 2 + 180 * 64 - 126,
        27 * 64**2 // 4 + 327 * 64 // 2 + 54,
    ]


def test_products_are_planned_ahead() -> None:
    graph, program, cache = small_graph(16), Sequence(), poplin.PlanningCache()
    shapes, options = ([12, 12], [12, 4]), {"blockSize": "4"}
    wanted = poplin.getTriangularSolveMatMulPrePlanParameters(FLOAT, FLOAT, *shapes, True, True, options)
    wanted += poplin.getCholeskyMatMulPrePlanParameters(FLOAT, [12, 12], True, options)
    target = graph.getTarget()
    poplin.preplanMatMuls([(target, params, products) for params, products in wanted], cache)
    before = cache.size()
    a, b = graph.addVariable(FLOAT, shapes[0], "a"), graph.addVariable(FLOAT, shapes[1], "b")
    for tensor in (a, b):
        graph.setTileMapping(tensor, 0)
    poplin.triangularSolve(graph, a, b, True, True, False, program, "s", options, cache)
    poplin.cholesky(graph, a, True, program, "c", options, cache)
    assert cache.size() == before > 0


def test_what_cannot_be_solved_is_refused() -> None:
    graph, program = small_graph(4), Sequence()
    a, b = (graph.addVariable(FLOAT, shape) for shape in ([3, 4], [4, 2]))
    square = graph.addVariable(FLOAT, [4, 4])
    with pytest.raises(poplibs_error, match=r"A has shape \[3, 4\]; it must be \[..., n, n\]"):
        poplin.triangularSolve(graph, a, b, True, True, True, program)
    with pytest.raises(poplibs_error, match=r"B has shape \[4, 2\]; for A \[4, 4\] it must be \[..., k, n\]"):
        poplin.triangularSolve(graph, square, b, False, True, True, program)
    with pytest.raises(invalid_option, match="blockSize is '0'; it is a number of rows, at least 1"):
        poplin.cholesky(graph, square, True, program, "", {"blockSize": "0"})
    with pytest.raises(invalid_option, match="matMul has no option 'blocks'"):
        poplin.cholesky(graph, square, True, program, "", {"blocks": "2"})
    halves, numbers = graph.addVariable(HALF, [4, 1]), graph.addVariable(INT, [4, 4])
    with pytest.raises(type_error, match="triangularSolve: the elements are float and half; all must be FLOAT or all"):
        poplin.triangularSolve(graph, square, halves, True, True, True, program)
    with pytest.raises(type_error, match="choleskyInPlace: the elements are int; all must be FLOAT or all HALF"):
        poplin.choleskyInPlace(graph, numbers, True, program)
    empty = graph.addVariable(FLOAT, [0, 0])
    assert poplin.cholesky(graph, empty, True, program).shape() == [0, 0]
