"""Outputs of a graph: dot files, and the graph or tensors as JSON or Cap'n Proto messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from io import IOBase
from math import prod
from typing import Any

import numpy as np

from popvision.formats.errors import FormatError
from popvision.formats.serialized_graph import SerializedGraph, serialized_messages
from popvision.formats.tensor_views import (
    TensorEntry,
    TensorViews,
    VariableEntry,
    read_tensor_views,
    tensor_views_message,
)
from simulator.base import regions
from simulator.base.errors import parse_error, poplar_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.types import SerializationFormat, type_named
from simulator.building import dot_graphs
from simulator.building.state import GraphState
from simulator.building.variables import new_variable
from simulator.graph import program as host
from simulator.graph.graph_columns import graph_columns
from simulator.graph.program import programs_within
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor, tensor_of

_OUT = Parameter("out")
_FORMAT = Parameter("format", instance_of(SerializationFormat))
_SERIALIZE = Overloads(
    "serialize", poplar_error, ((_OUT, _FORMAT), (_OUT, Parameter("progs", other_than(SerializationFormat)), _FORMAT))
)


# ---- dot files -------------------------------------------------------------------------------------------------------


def output_vertex_graph(store: GraphStore, out: Any, programs: Sequence[host.Program]) -> None:
    """`Graph.outputVertexGraph`."""
    _write_text(out, "\n".join(dot_graphs.vertex_graph(store, dot_graphs.programs_of(programs))) + "\n")


def output_compute_graph(store: GraphStore, out: Any, programs: Sequence[host.Program]) -> None:
    """`Graph.outputComputeGraph`."""
    _write_text(out, "\n".join(dot_graphs.compute_graph(store, dot_graphs.programs_of(programs))) + "\n")


# ---- graphs ----------------------------------------------------------------------------------------------------------


def serialize(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> None:
    """`Graph.serialize`."""
    _, given = _SERIALIZE.choose(arguments, names)
    target = {"target": state.target.getTargetArchString(), "tiles": state.target.getNumTiles()}
    columns = _graph_columns(state.store, dot_graphs.programs_of(given.get("progs", ())), target)
    if given["format"] is SerializationFormat.JSON:
        _write_text(given["out"], _as_json(columns))
    else:
        _write_bytes(given["out"], b"".join(serialized_messages(columns)))


def _graph_columns(store: GraphStore, programs: Sequence[host.Program], target: dict[str, Any]) -> SerializedGraph:
    """Variables, mappings, compute sets, vertices and fields of a graph, and the copies of programs: `facts["copies"]`,
    the variables that each copies from and to."""
    blocks = store.blocks
    types = list(dict.fromkeys(b.type.name for b in blocks))
    copies = list(_copies(store, programs))
    return replace(
        graph_columns(store, blocks, types, {**target, "copies": copies}),
        program_type=["Copy"] * len(copies),
        program_name=[copy["name"] for copy in copies],
        program_compute_set=np.full(len(copies), -1, np.int64),
        program_repeat_count=np.zeros(len(copies), np.int64),
        program_child_offsets=np.zeros(len(copies) + 1, np.int64),
    )


def _as_json(graph: SerializedGraph) -> str:
    """The same columns as pretty-printed JSON."""
    columns = {f.name: getattr(graph, f.name) for f in fields(graph)}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in columns.items()}
    return json.dumps(plain, indent=2) + "\n"


def _copies(store: GraphStore, programs: Sequence[host.Program]) -> Iterator[dict[str, Any]]:
    for program in programs_within(store, programs):
        if isinstance(program, host.Copy | host.CrossReplicaCopy):
            ends = {"from": program.source, "to": program.destination}
            yield {"name": program.debug.getPathName(), **{side: _end(end) for side, end in ends.items()}}


def _end(end: object) -> dict[str, Any]:
    if isinstance(end, Tensor):
        return {"variables": end.view.variables(), "elements": end.numElements()}
    handle = getattr(end, "handle", None)
    return {"outside": handle() if callable(handle) else repr(end)}


# ---- tensors ---------------------------------------------------------------------------------------------------------


def serialize_tensors(store: GraphStore, out: Any, tensors: Sequence[Tensor], format_: SerializationFormat) -> None:
    """`Graph.serializeTensors`."""
    views = _views_of(store, tensors)
    if format_ is SerializationFormat.JSON:
        _write_text(out, json.dumps(asdict(views), indent=2) + "\n")
    elif format_ is SerializationFormat.Binary:
        _write_bytes(out, tensor_views_message(views))
    else:
        raise poplar_error(f"serializeTensors: {format_!r} is not a SerializationFormat.")


def deserialize_tensors(state: GraphState, in_: Any, format_: SerializationFormat) -> list[Tensor]:
    """`Graph.deserializeTensors`."""
    if not hasattr(in_, "read"):
        raise poplar_error(f"deserializeTensors: {in_!r:.60} is not a file to read; give open(path, 'rb').")
    views = _checked_views(in_.read() if format_ is SerializationFormat.Binary else b"", format_)
    variables = [new_variable(state, type_named(v.type), [v.num_elements], v.name) for v in views.variables]
    return [_tensor_of_entry(state, t, variables) for t in views.tensors]


def _tensor_of_entry(state: GraphState, entry: TensorEntry, variables: list[Tensor]) -> Tensor:
    """A serialized tensor, made of new variables."""
    type_, rows = type_named(entry.type), entry.regions
    if not rows:
        return new_variable(state, type_, entry.shape, "")
    starts = np.array([variables[v].view.start + begin for v, begin, _ in rows], np.int64)
    lengths = np.array([length for _, _, length in rows], np.int64)
    pieces = state.store.cut_at_variables(*regions.merged(starts, lengths))
    first = variables[rows[0][0]]
    same = all(v == rows[0][0] for v, _, _ in rows)
    view = first.view.with_pieces(tuple(entry.shape), pieces, first.view.variable if same else -1)
    out = tensor_of(first.element_type, view)
    return out if out.elementType() is type_ else out.reinterpret(type_)


def _views_of(store: GraphStore, tensors: Sequence[Tensor]) -> TensorViews:
    """Tensors and the variables that they are made of. Raises `poplar_error` for a tensor of another graph."""
    numbers: dict[int, int] = {}
    entries = []
    for t in tensors:
        if not isinstance(t, Tensor) or not t.valid() or t.view.store is not store:
            raise poplar_error(f"serializeTensors: {t!r} is not a tensor of this graph.")
        runs = t.getVarRegions()
        for run in runs:
            numbers.setdefault(run.var.id, len(numbers))
        rows = [(numbers[r.var.id], r.interval.begin, r.interval.size()) for r in runs]
        entries.append(TensorEntry(t.elementType().name, t.shape(), rows))
    v = store.variables
    variables = [VariableEntry(v.name[i], v.type[i].name, v.numel[i]) for i in numbers]
    return TensorViews(variables, entries)


def _checked_views(message: bytes, format_: SerializationFormat) -> TensorViews:
    """Tensors from a message; raises `poplar_error` for JSON, `parse_error` for parts that do not fit together."""
    if format_ is not SerializationFormat.Binary:
        raise poplar_error(f"deserializeTensors: {format_} cannot be read; serialize with SerializationFormat.Binary.")
    try:
        views = read_tensor_views(message)
    except FormatError as error:
        raise parse_error(f"deserializeTensors: the data cannot be read: {error}.") from None
    for number, tensor in enumerate(views.tensors):
        type_named(tensor.type)
        if sum(length for _, _, length in tensor.regions) != prod(tensor.shape):
            raise parse_error(
                f"deserializeTensors: the regions of tensor {number} do not fill its shape {tensor.shape}."
            )
        for variable, begin, length in tensor.regions:
            if variable >= len(views.variables) or begin + length > views.variables[variable].num_elements:
                raise parse_error(f"deserializeTensors: tensor {number} reaches outside its variables.")
            if type_named(views.variables[variable].type).size != type_named(tensor.type).size:
                raise parse_error(
                    f"deserializeTensors: tensor {number} holds {tensor.type}, but its variable "
                    f"{views.variables[variable].type}."
                )
    return views


# ---- files -----------------------------------------------------------------------------------------------------------


def _write_text(out: Any, text: str) -> None:
    """Text to a text file, or to a binary one in UTF-8; `poplar_error` for what is no file."""
    _check_file(out)
    try:
        out.write(text)
    except TypeError:
        out.write(text.encode())


def _write_bytes(out: Any, data: bytes) -> None:
    """Bytes to a binary file; `poplar_error` for a text file and for what is no file."""
    _check_file(out)
    try:
        out.write(data)
    except TypeError:
        raise poplar_error(
            f"The binary format needs a file that takes bytes, such as open(path, 'wb'), not {out!r}."
        ) from None


def _check_file(out: Any) -> None:
    if not hasattr(out, "write"):
        raise poplar_error(f"{out!r} is not a file to write to; give one that open(path, 'w') returned.")
    if isinstance(out, IOBase) and not out.writable():
        raise poplar_error(f"{out!r} is open for reading only; give one that open(path, 'w') returned.")
