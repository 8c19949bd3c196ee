"""poputil: spreading tensors over tiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.poplar.debug_context import Context
from simulator.poplar.graph import Graph
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import Type
from simulator.poplibs.type_names import grain

I8 = npt.NDArray[np.int64]

#: least bytes that linear mapping gives to a tile (published-numbers 7.7)
MIN_BYTES_PER_TILE = 128


def linear_shares(elements: int, tiles: int, grain_size: int, min_elements: int) -> I8:
    """Where the share of each tile ends when `elements` are spread evenly in whole grains, at least `min_elements` to
    a tile; fewer ends than tiles when there is not enough for all."""
    grains = -(-elements // grain_size)
    min_grains = max(-(-min_elements // grain_size), 1)
    used = max(min(tiles, grains // min_grains), 1)
    bounds = np.arange(1, used + 1, dtype=np.int64) * grains // used
    return np.minimum(bounds * grain_size, elements)


def mapTensorLinearly(
    graph: Graph, t: Tensor, minElementsPerTile: int | None = None, grainSize: int | None = None
) -> None:
    """Map a tensor evenly over the graph's tiles in flattened order.

    The grain defaults to one 64-bit vector and the least share to 128 bytes, so small tensors occupy few tiles."""
    if t.numElements() == 0:
        return
    size = t.elementType().size
    minimum = minElementsPerTile if minElementsPerTile is not None else -(-MIN_BYTES_PER_TILE // size)
    ends = linear_shares(t.numElements(), graph.getTarget().getNumTiles(), grainSize or grain(t.elementType()), minimum)
    map_shares(graph, t, ends, np.arange(len(ends), dtype=np.int64))


def map_shares(graph: Graph, t: Tensor, ends: I8, tiles: I8) -> None:
    """Give elements [ends[i - 1], ends[i]) of the flattened tensor to tile `tiles[i]`."""
    begins = np.concatenate([[0], ends[:-1]])
    graph.setTileMappingIntervals(t, begins, ends, tiles)


def clone_mapped(graph: Graph, model: Tensor, type_: Type, name: Context) -> Tensor:
    """A new variable shaped like `model`: mapped as it is where its elements are distinct, else linearly."""
    if model.isParallelWriteable():
        return graph.clone(type_, model, name)
    out = graph.addVariable(type_, model.shape(), name)
    mapTensorLinearly(graph, out)
    return out
