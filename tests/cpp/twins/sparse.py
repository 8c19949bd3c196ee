"""The twin of tests/cpp/programs/sparse.cpp."""

from __future__ import annotations

import numpy as np

from simulator.poplar import FLOAT
from simulator.poplibs import popsparse
from tests.cpp.twins.results import Results

static = popsparse.static_


def run(results: Results) -> None:
    _product(results, 1, {})
    _product(results, 4, {})
    _product(results, 8, {"nSplit": "2", "numBands": "2"})
    _transposed(results)


def _matrix(block: int) -> popsparse.COOMatrix:
    rows, columns = np.array([0, 1, 2, 3, 3, 3, 3]), np.array([1, 2, 3, 4, 0, 2, 5])
    values = np.arange(len(rows) * block**2) % 7 - 3
    return popsparse.COOMatrix(4 * block, 6 * block, values, columns * block, rows * block, (block, block))


def _product(results: Results, block: int, options: dict[str, str]) -> None:
    graph, coo, cache = results.graph, _matrix(block), static.PlanningCache()
    params = static.MatMulParams.createForSparseDense(1, coo.numRows, coo.numColumns, 6)
    partitioner = static.Partitioner(params, FLOAT, graph.getTarget(), options, cache)
    data = partitioner.createSparsityDataImpl(coo)
    csr = partitioner.sparsityDataImplToCSRMatrix(data)
    made = static.createSparseDenseMatMulLHS(graph, FLOAT, params, csr, "lhs", options, cache)
    values = graph.addConstant(FLOAT, made.getNzValuesTensor().shape(), data.nzValues)
    graph.setTileMapping(values, graph.getTileMapping(made.getNzValuesTensor()))
    lhs = static.SparseTensor(values, made.getOpMetaData())
    rhs = static.createSparseDenseMatMulRHS(graph, FLOAT, params, csr, "rhs", options, cache)
    results.filled(rhs, results.operand([coo.numColumns, 6]))
    out = static.sparseDenseMatMul(graph, lhs, rhs, results.prog, False, False, "product", options, cache)
    results.read(f"blocks of {block}", out)


def _transposed(results: Results) -> None:
    graph, coo = results.graph, _matrix(4)
    params = static.MatMulParams.createForDenseSparse(1, 5, coo.numRows, coo.numColumns)
    partitioner = static.Partitioner(params, FLOAT, graph.getTarget())
    data = partitioner.createSparsityDataImpl(coo)
    csr = partitioner.sparsityDataImplToCSRMatrix(data)
    rhs = static.createDenseSparseMatMulRHS(graph, FLOAT, params, csr)
    values = graph.addConstant(FLOAT, [len(data.nzValues)], data.nzValues)
    graph.setTileMapping(values, 0)
    results.filled(rhs.getNzValuesTensor(), values)
    lhs = static.createDenseSparseMatMulLHS(graph, FLOAT, params, csr)
    results.filled(lhs, results.operand([5, coo.numRows]))
    results.read("dense times sparse", static.denseSparseMatMul(graph, lhs, rhs, results.prog))
