"""Count the triangles of a graph by matrix products, block by block on several IPUs.

    python examples/triangle_counting.py                         64 nodes on 4 IPUs
    python examples/triangle_counting.py --scale 7 --degree 16   a Kronecker graph of 2 ** 7 nodes

The adjacency matrix A of a graph is cut into its lower and upper triangle, A = L + U. (L U)[i, j] counts the nodes that
come before i and j and are joined to both, so the sum of A * (L U), element by element, is twice the number of
triangles. L, U and A are cut into blocks. Each block of the result is computed on its own tiles (a virtual graph); the
IPUs take the rows of blocks in turn.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from simulator.poplar import FLOAT, Device, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin, popops

ROWS = 4  #: rows and columns of blocks
#: probability that an edge falls into each quarter of the matrix, at every scale (those of Graph500)
QUARTERS = (0.57, 0.19, 0.19, 0.05)


def kronecker(scale: int, degree: int, seed: int = 1) -> np.ndarray:
    """The adjacency matrix of an undirected graph of 2 ** scale nodes, without loops and double edges."""
    rng = np.random.default_rng(seed)
    edges = np.zeros((2, degree << scale), np.int64)
    for _ in range(scale):
        edges = 2 * edges + np.stack(np.divmod(rng.choice(4, edges.shape[1], p=QUARTERS), 2))
    adjacency = np.zeros((1 << scale, 1 << scale), np.float32)
    adjacency[edges[0], edges[1]] = 1
    adjacency = np.maximum(adjacency, adjacency.T)
    np.fill_diagonal(adjacency, 0)
    return adjacency


def blocks(matrix: np.ndarray) -> np.ndarray:
    """[row, column] -> block."""
    side = len(matrix) // ROWS
    return np.ascontiguousarray(matrix.reshape(ROWS, side, ROWS, side).transpose(0, 2, 1, 3))


def count_on(ipu: int, ipus: int, adjacency: np.ndarray, device: Device) -> int:
    """Twice the number of triangles in the blocks of one IPU, in a program of its own."""
    side = len(adjacency) // ROWS
    shape = [side, side]
    parts = {"L": blocks(np.tril(adjacency)), "U": blocks(np.triu(adjacency)), "A": blocks(adjacency)}
    graph = Graph(device)
    tiles = graph.getTarget().getNumTiles() // (ROWS * ROWS // ipus)
    copyIn, multiply, total, given = Sequence(), Sequence(), None, {}
    mine = [divmod(b, ROWS) for b in range(ROWS * ROWS) if b * ipus // (ROWS * ROWS) == ipu]

    def streamed(own: Graph, tensor: Tensor, part: str, row: int, column: int, use: str) -> None:
        name = f"{part}_{row}_{column}_{use}"
        given[name] = parts[part][row, column].reshape(-1)
        copyIn.add(Copy(own.addHostToDeviceFIFO(name, FLOAT, side * side), tensor))

    for place, (i, j) in enumerate(mine):
        print(f"Block {i * ROWS + j} start {place * tiles} end {(place + 1) * tiles}")
        own = graph.createVirtualGraph(place * tiles, (place + 1) * tiles)
        product = None
        for k in range(min(i, j) + 1):  # L has no blocks to the right of its diagonal, U none below
            left = poplin.createMatMulInputLHS(own, FLOAT, shape, shape, f"LHS_{i}_{j}_{k}")
            right = poplin.createMatMulInputRHS(own, FLOAT, shape, shape, f"RHS_{i}_{j}_{k}")
            streamed(own, left, "L", i, k, f"{j}")
            streamed(own, right, "U", k, j, f"{i}")
            term = poplin.matMul(own, left, right, multiply, FLOAT, f"Matmul_{i}_{j}_{k}")
            if product is None:
                product = term
            else:
                popops.addInPlace(own, product, term, multiply, "Matmul")
        mask = own.clone(product, f"A_{i}_{j}")
        streamed(own, mask, "A", i, j, "")
        popops.mulInPlace(own, mask, product, multiply, "ElementWiseMul")
        found = popops.reduce(own, mask, FLOAT, [0, 1], popops.Operation.ADD, multiply, "Reduction")
        if total is None:
            total = found
        else:
            popops.addInPlace(graph, total, found, multiply, "FinalReduction")
    return counted(graph, device, Sequence(copyIn, multiply), total, given)


def counted(graph: Graph, device: Device, program: Sequence, total: Tensor, given: dict[str, np.ndarray]) -> int:
    """Run the program with the blocks that it reads, and read the total."""
    program.add(Copy(total, graph.addDeviceToHostFIFO("out", FLOAT, 1)))
    result = np.zeros(1, np.float32)
    with Engine(graph, program) as engine:
        engine.load(device)
        for name, values in given.items():
            engine.connectStream(name, values)
        engine.connectStream("out", result)
        engine.run()
    return int(result[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=6, help="the graph has 2 ** scale nodes")
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("--ipus", type=int, default=4, choices=[1, 2, 4])
    parser.add_argument("--tiles", type=int, default=64, help="tiles of each IPU")
    given = parser.parse_args()
    if 2**given.scale < ROWS or given.degree < 0:
        parser.error(
            f"--scale must be at least {ROWS.bit_length() - 1}, for {ROWS} rows of blocks, --degree at least 0"
        )
    adjacency = kronecker(given.scale, given.degree)
    print(f"Matrix: {len(adjacency)}\nIPUs: {given.ipus}")
    print(f"blocksize: {len(adjacency) // ROWS}\nnumblocks: {ROWS * ROWS}")
    model = IPUModel()
    model.tilesPerIPU = given.tiles
    device = model.createDevice()
    found = sum(count_on(ipu, given.ipus, adjacency, device) for ipu in range(given.ipus))
    print(f"{found // 2} triangles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
