"""An image of spheres by ray tracing, some rows on each tile: tiles whose rays meet spheres take longer.

python -m examples.research.ray_tracer --side 64
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from examples.research.device import COUNTED, attached, cycles_of_last_run, numbers
from simulator.poplar import FLOAT, Engine, Graph
from simulator.poplar.program import Execute

SPHERES = 8
SHADES = " .:-=+*#%@"


def scene() -> np.ndarray:
    """x, y, z and radius of each sphere."""
    drawn = numbers(4 * SPHERES).astype(np.float32).reshape(SPHERES, 4) / np.float32(65536)
    return drawn * np.array([4, 3, 4, 0.5], np.float32) + np.array([-2, -1.5, 4, 0.3], np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=64, help="pixels, a multiple of the number of tiles used")
    side = parser.parse_args().side
    device = attached()
    tiles = min(side, device.getTarget().getNumTiles())
    rows = side // tiles
    graph = Graph(device.getTarget())
    graph.addCodelets(str(Path(__file__).with_name("ray_tracer_codelets.cpp")))
    image = graph.addVariable(FLOAT, [side, side], "image")
    spheres = graph.addConstant(FLOAT, [4 * SPHERES], scene().reshape(-1), "spheres")
    graph.setTileMapping(spheres, 0)
    trace = graph.addComputeSet("trace")
    for tile in range(tiles):
        band = image.slice(tile * rows, (tile + 1) * rows)
        graph.setTileMapping(band, tile)
        fields = {"spheres": spheres, "image": band, "firstRow": tile * rows, "height": side}
        graph.setTileMapping(graph.addVertex(trace, "Trace", fields), tile)
    graph.createHostRead("image", image)
    engine = Engine(graph, Execute(trace), COUNTED)
    engine.load(device)
    engine.run()
    pixels = np.empty([side, side], np.float32)
    engine.readTensor("image", pixels)
    for row in pixels[:: side // 16]:
        print("".join(SHADES[int(9 * value)] for value in row[:: side // 32]))
    print(f"mean brightness {pixels.mean(dtype=np.float64):.6f}, {cycles_of_last_run(engine)} cycles")


if __name__ == "__main__":
    main()
