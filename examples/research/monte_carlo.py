"""Pi by random points, counted by all workers of all tiles: work without exchange.

python -m examples.research.monte_carlo --trips 100
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from examples.research.device import COUNTED, attached, cycles_of_last_run
from simulator.poplar import UNSIGNED_INT, Engine, Graph
from simulator.poplar.program import Execute


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=100, help="points of a worker")
    trips = parser.parse_args().trips
    device = attached()
    target = device.getTarget()
    tiles, workers = target.getNumTiles(), target.getNumWorkerContexts()
    graph = Graph(target)
    graph.addCodelets(str(Path(__file__).with_name("monte_carlo_codelets.cpp")))
    hits = graph.addVariable(UNSIGNED_INT, [tiles, workers], "hits")
    points = graph.addComputeSet("points")
    for tile in range(tiles):
        graph.setTileMapping(hits[tile], tile)
        vertex = graph.addVertex(points, "CountHits", {"hits": hits[tile], "trips": trips, "tile": tile})
        graph.setTileMapping(vertex, tile)
    graph.createHostRead("hits", hits)
    engine = Engine(graph, Execute(points), COUNTED)
    engine.load(device)
    engine.run()
    counted = np.empty([tiles, workers], np.uint32)
    engine.readTensor("hits", counted)
    cycles = cycles_of_last_run(engine)
    total = int(counted.sum())
    print(f"pi = {4 * total / (trips * counted.size):.6f} from {trips * counted.size} points, {cycles} cycles")


if __name__ == "__main__":
    main()
