"""Variables and constants, and the metadata tensors of those of type QUARTER."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index as whole
from typing import Any

import numpy as np

from simulator.base.errors import graph_object_creation_error, tensor_creation_error, type_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.pointers import address_of, bytes_at
from simulator.base.quarter import QuarterMetadata, encoded
from simulator.base.type_conversion import TypeTraits
from simulator.base.types import (
    HOST_BYTES,
    MOST_BYTES,
    QUARTER_METADATA,
    UNSIGNED_INT,
    Type,
    VariableMappingMethod,
    VariableRef,
    device_array,
)
from simulator.building.mapping import map_linearly, map_to_one
from simulator.building.state import GraphState
from simulator.graph.debug_context import Context, as_context, record
from simulator.graph.metadata import as_plain, checked_metadata, encoding_metadata
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor, tensor_of
from simulator.graph.view import View

Shape = Sequence[int]

_TYPE = Parameter("type")
_METADATA = Parameter("metadata", instance_of(Tensor))
_SHAPE = Parameter("shape", other_than(Tensor))
_METHOD = Parameter("mappingMethod", instance_of(VariableMappingMethod))
_CONTEXT = Parameter("debugContext", other_than(VariableMappingMethod), "")
_ADD_VARIABLE = Overloads(
    "addVariable",
    tensor_creation_error,
    (
        (_TYPE, _SHAPE, _CONTEXT),
        (_TYPE, _SHAPE, _METHOD, _CONTEXT),
        (_TYPE, _METADATA, _SHAPE, _CONTEXT),
        (_TYPE, _METADATA, _SHAPE, _METHOD, _CONTEXT),
    ),
)

_CONST_CONTEXT = Parameter("debugContext", other_than(TypeTraits), "<const>")
_RAW = (
    Parameter("val"),
    Parameter("traits", instance_of(TypeTraits)),
    Parameter("broadcast", instance_of(bool)),
    Parameter("debugContext", None, "<const>"),
)
_ADD_CONSTANT = Overloads(
    "addConstant",
    tensor_creation_error,
    (
        (_TYPE, _SHAPE, Parameter("values"), _CONST_CONTEXT),
        (_TYPE, _SHAPE, Parameter("val"), _CONST_CONTEXT),
        (_TYPE, _SHAPE, *_RAW),
        (_TYPE, _METADATA, _SHAPE, Parameter("values"), _CONST_CONTEXT),
        (_TYPE, _METADATA, _SHAPE, Parameter("val"), _CONST_CONTEXT),
        (_TYPE, _METADATA, _SHAPE, *_RAW),
    ),
)


def add_variable(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> Tensor:
    """`Graph.addVariable`."""
    _, given = _ADD_VARIABLE.choose(arguments, names)
    tensor = new_variable(state, given["type"], given["shape"], given["debugContext"], given.get("metadata"))
    if given.get("mappingMethod") is VariableMappingMethod.LINEAR:
        map_linearly(state, tensor)
    return tensor


def new_variable(
    state: GraphState, type_: Type, shape: Shape, context: Context, metadata: Tensor | None = None
) -> Tensor:
    """A variable without a tile mapping, with its metadata tensor where the type has one."""
    own, dims = as_context(context), _dims(shape)
    if isinstance(type_, Type):
        _size(type_, dims)
    metadata = metadata_for(state, type_, metadata, own, "addVariable", None)
    tensor = add_row(state, type_, dims, own, "variable", None)
    set_metadata(state.store, tensor, metadata)
    return tensor


def external_variable(state: GraphState, type_: Type, shape: Shape, symbol: str, context: Context) -> Tensor:
    """`Graph.addExternalVariable`."""
    external = state.store.variables.external
    if not isinstance(symbol, str) or not symbol.isidentifier():
        raise graph_object_creation_error(f"addExternalVariable: '{symbol}' is not the name of a symbol.")
    if symbol in external.values():
        raise graph_object_creation_error(
            f"addExternalVariable: symbol '{symbol}' has a variable already; use that tensor."
        )
    tensor = new_variable(state, type_, shape, context)
    external[tensor.view.variable] = symbol
    return tensor


def metadata_for(
    state: GraphState,
    type_: Type,
    given: Tensor | None,
    context: Context,
    what: str,
    value: QuarterMetadata | None,
) -> Tensor | None:
    """The metadata tensor of a new tensor: the given one, or a new one on tile 0 (a constant when it has a value); None
    for types without metadata."""
    if not isinstance(type_, Type):
        raise tensor_creation_error(f"{type_!r} is not an element type; use FLOAT, HALF, INT, ...")
    metadata = checked_metadata(state.store, type_, given, what)
    if metadata is not None or not type_.requiresMetadata():
        return metadata
    name = "/".join(part for part in (as_context(context).getPathName(), "metadata") if part)
    byte = None if value is None else np.array([value.getBinary()], np.uint8)
    metadata = add_row(state, QUARTER_METADATA, [], name, "variable" if value is None else "constant", byte)
    map_to_one(state.store, metadata, state.device_tile(0))
    return metadata


def set_metadata(store: GraphStore, tensor: Tensor, metadata: Tensor | None) -> None:
    """Make a metadata tensor that of a new variable."""
    if metadata is not None:
        store.variables.metadata[tensor.view.variable] = int(metadata.regions()[0][0])


def add_row(state: GraphState, type_: Type, shape: Shape, debugContext: Context, category: str, values: Any) -> Tensor:
    """A new row of the variable columns as a tensor. `category`: "variable" or "constant", for the debug record;
    `values`: those of a constant."""
    if not isinstance(type_, Type):
        raise tensor_creation_error(f"{type_!r} is not an element type; use FLOAT, HALF, INT, ...")
    dims = _dims(shape)
    store, v = state.store, state.store.variables
    context = as_context(debugContext)
    numel = _size(type_, dims)
    index = len(v.base)
    debug_id = record(store, context, category, arguments={"shape": dims, "type": type_.name})
    v.add(store.num_elements, numel, type_, context.getPathName(), debug_id, values)
    store.num_elements += numel
    if values is None:
        store.plain_variables.add(index)
    if state.num_tiles == 1:
        v.mapping[index] = (np.array([numel], np.int64), np.array([state.device_tile(0)], np.int64))
    return tensor_of(type_, View.of_variable(store, index, dims))


# ---- constants -------------------------------------------------------------------------------------------------------


def add_constant(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> Tensor:
    """`Graph.addConstant`."""
    _, given = _ADD_CONSTANT.choose(arguments, names)
    values, shape = given["values"] if "values" in given else given["val"], given["shape"]
    if "traits" in given:
        values = _RawValues(given["traits"], values, given["broadcast"])
    return new_constant(state, given["type"], shape, values, given["debugContext"], given.get("metadata"))


def new_constant(
    state: GraphState, type_: Type, shape: Shape, values: Any, context: Context, metadata: Tensor | None = None
) -> Tensor:
    """A constant from one value, or one for each element."""
    own = as_context(context)
    dims = _dims(shape)
    first = len(state.store.variables.base)
    metadata = metadata_for(state, type_, metadata, own, "addConstant", QuarterMetadata())
    try:
        if isinstance(values, _RawValues):
            values = values.typed(prod(dims))
        array = device_values(state.store, type_, values, prod(dims), metadata, "addConstant")
    except BaseException as error:
        state.store.remove_variables(first)
        if isinstance(error, type_error):
            raise tensor_creation_error(f"addConstant, shape {list(dims)}: {error}") from None
        raise
    tensor = add_row(state, type_, dims, own, "constant", array)
    set_metadata(state.store, tensor, metadata)
    return tensor


def device_values(store: GraphStore, type_: Type, values: Any, count: int, metadata: Tensor | None, what: str) -> Any:
    """Values given by the program as an array of elements of the device: one for all, or `count`.

    Raises `type_error` for values that do not fit, and for more than the host holds of a whole graph,
    `tensor_metadata_error` for metadata that is not known yet."""
    held, size = store.variables.held_bytes, count * type_.size
    if held and held + size > HOST_BYTES:
        raise type_error(
            f"The values take {size} bytes of the host, with those of the graph before {held + size}, more than "
            f"{HOST_BYTES} (16 GiB); let the program write them, or the host send them through a stream."
        )
    if metadata is None:
        return device_array(type_, as_plain(values), count)
    known = encoding_metadata(store, metadata, what)
    return device_array(type_, values, count, lambda numbers: encoded(numbers, known))


def replication_index(state: GraphState, context: Context) -> Tensor:
    """`Graph.addReplicationIndexConstant`."""
    index = add_row(state, UNSIGNED_INT, [], as_context(context), "constant", np.zeros(1, np.uint32))
    state.store.variables.by_replica[index.view.start] = list(range(state.store.replicas))
    return index


def variable_row(store: GraphStore, v: VariableRef, what: str) -> int:
    """The row of a variable; raises `graph_object_creation_error` for one of another graph."""
    count = len(store.variables.base)
    if not isinstance(v, VariableRef) or not 0 <= v.id < count:
        raise graph_object_creation_error(
            f"{what}: {v!r} is not one of the graph's {count} variables; take one from Tensor.getVarRegions."
        )
    return v.id


def half_words(values: Any) -> Any:
    """Raw 16-bit words as numbers; `tensor_creation_error` for values that are no such words."""
    try:
        words = np.asarray(values)
    except ValueError:
        raise tensor_creation_error(
            "The values are lists of different lengths; give one word for each element."
        ) from None
    if words.dtype.kind not in "iu" or (words.size and (words.min() < 0 or words.max() > 0xFFFF)):
        raise tensor_creation_error(
            f"{values!r:.60} are not raw 16-bit words (whole numbers, 0 to 65535) of type half."
        )
    return words.astype(np.uint16).view(np.float16)


def _size(type_: Type, dims: tuple[int, ...]) -> int:
    """The number of elements. Raises tensor_creation_error for more than a system holds."""
    numel = prod(dims)
    if numel * type_.size > MOST_BYTES:
        raise tensor_creation_error(
            f"Shape {list(dims)} of {type_} takes {numel * type_.size} bytes, more than {MOST_BYTES} (256 GiB), which "
            "all tiles of 256 IPUs do not hold; use a smaller one."
        )
    return numel


def _dims(shape: Any) -> tuple[int, ...]:
    try:
        dims = tuple([whole(n) for n in shape])
    except TypeError:
        raise tensor_creation_error(
            f"{' '.join(repr(shape).split())} is not a shape; give a list of sizes, [] for a scalar."
        ) from None
    if any(n < 0 for n in dims):
        raise tensor_creation_error(f"Shape {list(dims)} has a negative size.")
    return dims


@dataclass(frozen=True)
class _RawValues:
    """A buffer or ctypes pointer, the type of its values, and whether one value is for all elements."""

    traits: TypeTraits
    buffer: Any
    broadcast: bool

    def typed(self, count: int) -> Any:
        """The values for `count` elements; `type_error` where the buffer holds too few."""
        needed = 1 if self.broadcast else count
        address = address_of(self.buffer)
        if address == 0:
            raise type_error("the pointer is null; give the address of the values.")
        buffer = self.buffer if address is None else bytes_at(address, needed * self.traits.dtype.itemsize)
        values = self.traits.values(buffer)
        if len(values) < needed:
            raise type_error(f"the buffer holds {len(values)} values of {self.traits.dtype}, but {needed} are needed.")
        return values[:needed]
