"""Variables whose storage is outside the graph get their tiles, as linking gives symbols their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simulator.poplar.errors import invalid_tile_mapping, link_error

if TYPE_CHECKING:
    from simulator.poplar.preallocations import Parts
    from simulator.poplar.store import GraphStore

I8 = npt.NDArray[np.int64]


def place_externals(store: GraphStore, places: Mapping[str, Parts | int], tiles: int) -> None:
    """Map the external variables of a store to tiles. Others write them between runs, so they are always live.

    Raises `link_error` for a symbol without a place and a place without a symbol, `invalid_tile_mapping` for tiles that
    there are not and for parts that leave elements out or name them twice."""
    known = store.variables.external
    unknown = sorted(set(places) - set(known.values()))
    if unknown:
        raise link_error(
            f"Symbol '{unknown[0]}' is preallocated, but no external variable of the graph is called so.",
            f"unreferenced symbol: {unknown[0]}",
        )
    for variable, symbol in known.items():
        if symbol not in places:
            raise link_error(
                f"Undefined symbol '{symbol}': external variable '{store.variables.name[variable]}' is placed nowhere; "
                "name its tiles in Preallocations.",
                f"undefined symbol: {symbol}",
            )
        mapping = _mapping(symbol, places[symbol], store.variables.numel[variable], tiles)
        store.variables.mapping[variable] = mapping
        store.variables.host_visible[variable] = True


def _mapping(symbol: str, place: Parts | int, count: int, tiles: int) -> tuple[I8, I8]:
    """(interval ends, tile of each interval) of a whole variable."""
    parts = ((place, 0, count),) if isinstance(place, int) else tuple(sorted(place, key=lambda part: part[1]))
    done = 0
    for tile, begin, end in parts:
        if not 0 <= tile < tiles:
            raise invalid_tile_mapping(f"Preallocations of '{symbol}': there is no tile {tile}, only 0 to {tiles - 1}.")
        if begin != done or end <= begin:
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': elements {done} to {begin} are named twice or left out; cover all "
                f"{count} elements once."
            )
        done = end
    if done != count:
        raise invalid_tile_mapping(
            f"Preallocations of '{symbol}' place {done} elements, but the variable has {count}; cover all once."
        )
    return np.array([end for _, _, end in parts], np.int64), np.array([tile for tile, _, _ in parts], np.int64)
