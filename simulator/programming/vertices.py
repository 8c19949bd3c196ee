"""Compute sets and vertices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import (
    graph_connection_error,
    graph_object_creation_error,
    unknown_field,
)
from simulator.graph.debug_context import Context, as_context, record
from simulator.graph.objects import ComputeSet, VertexRef
from simulator.graph.tensor import Tensor
from simulator.graph.vertex_builder import UNMAPPED, BlockBuilder
from simulator.graph.vertices import ExternalExchange, FieldEdges, FieldSpec, VertexBlock, VertexType
from simulator.programming.estimates import EstimateMethods, elements_of

__all__ = ["VertexMethods", "elements_of"]


Connections = Mapping[str, Any] | Iterable[tuple[Any, ...]]

#: marks blocks of external exchange vertices among the open ones
_EXTERNAL = "\0external"


class VertexMethods(EstimateMethods):
    def addComputeSet(self, debugContext: Context = "") -> ComputeSet:
        """A set of vertices that may run at the same time."""
        context = as_context(debugContext)
        name = context.getPathName()
        self.store.compute_set_names.append(name)
        self.store.compute_set_debug_ids.append(record(self.store, context, "computeset"))
        return ComputeSet(len(self.store.compute_set_names) - 1, name, self.store)

    def addVertex(self, cs: ComputeSet, vertexType: str | VertexType, connections: Connections = ()) -> VertexRef:
        """Add a vertex and connect fields: {field: what} or a list of (field, what), what being a tensor, a list of
        tensors, a value, or a field of another vertex (`(field, v["z"], False)`: the elements that v["z"] is connected
        to).

        A value for an edge field becomes a constant on the vertex's tile. Raises `unknown_vertex_type`,
        `unknown_field`, `type_error`, `graph_connection_error`."""
        self._check_set(cs)
        name = vertexType if isinstance(vertexType, str) else vertexType.name
        builder = self.store.open_blocks.get((cs.id, name))
        if builder is None:
            builder = self._open_block(cs, vertexType, name)
        assert isinstance(builder, BlockBuilder)
        row = builder.add()
        for item in connections.items() if isinstance(connections, Mapping) else connections:
            try:
                field, value = item
            except (TypeError, ValueError):
                field, value = _connection(item)
            if isinstance(value, Tensor):
                builder.connect(row, field, value)
            else:
                self._connect_other(builder, row, field, value)
        return VertexRef(builder, row)

    def addExternalExchangeVertex(
        self, cs: ComputeSet, vertexType: str | VertexType, incomingDownCount: int, usesEastEdge: bool, sendsXReq: bool
    ) -> VertexRef:
        """Add a vertex that talks to the outside: before it runs, its tile's INCOMING_DCOUNT register is set to
        `incomingDownCount`, INCOMING_MUX to the east or west edge, and all tiles with such vertices are synchronised.

        A compute set holds at most one for each tile and no ordinary vertices beside; of the tiles of an exchange block
        context at most one sends the XREQ packet, the same in every compute set: see `graph_connection_error` and
        `graph_object_creation_error` raised here or when the graph is compiled."""
        if not isinstance(incomingDownCount, int | np.integer) or incomingDownCount < 0:
            raise graph_object_creation_error(
                f"addExternalExchangeVertex: INCOMING_DCOUNT cannot be {incomingDownCount!r}; give a count from 0 on."
            )
        self._check_set(cs)
        name = vertexType if isinstance(vertexType, str) else vertexType.name
        builder = self.store.open_blocks.get((cs.id, name + _EXTERNAL))
        if builder is None:
            builder = self._open_block(cs, vertexType, name + _EXTERNAL)
        assert isinstance(builder, BlockBuilder)
        row = builder.add()
        builder.block.external[row] = ExternalExchange(int(incomingDownCount), bool(usesEastEdge), bool(sendsXReq))
        return VertexRef(builder, row)

    def _open_block(self, cs: ComputeSet, vertexType: str | VertexType, key: str) -> BlockBuilder:
        type_ = self._vertex_type(vertexType)
        self._set_kind(cs, key.endswith(_EXTERNAL))
        first_tile = self._device_tile(0) if self._num_tiles == 1 else UNMAPPED
        builder = BlockBuilder(self.store, cs.id, type_, first_tile)
        self.store.open_blocks[cs.id, key] = builder
        self.store.settled_blocks.append(builder.block)
        return builder

    def _check_set(self, cs: ComputeSet) -> None:
        if getattr(cs, "store", None) is not self.store or not isinstance(cs, ComputeSet):
            raise graph_connection_error(f"Compute set {cs!r} is not of this graph; make it with addComputeSet.")

    def _set_kind(self, cs: ComputeSet, external: bool) -> None:
        """A compute set holds external exchange vertices or ordinary ones."""
        if self.store.external_sets.setdefault(cs.id, external) is not external:
            raise graph_object_creation_error(
                f"Compute set '{self.store.compute_set_names[cs.id]}' cannot hold external exchange vertices and "
                "ordinary ones; add another compute set."
            )

    def hasCodelet(self, codeletName: str) -> bool:
        """Whether `addCodelets` registered a vertex type of this name."""
        return codeletName in self.store.vertex_types

    def getNumVertices(self) -> int:
        return self.store.num_vertices

    # ---- bulk --------------------------------------------------------------------------------------------------

    def addVertices(
        self,
        cs: ComputeSet,
        vertexType: str | VertexType,
        tiles: npt.ArrayLike,
        edges: Mapping[str, FieldEdges | Tensor],
        values: Mapping[str, Any] | None = None,
        *,
        cycles: Int64Array | None = None,
        flops: Int64Array | None = None,
        debug_id: int | None = None,
    ) -> VertexBlock:
        """Add many vertices of one type at once, `tiles` holding the tile of each.

        `edges`: per edge field a `FieldEdges`, or a tensor whose first dimension counts the vertices (a vector field
        takes rank 2, a scalar field rank 1). `values`: per simple field one value for all or an array with one each."""
        self._check_set(cs)
        type_ = self._vertex_type(vertexType)
        self._set_kind(cs, False)
        on = self._device_tiles(np.asarray(tiles, np.int64).reshape(-1))
        n = len(on)
        wanted = {f.name for f in type_.fields if f.kind != "value"}
        simple = {f.name for f in type_.fields if f.kind == "value"}
        given, given_values = dict(edges), dict(values or {})
        unknown = (set(given) - wanted) | (set(given_values) - simple)
        if unknown:
            raise unknown_field(
                f"{type_.name} has no such field {sorted(unknown)}; its fields are {list(type_.fields_by_name)}."
            )
        missing = (wanted - set(given)) | (simple - set(given_values))
        if missing:
            raise graph_connection_error(f"addVertices: {type_.name} needs its fields {sorted(missing)} too.")
        columns = {name: _columns(type_.fields_by_name[name], e, n) for name, e in given.items()}
        for name, column in columns.items():
            self._check_columns(type_.fields_by_name[name], column, n, type_.name)
        own_id = self.store.compute_set_debug_ids[cs.id] if debug_id is None else debug_id
        block = VertexBlock(cs.id, type_, 0, on.astype(np.uint32), columns, given_values, cycles, flops, own_id)
        self.store.settled_blocks.append(block)
        return block

    def _check_columns(self, spec: FieldSpec, column: FieldEdges, n: int, type_name: str) -> None:
        if column.offsets is None and len(column.starts) != n:
            raise graph_connection_error(
                f"addVertices: field '{spec.name}' of {type_name} has {len(column.starts)} regions for {n} vertices."
            )
        if column.offsets is not None and len(column.offsets) != n + 1:
            raise graph_connection_error(
                f"addVertices: field '{spec.name}' of {type_name} has {len(column.offsets)} offsets, not {n + 1}."
            )
        ends = column.starts + column.lengths
        if len(ends) and (column.starts.min() < 0 or ends.max() > self.store.num_elements):
            raise graph_connection_error(
                f"addVertices: field '{spec.name}' of {type_name} reaches outside all variables."
            )


def _connection(item: Any) -> tuple[str, Any]:
    """(field, FieldRef, delayed) as a pair."""
    if not isinstance(item, tuple | list) or len(item) != 3 or not isinstance(item[0], str):
        raise graph_connection_error(
            f"addVertex: {item!r:.60} is not a connection; give (field, tensor), (field, value) or "
            "(field, v[...], False)."
        )
    return item[0], (item[1], item[2])


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
