"""serialized_graph.capnp: the graph as columns, in Cap'n Proto messages of at most a few megabytes.

A list of names is stored as two columns: its UTF-8 bytes end to end, and the offset where each name begins, plus
the end. The schema, serialized_graph.capnp beside this module, is all that another program needs to read it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from popvision.arrays import AnyArray, IntegerArray
from popvision.formats.capnp_stream import load_schema, message_sizes, opened
from popvision.formats.errors import FormatError
from popvision.formats.profile.arrays import DTYPES, MAX_BYTES, array_crc, compress, decode, stored_bytes
from popvision.formats.replacing import replacing

FORMAT = "popvision.graph"
FORMAT_VERSION = (1, 0, 0)
SCHEMA = "serialized_graph.capnp"

_CHUNK_BYTES = 8 << 20
_MOST_COLUMNS = 1_000
_HEAD_BYTES = 1 << 20


def _none() -> IntegerArray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class SerializedGraph:
    """A graph before compilation. Elements of variable v are numbered from `variable_base[v]` in one element space;
    regions count there. Vertices of block b are rows `block_offsets[b]:block_offsets[b + 1]` of the vertex columns;
    the regions of connected field f are rows `field_offsets[f]:field_offsets[f + 1]` of the region columns, each of
    one vertex, counted within its block. Children of program p are
    `program_children[program_child_offsets[p]:program_child_offsets[p + 1]]`."""

    run_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict)  #: JSON values, for example target and versions
    variable_name: list[str] = field(default_factory=list)
    variable_type: list[str] = field(default_factory=list)  #: element type, for example "FLOAT"
    variable_base: IntegerArray = field(default_factory=_none)
    variable_elements: IntegerArray = field(default_factory=_none)
    variable_constant: IntegerArray = field(default_factory=_none)  #: 1 = a constant
    variable_debug_id: IntegerArray = field(default_factory=_none)  #: -1 where none
    mapping_start: IntegerArray = field(default_factory=_none)  #: first element of each mapped region
    mapping_length: IntegerArray = field(default_factory=_none)  #: elements
    mapping_tile: IntegerArray = field(default_factory=_none)
    compute_set_name: list[str] = field(default_factory=list)
    compute_set_debug_id: IntegerArray = field(default_factory=_none)
    vertex_type_name: list[str] = field(default_factory=list)
    block_compute_set: IntegerArray = field(default_factory=_none)
    block_vertex_type: IntegerArray = field(default_factory=_none)
    block_offsets: IntegerArray = field(default_factory=_none)
    vertex_tile: IntegerArray = field(default_factory=_none)
    field_block: IntegerArray = field(default_factory=_none)
    field_name: list[str] = field(default_factory=list)
    field_offsets: IntegerArray = field(default_factory=_none)
    region_vertex: IntegerArray = field(default_factory=_none)
    region_start: IntegerArray = field(default_factory=_none)
    region_length: IntegerArray = field(default_factory=_none)
    program_type: list[str] = field(default_factory=list)
    program_name: list[str] = field(default_factory=list)
    program_compute_set: IntegerArray = field(default_factory=_none)  #: -1 where none
    program_repeat_count: IntegerArray = field(default_factory=_none)
    program_child_offsets: IntegerArray = field(default_factory=_none)
    program_children: IntegerArray = field(default_factory=_none)


def write_serialized_graph(path: str | Path, graph: SerializedGraph) -> None:
    """Writes under a temporary name, then renames. Raises FormatError for columns that cannot be stored."""
    path = Path(path)
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.writelines(serialized_messages(graph))
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"cannot write {path}: {error}.") from None
    except OSError as error:
        raise FormatError(f"cannot write {path}: {error.strerror or error}.") from error


def read_serialized_graph(path: str | Path) -> SerializedGraph:
    """Reads and checks the whole file. Raises FormatError."""
    path = Path(path)
    try:
        return graph_of_bytes(path.read_bytes())
    except OSError as error:
        raise FormatError(f"cannot open {path}: {error.strerror or error}.") from error
    except FormatError as error:
        raise FormatError(f"{path} cannot be read as a serialized graph: {str(error).rstrip('.')}.") from None


def graph_of_bytes(data: bytes) -> SerializedGraph:
    """The graph in the bytes of a file, all of which are checked. Raises FormatError."""
    messages = (data[at : at + length] for at, length in message_sizes(data))
    header = _Header.read(next(messages, b""))
    return _graph(header, _columns(header, messages))


def run_id_of(path: str | Path) -> str:
    """The run_id in the head of the file. Raises FormatError or OSError."""
    with Path(path).open("rb") as file:
        data = file.read(_HEAD_BYTES)
    at, length = next(message_sizes(data), (0, 0))
    return _Header.read(data[at : at + length]).run_id


@dataclass(frozen=True)
class _Header:
    run_id: str
    facts: str
    columns: list[tuple[str, str, int]]  #: name, dtype, count

    @property
    def crc(self) -> int:
        parts = [self.run_id, self.facts, *(f"{name},{dtype},{count}" for name, dtype, count in self.columns)]
        return zlib.crc32("".join(f"{part}\0" for part in parts).encode())

    def message(self) -> bytes:
        message = load_schema(SCHEMA).Header.new_message(
            format=FORMAT, version=".".join(map(str, FORMAT_VERSION)), runId=self.run_id, facts=self.facts
        )
        for column, (name, dtype, count) in zip(message.init("columns", len(self.columns)), self.columns, strict=True):
            column.name, column.dtype, column.count = name, dtype, count
        message.crc32 = self.crc
        return bytes(message.to_bytes())

    @classmethod
    def read(cls, message: bytes) -> _Header:
        if not message:
            raise FormatError("it is empty")
        with opened(load_schema(SCHEMA).Header, message) as header:
            if header.format != FORMAT:
                raise FormatError("its header is not that of a serialized graph")
            if int(header.version.split(".")[0]) > FORMAT_VERSION[0]:
                raise FormatError(f"it has format version {header.version}; install a newer popvision")
            if len(header.columns) > _MOST_COLUMNS:
                raise FormatError(f"it claims {len(header.columns)} columns")
            columns = [(column.name, column.dtype, column.count) for column in header.columns]
            graph = cls(header.runId, header.facts, columns)
            if graph.crc != header.crc32:
                raise FormatError("the checksum of its header does not match; it is damaged")
            return graph


def _stored_columns(graph: SerializedGraph) -> Iterator[tuple[str, AnyArray]]:
    for entry in fields(graph):
        values = getattr(graph, entry.name)
        if isinstance(values, list):
            texts = [text.encode() for text in values]
            offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
            yield f"{entry.name}.offsets", offsets.astype(np.int64)
            yield f"{entry.name}.utf8", np.frombuffer(b"".join(texts), dtype=np.uint8)
        elif isinstance(values, np.ndarray):
            yield entry.name, values


def serialized_messages(graph: SerializedGraph) -> Iterator[bytes]:
    """The messages of the file, in order."""
    schema = load_schema(SCHEMA)
    compressor = zstandard.ZstdCompressor(level=1)
    columns = [(name, *stored_bytes(values)) for name, values in _stored_columns(graph)]
    facts = json.dumps(graph.facts, sort_keys=True)
    header = _Header(graph.run_id, facts, [(name, dtype, len(raw) // DTYPES[dtype]) for name, dtype, raw in columns])
    yield header.message()
    for index, (_, dtype, raw) in enumerate(columns):
        for begin in range(0, len(raw), _CHUNK_BYTES):
            part = raw[begin : begin + _CHUNK_BYTES]
            codec, data = compress(part, compressor)
            count = len(part) // DTYPES[dtype]
            crc = array_crc(index, dtype, count, codec, part)
            chunk = schema.Chunk.new_message(column=index, count=count, codec=codec, crc32=crc, data=data)
            yield bytes(chunk.to_bytes())


def _columns(header: _Header, messages: Iterator[bytes]) -> dict[str, AnyArray]:
    """Columns by name; every chunk checked, every column complete."""
    schema = load_schema(SCHEMA)
    decompressor = zstandard.ZstdDecompressor()
    parts: list[list[AnyArray]] = [[] for _ in header.columns]
    for message in messages:
        with opened(schema.Chunk, message) as chunk:
            index, count, codec, crc, data = chunk.column, chunk.count, chunk.codec, chunk.crc32, bytes(chunk.data)
        if index >= len(parts) or count * 8 > MAX_BYTES:
            raise FormatError("a chunk belongs to no column, or is too large; it is damaged")
        parts[index].append(decode((index, header.columns[index][1], count, codec, crc, data), decompressor))
    columns = {}
    for (name, dtype, count), chunks in zip(header.columns, parts, strict=True):
        if dtype not in DTYPES or sum(len(chunk) for chunk in chunks) != count:
            raise FormatError(f"column {name} is not complete; the file was cut off or damaged")
        columns[name] = np.concatenate([np.empty(0, dtype="<" + dtype), *chunks])
    return columns


def _graph(header: _Header, columns: dict[str, AnyArray]) -> SerializedGraph:
    values: dict[str, Any] = {"run_id": header.run_id}
    try:
        values["facts"] = json.loads(header.facts)
        for entry in fields(SerializedGraph):
            if entry.name in columns:
                values[entry.name] = columns[entry.name].astype(np.int64)
            elif f"{entry.name}.utf8" in columns:
                text, offsets = columns[f"{entry.name}.utf8"].tobytes(), columns[f"{entry.name}.offsets"].tolist()
                pairs = pairwise(offsets)
                values[entry.name] = [text[begin:end].decode() for begin, end in pairs]
    except (KeyError, ValueError) as error:
        raise FormatError(f"a column is not what it should be: {error}") from None
    return SerializedGraph(**values)
