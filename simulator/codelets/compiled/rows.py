"""Vertices as rows of structs in the memory that their code sees, filled column by column.

A row lies at a multiple of the struct's size. Behind the rows lie the lists that fields point at: pointers for vectors
of scalar edges, (pointer, size) for vectors of vectors, the data of vectors in vertex state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, BoolArray, Int64Array, UInt64Array
from simulator.base.types import QUARTER, numpy_type
from simulator.graph.vertices import ClassLayout, HostField, metadata_field

_LIST_ROW = np.dtype([("pointer", "u8"), ("count", "u4"), ("padding", "u4")])
_POINTER = np.dtype("u8")
_LISTED_POINTER = np.dtype([("pointer", "u8")])
#: The same for quarter, with the address of the tensor's metadata behind each.
_CODED_ROW = np.dtype([*_LIST_ROW.descr, ("metadata", "u8")])
_CODED_POINTER = np.dtype([("pointer", "u8"), ("metadata", "u8")])
ALIGNMENT = 64


@dataclass(frozen=True)
class Pointers:
    """The vectors (or single elements) of one field, one after another: bytes from the beginning of their segment, and
    elements. `scratch` = those that lie in the rows' own segment, not in the arena. `bounds`: vectors before each
    vertex and in all, None = one each."""

    offset: Int64Array
    count: Int64Array
    scratch: BoolArray
    bounds: Int64Array | None = None

    def addresses(self, arena: int, scratch: int) -> UInt64Array:
        return (self.offset + np.where(self.scratch, scratch, arena)).astype(np.uint64)


class Rows:
    """`n` vertices of a class."""

    def __init__(
        self, layout: ClassLayout, n: int, pointers: Mapping[str, Pointers], values: Mapping[str, Any]
    ) -> None:
        self._layout, self._n = layout, n
        self._pointers = pointers
        self._data = {f.spec.name: _vectors(f, values.get(f.spec.name, []), n) for f in layout.fields if f.vector}
        self._values = values
        self._tables: dict[str, int] = {}  #: field -> where its list begins
        end = _aligned(layout.bytes * n)
        for field in layout.fields:
            self._tables[field.spec.name] = end
            end = _aligned(end + self._list_bytes(field))
        self.bytes = end

    def _list_bytes(self, field: HostField) -> int:
        name = field.spec.name
        if field.vector:
            return int(sum(len(raw) for raw in self._data[name]))
        listed = field.spec.kind in ("scalars", "vectors")
        return len(self._pointers[name].offset) * _listed(field).itemsize if listed else 0

    def fill(self, memory: AnyArray, address: int, arena: int, scratch: int) -> None:
        """Write rows and lists into `memory`, which their code sees at `address`; `arena` and `scratch`: where it sees
        the two kinds of segment."""
        memory[: self.bytes] = 0
        for field in self._layout.fields:
            name, kind = field.spec.name, field.spec.kind
            table = self._tables[name]
            if field.vector:
                self._fill_data(memory, field, address + table, table)
            elif kind == "value":
                dtype = numpy_type(field.spec.type)
                values = np.asarray(self._values.get(name, 0)).astype(dtype)
                wide = np.dtype(f"{dtype.kind}8") if field.wide else dtype
                self._column(memory, field.offset, wide)[...] = values
            else:
                self._fill_edges(memory, field, address + table, table, arena, scratch)

    def _fill_edges(
        self, memory: AnyArray, field: HostField, list_address: int, table: int, arena: int, scratch: int
    ) -> None:
        pointers = self._pointers[field.spec.name]
        addresses = pointers.addresses(arena, scratch)
        metadata = None
        if field.spec.type is QUARTER:
            metadata = self._pointers[metadata_field(field.spec.name)].addresses(arena, scratch)
        if field.spec.kind in ("scalar", "vector"):
            self._column(memory, field.offset, _POINTER)[...] = addresses
            if field.spec.kind == "vector":
                self._column(memory, field.offset + 8, np.dtype("u4"))[...] = pointers.count
            if metadata is not None:
                behind = 8 if field.spec.kind == "scalar" else 16
                self._column(memory, field.offset + behind, _POINTER)[...] = metadata
            return
        row = _listed(field)
        bounds = np.arange(self._n + 1, dtype=np.int64) if pointers.bounds is None else pointers.bounds
        listed: Any = memory[table : table + len(addresses) * row.itemsize].view(row)
        listed["pointer"] = addresses
        if field.spec.kind == "vectors":
            listed["count"] = pointers.count
        if metadata is not None:
            listed["metadata"] = np.repeat(metadata, np.diff(bounds))
        self._column(memory, field.offset, _POINTER)[...] = list_address + bounds[:-1] * row.itemsize
        self._column(memory, field.offset + 8, np.dtype("u4"))[...] = np.diff(bounds)

    def _fill_data(self, memory: AnyArray, field: HostField, list_address: int, table: int) -> None:
        raw = self._data[field.spec.name]
        sizes = np.array([len(part) for part in raw], np.int64)
        begins = np.cumsum(sizes) - sizes
        memory[table : table + int(sizes.sum())] = np.concatenate([np.empty(0, np.uint8), *raw])
        self._column(memory, field.offset, _POINTER)[...] = list_address + begins
        self._column(memory, field.offset + 8, np.dtype("u4"))[...] = sizes // field.spec.type.size

    def _column(self, memory: AnyArray, offset: int, dtype: np.dtype[Any]) -> AnyArray:
        """A member of all rows."""
        return np.ndarray((self._n,), dtype, memory.data, offset, (self._layout.bytes,))


def _listed(field: HostField) -> np.dtype[Any]:
    """The entry of an edge in a list of edges."""
    coded = field.spec.type is QUARTER
    if field.spec.kind == "vectors":
        return _CODED_ROW if coded else _LIST_ROW
    return _CODED_POINTER if coded else _LISTED_POINTER


def _vectors(field: HostField, values: Any, n: int) -> list[AnyArray]:
    """The bytes of a vector in the state of each vertex, each rounded up to 8 bytes."""
    dtype = numpy_type(field.spec.type)
    if isinstance(values, list) and not values:
        values = [values] * n
    if not isinstance(values, list) and np.ndim(values) < 2:
        whole = np.asarray(values)
        values = [whole] * n if whole.ndim == 1 and whole.size != n else list(whole.reshape(n, -1))
    return [np.ascontiguousarray(np.asarray(v).reshape(-1), dtype).view(np.uint8) for v in values]


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
