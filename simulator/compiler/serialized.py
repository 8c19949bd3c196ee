"""The serialized graph: a graph and its lowered programs as columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from popvision.formats.profile.model import Compilation
from popvision.formats.serialized_graph import SerializedGraph
from simulator.graph.graph_columns import graph_columns

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


def serialized_graph(store: GraphStore, compilation: Compilation) -> SerializedGraph:
    """All columns of the graph. Arrays of the right type are shared with it."""
    target, programs = compilation.target, compilation.programs
    facts = {"target": target.architecture, "tiles": target.num_tiles}
    return replace(
        graph_columns(store, store.settled_blocks, compilation.vertex_types.name, facts),
        compute_set_name=list(compilation.compute_sets.name),
        compute_set_debug_id=compilation.compute_sets.debug_id,
        program_type=list(programs.type),
        program_name=list(programs.name),
        program_compute_set=programs.compute_set,
        program_repeat_count=programs.repeat_count,
        program_child_offsets=programs.child_offsets,
        program_children=programs.children,
    )
