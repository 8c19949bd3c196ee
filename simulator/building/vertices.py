"""Compute sets and vertices: one by one, and many at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import (
    graph_connection_error,
    graph_object_creation_error,
    invalid_tile_mapping,
    unknown_field,
)
from simulator.base.types import NO_LIMIT
from simulator.base.wrong_arguments import check_flags, is_file
from simulator.building.codelets import type_of
from simulator.building.fields import connect_other
from simulator.building.state import GraphState
from simulator.graph.debug_context import Context, as_context, record
from simulator.graph.field_columns import check_state_column
from simulator.graph.objects import ComputeSet, VertexRef
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor
from simulator.graph.vertex_builder import UNMAPPED, BlockBuilder
from simulator.graph.vertices import (
    ExternalExchange,
    FieldEdges,
    FieldSpec,
    VertexBlock,
    VertexType,
    largest_dims,
    too_large,
)

Connections = Mapping[str, Any] | Iterable[tuple[Any, ...]]

#: marks blocks of external exchange vertices among the open ones
_EXTERNAL = "\0external"


def add_compute_set(store: GraphStore, context: Context) -> ComputeSet:
    """`Graph.addComputeSet`."""
    own = as_context(context)
    name = own.getPathName()
    store.compute_set_names.append(name)
    store.compute_set_debug_ids.append(record(store, own, "computeset"))
    return ComputeSet(len(store.compute_set_names) - 1, name, store)


# ---- one by one ------------------------------------------------------------------------------------------------------


def add_vertex(state: GraphState, cs: ComputeSet, vertex_type: str | VertexType, connections: Connections) -> VertexRef:
    """`Graph.addVertex`."""
    store = state.store
    _require_compute_set(store, cs)
    if isinstance(connections, dict) or isinstance(connections, Mapping):  # noqa: SIM101 (the first is quick)
        items: Iterable[Any] = connections.items()
    elif is_file(connections):  # an empty file is no empty list
        raise TypeError(connections)
    else:  # a generator may add to the graph, so it ends before the vertex is made
        items = connections if isinstance(connections, list | tuple) else list(connections)
    name = vertex_type if isinstance(vertex_type, str) else vertex_type.name
    builder = store.open_blocks.get((cs.id, name))
    registers = False
    if builder is None:
        registers = name not in store.vertex_types
        builder = _open_block(state, cs, vertex_type, name)
    assert isinstance(builder, BlockBuilder)
    row, first_variable = builder.add(), len(store.variables.base)
    try:
        for item in items:
            try:
                field, value = item
            except (TypeError, ValueError):
                field, value = _connection(item)
            if isinstance(value, Tensor):
                builder.connect(row, field, value)
            else:
                connect_other(state, builder, row, field, value)
    except BaseException:
        store.remove_variables(first_variable)
        _remove_last(store, builder, (cs.id, name))
        if registers:
            del store.vertex_types[name]
        raise
    return VertexRef(builder, row)


def _remove_last(store: GraphStore, builder: BlockBuilder, key: tuple[int, str]) -> None:
    """Take back the vertex added last, and its block if it is the only one."""
    row = len(builder.tiles) - 1
    store.field_links = [link for link in store.field_links if link.builder is not builder or link.row != row]
    builder.remove_last()
    if not builder.tiles:
        store.remove_block(key)


def add_external_exchange_vertex(
    state: GraphState, cs: ComputeSet, vertex_type: str | VertexType, count: int, uses_east_edge: bool, sends_xreq: bool
) -> VertexRef:
    """`Graph.addExternalExchangeVertex`; `count`: the value of INCOMING_DCOUNT."""
    if not isinstance(count, int | np.integer) or not 0 <= count <= NO_LIMIT:
        raise graph_object_creation_error(
            f"addExternalExchangeVertex: INCOMING_DCOUNT cannot be {count!r}; give a count from 0 to {NO_LIMIT}."
        )
    check_flags("Graph.addExternalExchangeVertex", usesEastEdge=uses_east_edge, sendsXReq=sends_xreq)
    _require_compute_set(state.store, cs)
    key = (vertex_type if isinstance(vertex_type, str) else vertex_type.name) + _EXTERNAL
    builder = state.store.open_blocks.get((cs.id, key))
    if builder is None:
        builder = _open_block(state, cs, vertex_type, key)
    assert isinstance(builder, BlockBuilder)
    row = builder.add()
    builder.block.external[row] = ExternalExchange(int(count), bool(uses_east_edge), bool(sends_xreq))
    return VertexRef(builder, row)


def _open_block(state: GraphState, cs: ComputeSet, vertex_type: str | VertexType, key: str) -> BlockBuilder:
    type_ = type_of(state.store, vertex_type)
    _set_kind(state.store, cs, key.endswith(_EXTERNAL))
    first_tile = state.device_tile(0) if state.num_tiles == 1 else UNMAPPED
    builder = BlockBuilder(state.store, cs.id, type_, first_tile, state.target.getBytesPerTile())
    state.store.vertex_types.setdefault(type_.name, type_)
    state.store.open_blocks[cs.id, key] = builder
    state.store.settled_blocks.append(builder.block)
    return builder


def _require_compute_set(store: GraphStore, cs: ComputeSet) -> None:
    if getattr(cs, "store", None) is not store or not isinstance(cs, ComputeSet):
        raise graph_connection_error(f"Compute set {cs!r} is not of this graph; make it with addComputeSet.")


def _set_kind(store: GraphStore, cs: ComputeSet, external: bool) -> None:
    """Note whether a compute set holds external exchange vertices or ordinary ones; it cannot hold both."""
    if store.external_sets.setdefault(cs.id, external) is not external:
        raise graph_object_creation_error(
            f"Compute set '{store.compute_set_names[cs.id]}' cannot hold external exchange vertices and "
            "ordinary ones; add another compute set."
        )


def _connection(item: Any) -> tuple[str, Any]:
    """(field, FieldRef, bool) as a pair."""
    if not isinstance(item, tuple | list) or len(item) != 3 or not isinstance(item[0], str):
        raise graph_connection_error(
            f"addVertex: {item!r:.60} is not a connection; give (field, tensor), (field, value) or "
            "(field, v[...], False)."
        )
    return item[0], (item[1], item[2])


#: bytes of a tile without limit
_ANY_MEMORY = 1 << 62


# ---- many at once ----------------------------------------------------------------------------------------------------


def add_vertices(
    state: GraphState,
    cs: ComputeSet,
    vertex_type: str | VertexType,
    tiles: npt.ArrayLike,
    edges: Mapping[str, FieldEdges | Tensor],
    values: Mapping[str, Any] | None,
    cycles: Int64Array | None,
    flops: Int64Array | None,
    debug_id: int | None,
) -> VertexBlock:
    """`Graph.addVertices`."""
    store = state.store
    _require_compute_set(store, cs)
    type_ = type_of(store, vertex_type)
    try:
        given_tiles = np.asarray(tiles, np.int64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise invalid_tile_mapping(f"addVertices: {tiles!r:.60} are not the numbers of tiles.") from None
    device = state.device_tiles(given_tiles)
    n = len(device)
    given, given_values = dict(edges), dict(values or {})
    _check_names(type_, given.keys(), given_values.keys())
    columns = {name: _columns(type_.fields_by_name[name], e, n) for name, e in given.items()}
    for name, column in columns.items():
        _check_columns(store, type_.fields_by_name[name], column, n, type_.name)
        _check_sizes(type_.fields_by_name[name], column, n, type_.name)
    for name, value in given_values.items():
        check_state_column(type_, name, value, n)
    own_id = store.compute_set_debug_ids[cs.id] if debug_id is None else debug_id
    block = VertexBlock(cs.id, type_, 0, device.astype(np.uint32), columns, given_values, cycles, flops, own_id)
    _set_kind(store, cs, False)
    store.vertex_types.setdefault(type_.name, type_)
    store.settled_blocks.append(block)
    return block


def _check_names(type_: VertexType, edges: Set[str], values: Set[str]) -> None:
    """Every field is given and no other: raises `unknown_field`, `graph_connection_error`."""
    edge_fields = {f.name for f in type_.fields if f.kind != "value"}
    simple_fields = {f.name for f in type_.fields if f.kind == "value"}
    unknown = (edges - edge_fields) | (values - simple_fields)
    if unknown:
        raise unknown_field(
            f"{type_.name} has no such field {sorted(unknown)}; its fields are {list(type_.fields_by_name)}."
        )
    missing = (edge_fields - edges) | (simple_fields - values)
    if missing:
        raise graph_connection_error(f"addVertices: {type_.name} needs its fields {sorted(missing)} too.")


def _check_columns(store: GraphStore, spec: FieldSpec, column: FieldEdges, n: int, type_name: str) -> None:
    if column.offsets is None and len(column.starts) != n:
        raise graph_connection_error(
            f"addVertices: field '{spec.name}' of {type_name} has {len(column.starts)} regions for {n} vertices."
        )
    if column.offsets is not None and len(column.offsets) != n + 1:
        raise graph_connection_error(
            f"addVertices: field '{spec.name}' of {type_name} has {len(column.offsets)} offsets, not {n + 1}."
        )
    ends = column.starts + column.lengths
    if len(ends) and (column.starts.min() < 0 or ends.max() > store.num_elements):
        raise graph_connection_error(f"addVertices: field '{spec.name}' of {type_name} reaches outside all variables.")


def _check_sizes(spec: FieldSpec, column: FieldEdges, n: int, type_name: str) -> None:
    """Raises `graph_connection_error` beyond what the state of a vertex can count. What a tile's memory cannot hold is
    no error here: libraries add such vertices, and the report of the memory says how much does not fit."""
    limits = largest_dims(spec, _ANY_MEMORY)
    sizes = [column.vectors_per_vertex(n), column.elements_per_vector()] if len(limits) == 2 else []
    for limit, counts in zip(limits, sizes or [column.elements_per_vertex(n)], strict=False):
        largest = int(counts.max(initial=0))
        if largest > limit:
            raise too_large(spec, type_name, limit, largest)


def _columns(spec: FieldSpec, edges: FieldEdges | Tensor, n: int) -> FieldEdges:
    """`edges`, or the rows of a tensor as one vector (or scalar) per vertex."""
    if isinstance(edges, FieldEdges):
        return edges
    rank = {"scalar": 1, "vector": 2, "scalars": 2}.get(spec.kind, 3)
    if edges.rank() != rank or edges.dim(0) != n:
        raise graph_connection_error(
            f"addVertices: field '{spec.name}' needs rank {rank} and first dimension {n}, got {edges.shape()}."
        )
    vectors = n if rank < 3 else n * edges.dim(1)
    size = edges.numElements() // vectors if vectors else 0
    bounds = np.arange(vectors + 1, dtype=np.int64) * size
    starts, lengths, of = regions.cuts(*edges.regions(), bounds[:-1], bounds[1:])
    per_vector = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=vectors))]).astype(np.int64)
    if rank == 3:
        return FieldEdges(starts, lengths, np.arange(n + 1, dtype=np.int64) * edges.dim(1), per_vector)
    return FieldEdges(starts, lengths, None if len(starts) == vectors and size else per_vector)
