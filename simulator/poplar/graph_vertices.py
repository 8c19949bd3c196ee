"""Compute sets, vertices and their performance estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.poplar import regions
from simulator.poplar.debug_context import Context, as_context, record
from simulator.poplar.errors import (
    graph_connection_error,
    missing_perf_estimate,
    poplar_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.poplar.graph_initial_values import InitialValueMethods
from simulator.poplar.graph_objects import ComputeSet, FieldRef, VertexPerfEstimate, VertexRef
from simulator.poplar.introspection import introspect
from simulator.poplar.store import FieldEdges, VertexBlock
from simulator.poplar.target import Target
from simulator.poplar.tensor import Tensor
from simulator.poplar.vertex_builder import UNMAPPED, BlockBuilder

I8 = npt.NDArray[np.int64]
Connections = Mapping[str, Any] | Iterable[tuple[str, Any]]


class VertexMethods(InitialValueMethods):
    def addComputeSet(self, debugContext: Context = "") -> ComputeSet:
        """A set of vertices that may run at the same time."""
        context = as_context(debugContext)
        name = context.getPathName()
        self.store.compute_set_names.append(name)
        self.store.compute_set_debug_ids.append(record(self.store, context, "computeset"))
        return ComputeSet(len(self.store.compute_set_names) - 1, name)

    def addVertex(self, cs: ComputeSet, vertexType: str | VertexType, connections: Connections = ()) -> VertexRef:
        """Add a vertex and connect fields: {field: tensor, list of tensors or value}.

        A value for an edge field becomes a constant on the vertex's tile. Raises `unknown_vertex_type`,
        `unknown_field`, `type_error`, `graph_connection_error`."""
        name = vertexType if isinstance(vertexType, str) else vertexType.name
        builder = self.store.open_blocks.get((cs.id, name))
        if builder is None:
            builder = self._open_block(cs, vertexType)
        assert isinstance(builder, BlockBuilder)
        row = builder.add()
        for field, value in connections.items() if isinstance(connections, Mapping) else connections:
            if isinstance(value, Tensor):
                builder.connect(row, field, value)
            else:
                self._connect_other(builder, row, field, value)
        return VertexRef(builder, row)

    def _open_block(self, cs: ComputeSet, vertexType: str | VertexType) -> BlockBuilder:
        if not 0 <= cs.id < len(self.store.compute_set_names):
            raise graph_connection_error(f"Compute set {cs.id} is not of this graph; make it with addComputeSet.")
        type_ = self._vertex_type(vertexType)
        first_tile = self._device_tile(0) if self._num_tiles == 1 else UNMAPPED
        builder = BlockBuilder(self.store, cs.id, type_, first_tile)
        self.store.open_blocks[cs.id, type_.name] = builder
        self.store.settled_blocks.append(builder.block)
        return builder

    def _vertex_type(self, vertexType: str | VertexType) -> VertexType:
        types = self.store.vertex_types
        if isinstance(vertexType, VertexType):
            types.setdefault(vertexType.name, vertexType)
            return vertexType
        try:
            return types[vertexType]
        except KeyError:
            raise unknown_vertex_type(
                f"'{vertexType}' is not a vertex type of this graph; register its codelet with addCodelets."
            ) from None

    def _connect_other(self, builder: BlockBuilder, row: int, field: str, value: Any) -> None:
        """Connect a list of tensors, set a simple field, or connect a new constant."""
        if field in builder.values:
            builder.set_value(row, field, value)
            return
        column = builder.columns.get(field)
        if column is None:
            raise builder.no_edge(field)
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
            builder.connect_list(row, field, value)
            return
        spec = column.spec
        if spec.direction != "in" or spec.type is None:
            raise graph_connection_error(f"Field '{field}' of {builder.type.name} needs a tensor, got {value!r}.")
        shape = np.shape(value)
        constant = self.addConstant(spec.type, shape, value)
        builder.connect(row, field, constant)
        builder.constants.append((row, constant._variable))

    @overload
    def connect(self, field: FieldRef, tensor: Tensor, /) -> None: ...
    @overload
    def connect(self, field: FieldRef, value: Any, /) -> None: ...
    def connect(self, field: FieldRef, tensor: Any, /) -> None:
        """Connect a tensor, a list of tensors or a constant value to a field of a vertex."""
        builder, row = field.vertex.builder, field.vertex.row
        if isinstance(tensor, Tensor):
            builder.connect(row, field.name, tensor)
        else:
            self._connect_other(builder, row, field.name, tensor)

    def setFieldSize(self, field: FieldRef, size: int) -> None:
        raise poplar_error(
            f"setFieldSize is not supported: connect a tensor of {size} elements to field '{field.name}' instead."
        )

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
        cycles: I8 | None = None,
        flops: I8 | None = None,
        debug_id: int | None = None,
    ) -> VertexBlock:
        """Add many vertices of one type at once, `tiles` holding the tile of each.

        `edges`: per edge field a `FieldEdges`, or a tensor whose first dimension counts the vertices (a vector field
        takes rank 2, a scalar field rank 1). `values`: per simple field one value for all or an array with one each."""
        type_ = self._vertex_type(vertexType)
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

    # ---- estimates ---------------------------------------------------------------------------------------------

    @overload
    def setPerfEstimate(self, v: VertexRef, cycles: int, flops: int = 0, /) -> None: ...
    @overload
    def setPerfEstimate(self, v: VertexRef, estimate: VertexPerfEstimate, /) -> None: ...
    def setPerfEstimate(self, v: VertexRef, cycles: Any, flops: int = 0, /) -> None:
        """The cycles and flops that a vertex takes, in place of what its type estimates."""
        if isinstance(cycles, VertexPerfEstimate):
            cycles, flops = cycles.cycles, cycles.flops
        if cycles < 0 or flops < 0:
            raise poplar_error(f"setPerfEstimate: {cycles} cycles and {flops} flops cannot be negative.")
        v.builder.estimates[v.row] = (int(cycles), int(flops))
        v.builder.stale = True

    def registerPerfEstimator(self, vertexTypeName: str, f: Callable[[Any, Target], VertexPerfEstimate | int]) -> None:
        """Estimate every vertex of a type by `f(VertexIntrospector, target)`, cycles or a `VertexPerfEstimate`."""
        type_ = self._vertex_type(vertexTypeName)

        def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
            rows = [_estimate(f(introspect(block, row), target)) for row in range(len(block))]
            table = np.array([(e.cycles, e.flops) for e in rows], np.int64).reshape(-1, 2)
            return BlockCosts(table[:, 0], "fitted", "the program's performance estimator", table[:, 1])

        self.store.vertex_types[vertexTypeName] = replace(type_, costs=costs)
        self.store.estimators[vertexTypeName] = costs

    def getPerfEstimate(self, v: VertexRef) -> VertexPerfEstimate:
        """The estimate that compilation uses for a vertex; `missing_perf_estimate` where its type has none."""
        explicit = v.builder.estimates.get(v.row)
        if explicit is not None:
            return VertexPerfEstimate(*explicit)
        self.store.blocks  # noqa: B018  (settles the block)
        block = v.builder.block
        try:
            costs = block.type.costs(block, elements_of(block), self._target)
        except Exception as error:
            raise missing_perf_estimate(f"{block.type.name} cannot estimate its vertices: {error}") from error
        return VertexPerfEstimate(int(costs.cycles[v.row]), 0 if costs.flops is None else int(costs.flops[v.row]))


def elements_of(block: VertexBlock) -> dict[str, I8]:
    """Elements per vertex of every edge field of a block."""
    return {name: column.elements_per_vertex(len(block)) for name, column in block.edges.items()}


def _estimate(value: VertexPerfEstimate | int) -> VertexPerfEstimate:
    return value if isinstance(value, VertexPerfEstimate) else VertexPerfEstimate(int(value))


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


__all__ = ["VertexMethods", "elements_of"]
