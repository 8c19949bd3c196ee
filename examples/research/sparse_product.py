"""A product of a sparse matrix, known when the program is compiled, and a dense one, by popsparse.

python -m examples.research.sparse_product --side 256 --row-blocks 4
"""

from __future__ import annotations

import argparse

import numpy as np

from examples.research.device import COUNTED, attached, cycles_of_last_run, numbers
from simulator.poplar import FLOAT, Engine, Graph
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popops, popsparse

BLOCK = 4
COLUMNS = 16  #: of the dense operand


def matrix(side: int, row_blocks: int) -> popsparse.CSRMatrix:
    """A square matrix with `row_blocks` blocks in each row of blocks, at places of a fixed random sequence."""
    rows = side // BLOCK
    places = numbers(rows * row_blocks, seed=7).reshape(rows, row_blocks) % (rows // row_blocks)
    columns = (places + np.arange(row_blocks) * (rows // row_blocks)) * BLOCK
    values = values_of(columns.size * BLOCK * BLOCK, seed=3)
    starts = np.arange(rows + 1) * row_blocks * BLOCK * BLOCK
    return popsparse.CSRMatrix(side, side, values, columns.reshape(-1), starts, (BLOCK, BLOCK))


def values_of(count: int, seed: int) -> np.ndarray:
    """Multiples of 1/16 below 4, whose products and sums are exact."""
    return (numbers(count, seed) % 64).astype(np.float32) / np.float32(16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=256, help="of the sparse matrix, a multiple of 16")
    parser.add_argument("--row-blocks", type=int, default=4, help="blocks in a row of blocks")
    arguments = parser.parse_args()
    side = arguments.side
    device = attached()
    graph, prog = Graph(device.getTarget()), Sequence()
    for library in (popops, poplin, popsparse):
        library.addCodelets(graph)
    params = popsparse.static_.MatMulParams.createForSparseDense(1, side, side, COLUMNS)
    csr = matrix(side, arguments.row_blocks)
    sparse = popsparse.static_.createSparseDenseMatMulLHS(graph, FLOAT, params, csr, "sparse")
    dense = popsparse.static_.createSparseDenseMatMulRHS(graph, FLOAT, params, csr, "dense")
    out = popsparse.static_.sparseDenseMatMul(graph, sparse, dense, prog, False, False, "product")
    graph.createHostWrite("values", sparse.getNzValuesTensor())
    graph.createHostWrite("dense", dense)
    graph.createHostRead("out", out)
    engine = Engine(graph, prog, COUNTED)
    engine.load(device)
    partitioner = popsparse.static_.Partitioner(params, FLOAT, device.getTarget(), {})
    engine.writeTensor("values", np.asarray(partitioner.createSparsityDataImpl(csr).nzValues, np.float32))
    engine.writeTensor("dense", values_of(side * COLUMNS, seed=5).reshape(side, COLUMNS))
    engine.run()
    product = np.empty([side, COLUMNS], np.float32)
    engine.readTensor("out", product)
    flops = 2 * csr.nzValues.size * COLUMNS
    cycles = cycles_of_last_run(engine)
    print(f"sum of the product {product.sum(dtype=np.float64):.4f}, {cycles} cycles, {flops / cycles:.1f} flop a cycle")


if __name__ == "__main__":
    main()
