"""Preallocations: where the variables are that a graph uses but does not own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simulator.poplar.errors import invalid_tile_mapping

Parts = tuple[tuple[int, int, int], ...]  #: (tile, begin, end): elements [begin, end) of the variable


class Preallocations:
    """Tiles of external variables, by the symbol given to `Graph.addExternalVariable`.

    `Preallocations({"table": 3})`: all of it on tile 3; `{"table": [(3, (0, 10)), (4, (10, 16))]}`: elements 0 to 9 on
    tile 3 and the rest on tile 4. `add` does the same for one symbol. Raises `invalid_tile_mapping` for anything
    else."""

    def __init__(self, places: Mapping[str, Any] | None = None) -> None:
        self.parts: dict[str, Parts | int] = {}
        for symbol, place in (places or {}).items():
            self.add(symbol, place)

    def add(self, symbol: str, place: int | Iterable[tuple[int, tuple[int, int]]]) -> None:
        """Say where one variable is, in place of what was said before."""
        if isinstance(place, int) and not isinstance(place, bool):
            self.parts[symbol] = place
            return
        try:
            parts = tuple((int(tile), int(begin), int(end)) for tile, (begin, end) in place)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            raise invalid_tile_mapping(
                f"Preallocations of '{symbol}': {place!r:.60} is neither a tile nor a list of (tile, (begin, end))."
            ) from None
        self.parts[symbol] = parts
