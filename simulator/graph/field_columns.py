"""The fields of the vertices of a growing block, one column per field: what edges are connected to, values of state."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.errors import graph_connection_error, type_error, unknown_field
from simulator.base.types import Type, check_range, integer_limits, numbers_of, numpy_type
from simulator.graph.metadata import as_plain
from simulator.graph.vertices import FieldEdges, FieldSpec, VertexType, largest_dims

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


class EdgeColumn:
    """The regions of one field: which vertex, which elements, and whether a region opens a new inner vector."""

    __slots__ = ("lengths", "limits", "longest", "opens", "rows", "spec", "starts")

    def __init__(self, spec: FieldSpec, tile_bytes: int) -> None:
        self.spec = spec
        self.limits = largest_dims(spec, tile_bytes)
        self.longest = self.limits[-1] if self.limits else 1  #: elements of a vector, an inner one if there are several
        self.rows = array("q")
        self.starts = array("q")
        self.lengths = array("q")
        self.opens = array("b")

    def add(self, row: int, starts: Sequence[int], lengths: Sequence[int]) -> None:
        """Connect one vector; an empty one is a region of length 0 until `edges` leaves it out."""
        if not len(starts):
            starts = lengths = [0]
        self.rows.extend([row] * len(starts))
        self.starts.extend(starts)
        self.lengths.extend(lengths)
        self.opens.append(1)
        self.opens.extend([0] * (len(starts) - 1))

    def remove_last(self, row: int) -> None:
        """Take back what the vertex in the last row is connected to."""
        end = len(self.rows)
        while end and self.rows[end - 1] == row:
            end -= 1
        for column in (self.rows, self.starts, self.lengths, self.opens):
            del column[end:]

    def edges(self, n: int) -> FieldEdges:
        """The column as arrays, sorted by vertex, for n vertices."""
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

    def holds(self, row: int) -> bool:
        """Whether a vertex is connected."""
        return row in self.rows

    def vectors_of(self, row: int) -> list[list[tuple[int, int]]]:
        """The (start, length) regions of one vertex: one list, or one per inner vector of a vector of vectors."""
        if row not in self.rows:
            return []
        out: list[list[tuple[int, int]]] = []
        for i in np.flatnonzero(np.array(self.rows, np.int64) == row).tolist():
            if not out or (self.opens[i] and self.spec.kind == "vectors"):
                out.append([])
            if self.lengths[i]:
                out[-1].append((self.starts[i], self.lengths[i]))
        return out

    def vectors(self, n: int) -> Int64Array:
        """How many vectors are connected to each vertex; more than one is right for vectors of vectors only."""
        return np.bincount(np.array(self.rows, np.int64)[np.array(self.opens, np.int64) > 0], minlength=n)


class FieldColumns:
    """The fields of the vertices of one type in one compute set, as `connect` and `setInitialValue` fill them."""

    def __init__(self, store: GraphStore, compute_set: int, type_: VertexType, tile_bytes: int) -> None:
        self.type = type_
        self.edges = {f.name: EdgeColumn(f, tile_bytes) for f in type_.fields if f.kind != "value"}
        #: simple field -> row -> value, in the field's type
        self.values: dict[str, dict[int, Any]] = {f.name: {} for f in type_.fields if f.kind == "value"}
        self.stale = False  #: whether the block's arrays lag behind
        self._set_name = store.compute_set_names[compute_set] or f"number {compute_set}"

    def vertex(self, row: int) -> str:
        """A vertex in words, for messages."""
        return f"Vertex {row} of type {self.type.name} in compute set '{self._set_name}'"

    def set_value(self, row: int, field: str, value: Any) -> None:
        """Set a simple field, converted to the field's type."""
        values = self.values.get(field)
        if values is None:
            raise self.no_value(field)
        values[row] = state_value(self.type, field, value)
        self.stale = True

    def remove_last(self, row: int) -> None:
        """Take back the fields of the vertex in the last row."""
        for column in self.edges.values():
            column.remove_last(row)
        for values in self.values.values():
            values.pop(row, None)

    def known_size(self, row: int, field: str) -> int | None:
        """Elements (inner vectors of a vector of vectors) of what is connected or set; None where nothing is."""
        column = self.edges.get(field)
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

    def no_edge(self, field: str) -> Exception:
        """The error for a tensor connected to what is no edge."""
        if field in self.values:
            return graph_connection_error(
                f"Field '{field}' of {self.type.name} is a simple field: give it a value, not a tensor."
            )
        names = ", ".join(self.type.fields_by_name)
        return unknown_field(f"{self.type.name} has no field '{field}'; its fields are {names}.")

    def no_value(self, field: str) -> Exception:
        """The error for a value given to what is no simple field."""
        return unknown_field(
            f"{self.type.name} has no simple field '{field}'; its simple fields are {list(self.values)}."
        )

    def connected_twice(self, field: str, row: int) -> Exception:
        return graph_connection_error(
            f"{self.vertex(row)}: field '{field}' is connected twice; connect the concatenation instead."
        )


