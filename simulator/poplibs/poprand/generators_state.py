"""The random generators of the tiles: four words each.

The device keeps them in registers of its workers. Here they are a variable, 16 bytes on each tile, so that engines,
replicas and the address-accurate mode treat them like any value. Their initial values differ between tiles.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.poprand.counter import WORDS, modifier_word

_KEY = "poprand.generators"


def generators(graph: Graph) -> Tensor:
    """[tiles of the device, 4], made at the first use."""
    store, top = graph.store, graph.getTopLevelGraph()
    if _KEY not in store.library_tensors:
        tiles = top.getTarget().getNumTiles()
        state = top.addVariable(UNSIGNED_INT, [tiles, WORDS], "poprand/generators")
        begins = np.arange(tiles, dtype=np.int64) * WORDS
        top.setTileMappingIntervals(state, begins, begins + WORDS, np.arange(tiles, dtype=np.int64))
        first = np.zeros((tiles, WORDS), np.uint32)
        first[:, 2], first[:, 3] = modifier_word(0), np.arange(1, tiles + 1)
        top.setInitialValue(state, first.reshape(-1))
        store.library_tensors[_KEY] = state
    found = store.library_tensors[_KEY]
    assert isinstance(found, Tensor)
    return found


def device_tiles(graph: Graph) -> Int64Array:
    """The device's numbers of the graph's tiles."""
    return graph.state.device_tiles(np.arange(graph.getTarget().getNumTiles(), dtype=np.int64))


def rows_of(state: Tensor, tiles: Int64Array) -> Tensor:
    """The generators of some tiles, ascending."""
    if len(tiles) == state.dim(0):
        return state
    edges = np.flatnonzero(np.diff(tiles, prepend=-2, append=-2) != 1)
    runs = [(int(tiles[a]), int(tiles[b - 1]) + 1) for a, b in pairwise(edges)]
    return concat([state.slice(begin, end, 0) for begin, end in runs], 0)
