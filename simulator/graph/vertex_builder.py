"""Blocks that grow one `addVertex` at a time: machine integers in `array` columns, made NumPy arrays by `settle`.

A million vertices with three edges each cost a few tens of bytes per edge and no Python object that stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base.errors import graph_connection_error, tensor_metadata_error, type_error
from simulator.base.types import QUARTER
from simulator.graph.field_columns import EdgeColumn, FieldColumns
from simulator.graph.indexed_fields import IndexedFields
from simulator.graph.tensor import Tensor, require_valid, tensor_of_regions
from simulator.graph.vertices import FieldSpec, VertexBlock, VertexType, metadata_field, too_large

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

UNMAPPED = 0xFFFFFFFF


class BlockBuilder:
    """The vertices of one type in one compute set that were added one by one."""

    def __init__(
        self, store: GraphStore, compute_set: int, type_: VertexType, first_tile: int, tile_bytes: int
    ) -> None:
        self.store = store
        self.type = type_
        self.first_tile = first_tile
        self.tiles = array("L")
        self.fields = FieldColumns(store, compute_set, type_, tile_bytes)
        self.estimates: dict[int, tuple[int, int]] = {}
        self.constants: list[tuple[int, int]] = []  #: (row, variable) of constants made for value connections
        self.indexed = IndexedFields(self.fields)
        debug_id = store.compute_set_debug_ids[compute_set]
        self.block = VertexBlock(compute_set, type_, 0, np.empty(0, np.uint32), debug_id=debug_id)

    def add(self) -> int:
        """Add a vertex; returns its row."""
        self.tiles.append(self.first_tile)
        self.fields.stale = True
        return len(self.tiles) - 1

    def remove_last(self) -> None:
        """Take back the vertex that was added last, with everything that was connected to it."""
        row = len(self.tiles) - 1
        self.tiles.pop()
        self.fields.remove_last(row)
        self.indexed.remove(row)
        self.constants = [constant for constant in self.constants if constant[0] != row]
        self.fields.stale = True

    def connect(self, row: int, field: str, tensor: Tensor) -> None:
        """Connect one tensor; the rank must suit the field's kind. All checks come before the first write."""
        column = self.fields.edges.get(field)
        if column is None:
            raise self.fields.no_edge(field)
        spec, view = column.spec, tensor.view
        if view.store is not self.store or (spec.type is not None and spec.type is not tensor.element_type):
            self.check_type(spec, tensor)
        if column.rows and column.rows[-1] == row:
            raise self.fields.connected_twice(field, row)
        strides = view.strides
        if spec.direction != "in" and (
            strides is None or 0 in strides or view.variable not in self.store.plain_variables
        ):
            self.check_writeable(spec, tensor)
        kind = spec.kind
        if (kind == "vector" and strides == (1,)) or (kind == "scalar" and strides == ()):
            length = view.shape[0] if kind == "vector" else 1
            if length > column.longest:
                self.check_size(column, view.shape)
            if spec.type is QUARTER:
                self.connect_metadata(row, spec, [tensor])
            column.rows.append(row)
            column.starts.append(view.start)
            column.lengths.append(length)
            column.opens.append(1)
        else:
            self.connect_regions(column, row, tensor)
        self.fields.stale = True

    def connect_regions(self, column: EdgeColumn, row: int, tensor: Tensor) -> None:
        """The general case of `connect`: several regions, or a vector of vectors."""
        spec = column.spec
        rank = {"scalar": 0, "vector": 1, "scalars": 1, "vectors": 2}[spec.kind]
        if tensor.rank() != rank:
            raise graph_connection_error(
                f"Field '{spec.name}' of {self.type.name} needs a tensor of rank {rank}, got shape {tensor.shape()}."
            )
        self.check_size(column, tensor.view.shape)
        parts = [part.regions() for part in (tensor if rank == 2 else [tensor])]
        if spec.type is QUARTER:
            self.connect_metadata(row, spec, [tensor])
        for starts, lengths in parts:
            column.add(row, starts.tolist(), lengths.tolist())

    def connect_list(self, row: int, field: str, tensors: Sequence[Tensor]) -> None:
        """Connect one tensor of rank 1 per inner vector, or of rank 0 per scalar edge."""
        column = self.fields.edges.get(field)
        if column is None:
            raise self.fields.no_edge(field)
        spec = column.spec
        rank = {"scalars": 0, "vectors": 1}.get(spec.kind)
        if rank is None:
            raise graph_connection_error(
                f"Field '{spec.name}' of {self.type.name} is not a vector of edges: connect one tensor, not a list."
            )
        if column.rows and column.rows[-1] == row:
            raise self.fields.connected_twice(field, row)
        for tensor in tensors:
            self.check_type(spec, tensor)
            if tensor.rank() != rank:
                raise graph_connection_error(
                    f"Field '{spec.name}' of {self.type.name} needs tensors of rank {rank}, got shape {tensor.shape()}."
                )
            self.check_size(column, (len(tensors), *tensor.view.shape))
            if spec.direction != "in":
                self.check_writeable(spec, tensor)
        parts = [tensor.regions() for tensor in tensors]
        if spec.type is QUARTER:
            self.connect_metadata(row, spec, tensors)
        for starts, lengths in parts:
            column.add(row, starts.tolist(), lengths.tolist())
        self.fields.stale = True

    def connect_element(self, row: int, field: str, index: int, tensor: Tensor) -> None:
        """Connect one element of a vector of edges, or one inner vector."""
        spec = self.fields.edges[field].spec
        if spec.kind == "scalar":
            raise graph_connection_error(
                f"Field '{field}' of {self.type.name} is one element; it has no element {index}."
            )
        self.check_type(spec, tensor)
        rank = 1 if spec.kind == "vectors" else 0
        if tensor.rank() != rank:
            raise graph_connection_error(
                f"An element of field '{field}' of {self.type.name} needs a tensor of rank {rank}, got shape "
                f"{tensor.shape()}."
            )
        column = self.fields.edges[field]
        if column.holds(row):
            raise self.fields.connected_twice(field, row)
        self.check_size(column, (index + 1, *tensor.view.shape))
        if spec.direction != "in":
            self.check_writeable(spec, tensor)
        self.indexed.check_element(row, field, index)
        if spec.type is QUARTER:
            self.connect_metadata(row, spec, [tensor])
        starts, lengths = tensor.regions()
        self.indexed.give(row, field, index, (starts.tolist(), lengths.tolist()))

    def connect_metadata(self, row: int, spec: FieldSpec, tensors: Sequence[Tensor]) -> None:
        """Connect the metadata of QUARTER tensors to the field's hidden edge; it must be the same for all of them."""
        hidden = self.fields.edges[metadata_field(spec.name)]
        known = hidden.vectors_of(row)
        given = {int(tensor.getMetadata().regions()[0][0]) for tensor in tensors}
        if len(given.union(known[0][0][:1] if known else ())) > 1:
            raise tensor_metadata_error(
                f"{self.fields.vertex(row)}: field '{spec.name}' has tensors with different metadata; give all the "
                "same."
            )
        if not known:
            hidden.add(row, list(given), [1] * len(given))

    def tensors_of(self, row: int, field: str) -> list[Tensor]:
        """What an edge field is connected to: one tensor, or one per inner vector of a vector of vectors."""
        column = self.fields.edges.get(field)
        if column is None:
            raise graph_connection_error(f"Field '{field}' of {self.type.name} is vertex state; connect a tensor.")
        vectors = column.vectors_of(row)
        if not vectors:
            raise graph_connection_error(f"{self.fields.vertex(row)}: field '{field}' is not connected yet.")
        return [tensor_of_regions(self.store, vector, column.spec.kind == "scalar") for vector in vectors]

    def set_tile(self, row: int, tile: int) -> None:
        """Put a vertex on a tile of the device."""
        self.tiles[row] = tile
        self.fields.stale = True

    def set_estimate(self, row: int, cycles: int, flops: int) -> None:
        """Give a vertex its cycles and floating-point operations."""
        self.estimates[row] = (cycles, flops)
        self.fields.stale = True

    def set_late(self, row: int, field: str, callback: Any) -> None:
        """Let a function give a simple field its value when storage is allocated."""
        self.block.late.setdefault(field, {})[row] = callback
        self.fields.stale = True

    def settle(self) -> None:
        """Bring the arrays of `block` up to date."""
        if not self.fields.stale:
            return
        n = len(self.tiles)
        block = self.block
        block.tiles = np.array(self.tiles, np.uint32)
        block.edges = {name: column.edges(n) for name, column in self.fields.edges.items()}
        block.values = {name: _column(rows, n) for name, rows in self.fields.values.items() if rows}
        if self.estimates:
            block.cycles = np.full(n, -1, np.int64)
            block.flops = np.full(n, -1, np.int64)
            for row, (cycles, flops) in self.estimates.items():
                block.cycles[row], block.flops[row] = cycles, flops
        for row, variable in self.constants:
            tile = int(block.tiles[row])
            numel = self.store.variables.numel[variable]
            self.store.variables.mapping[variable] = (np.array([numel], np.int64), np.array([_signed(tile)], np.int64))
        self.fields.stale = False

    def check_fields(self) -> None:
        """Every edge field is connected once, every simple field of Python has a value, or `graph_connection_error`."""
        n = len(self.tiles)
        self.indexed.check()
        empty = self.indexed.empty_edges()
        for name, column in self.fields.edges.items():
            vectors = column.vectors(n)
            missing = [row for row in np.flatnonzero(vectors == 0).tolist() if (row, name) not in empty]
            if missing:
                raise graph_connection_error(f"{self.fields.vertex(int(missing[0]))}: field '{name}' is not connected.")
            twice = np.flatnonzero(vectors > 1)
            if len(twice) and column.spec.kind != "vectors" and column.spec.kind != "scalars":
                raise self.fields.connected_twice(name, int(twice[0]))
        if self.type.compiled is not None:
            return  # state of C++ that is not set is zero
        for name, rows in self.fields.values.items():
            late = self.block.late.get(name, {})
            missing = [row for row in range(n) if row not in rows and row not in late] if len(rows) < n else []
            if missing:
                raise graph_connection_error(
                    f"{self.fields.vertex(missing[0])}: field '{name}' has no value; call setInitialValue."
                )

    # ---- checks ------------------------------------------------------------------------------------------------

    def check_type(self, spec: FieldSpec, tensor: Tensor) -> None:
        """Raises `graph_connection_error` for a tensor of another graph, `type_error` for another element type."""
        require_valid(tensor)
        if tensor.view.store is not self.store:
            raise graph_connection_error(f"The tensor for field '{spec.name}' of {self.type.name} is of another graph.")
        if spec.type is not None and spec.type is not tensor.element_type:
            raise type_error(
                f"Field '{spec.name}' of {self.type.name} takes {spec.type} elements, but the tensor holds "
                f"{tensor.element_type}."
            )

    def check_size(self, column: EdgeColumn, shape: tuple[int, ...]) -> None:
        """Raises `graph_connection_error` for a tensor of more elements, or inner vectors, than the field can count."""
        for size, limit in zip(shape, column.limits, strict=True):
            if size > limit:
                raise too_large(column.spec, self.type.name, limit, size)

    def check_writeable(self, spec: FieldSpec, tensor: Tensor) -> None:
        """Raises `graph_connection_error` for constants and aliases, which a vertex cannot write."""
        if tensor.containsConstant():
            raise graph_connection_error(
                f"Field '{spec.name}' of {self.type.name} is written, but its tensor holds a constant: use a variable."
            )
        if tensor.containsAliases():
            raise graph_connection_error(
                f"Field '{spec.name}' of {self.type.name} is written, but its tensor holds an element twice: "
                "connect a tensor without broadcast elements."
            )


def _column(rows: dict[int, Any], n: int) -> Any:
    """Values of one simple field: an array with one per vertex, or a list where they are vectors of several sizes."""
    values = [rows.get(row, 0) for row in range(n)]
    if all(np.ndim(v) == 0 for v in values):
        return np.array(values)
    shapes = {np.shape(v) for v in values}
    return np.array(values) if len(shapes) == 1 else values


def _signed(tile: int) -> int:
    return -1 if tile == UNMAPPED else tile
