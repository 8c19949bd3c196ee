"""The length of each row of a matrix, with a mistake that a profile shows at once: docs/tutorial.md finds it.

python examples/row_norms.py            the matrix lies on 64 of 1,472 tiles
python examples/row_norms.py --spread   the same program with the matrix spread over all tiles
"""

import sys

import numpy as np

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil

ROWS, COLUMNS = 4096, 256
TILES = 64


def build(graph: Graph, spread: bool) -> Sequence:
    """norms = sqrt(sum of x * x along each row)."""
    x = graph.addVariable(FLOAT, [ROWS, COLUMNS], "x")
    if spread:
        poputil.mapTensorLinearly(graph, x)
    else:
        for tile in range(TILES):  # whole rows, 64 to a tile
            rows = ROWS // TILES
            graph.setTileMapping(x.slice(tile * rows, (tile + 1) * rows, 0), tile)
    graph.createHostWrite("x", x)
    program = Sequence()
    squares = popops.square(graph, x, program, "squares")
    sums = popops.reduce(graph, squares, [1], popops.ReduceParams(popops.Operation.ADD), program, "sums")
    norms = popops.sqrt(graph, sums, program, "norms")
    graph.createHostRead("norms", norms)
    return program


def main() -> None:
    device = IPUModel("ipu2").createDevice()
    graph = Graph(device)
    program = build(graph, spread="--spread" in sys.argv[1:])
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    with Engine(graph, program) as engine:
        engine.load(device)
        engine.writeTensor("x", x)
        engine.run()
        norms = np.empty(ROWS, np.float32)
        engine.readTensor("norms", norms)
    print(f"Largest difference from NumPy: {np.abs(norms - np.linalg.norm(x, axis=1)).max():.1e}")


if __name__ == "__main__":
    main()
