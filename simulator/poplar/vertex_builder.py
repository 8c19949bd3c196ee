"""Blocks that grow one `addVertex` at a time: machine integers in `array` columns, turned into NumPy when asked.

A million vertices with three edges each cost a few tens of bytes per edge and no Python object that stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.codelets.vertex_type import FieldSpec, VertexType
from simulator.poplar.errors import graph_connection_error, type_error, unknown_field
from simulator.poplar.store import FieldEdges, VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import numpy_type

if TYPE_CHECKING:
    from simulator.poplar.store import GraphStore

UNMAPPED = 0xFFFFFFFF


class EdgeColumn:
    """The regions of one field: which vertex, which elements, and whether a region opens a new inner vector."""

    __slots__ = ("lengths", "opens", "rows", "spec", "starts")

    def __init__(self, spec: FieldSpec) -> None:
        self.spec = spec
        self.rows = array("q")
        self.starts = array("q")
        self.lengths = array("q")
        self.opens = array("b")

    def add(self, row: int, starts: Sequence[int], lengths: Sequence[int]) -> None:
        """One vector; an empty one is kept as a region of length 0 until `edges`."""
        if not len(starts):
            starts = lengths = [0]
        self.rows.extend([row] * len(starts))
        self.starts.extend(starts)
        self.lengths.extend(lengths)
        self.opens.append(1)
        self.opens.extend([0] * (len(starts) - 1))

    def edges(self, n: int) -> FieldEdges:
        rows = np.array(self.rows, np.int64)
        starts = np.array(self.starts, np.int64)
        lengths = np.array(self.lengths, np.int64)
        nested = self.spec.kind == "vectors"
        opens = np.array(self.opens, np.int64) if nested or len(rows) != n else np.ones(len(rows), np.int64)
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows, starts, lengths, opens = rows[order], starts[order], lengths[order], opens[order]
        if not nested and len(rows) == n and lengths.all() and (rows == np.arange(n)).all():
            return FieldEdges(starts, lengths)
        full = lengths > 0
        if not nested:
            counts = np.bincount(rows[full], minlength=n)
            return FieldEdges(starts[full], lengths[full], _offsets(counts))
        inner = np.cumsum(opens) - 1
        per_vertex = np.bincount(rows[opens > 0], minlength=n)
        per_inner = np.bincount(inner[full], minlength=int(opens.sum()))
        return FieldEdges(starts[full], lengths[full], _offsets(per_vertex), _offsets(per_inner))

    def vectors(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many vectors are connected to each vertex; more than one is right for vectors of vectors only."""
        return np.bincount(np.array(self.rows, np.int64)[np.array(self.opens, np.int64) > 0], minlength=n)


def _offsets(counts: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


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
        self.stale = True

    def set_value(self, row: int, field: str, value: Any) -> None:
        """Set a simple field, converted to the field's type."""
        values = self.values.get(field)
        if values is None:
            raise unknown_field(
                f"{self.type.name} has no simple field '{field}'; its simple fields are {list(self.values)}."
            )
        dtype = self.type.fields_by_name[field].type
        try:
            array_ = np.asarray(value) if dtype is None else np.asarray(value).astype(numpy_type(dtype))
        except (TypeError, ValueError):
            raise type_error(f"{value!r} is not a value for field '{field}' of {self.type.name}.") from None
        values[row] = array_[()] if array_.ndim == 0 else array_
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
        """Every edge field is connected once, every simple field has a value; else `graph_connection_error`."""
        n = len(self.tiles)
        for name, column in self.columns.items():
            vectors = column.vectors(n)
            missing = np.flatnonzero(vectors == 0)
            if len(missing):
                raise graph_connection_error(f"{self.vertex(int(missing[0]))}: field '{name}' is not connected.")
            twice = np.flatnonzero(vectors > 1)
            if len(twice) and column.spec.kind != "vectors" and column.spec.kind != "scalars":
                raise self.connected_twice(name, int(twice[0]))
        for name, rows in self.values.items():
            if len(rows) < n:
                row = next(row for row in range(n) if row not in rows)
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
