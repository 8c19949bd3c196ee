"""Map external variables to tiles: the simulator's linking step for variables whose storage lies outside the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import invalid_tile_mapping, link_error

if TYPE_CHECKING:
    from simulator.graph.preallocations import Parts
    from simulator.graph.store import GraphStore


#: Addresses are multiples of the widest load (simulator.compiler.memory.layout).
_ALIGNMENT = 16

Addresses = dict[tuple[int, int], int]
"""(variable, tile) -> address of the variable's first byte on the tile."""


def place_external_variables(
    store: GraphStore, places: Mapping[str, Parts | int], tiles: int, memory: int
) -> Addresses:
    """Map the external variables of a store to tiles of `memory` bytes each; returns the addresses that the caller has
    fixed. Other runtimes write these variables between runs, so they are always live.

    Raises `link_error` for a symbol without a place and a place without a symbol; `invalid_tile_mapping` for tiles or
    addresses out of range, and for parts that omit or repeat elements."""
    found: Addresses = {}
    known = store.variables.external
    unknown = sorted(set(places) - set(known.values()))
    if unknown:
        raise link_error(
            f"Symbol '{unknown[0]}' is preallocated, but the graph has no external variable of that name.",
            f"unreferenced symbol: {unknown[0]}",
        )
    for variable, symbol in known.items():
        if symbol not in places:
            raise link_error(
                f"Undefined symbol '{symbol}': external variable '{store.variables.name[variable]}' has no place; "
                "name its tiles in Preallocations.",
                f"undefined symbol: {symbol}",
            )
        mapping = _mapping(symbol, places[symbol], store.variables.numel[variable], tiles)
        store.variables.mapping[variable] = mapping
        store.variables.host_visible[variable] = True
        place = places[symbol]
        if not isinstance(place, int):
            size = store.variables.type[variable].size
            found |= {(variable, t): at for t, at in _addresses(symbol, place, size, memory).items()}
    return found


def _addresses(symbol: str, parts: Parts, size: int, memory: int) -> dict[int, int]:
    """Tile -> fixed address. `size`: bytes of an element."""
    found: dict[int, int] = {}
    for tile, begin, end, address in parts:
        if address == -1:
            continue
        if address < 0 or address % _ALIGNMENT or address + (end - begin) * size > memory:
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': address {address} on tile {tile} must be a multiple of {_ALIGNMENT} "
                f"with room for {(end - begin) * size} bytes below {memory}."
            )
        if sum(other == tile for other, *_ in parts) > 1:
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': tile {tile} has an address and several parts; give it one part."
            )
        found[tile] = address
    return found


def _mapping(symbol: str, place: Parts | int, count: int, tiles: int) -> tuple[Int64Array, Int64Array]:
    """(interval ends, tile of each interval) of a whole variable."""
    parts = ((place, 0, count, -1),) if isinstance(place, int) else tuple(sorted(place, key=lambda part: part[1]))
    done = 0
    for tile, begin, end, _ in parts:
        if not 0 <= tile < tiles:
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': tile {tile} does not exist; the tiles are 0 to {tiles - 1}."
            )
        if begin != done or end <= begin:
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': elements {done} to {begin} are repeated or omitted; cover all "
                f"{count} elements once."
            )
        done = end
    if done != count:
        raise invalid_tile_mapping(
            f"Preallocations of '{symbol}' place {done} elements, but the variable has {count}; cover all once."
        )
    return np.array([part[2] for part in parts], np.int64), np.array([part[0] for part in parts], np.int64)
