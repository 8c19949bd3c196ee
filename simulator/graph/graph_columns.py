"""The columns of a serialized graph that come from the store: variables, mapping, compute sets, vertices, regions.

`Graph.serialize` and the report's serialized_graph.capnp add their programs to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from popvision.formats.serialized_graph import SerializedGraph
from simulator.arrays import Int64Array, IntegerArray
from simulator.graph.store import GraphStore
from simulator.graph.vertices import VertexBlock


def graph_columns(
    store: GraphStore, blocks: Sequence[VertexBlock], vertex_types: Sequence[str], facts: Mapping[str, Any]
) -> SerializedGraph:
    """The graph without programs. `vertex_types` names the types in the order of their ids; arrays of the right type
    are shared with the store."""
    v = store.variables
    ends, tiles = store.mapping_table()
    begins = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    row_of_type = {name: row for row, name in enumerate(vertex_types)}
    fields = [(number, name, edges) for number, b in enumerate(blocks) for name, edges in b.edges.items()]
    return SerializedGraph(
        facts={"simulated": True, **facts},
        variable_name=list(v.name),
        variable_type=[t.name for t in v.type],
        variable_base=np.array(v.base, np.int64),
        variable_elements=np.array(v.numel, np.int64),
        variable_constant=np.array([c is not None for c in v.constant], np.uint8),
        variable_debug_id=np.array(v.debug_id, np.int64),
        mapping_start=begins,
        mapping_length=ends - begins,
        mapping_tile=tiles,
        compute_set_name=list(store.compute_set_names),
        compute_set_debug_id=np.array(store.compute_set_debug_ids, np.int64),
        vertex_type_name=list(vertex_types),
        block_compute_set=np.array([b.compute_set for b in blocks], np.int64),
        block_vertex_type=np.array([row_of_type[b.type.name] for b in blocks], np.int64),
        block_offsets=_offsets([len(b) for b in blocks]),
        vertex_tile=_joined([b.tiles for b in blocks]),
        field_block=np.array([number for number, _, _ in fields], np.int64),
        field_name=[name for _, name, _ in fields],
        field_offsets=_offsets([len(edges.starts) for _, _, edges in fields]),
        region_vertex=_joined([edges.vertex_of_region(len(blocks[number])) for number, _, edges in fields]),
        region_start=_joined([edges.starts for _, _, edges in fields]),
        region_length=_joined([edges.lengths for _, _, edges in fields]),
    )


def _offsets(counts: list[int]) -> Int64Array:
    """The begin of each part, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _joined(parts: list[IntegerArray]) -> Int64Array:
    return np.concatenate([np.empty(0, np.int64), *parts], dtype=np.int64)
