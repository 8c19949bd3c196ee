"""Preallocations: tiles and addresses of the external variables of a graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from simulator.base.errors import invalid_tile_mapping
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments

#: (tile, begin, end, address): elements [begin, end) of the variable, at a byte of the tile's memory; -1 = anywhere.
Parts = tuple[tuple[int, int, int, int], ...]


@methods_refuse_wrong_arguments()
class Preallocations:
    """Tiles of external variables, by the symbol given to `Graph.addExternalVariable`.

    `Preallocations({"table": 3})`: all of it on tile 3; `{"table": [(3, (0, 10)), (4, (10, 16))]}`: elements 0 to 9 on
    tile 3 and the rest on tile 4. A part may end with an address, in bytes from the beginning of the tile's memory as
    reports count them: `(3, (0, 10), 0x8000)`; without one, linking chooses. `add` does the same for one symbol. Raises
    `invalid_tile_mapping` for anything else."""

    def __init__(self, places: Mapping[str, Any] | None = None) -> None:
        self.parts: dict[str, Parts | int] = {}
        for symbol, place in (places or {}).items():
            self.add(symbol, place)

    def add(self, symbol: str, place: int | Iterable[tuple[Any, ...]]) -> None:
        """Set the place of one variable; it replaces an earlier one."""
        if not isinstance(symbol, str):
            raise invalid_tile_mapping(f"Preallocations: {symbol!r:.60} is not the name of a symbol.")
        if isinstance(place, int) and not isinstance(place, bool):
            self.parts[symbol] = place
            return
        try:
            parts = tuple(_part(*part) for part in place)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': {place!r:.60} is neither a tile nor a list of (tile, (begin, end)) or "
                "(tile, (begin, end), address)."
            ) from None
        self.parts[symbol] = parts


def _part(tile: Any, elements: tuple[Any, Any], address: Any = -1) -> tuple[int, int, int, int]:
    begin, end = elements
    return operator.index(tile), operator.index(begin), operator.index(end), operator.index(address)
