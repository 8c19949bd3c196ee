"""Checks of a finished graph that cannot be made while it is built. Compilation calls `check_graph` first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.poplar.errors import graph_connection_error, invalid_tile_mapping
from simulator.poplar.vertex_builder import UNMAPPED, BlockBuilder

if TYPE_CHECKING:
    from simulator.poplar.store import GraphStore, VertexBlock


def check_graph(store: GraphStore) -> None:
    """Every vertex has a tile and all its fields.

    Raises `invalid_tile_mapping` or `graph_connection_error`, naming the first vertex at fault."""
    for open_block in store.open_blocks.values():
        assert isinstance(open_block, BlockBuilder)
        missing = open_block.first_unconnected()
        if missing is not None:
            field, row = missing
            value = "has no value; call setInitialValue" if field in open_block.values else "is not connected"
            raise graph_connection_error(f"{_vertex(store, open_block.block, row)}: field '{field}' {value}.")
    for block in store.blocks:
        unmapped = np.flatnonzero(block.tiles == UNMAPPED)
        if len(unmapped):
            raise invalid_tile_mapping(f"{_vertex(store, block, int(unmapped[0]))} has no tile; call setTileMapping.")


def _vertex(store: GraphStore, block: VertexBlock, row: int) -> str:
    name = store.compute_set_names[block.compute_set] or f"number {block.compute_set}"
    return f"Vertex {row} of type {block.type.name} in compute set '{name}'"
