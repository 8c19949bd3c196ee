"""Checks of a complete graph and its programs: the first step of compilation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from simulator.base.errors import (
    control_program_error,
    graph_object_creation_error,
    graph_recursion_error,
    invalid_tile_mapping,
)
from simulator.graph import program as host
from simulator.graph.field_links import connect_links
from simulator.graph.objects import DataStream, Function, FunctionBuffer, RemoteBuffer
from simulator.graph.vertex_builder import UNMAPPED, BlockBuilder

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


def check_graph(store: GraphStore) -> None:
    """Check that every vertex has a tile and all its fields.

    Raises `invalid_tile_mapping` or `graph_connection_error`, naming the first such vertex."""
    connect_links(store)
    for open_block in store.open_blocks.values():
        assert isinstance(open_block, BlockBuilder)
        open_block.check_fields()
    for block in store.blocks:
        unmapped = np.flatnonzero(block.tiles == UNMAPPED)
        if len(unmapped):
            raise invalid_tile_mapping(f"{_vertex(store, block, int(unmapped[0]))} has no tile; call setTileMapping.")


def check_programs(store: GraphStore, programs: Iterable[host.Program]) -> None:
    """Check that programs use only objects of this graph, and that functions do not call themselves.

    Raises `graph_object_creation_error` for tensors of another graph, `control_program_error` for its compute sets,
    streams and functions, `graph_recursion_error`."""
    checked: set[int] = set()

    def check(program: host.Program, calls: tuple[int, ...]) -> None:
        marked = getattr(program, "tensor", None)
        for tensor in [*program.reads(), *program.writes(), *([] if marked is None else [marked])]:
            if tensor.view.store is not store:
                raise graph_object_creation_error(
                    f"A {type(program).__name__} program uses a tensor of another graph ({tensor!r}); "
                    "make it with the graph that is compiled."
                )
        if isinstance(program, host.Copy):
            _check_ends(store, program)
        if isinstance(program, host.Execute) and program.of.store is not store:
            raise control_program_error(
                f"Execute: compute set '{program.of.name}' is of another graph; make it with the one that is compiled."
            )
        for child in program.nested():
            check(child, calls)
        if isinstance(program, host.Call):
            called = program.host_function
            if called is None:
                _check_call(program.of, calls)
            elif called.id >= len(store.host_functions) or store.host_functions[called.id] is not called:
                raise control_program_error(f"Call: host function '{called.name}' is not of this graph.")

    def _check_call(handle: Function | None, calls: tuple[int, ...]) -> None:
        assert handle is not None
        function = handle.id
        if handle.store is not None and handle.store is not store:
            raise control_program_error(f"Call: function {function} is of another graph.")
        if not 0 <= function < len(store.functions):
            raise control_program_error(f"Call: function {function} is not in the graph.")
        if function in calls:
            raise graph_recursion_error(f"Function {function} calls itself; a program on tiles cannot recurse.")
        if function not in checked:
            check(store.functions[function], (*calls, function))
            checked.add(function)

    for program in programs:
        check(program, ())


def _check_ends(store: GraphStore, copy: host.Copy) -> None:
    for end in (copy.source, copy.destination):
        if isinstance(end, DataStream) and end.store is not store:
            raise control_program_error(f"Copy: stream '{end.name}' is not of this graph.")
        if isinstance(end, Function | FunctionBuffer) and not _has_code(store, end):
            raise control_program_error(f"Copy: {end!r} is not of this graph.")
        if isinstance(end, RemoteBuffer) and (
            end.id >= len(store.remote_buffers) or store.remote_buffers[end.id] is not end
        ):
            raise control_program_error(f"Copy: remote buffer '{end.name}' is not of this graph.")


def _has_code(store: GraphStore, part: Function | FunctionBuffer) -> bool:
    if isinstance(part, Function):
        return part.id < len(store.functions)
    return part.id < len(store.function_buffers) and store.function_buffers[part.id] == (part.function, part.mapping)


def _vertex(store: GraphStore, block: VertexBlock, row: int) -> str:
    name = store.compute_set_names[block.compute_set] or f"number {block.compute_set}"
    return f"Vertex {row} of type {block.type.name} in compute set '{name}'"
