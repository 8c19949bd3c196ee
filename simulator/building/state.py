"""What a graph consists of: the columns, which virtual graphs share, and what it sees of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import graph_object_creation_error, invalid_tile_mapping
from simulator.base.target import Target, target_of
from simulator.graph.objects import VertexRef
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor, require_valid


@dataclass(frozen=True)
class GraphState:
    """A graph, or a virtual graph: the same store with fewer tiles."""

    store: GraphStore
    target: Target  #: of one replica, or what a virtual graph sees of it
    device_target: Target  #: of all replicas
    num_tiles: int
    tiles: Int64Array | None = None  #: tile on the device of each tile of this graph, None = the same

    def device_tile(self, tile: int) -> int:
        """The tile on the device of a tile of this graph; `invalid_tile_mapping` when the graph does not have it."""
        if not isinstance(tile, int | np.integer):
            raise invalid_tile_mapping(f"{tile!r} is not a tile; give its number, 0 to {self.num_tiles - 1}.")
        if not 0 <= tile < self.num_tiles:
            raise invalid_tile_mapping(
                f"Tile {tile} is out of range: the graph has {self.num_tiles} tiles, 0 to {self.num_tiles - 1}."
            )
        return tile if self.tiles is None else int(self.tiles[tile])

    def device_tiles(self, tiles: Int64Array) -> Int64Array:
        """`device_tile` of many."""
        if len(tiles) and (tiles.min() < 0 or tiles.max() >= self.num_tiles):
            bad = int(tiles[(tiles < 0) | (tiles >= self.num_tiles)][0])
            self.device_tile(bad)
        return tiles if self.tiles is None else self.tiles[tiles]

    def graph_tiles(self, device: Int64Array) -> Int64Array:
        """Tiles of this graph for tiles of the device; -1 where it does not have them."""
        if self.tiles is None:
            return device
        numbers = np.full(max(int(self.tiles.max()), int(device.max(initial=-1))) + 2, -1, np.int64)
        numbers[self.tiles] = np.arange(len(self.tiles))
        return numbers[device]  # device -1 reads the last entry, which is -1

    def require_vertex(self, v: VertexRef, what: str) -> None:
        """Raises `graph_object_creation_error` for what is no vertex of this graph."""
        if not isinstance(v, VertexRef) or v.builder.store is not self.store:
            raise graph_object_creation_error(f"{what}: {v!r} is not a vertex of this graph; make one with addVertex.")

    def require_tensor(self, tensor: Tensor, what: str) -> None:
        """Raises `graph_object_creation_error` for what is no tensor of this graph, `tensor_creation_error` for
        `Tensor()`."""
        if not isinstance(tensor, Tensor):
            raise graph_object_creation_error(f"{what}: {tensor!r} is not a tensor; make one with addVariable.")
        require_valid(tensor)
        if tensor.view.store is not self.store:
            raise graph_object_creation_error(f"{what}: the tensor is of another graph.")


def new_state(target: Any, replicas: int) -> GraphState:
    """The state of an empty graph for a target or device, replicated so often."""
    device_target = target_of(target)
    own = device_target.of_replica(replicas)
    return GraphState(GraphStore(replicas=int(replicas)), own, device_target, own.getNumTiles())
