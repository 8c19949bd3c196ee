"""A grid in blocks on tiles; each cell becomes the mean of itself and its eight neighbours. From the IPU HPC cookbook.

    python examples/halo_exchange.py -n 4 -b 10             on the IPU Model
    python examples/halo_exchange.py -n 4 -b 10 --hw        on a simulated hardware IPU
    python examples/halo_exchange.py -n 4 -b 10 --tiles 8   on fewer tiles

This is the implicit strategy: a vertex is connected to its block and to slices of the blocks around it, and the
compiler exchanges the slices. There are two grids, used in turn, because no vertex may read what another writes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from simulator.poplar import FLOAT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType, Tensor, concat
from simulator.poplar.program import Execute, Program, Repeat, Sequence

CODELETS = Path(__file__).with_name("halo_codelets.cpp")
COLUMNS = 2  #: columns of blocks


class Blocks:
    """A grid of rows x COLUMNS blocks of side x side cells, one block on each tile."""

    def __init__(self, graph: Graph, tiles: int, side: int, name: str) -> None:
        self.graph, self.side, self.rows = graph, side, tiles // COLUMNS
        self.tensor = graph.addVariable(FLOAT, [self.rows * side, COLUMNS * side], name)
        for tile in range(tiles):
            graph.setTileMapping(self.block(tile), tile)

    def block(self, tile: int) -> Tensor:
        row, column = tile // COLUMNS * self.side, tile % COLUMNS * self.side
        return self.tensor.slice([row, column], [row + self.side, column + self.side])

    def with_halo(self, tile: int) -> Tensor:
        """The block and the cells around it; beyond the edge of the grid these are zeros on the tile itself."""
        height, width = self.tensor.shape()
        top, left = tile // COLUMNS * self.side - 1, tile % COLUMNS * self.side - 1
        bottom, right = top + self.side + 2, left + self.side + 2
        inside = self.tensor.slice([max(top, 0), max(left, 0)], [min(bottom, height), min(right, width)])
        for missing, before, dim in (
            (-top, True, 0),
            (bottom - height, False, 0),
            (-left, True, 1),
            (right - width, False, 1),
        ):
            if missing > 0:
                zeros = self.graph.addConstant(FLOAT, [inside.dim(1)] if dim == 0 else [inside.dim(0)], 0.0, "{0...}")
                self.graph.setTileMapping(zeros, tile)
                inside = concat([zeros.expand([dim]), inside] if before else [inside, zeros.expand([dim])], dim)
        return inside


def implicitStrategy(graph: Graph, tiles: int, side: int, iterations: int) -> tuple[list[Program], Tensor]:
    """[a program that fills block i with i + 1, one that averages twice per iteration], and the grid."""
    first, second = Blocks(graph, tiles, side, "in"), Blocks(graph, tiles, side, "out")
    init = graph.addComputeSet("init")
    for tile in range(tiles):
        v = graph.addVertex(init, "Fill<float>", {"result": first.block(tile).flatten(), "val": float(tile + 1)})
        graph.setPerfEstimate(v, 100)
        graph.setTileMapping(v, tile)
    body = Sequence()
    for name, source, target in (("implicitCompute1", first, second), ("implicitCompute2", second, first)):
        cs = graph.addComputeSet(name)
        for tile in range(tiles):
            fields = {"in": source.with_halo(tile), "out": target.block(tile)}
            v = graph.addVertex(cs, "MooreAverage<float>", fields)
            graph.setPerfEstimate(v, 100)
            graph.setTileMapping(v, tile)
        body.add(Execute(cs))
    return [Execute(init), Repeat(iterations, body)], first.tensor


def device_of(given: argparse.Namespace) -> Device:
    if given.hw:
        return next(d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1) if d.attach())
    model = IPUModel()
    model.tilesPerIPU = given.tiles or model.tilesPerIPU
    return model.createDevice()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--num-iters", type=int, default=1)
    parser.add_argument("-b", "--block-size", type=int, default=10)
    parser.add_argument("--tiles", type=int, help="tiles of the IPU Model")
    parser.add_argument("--hw", action="store_true", help="use a simulated hardware IPU")
    given = parser.parse_args()
    side, iterations = given.block_size, given.num_iters
    if side < 1 or iterations < 0 or (given.tiles is not None and (given.tiles < COLUMNS or given.tiles % COLUMNS)):
        parser.error(f"blocks have at least 1 cell, iterations are at least 0, tiles a multiple of {COLUMNS}")
    device = device_of(given)
    graph = Graph(device)
    tiles = graph.getTarget().getNumTiles()
    print(
        f"Using 1 IPUs for {side}x{side} blocks on each of {tiles} tiles, running for {iterations} iterations using "
        f"the implicit strategy. ({side * side * 4 * tiles * 2 / 1024 / 1024:g}MB min memory required)"
    )
    print("Building graph")
    graph.addCodelets(str(CODELETS))
    programs, grid = implicitStrategy(graph, tiles, side, iterations)
    graph.createHostRead("grid", grid)
    print("Compiling graph")
    with Engine(graph, programs) as engine:
        engine.load(device)
        engine.run(0)
        print("Running halo exchange iterations")
        engine.run(1)
        result = np.zeros(grid.shape(), np.float32)
        engine.readTensor("grid", result)
    print(f"Sum of the grid: {result.sum(dtype=np.float64):.6g}, least {result.min():.6g}, largest {result.max():.6g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
