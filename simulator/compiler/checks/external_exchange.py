"""Check compute sets with external exchange vertices, once every vertex has its tile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.base.errors import graph_object_creation_error

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


def check_external_exchange(store: GraphStore, tiles_per_ipu: int, tiles_per_context: int) -> None:
    """Raises `graph_object_creation_error` for two external exchange vertices of a compute set on one tile, and for
    exchange block contexts whose XREQ packet comes from more than one tile, in one compute set or in several."""
    senders: dict[tuple[int, int], int] = {}  # (IPU, context) -> tile
    taken: set[tuple[int, int]] = set()
    for block in store.blocks:
        name = store.compute_set_names[block.compute_set] or f"number {block.compute_set}"
        for row, external in block.external.items():
            tile = int(block.tiles[row])
            if (block.compute_set, tile) in taken:
                raise graph_object_creation_error(
                    f"Compute set '{name}' has more than one external exchange vertex on tile {tile}; map each to a "
                    "tile of its own."
                )
            taken.add((block.compute_set, tile))
            ipu, of_ipu = divmod(tile, tiles_per_ipu)
            context = of_ipu // tiles_per_context
            if external.sends_xreq and senders.setdefault((ipu, context), tile) != tile:
                raise graph_object_creation_error(
                    f"Tiles {senders[ipu, context]} and {tile} both send the XREQ packet of exchange block context "
                    f"{context} on IPU {ipu} (the second in compute set '{name}'); let one tile send it everywhere."
                )
