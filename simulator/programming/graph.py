"""Graph: a face over `GraphStore`. Each part has its own module; this one adds virtual graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from simulator.base.errors import invalid_tile_mapping
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.machine import physical_tiles
from simulator.programming.outputs import OutputMethods

__all__ = ["Graph"]

_VIRTUAL = Overloads(
    "createVirtualGraph",
    invalid_tile_mapping,
    (
        (Parameter("numTilesPerIPU", instance_of(int, np.integer)),),
        (Parameter("lowerTile", instance_of(int, np.integer)), Parameter("upperTile", instance_of(int, np.integer))),
        (Parameter("perIpuTiles", instance_of(list, tuple, range, np.ndarray)),),
    ),
)
_PHYSICAL = Overloads(
    "convertPhysicalTileToVirtualTile",
    invalid_tile_mapping,
    ((Parameter("physicalTileId"),), (Parameter("ipuId"), Parameter("physicalTileId"))),
)


class Graph(OutputMethods):
    """A graph program: variables, vertices, compute sets, streams and functions for one target.

    `Graph(target)` or `Graph(device)`, and a replication factor r: the graph describes one replica, which has 1/r of
    the IPUs, and runs r times at once."""

    _top: Graph | None = None  #: of a virtual graph

    # ---- virtual graphs ----------------------------------------------------------------------------------------

    @overload
    def createVirtualGraph(self, numTilesPerIPU: int) -> Graph: ...
    @overload
    def createVirtualGraph(self, lowerTile: int, upperTile: int) -> Graph: ...
    @overload
    def createVirtualGraph(self, perIpuTiles: Sequence[int]) -> Graph: ...
    def createVirtualGraph(self, *arguments: Any, **names: Any) -> Graph:
        """A graph over the same state that sees fewer tiles: the first n of each IPU, tiles [lower, upper) of one
        IPU, or these tiles of each IPU. Raises `invalid_tile_mapping` for tiles that are not there, not different, or
        not within one IPU."""
        form, given = _VIRTUAL.choose(arguments, names)
        per_ipu = self._target.getTilesPerIPU()
        ipus = self._target.getNumIPUs()
        if form == 1:
            first, upper = given["lowerTile"], given["upperTile"]
            if not 0 <= first < upper <= self._num_tiles or first // per_ipu != (upper - 1) // per_ipu:
                raise invalid_tile_mapping(
                    f"createVirtualGraph: tiles [{first}, {upper}) are not within one IPU of {per_ipu} tiles."
                )
            return self._virtual(np.arange(first, upper, dtype=np.int64), 1)
        (tiles,) = given.values()
        chosen = np.arange(tiles, dtype=np.int64) if form == 0 else np.array(list(tiles), np.int64)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= per_ipu or len(np.unique(chosen)) != len(chosen):
            raise invalid_tile_mapping(
                f"createVirtualGraph: {tiles!r} does not choose different tiles of an IPU with {per_ipu} tiles."
            )
        return self._virtual((np.arange(ipus)[:, None] * per_ipu + chosen).reshape(-1), ipus)

    def _virtual(self, tiles: Any, ipus: int) -> Graph:
        device = tiles if self._tiles is None else self._tiles[tiles]
        graph = Graph.__new__(Graph)
        graph.store = self.store
        graph._tiles = device
        graph._num_tiles = len(device)
        graph._target = self._target.with_tiles(device.tolist(), ipus)
        graph._device_target = self._device_target
        graph._top = self._top or self
        return graph

    def getTopLevelGraph(self) -> Graph:
        """The graph that this virtual graph is a view of; any other graph itself."""
        return self._top or self

    def convertTileToTopLevelGraphTile(self, tileId: int) -> int:
        """The tile of the top level graph that a tile of this graph is; `invalid_tile_mapping` where there is none."""
        return self._device_tile(tileId)

    def convertTopLevelGraphTileToTile(self, topLevelGraphTileId: int) -> int:
        """The tile of this graph that a tile of the top level graph is; `invalid_tile_mapping` where there is none."""
        top = self.getTopLevelGraph()._num_tiles
        if not 0 <= topLevelGraphTileId < top:
            raise invalid_tile_mapping(f"Tile {topLevelGraphTileId} is not one of the {top} tiles of the graph.")
        tile = int(self._graph_tiles(np.array([topLevelGraphTileId], np.int64))[0])
        if not 0 <= tile < self._num_tiles:
            raise invalid_tile_mapping(f"Tile {topLevelGraphTileId} of the device is not in this graph.")
        return tile

    def convertVirtualTileToPhysicalTile(self, tileId: int) -> int:
        """The physical id, within its IPU, of a tile of this graph."""
        top = self.getTopLevelGraph().getTarget()
        return int(top.physical_tiles()[self._device_tile(tileId) % top.getTilesPerIPU()])

    @overload
    def convertPhysicalTileToVirtualTile(self, physicalTileId: int) -> int: ...
    @overload
    def convertPhysicalTileToVirtualTile(self, ipuId: int, physicalTileId: int) -> int: ...
    def convertPhysicalTileToVirtualTile(self, *arguments: Any, **names: Any) -> int:
        """The tile of this graph with a physical id on an IPU (0 when not given). Raises `invalid_tile_mapping` for
        tiles that are not in use, or not of this graph."""
        _, given = _PHYSICAL.choose(arguments, names)
        ipu, physical = given.get("ipuId", 0), given["physicalTileId"]
        top = self.getTopLevelGraph().getTarget()
        logical = physical_tiles.logical_tile_table(top.chip)
        if not 0 <= physical < len(logical) or not 0 <= logical[physical] < top.getTilesPerIPU():
            raise invalid_tile_mapping(f"Physical tile {physical} is not in use on a {top.chip.title}.")
        return self.convertTopLevelGraphTileToTile(ipu * top.getTilesPerIPU() + int(logical[physical]))
