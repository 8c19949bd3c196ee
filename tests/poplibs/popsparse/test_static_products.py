"""Products with a sparse operand known at compile time, against scipy.sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF, Engine, Graph, IPUModel, Type, invalid_option
from simulator.poplar.program import Sequence
from simulator.poplibs import popsparse
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, small_graph

static = popsparse.static_
CLOSE = {FLOAT: 1e-4, HALF: 3e-2}


class Case(NamedTuple):
    """A sparse matrix [rows, columns] of blocks, and the other size of the dense operand."""

    matrix: scipy.sparse.bsr_matrix
    n: int
    block: int
    type: Type = FLOAT
    transposed: bool = False  #: dense * sparse

    @property
    def params(self) -> Any:
        rows, columns = self.matrix.shape
        if self.transposed:
            return static.MatMulParams.createForDenseSparse(1, self.n, rows, columns)
        return static.MatMulParams.createForSparseDense(1, rows, columns, self.n)

    def csr(self) -> Any:
        m, area = self.matrix, self.block**2
        size = self.block, self.block
        return popsparse.CSRMatrix(*m.shape, m.data.reshape(-1), m.indices * self.block, m.indptr * area, size)


def matrix_of(mask: np.ndarray, block: int, seed: int = 0) -> scipy.sparse.bsr_matrix:
    """Blocks of random numbers where the mask is set."""
    rows, columns = np.nonzero(mask)
    values = np.random.default_rng(seed).uniform(-1, 1, (len(rows), block, block)).astype(np.float16).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=mask.shape[0]))])
    shape = mask.shape[0] * block, mask.shape[1] * block
    return scipy.sparse.bsr_matrix((values, columns, starts), shape=shape)


def program(graph: Graph, prog: Sequence, case: Case, options: dict[str, str]) -> tuple[Any, Any, Any]:
    """(values, dense operand, result) of the product."""
    kind, cache = case.type, static.PlanningCache()
    rest = case.params, case.csr(), "operand", options, cache
    if case.transposed:
        sparse = static.createDenseSparseMatMulRHS(graph, kind, *rest)
        dense = static.createDenseSparseMatMulLHS(graph, kind, *rest)
        out = static.denseSparseMatMul(graph, dense, sparse, prog, False, False, "product", options, cache)
    else:
        sparse = static.createSparseDenseMatMulLHS(graph, kind, *rest)
        dense = static.createSparseDenseMatMulRHS(graph, kind, *rest)
        out = static.sparseDenseMatMul(graph, sparse, dense, prog, False, False, "product", options, cache)
    assert cache.size() == 1  # all used one plan
    return sparse.getNzValuesTensor(), dense, out


def check(case: Case, options: dict[str, str] | None = None, tiles: int = 8) -> None:
    """Vertices and kernel give scipy's product."""
    rng = np.random.default_rng(1)
    shape = (case.n, case.matrix.shape[0]) if case.transposed else (case.matrix.shape[1], case.n)
    operand = rng.uniform(-1, 1, shape).astype(np.float16).astype(np.float32)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, Any], Any]:
        values, dense, out = program(graph, prog, case, options or {})
        partitioner = static.Partitioner(case.params, case.type, graph.getTarget(), options)
        data = partitioner.createSparsityDataImpl(case.csr()).nzValues
        given = {"dense": (dense, operand[None])}
        if len(data):
            given["values"] = (values, data)
        return given, out

    wanted = operand @ case.matrix if case.transposed else case.matrix @ operand
    for found in both_ways(build, tiles):
        np.testing.assert_allclose(found[0], wanted, atol=CLOSE[case.type], rtol=CLOSE[case.type])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Patterns from empty to full, with empty and full rows and columns and one crowded corner."""
    block = draw(st.sampled_from([1, 1, 4, 8, 16]))
    rows, columns = (draw(st.integers(1, 24 if block == 1 else 5)) for _ in range(2))
    seed = draw(st.integers(0, 99))
    mask = np.random.default_rng(seed).random((rows, columns)) < draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
    if draw(st.booleans()):
        mask[draw(st.integers(0, rows - 1))] = draw(st.booleans())
    if draw(st.booleans()):
        mask[:, draw(st.integers(0, columns - 1))] = draw(st.booleans())
    if draw(st.booleans()):
        mask[: rows // 2, : columns // 2] = True
    kind = draw(st.sampled_from([FLOAT, HALF]))
    return Case(matrix_of(mask, block, seed), draw(st.integers(1, 20)), block, kind, draw(st.booleans()))


@given(cases())
def test_products_of_any_pattern(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("options", [{"nSplit": "2"}, {"numBands": "3"}, {"nSplit": "2", "numBands": "2"}])
@pytest.mark.parametrize("block", [1, 4])
def test_plans_that_are_asked_for(block: int, options: dict[str, str]) -> None:
    mask = np.random.default_rng(3).random((20, 16)) < 0.3
    case = Case(matrix_of(mask, block), 16, block)
    graph, prog = small_graph(16), Sequence()
    program(graph, prog, case, options)
    check(case, options, tiles=16)


def test_one_block_is_a_product_on_one_tile() -> None:
    mask = np.zeros((4, 4), bool)
    mask[1, 2] = True
    check(Case(matrix_of(mask, 16), 8, 16))


def test_values_come_back_in_every_format() -> None:
    mask = np.random.default_rng(5).random((6, 9)) < 0.4
    case = Case(matrix_of(mask, 4), 8, 4)
    partitioner = static.Partitioner(case.params, FLOAT, small_graph().getTarget(), {}, None, "mine")
    with pytest.raises(poplibs_error, match="'mine' knows no pattern yet"):
        partitioner.sparsityDataImplToCSRMatrix([])
    data = partitioner.createSparsityDataImpl(case.csr())
    found = partitioner.sparsityDataImplToCSRMatrix(data)
    for field in ("nzValues", "columnIndices", "rowIndices"):
        assert np.array_equal(getattr(found, field), getattr(case.csr(), field))
    for matrix in (partitioner.sparsityDataImplToCOOMatrix(data), partitioner.sparsityDataImplToCSCMatrix(data)):
        assert np.array_equal(partitioner.createSparsityDataImpl(matrix).nzValues, data.nzValues)
    coo = partitioner.sparsityDataImplToCOOMatrix(data)
    assert np.array_equal(np.stack([coo.rowIndices, coo.columnIndices], 1) // 4, np.argwhere(mask))
    other = Case(matrix_of(~mask, 4), 8, 4)
    with pytest.raises(poplibs_error, match="the blocks are in other places"):
        partitioner.createSparsityDataImpl(other.csr())


def cycles(case: Case, tiles: int = 64) -> int:
    """Cycles of a run on a model of so many tiles."""
    model = IPUModel()
    model.tilesPerIPU = tiles
    device = model.createDevice()
    graph, prog = Graph(device), Sequence()
    program(graph, prog, case, {})
    options = {"debug.retainDebugInformation": "true"}
    with Engine(graph, prog, options) as engine:
        engine.load(device)
        engine.run()
        return int(engine.getReport().execution.runs[0].steps[-1].ipus[0].activeCycles.cyclesTo.max)


def test_more_blocks_cost_more_and_blocks_less_than_elements() -> None:
    rng = np.random.default_rng(0)
    places = rng.random((20, 20))
    spent = [cycles(Case(matrix_of(places < density, 4), 32, 4)) for density in (0.05, 0.2, 0.8)]
    assert spent == sorted(spent)
    mask = places[:8, :8] < 0.3
    elements = np.kron(mask, np.ones((16, 16))) > 0
    assert cycles(Case(matrix_of(mask, 16), 32, 16, HALF)) < cycles(Case(matrix_of(elements, 1), 32, 1, HALF))


def test_what_does_not_fit_is_refused() -> None:
    graph, cache = small_graph(), static.PlanningCache()
    params = static.MatMulParams.createForSparseDense(1, 8, 8, 4)
    csr = Case(matrix_of(np.eye(8) > 0, 1), 4, 1).csr()
    lhs = static.createSparseDenseMatMulLHS(graph, FLOAT, params, csr, "lhs", {}, cache)
    rhs = static.createSparseDenseMatMulRHS(graph, FLOAT, params, csr, "rhs", {}, cache)
    with pytest.raises(poplibs_error, match=r"shape \[1, 8, 4\], not float of shape \[1, 4, 8\]"):
        static.sparseDenseMatMul(graph, lhs, rhs.dimShuffle([0, 2, 1]), Sequence())
    with pytest.raises(poplibs_error, match="a transposed sparse operand is not supported"):
        static.sparseDenseMatMul(graph, lhs, rhs, Sequence(), True)
    with pytest.raises(poplibs_error, match="the options differ"):
        static.sparseDenseMatMul(graph, lhs, rhs, Sequence(), options={"nSplit": "2"})
    with pytest.raises(poplibs_error, match="make them with MatMulParams"):
        static.createDenseSparseMatMulRHS(graph, FLOAT, params, csr)
    with pytest.raises(poplibs_error, match="has one group, not 2"):
        static.MatMulParams.createForSparseDense(2, 8, 8, 4)
    wide = static.MatMulParams.createForSparseDense(1, 16, 8, 4)
    with pytest.raises(poplibs_error, match="the parameters say 16 x 8"):
        static.createSparseDenseMatMulLHS(graph, FLOAT, wide, csr)
    pairs = popsparse.CSRMatrix(8, 8, [1.0] * 4, [0], [0, 4, 4, 4, 4], [2, 2])
    with pytest.raises(poplibs_error, match="not 2 x 2"):
        static.createSparseDenseMatMulLHS(graph, FLOAT, params, pairs)
    with pytest.raises(poplibs_error, match="give a larger availableMemoryProportion"):
        static.createSparseDenseMatMulLHS(graph, FLOAT, params, csr, "lhs", {"availableMemoryProportion": "0"})
    with pytest.raises(invalid_option, match="no option 'bands'"):
        static.createSparseDenseMatMulLHS(graph, FLOAT, params, csr, "lhs", {"bands": "1"})
    for name, value, sentence in (
        ("availableMemoryProportion", "nan", "not a finite number"),
        ("availableMemoryProportion", "inf", "not a finite number"),
        ("numBands", "-1", "not a finite number of at least 0"),
        ("nSplit", 1.5, "not a whole number"),
        ("nSplit", float("inf"), "is no number"),
    ):
        with pytest.raises(invalid_option, match=sentence):
            static.Partitioner(params, FLOAT, graph.getTarget(), {name: value})


@pytest.mark.parametrize(
    ("form", "arguments", "sentence"),
    [
        ("COOMatrix", (4, 4, [1, 2], [0], [0, 1]), "a row and a column index for each block"),
        ("COOMatrix", (4, 4, [1, 2], [0, 0], [1, 1]), "have the same place"),
        ("COOMatrix", (4, 4, [1], [4], [0]), "beyond the 4 columns"),
        ("COOMatrix", (4, 4, [1, 2, 3], [0], [0], (2, 2)), "not whole blocks of 2 x 2"),
        ("COOMatrix", (4, 4, [1] * 4, [1], [0], (2, 2)), "not a multiple of the block's 2 columns"),
        ("COOMatrix", (4, 4, [[1, 2]], [0], [0]), "lists of numbers, not of lists"),
        ("COOMatrix", (4, 4, [1], [0.5], [0]), "columnIndices of a sparse matrix are integers, not float64"),
        ("COOMatrix", (4, 4, ["a"], [0], [0]), "Values of a sparse matrix are numbers"),
        ("COOMatrix", (4, 4, [1], [0], [0], (2,)), "are not two sizes"),
        ("COOMatrix", (-4, 4), "-4 x 4 cannot be made of blocks of 1 x 1"),
        ("COOMatrix", (5, 4, [1] * 4, [0], [0], (2, 2)), "5 x 4 cannot be made of blocks of 2 x 2"),
        ("CSRMatrix", (2, 2, [1, 2], [0, 1], [0, 1]), "ascending numbers of values"),
        ("CSCMatrix", (2, 2, [1, 2], [0, 1, 3], [0, 1]), "ascending numbers of values"),
    ],
)
def test_matrices_that_are_none(form: str, arguments: Any, sentence: str) -> None:
    with pytest.raises(poplibs_error, match=sentence):
        getattr(popsparse, form)(*arguments)
