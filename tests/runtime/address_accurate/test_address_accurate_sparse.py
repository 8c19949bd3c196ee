"""Sparse products give the same results when values live only at the report's addresses."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Type
from simulator.poplar.program import Copy
from simulator.poplibs import popsparse
from tests.runtime.both_engines import Workbench

static = popsparse.static_


@pytest.mark.parametrize("type_", [FLOAT, HALF])
@pytest.mark.parametrize(("block", "options"), [(1, {}), (1, {"nSplit": "2"}), (4, {"numBands": "2"}), (16, {})])
def test_static_products(type_: Type, block: int, options: dict[str, str]) -> None:
    bench = Workbench(9)
    mask = np.random.default_rng(block).random((12 if block == 1 else 3, 10 if block == 1 else 4)) < 0.4
    rows, columns = np.nonzero(mask)
    shape, size = (mask.shape[0] * block, mask.shape[1] * block), (block, block)
    coo = popsparse.COOMatrix(*shape, np.ones(len(rows) * block**2), columns * block, rows * block, size)
    params = static.MatMulParams.createForSparseDense(1, *shape, 10)
    partitioner = static.Partitioner(params, type_, bench.graph.getTarget(), options)
    csr = partitioner.sparsityDataImplToCSRMatrix(partitioner.createSparsityDataImpl(coo))
    sparse = static.createSparseDenseMatMulLHS(bench.graph, type_, params, csr, "lhs", options)
    dense = static.createSparseDenseMatMulRHS(bench.graph, type_, params, csr, "rhs", options)
    values = sparse.getNzValuesTensor()
    bench.program.add(Copy(bench.give(type_, values.shape(), "values"), values))
    bench.program.add(Copy(bench.give(type_, dense.shape(), "dense"), dense))
    product = static.sparseDenseMatMul(bench.graph, sparse, dense, bench.program, options=options)
    bench.take(product, "product")
    bench.check(exact=False, roundings=4)