def state_value(vertex_type: VertexType, field: str, value: Any, *, element: bool = False) -> Any:
    """A value of a simple field, or of one `element` of it, as a number or an array of the field's type.

    Raises `type_error` for what are no numbers, fractions for an integer field, and one value for a vector or several
    for a number; `overflow_error` for numbers that an integer field cannot hold."""
    spec = vertex_type.fields_by_name[field]
    type_: Type | None = spec.type
    of = f"field '{field}' of {vertex_type.name}"
    try:
        given = np.asarray(as_plain(value))
        if type_ is None:
            return given[()] if given.ndim == 0 else given
        if given.ndim != (spec.elements and not element):
            wanted = "a vector: give a list of numbers" if spec.elements and not element else "one number"
            raise type_error(f"{of[0].upper()}{of[1:]} is {wanted}, not {value!r:.60}.")
        if not _is_numeric(given):
            raise type_error(f"{value!r:.60} is not a value for {of}; give numbers.")
        check_range(type_, given, of)
        if integer_limits(type_) is not None and given.dtype.kind == "f" and (given != np.trunc(given)).any():
            raise type_error(f"{value!r:.60} is not a value for {of}, which holds whole numbers ({type_}).")
        array = numbers_of(type_, given)
    except (TypeError, ValueError, OverflowError):
        raise type_error(f"{value!r:.60} is not a value for {of}.") from None
    return array[()] if array.ndim == 0 else array


def check_state_column(vertex_type: VertexType, field: str, value: Any, n: int) -> None:
    """Raise as `state_value` does for the values of a simple field of n vertices: one for all, or one for each."""
    spec = vertex_type.fields_by_name[field]
    if spec.type is None:
        return
    of = f"field '{field}' of {vertex_type.name}"
    if spec.elements:
        rows = value if isinstance(value, list) or np.ndim(value) > 1 else [value]
        for row in rows:
            state_value(vertex_type, field, row)
        return
    try:
        given = np.asarray(as_plain(value))
    except (TypeError, ValueError):
        raise type_error(f"{value!r:.60} are no values for {of}; give a number for each vertex.") from None
    if given.shape not in ((), (n,)) or not _is_numeric(given):
        raise type_error(f"{value!r:.60} are no values for {of}; give one number, or one for each of {n} vertices.")
    check_range(spec.type, given, of)
    if integer_limits(spec.type) is not None and given.dtype.kind == "f" and (given != np.trunc(given)).any():
        raise type_error(f"{value!r:.60} are no values for {of}, which holds whole numbers ({spec.type}).")


def _is_numeric(values: AnyArray) -> bool:
    numbers = (int, float, np.number)
    return values.dtype.kind in "biuf" or (
        values.dtype.kind == "O" and all(isinstance(value, numbers) for value in values.flat)
    )


def _offsets(counts: Int64Array) -> Int64Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
