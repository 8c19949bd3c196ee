"""STREAM's triad on every tile, element by element and in pairs: the bandwidth of tile memory.

python -m examples.research.stream                    3,000 elements on a tile
python -m examples.research.stream --elements 600
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from examples.research.device import COUNTED, attached, cycles_of_last_run
from simulator.poplar import FLOAT, Engine, Graph
from simulator.poplar.program import Execute

SCALE = 0.5
BYTES = 12  #: read and written by an element


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=3_000, help="on a tile, an even number")
    elements = parser.parse_args().elements
    device = attached()
    tiles = device.getTarget().getNumTiles()
    graph = Graph(device.getTarget())
    graph.addCodelets(str(Path(__file__).with_name("stream_codelets.cpp")))
    a, b, c = (graph.addVariable(FLOAT, [tiles, elements], name) for name in "abc")
    pairs, single = graph.addComputeSet("pairs"), graph.addComputeSet("single")
    for tile in range(tiles):
        for vector in (a, b, c):
            graph.setTileMapping(vector[tile], tile)
        fields = {"a": a[tile], "b": b[tile], "c": c[tile], "scale": SCALE}
        graph.setTileMapping(graph.addVertex(single, "Triad", fields), tile)
        graph.setTileMapping(graph.addVertex(pairs, "TriadOfPairs", {**fields, "size": elements}), tile)
    graph.setInitialValue(b, 3.0)
    graph.setInitialValue(c, 4.0)
    graph.createHostRead("a", a)
    engine = Engine(graph, [Execute(single), Execute(pairs)], COUNTED)
    engine.load(device)
    clock = device.getTarget().getTileClockFrequency()
    for program, name in enumerate(("single", "pairs")):
        engine.run(program)
        result = np.empty([tiles, elements], np.float32)
        engine.readTensor("a", result)
        cycles = cycles_of_last_run(engine)
        bandwidth = BYTES * result.size / cycles * clock / 1e9
        print(f"{name}: a[0] = {result[0, 0]:g}, {cycles} cycles, {bandwidth:.0f} GB/s")


if __name__ == "__main__":
    main()
