"""Blocks that grow one `addVertex` at a time: machine integers in `array` columns, turned into NumPy when asked.

A million vertices with three edges each cost a few tens of bytes per edge and no Python object that stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base.errors import graph_connection_error, tensor_metadata_error, type_error, unknown_field
from simulator.base.types import QUARTER, numpy_type
from simulator.graph.edge_column import EdgeColumn
from simulator.graph.indexed_fields import IndexedFields
from simulator.graph.state_values import state_value
from simulator.graph.tensor import Tensor, tensor_of
from simulator.graph.vertices import FieldSpec, VertexBlock, VertexType, metadata_field

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

UNMAPPED = 0xFFFFFFFF


class BlockBuilder:
    """The vertices of one type in one compute set that were added one by one."""

    def __init__(self, store: GraphStore, compute_set: int, type_: VertexType, first_tile: int) -> None:
        self.store = store
        self.type = type_
        self.first_tile = first_tile
        self.tiles = array("L")
        self.columns = {f.name: EdgeColumn(f) for f in type_.fields if f.kind != "value"}
        self.values: dict[str, dict[int, Any]] = {f.name: {} for f in type_.fields if f.kind == "value"}
        self.estimates: dict[int, tuple[int, int]] = {}
        self.constants: list[tuple[int, int]] = []  #: (row, variable) of constants made for value connections
        self.indexed = IndexedFields(self)
        self.block = VertexBlock(compute_set, type_, 0, np.empty(0, np.uint32), debug_id=_debug_id(store, compute_set))
        self.stale = False

    def add(self) -> int:
        self.tiles.append(self.first_tile)
        self.stale = True
        return len(self.tiles) - 1

    def connect(self, row: int, field: str, tensor: Tensor) -> None:
        """Connect one tensor; the rank must suit the field's kind."""
        column = self.columns.get(field)
        if column is None:
            raise self.no_edge(field)
        spec = column.spec
        if tensor._store is not self.store or (spec.type is not None and spec.type is not tensor._type):
            self.refuse(spec, tensor)
        if column.rows and column.rows[-1] == row:
            raise self.connected_twice(field, row)
        if spec.type is QUARTER:
            self.connect_metadata(row, spec, [tensor])
        if spec.direction != "in" and (
            tensor._strides is None or 0 in tensor._strides or tensor._variable not in self.store.plain_variables
        ):
            self.check_writeable(spec, tensor)
        self.stale = True
        kind = spec.kind
        if (kind == "vector" and tensor._strides == (1,)) or (kind == "scalar" and tensor._strides == ()):
            column.rows.append(row)
            column.starts.append(tensor._start)
            column.lengths.append(tensor._shape[0] if kind == "vector" else 1)
            column.opens.append(1)
        else:
            self.connect_regions(column, row, tensor)

    def connect_regions(self, column: EdgeColumn, row: int, tensor: Tensor) -> None:
        """The general case of `connect`: several regions, or a vector of vectors."""
        spec = column.spec
        rank = {"scalar": 0, "vector": 1, "scalars": 1, "vectors": 2}[spec.kind]
        if tensor.rank() != rank:
            raise graph_connection_error(
                f"Field '{spec.name}' of {self.type.name} needs a tensor of rank {rank}, got shape {tensor.shape()}."
            )
        for part in tensor if rank == 2 else [tensor]:
            starts, lengths = part.regions()
            column.add(row, starts.tolist(), lengths.tolist())

    def connect_list(self, row: int, field: str, tensors: Sequence[Tensor]) -> None:
        """Connect one tensor of rank 1 per inner vector, or of rank 0 per scalar edge."""
        column = self.columns.get(field)
        if column is None:
            raise self.no_edge(field)
        spec = column.spec
        rank = {"scalars": 0, "vectors": 1}.get(spec.kind)
        if rank is None:
            raise graph_connection_error(
                f"Field '{spec.name}' of {self.type.name} is not a vector of edges: connect one tensor, not a list."
            )
        if column.rows and column.rows[-1] == row:
            raise self.connected_twice(field, row)
        for tensor in tensors:
            if tensor._store is not self.store or (spec.type is not None and spec.type is not tensor._type):
                self.refuse(spec, tensor)
            if tensor.rank() != rank:
                raise graph_connection_error(
                    f"Field '{spec.name}' of {self.type.name} needs tensors of rank {rank}, got shape {tensor.shape()}."
                )
            if spec.direction != "in":
                self.check_writeable(spec, tensor)
            starts, lengths = tensor.regions()
            column.add(row, starts.tolist(), lengths.tolist())
        if spec.type is QUARTER:
            self.connect_metadata(row, spec, tensors)
        self.stale = True

    def connect_element(self, row: int, field: str, index: int, tensor: Tensor) -> None:
        """Connect one element of a vector of edges, or one inner vector."""
        spec = self.columns[field].spec
        if spec.kind == "scalar":
            raise graph_connection_error(
                f"Field '{field}' of {self.type.name} is one element; it has no element {index}."
            )
        if tensor._store is not self.store or (spec.type is not None and spec.type is not tensor._type):
            self.refuse(spec, tensor)
        rank = 1 if spec.kind == "vectors" else 0
        if tensor.rank() != rank:
            raise graph_connection_error(
                f"An element of field '{field}' of {self.type.name} needs a tensor of rank {rank}, got shape "
                f"{tensor.shape()}."
            )
        if self.columns[field].holds(row):
            raise self.connected_twice(field, row)
        if spec.direction != "in":
            self.check_writeable(spec, tensor)
        if spec.type is QUARTER:
            self.connect_metadata(row, spec, [tensor])
        starts, lengths = tensor.regions()
        self.indexed.give(row, field, index, (starts.tolist(), lengths.tolist()))

    def connect_metadata(self, row: int, spec: FieldSpec, tensors: Sequence[Tensor]) -> None:
        """Connect the metadata of QUARTER tensors to the field's hidden edge; it must be the same for all of them."""
        hidden = metadata_field(spec.name)
        known = self.columns[hidden].vectors_of(row)
        for tensor in tensors:
            element = int(tensor.getMetadata().regions()[0][0])
            if known and known[0][0][0] != element:
                raise tensor_metadata_error(
                    f"{self.vertex(row)}: field '{spec.name}' has tensors with different metadata; give all the same."
                )
            if not known:
                self.columns[hidden].add(row, [element], [1])
                known = [[(element, 1)]]

    def tensors_of(self, row: int, field: str) -> list[Tensor]:
        """What an edge field is connected to: one tensor, or one per inner vector of a vector of vectors."""
        column = self.columns.get(field)
        if column is None:
            raise graph_connection_error(f"Field '{field}' of {self.type.name} is vertex state; connect a tensor.")
        vectors = column.vectors_of(row)
        if not vectors:
            raise graph_connection_error(f"{self.vertex(row)}: field '{field}' is not connected yet.")
        return [tensor_of(self.store, vector, column.spec.kind == "scalar") for vector in vectors]

    def known_size(self, row: int, field: str) -> int | None:
        """Elements (inner vectors of a vector of vectors) of what is connected or set; None where nothing is."""
        column = self.columns.get(field)
        if column is None:
            value = self.values[field].get(row)
            return None if value is None or np.ndim(value) == 0 else len(value)
        vectors = column.vectors_of(row)
        if column.spec.kind == "vectors" or not vectors:
            return len(vectors) or None
        return sum(length for _, length in vectors[0])

    def state_type(self, field: str) -> np.dtype[Any]:
        """The NumPy type of a simple field."""
        type_ = self.type.fields_by_name[field].type
        return np.dtype(np.float32) if type_ is None else numpy_type(type_)

    def set_late(self, row: int, field: str, callback: Any) -> None:
        """Let a function give a simple field its value when storage is allocated."""
        self.block.late.setdefault(field, {})[row] = callback
        self.stale = True

    def set_value(self, row: int, field: str, value: Any) -> None:
        """Set a simple field, converted to the field's type."""
        values = self.values.get(field)
        if values is None:
            raise self.no_value(field)
        values[row] = state_value(self.type, field, value)
        self.stale = True

    def settle(self) -> None:
        if not self.stale:
            return
        n = len(self.tiles)
        block = self.block
        block.tiles = np.array(self.tiles, np.uint32)
        block.edges = {name: column.edges(n) for name, column in self.columns.items()}
        block.values = {name: _column(rows, n) for name, rows in self.values.items() if rows}
        if self.estimates:
            block.cycles = np.full(n, -1, np.int64)
            block.flops = np.full(n, -1, np.int64)
            for row, (cycles, flops) in self.estimates.items():
                block.cycles[row], block.flops[row] = cycles, flops
        for row, variable in self.constants:
            tile = int(block.tiles[row])
            numel = self.store.variables.numel[variable]
            self.store.variables.mapping[variable] = (np.array([numel], np.int64), np.array([_signed(tile)], np.int64))
        self.stale = False

    def check_fields(self) -> None:
        """Every edge field is connected once, every simple field of Python has a value, or `graph_connection_error`."""
        n = len(self.tiles)
        self.indexed.check()
        empty = self.indexed.empty_edges()
        for name, column in self.columns.items():
            vectors = column.vectors(n)
            missing = [row for row in np.flatnonzero(vectors == 0).tolist() if (row, name) not in empty]
            if missing:
                raise graph_connection_error(f"{self.vertex(int(missing[0]))}: field '{name}' is not connected.")
            twice = np.flatnonzero(vectors > 1)
            if len(twice) and column.spec.kind != "vectors" and column.spec.kind != "scalars":
                raise self.connected_twice(name, int(twice[0]))
        if self.type.compiled is not None:
            return  # state of C++ that is not set is zero
        for name, rows in self.values.items():
            late = self.block.late.get(name, {})
            row = (
                next((row for row in range(n) if row not in rows and row not in late), None) if len(rows) < n else None
            )
            if row is not None:
                raise graph_connection_error(f"{self.vertex(row)}: field '{name}' has no value; call setInitialValue.")

    def vertex(self, row: int) -> str:
        """A vertex in words."""
        name = self.store.compute_set_names[self.block.compute_set] or f"number {self.block.compute_set}"
        return f"Vertex {row} of type {self.type.name} in compute set '{name}'"

    # ---- refusals ----------------------------------------------------------------------------------------------

    def no_edge(self, field: str) -> Exception:
        if field in self.values:
            return graph_connection_error(
                f"Field '{field}' of {self.type.name} is a simple field: give it a value, not a tensor."
            )
        names = ", ".join(self.type.fields_by_name)
        return unknown_field(f"{self.type.name} has no field '{field}'; its fields are {names}.")

    def no_value(self, field: str) -> Exception:
        return unknown_field(
            f"{self.type.name} has no simple field '{field}'; its simple fields are {list(self.values)}."
        )

    def connected_twice(self, field: str, row: int) -> Exception:
        return graph_connection_error(
            f"{self.vertex(row)}: field '{field}' is connected twice; connect the concatenation instead."
        )

    def refuse(self, spec: FieldSpec, tensor: Tensor) -> None:
        tensor._require()
        if tensor._store is not self.store:
            raise graph_connection_error(f"The tensor for field '{spec.name}' of {self.type.name} is of another graph.")
        raise type_error(
            f"Field '{spec.name}' of {self.type.name} takes {spec.type} elements, but the tensor holds {tensor._type}."
        )

    def check_writeable(self, spec: FieldSpec, tensor: Tensor) -> None:
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


def _debug_id(store: GraphStore, compute_set: int) -> int:
    return store.compute_set_debug_ids[compute_set]
