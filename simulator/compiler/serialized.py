"""The serialized graph: a graph and its lowered programs as columns."""

from __future__ import annotations

from dataclasses import replace

from popvision.formats.serialized_graph import SerializedGraph, graph_of_bytes
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.graph.graph_columns import graph_columns


def serialized_graph(compiled: CompiledGraph) -> SerializedGraph:
    """All columns of the graph. Arrays of the right type are shared with it."""
    if compiled.saved_graph:
        return graph_of_bytes(compiled.saved_graph)
    store, compilation = compiled.source.store, compiled.compilation
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
