"""The serialized graph: a graph and its lowered programs as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import Compilation
from popvision.formats.serialized_graph import SerializedGraph
from simulator.arrays import Int64Array

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import FieldEdges


def serialized_graph(store: GraphStore, compilation: Compilation) -> SerializedGraph:
    """All columns of the graph. Arrays of the right type are shared with it."""
    v, programs = store.variables, compilation.programs
    ends, tiles = store.mapping_table()
    begins = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    blocks = store.settled_blocks
    types = {name: row for row, name in enumerate(compilation.vertex_types.name)}
    fields = [(number, name, edges) for number, b in enumerate(blocks) for name, edges in b.edges.items()]
    return SerializedGraph(
        facts={"simulated": True, "target": compilation.target.architecture, "tiles": compilation.target.num_tiles},
        variable_name=list(v.name),
        variable_type=[t.name for t in v.type],
        variable_base=np.array(v.base, np.int64),
        variable_elements=np.array(v.numel, np.int64),
        variable_constant=np.array([c is not None for c in v.constant], np.uint8),
        variable_debug_id=np.array(v.debug_id, np.int64),
        mapping_start=begins,
        mapping_length=ends - begins,
        mapping_tile=tiles,
        compute_set_name=list(compilation.compute_sets.name),
        compute_set_debug_id=compilation.compute_sets.debug_id,
        vertex_type_name=list(compilation.vertex_types.name),
        block_compute_set=np.array([b.compute_set for b in blocks], np.int64),
        block_vertex_type=np.array([types[b.type.name] for b in blocks], np.int64),
        block_offsets=_offsets([len(b) for b in blocks]),
        vertex_tile=_joined([b.tiles for b in blocks]),
        field_block=np.array([number for number, _, _ in fields], np.int64),
        field_name=[name for _, name, _ in fields],
        field_offsets=_offsets([len(edges.starts) for _, _, edges in fields]),
        region_vertex=_joined([_owners(edges, len(blocks[number])) for number, _, edges in fields]),
        region_start=_joined([edges.starts for _, _, edges in fields]),
        region_length=_joined([edges.lengths for _, _, edges in fields]),
        program_type=list(programs.type),
        program_name=list(programs.name),
        program_compute_set=programs.compute_set,
        program_repeat_count=programs.repeat_count,
        program_child_offsets=programs.child_offsets,
        program_children=programs.children,
    )


def _owners(edges: FieldEdges, n: int) -> Int64Array:
    """The vertex of each region, counted within its block."""
    return edges.vertex_of_region(n)


def _offsets(counts: list[int]) -> Int64Array:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _joined(parts: list[npt.NDArray[np.integer]]) -> Int64Array:
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
