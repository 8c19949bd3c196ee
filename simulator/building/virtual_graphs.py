"""Virtual graphs, and the tiles of one graph as tiles of another or of the chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import invalid_tile_mapping
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.building.state import GraphState
from simulator.machine import physical_tiles

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


def virtual_graph(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> GraphState:
    """`Graph.createVirtualGraph`: the same store, seen with fewer tiles."""
    form, given = _VIRTUAL.choose(arguments, names)
    per_ipu, ipus = state.target.getTilesPerIPU(), state.target.getNumIPUs()
    if form == 1:
        first, upper = given["lowerTile"], given["upperTile"]
        if not 0 <= first < upper <= state.num_tiles or first // per_ipu != (upper - 1) // per_ipu:
            raise invalid_tile_mapping(
                f"createVirtualGraph: tiles [{first}, {upper}) are not within one IPU of {per_ipu} tiles."
            )
        return _with_tiles(state, np.arange(first, upper, dtype=np.int64), 1)
    (tiles,) = given.values()
    # one more tile than there are is as wrong as any number above, and makes no large array
    chosen = (
        np.arange(min(tiles, per_ipu + 1)) if form == 0 else np.array([_at_most(t, per_ipu) for t in tiles], np.int64)
    )
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= per_ipu or len(np.unique(chosen)) != len(chosen):
        raise invalid_tile_mapping(
            f"createVirtualGraph: {tiles!r} does not choose different tiles of an IPU with {per_ipu} tiles."
        )
    return _with_tiles(state, (np.arange(ipus)[:, None] * per_ipu + chosen).reshape(-1), ipus)


def _at_most(tile: Any, last: int) -> Any:
    """A number of a tile; those that NumPy cannot hold become one that is as wrong."""
    return max(-1, min(tile, last)) if isinstance(tile, int) else tile


def _with_tiles(state: GraphState, tiles: Int64Array, ipus: int) -> GraphState:
    device = tiles if state.tiles is None else state.tiles[tiles]
    return replace(state, target=state.target.with_tiles(device.tolist(), ipus), num_tiles=len(device), tiles=device)


def tile_of_top_level(state: GraphState, top: GraphState, tile: int) -> int:
    """`Graph.convertTopLevelGraphTileToTile`: the tile of `state` that a tile of the top level graph is."""
    if not 0 <= index(tile) < top.num_tiles:
        raise invalid_tile_mapping(f"Tile {tile} is not one of the {top.num_tiles} tiles of the graph.")
    own = int(state.graph_tiles(np.array([tile], np.int64))[0])
    if not 0 <= own < state.num_tiles:
        raise invalid_tile_mapping(f"Tile {tile} of the device is not in this graph.")
    return own


def physical_tile(state: GraphState, top: GraphState, tile: int) -> int:
    """`Graph.convertVirtualTileToPhysicalTile`."""
    return int(top.target.physical_tiles()[state.device_tile(tile) % top.target.getTilesPerIPU()])


def tile_of_physical(state: GraphState, top: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> int:
    """`Graph.convertPhysicalTileToVirtualTile`."""
    _, given = _PHYSICAL.choose(arguments, names)
    ipu, physical, target = index(given.get("ipuId", 0)), index(given["physicalTileId"]), top.target
    logical = physical_tiles.logical_tile_table(target.chip)
    if not 0 <= physical < len(logical) or not 0 <= logical[physical] < target.getTilesPerIPU():
        raise invalid_tile_mapping(f"Physical tile {physical} is not in use on a {target.chip.title}.")
    return tile_of_top_level(state, top, ipu * target.getTilesPerIPU() + int(logical[physical]))
