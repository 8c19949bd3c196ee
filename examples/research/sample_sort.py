"""Sample sort: tiles sort their keys, agree on splitters by samples, and exchange buckets.

    python -m examples.research.sample_sort --tiles 16 --keys 64

Exchanges of an IPU are compiled, so a part of a bucket has room for all keys of a tile, and its size goes along.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from examples.research.device import COUNTED, attached, cycles_of_last_run, numbers
from simulator.poplar import UNSIGNED_INT, Engine, Graph, Tensor
from simulator.poplar.program import Copy, Execute, Program, Sequence


class SampleSort:
    """The tensors and the program of a sort of [tiles, keys] numbers."""

    def __init__(self, graph: Graph, tiles: int, keys: int) -> None:
        self.graph, self.tiles = graph, tiles
        self.keys = self._on_tiles("keys", keys)
        self.samples = self._on_tiles("samples", tiles)
        self.parts = self._on_tiles("parts", tiles, keys)
        self.sizes = self._on_tiles("sizes", tiles)
        self.buckets = self._on_tiles("buckets", tiles * keys)
        self.filled = self._on_tiles("filled")
        self.all_samples = graph.addVariable(UNSIGNED_INT, [tiles * tiles], "allSamples")
        self.splitters = graph.addVariable(UNSIGNED_INT, [tiles - 1], "splitters")
        for tensor in (self.all_samples, self.splitters):
            graph.setTileMapping(tensor, 0)

    def _on_tiles(self, name: str, *shape: int) -> Tensor:
        tensor = self.graph.addVariable(UNSIGNED_INT, [self.tiles, *shape], name)
        for tile in range(self.tiles):
            self.graph.setTileMapping(tensor[tile], tile)
        return tensor

    def program(self) -> Program:
        sort, choose, cut, join = (self.graph.addComputeSet(name) for name in ("sort", "choose", "cut", "join"))
        fields = {"samples": self.all_samples, "splitters": self.splitters}
        self.graph.setTileMapping(self.graph.addVertex(choose, "ChooseSplitters", fields), 0)
        for tile in range(self.tiles):
            steps = (
                (sort, "SortKeys", {"keys": self.keys[tile], "samples": self.samples[tile]}),
                (
                    cut,
                    "Cut",
                    {
                        "keys": self.keys[tile],
                        "splitters": self.splitters,
                        "parts": self.parts[tile],
                        "sizes": self.sizes[tile],
                    },
                ),
                (
                    join,
                    "Join",
                    {
                        "parts": self.parts.slice(tile, tile + 1, 1).squeeze([1]),
                        "sizes": self.sizes.slice(tile, tile + 1, 1).squeeze([1]),
                        "bucket": self.buckets[tile],
                        "size": self.filled[tile],
                    },
                ),
            )
            for step, codelet, connected in steps:
                self.graph.setTileMapping(self.graph.addVertex(step, codelet, connected), tile)
        gather = Copy(self.samples.flatten(), self.all_samples)
        return Sequence(Execute(sort), gather, Execute(choose), Execute(cut), Execute(join))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, default=16)
    parser.add_argument("--keys", type=int, default=64, help="of a tile")
    arguments = parser.parse_args()
    device = attached()
    graph = Graph(device.getTarget())
    graph.addCodelets(str(Path(__file__).with_name("sample_sort_codelets.cpp")))
    work = SampleSort(graph, arguments.tiles, arguments.keys)
    program = work.program()
    graph.createHostWrite("keys", work.keys)
    graph.createHostRead("buckets", work.buckets)
    graph.createHostRead("filled", work.filled)
    engine = Engine(graph, program, COUNTED)
    engine.load(device)
    keys = numbers(arguments.tiles * arguments.keys)
    engine.writeTensor("keys", keys)
    engine.run()
    buckets = np.empty([arguments.tiles, arguments.tiles * arguments.keys], np.uint32)
    filled = np.empty(arguments.tiles, np.uint32)
    engine.readTensor("buckets", buckets)
    engine.readTensor("filled", filled)
    result = np.concatenate([bucket[:size] for bucket, size in zip(buckets, filled, strict=True)])
    verdict = "sorted" if np.array_equal(result, np.sort(keys)) else "WRONG"
    print(f"{len(result)} keys {verdict}, largest bucket {filled.max()}, {cycles_of_last_run(engine)} cycles")


if __name__ == "__main__":
    main()
