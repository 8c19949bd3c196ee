"""What the parts of `Graph` share: the columns, the target, the replication factor and the tiles of a virtual graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import graph_object_creation_error, invalid_tile_mapping
from simulator.base.target import Target, target_of
from simulator.graph.debug_context import Context, DebugInfo, as_context, record
from simulator.graph.objects import VertexRef
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor, require_valid

#: What every graph with a target has.
_STATE = ("store", "_target", "_device_target", "_tiles", "_num_tiles")


class GraphState:
    """Construction of graphs and virtual graphs."""

    store: GraphStore
    _target: Target  #: of one replica, or what a virtual graph sees of it
    _device_target: Target  #: all replicas
    _tiles: Int64Array | None  #: tile on the device of each tile of this graph, None = the same
    _num_tiles: int

    def __init__(self, target: Any = None, r: int = 1, *, device: Any = None) -> None:
        target = device if target is None else target
        if target is None:
            return  # an empty handle, as in C++: whatever is asked of it is refused
        self._device_target = target_of(target)
        self._target = self._device_target.of_replica(r)
        self.store = GraphStore(replicas=int(r))
        self._tiles = None
        self._num_tiles = self._target.getNumTiles()

    def __getattr__(self, name: str) -> Any:
        if name in _STATE:
            raise graph_object_creation_error(
                "A graph made without a target holds nothing: make it with Graph(device) or Graph(target), for example "
                "Graph(IPUModel().createDevice())."
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def getTarget(self) -> Target:
        """The target of one replica; of a virtual graph, one with fewer tiles."""
        return self._target

    def getReplicationFactor(self) -> int:
        """How often the graph runs at once, each time on IPUs of its own."""
        return self.store.replicas

    def addDebugInfo(self, debugContext: Context, layer: str, **arguments: Any) -> DebugInfo:
        """Record an operation of a library; give the result as context of what the operation makes."""
        context = as_context(debugContext)
        return DebugInfo(self.store, record(self.store, context, "operation", layer, arguments))

    def _device_tile(self, tile: int) -> int:
        """The tile on the device of a tile of this graph; `invalid_tile_mapping` when the graph does not have it."""
        if not isinstance(tile, int | np.integer):
            raise invalid_tile_mapping(f"{tile!r} is not a tile; give its number, 0 to {self._num_tiles - 1}.")
        if not 0 <= tile < self._num_tiles:
            raise invalid_tile_mapping(
                f"Tile {tile} is out of range: the graph has {self._num_tiles} tiles, 0 to {self._num_tiles - 1}."
            )
        return tile if self._tiles is None else int(self._tiles[tile])

    def _device_tiles(self, tiles: Int64Array) -> Int64Array:
        """`_device_tile` of many."""
        if len(tiles) and (tiles.min() < 0 or tiles.max() >= self._num_tiles):
            bad = int(tiles[(tiles < 0) | (tiles >= self._num_tiles)][0])
            self._device_tile(bad)
        return tiles if self._tiles is None else self._tiles[tiles]

    def _own_vertex(self, v: VertexRef, what: str) -> None:
        """Refuse what is no vertex, and vertices of another graph."""
        if not isinstance(v, VertexRef) or v.builder.store is not self.store:
            raise graph_object_creation_error(f"{what}: {v!r} is not a vertex of this graph; make one with addVertex.")

    def _own(self, tensor: Tensor, what: str) -> None:
        """Refuse what is no tensor, and tensors that are invalid or of another graph."""
        if not isinstance(tensor, Tensor):
            raise graph_object_creation_error(f"{what}: {tensor!r} is not a tensor; make one with addVariable.")
        require_valid(tensor)
        if tensor.view.store is not self.store:
            raise graph_object_creation_error(f"{what}: the tensor is of another graph.")
