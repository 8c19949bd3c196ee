"""Tensors as views of variables: one Cap'n Proto message, schema in tensor_views.capnp."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from popvision.formats.capnp_stream import load_schema, opened
from popvision.formats.errors import FormatError

FORMAT = "popvision.tensors"
FORMAT_VERSION = (1, 0, 0)
SCHEMA = "tensor_views.capnp"


@dataclass(frozen=True)
class VariableEntry:
    name: str
    type: str
    num_elements: int


@dataclass(frozen=True)
class TensorEntry:
    """The flattened tensor is its regions (variable, begin, length), in order."""

    type: str
    shape: list[int]
    regions: list[tuple[int, int, int]]


@dataclass(frozen=True)
class TensorViews:
    variables: list[VariableEntry] = field(default_factory=list)
    tensors: list[TensorEntry] = field(default_factory=list)


def tensor_views_message(views: TensorViews) -> bytes:
    """The message."""
    version = ".".join(map(str, FORMAT_VERSION))
    message = load_schema(SCHEMA).TensorViews.new_message(format=FORMAT, version=version)
    for slot, variable in zip(message.init("variables", len(views.variables)), views.variables, strict=True):
        slot.name, slot.type, slot.numElements = variable.name, variable.type, variable.num_elements
    for slot, tensor in zip(message.init("tensors", len(views.tensors)), views.tensors, strict=True):
        slot.type = tensor.type
        slot.shape = tensor.shape
        for place, region in zip(slot.init("regions", len(tensor.regions)), tensor.regions, strict=True):
            place.variable, place.begin, place.length = region
    return bytes(message.to_bytes())


def read_tensor_views(message: bytes) -> TensorViews:
    """The inverse of `tensor_views_message`. Raises FormatError."""
    if not message:
        raise FormatError("it is empty")
    with opened(load_schema(SCHEMA).TensorViews, message) as views:
        if views.format != FORMAT:
            raise FormatError("it does not hold serialized tensors")
        if int(views.version.split(".")[0]) > FORMAT_VERSION[0]:
            raise FormatError(f"it has format version {views.version}; install a newer popvision")
        variables = [VariableEntry(v.name, v.type, v.numElements) for v in views.variables]
        return TensorViews(variables, [_tensor(t) for t in views.tensors])


def _tensor(entry: Any) -> TensorEntry:
    return TensorEntry(entry.type, list(entry.shape), [(r.variable, r.begin, r.length) for r in entry.regions])
