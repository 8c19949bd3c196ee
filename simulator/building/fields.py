"""Fields of vertices: connections, sizes, values and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.base.errors import (
    graph_connection_error,
    index_error,
    no_size_specified,
    poplar_error,
    unknown_field,
)
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.base.types import limits_of
from simulator.building.codelets import type_of
from simulator.building.state import GraphState
from simulator.building.variables import new_constant
from simulator.graph.field_links import FieldLink
from simulator.graph.objects import FieldRef
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor
from simulator.graph.vertex_builder import BlockBuilder
from simulator.graph.vertices import FieldSpec, VertexType, largest_dims

_FIELD = Parameter("field", instance_of(FieldRef))
_CONNECT = Overloads(
    "connect", graph_connection_error, tuple((_FIELD, Parameter(name)) for name in ("tensor", "tensors", "v"))
)


class ConnectionDesc(tuple[Any, ...]):
    """One connection of `addVertex`: `ConnectionDesc(field, v)`, v being a tensor, a list of tensors, a value, or a
    FieldRef with a bool behind it, which changes nothing: the documentation gives it no meaning. Plain tuples and lists
    serve as well."""

    __slots__ = ()

    def __new__(cls, field: str, v: Any, *flag: bool) -> ConnectionDesc:
        return super().__new__(cls, (field, v, *flag))


# ---- connections -----------------------------------------------------------------------------------------------------


def connect(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> None:
    """`Graph.connect`."""
    if len(arguments) == 2 and isinstance(arguments[0], FieldRef):
        field, what = arguments
    else:
        _, given = _CONNECT.choose(arguments, names)
        field, what = given.values()
    builder, row = field.vertex.builder, field.vertex.row
    if builder.store is not state.store:
        state.require_vertex(field.vertex, "connect")
    if field.index is not None:
        _connect_element(state, builder, row, field.name, field.index, what)
    elif isinstance(what, Tensor):
        builder.connect(row, field.name, what)
    else:
        connect_other(state, builder, row, field.name, what)


def connect_other(state: GraphState, builder: BlockBuilder, row: int, field: str, value: Any) -> None:
    """Connect a list of tensors or another vertex's field, set a simple field, or connect a new constant."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], FieldRef):
        value = value[0]  # the flag changes nothing: (field, FieldRef, bool) connects a field to a field
    if isinstance(value, FieldRef):
        _connect_field(state, builder, row, field, value)
        return
    if field in builder.fields.values:
        builder.indexed.set_initial(row, field, None, value)
        return
    column = builder.fields.edges.get(field)
    if column is None:
        raise builder.fields.no_edge(field)
    if isinstance(value, (list, tuple)) and all(isinstance(v, Tensor) for v in value):
        if value:
            builder.connect_list(row, field, value)
        else:
            builder.indexed.set_size(row, field, 0)
        return
    first_variable = len(state.store.variables.base)
    try:
        constant = _field_constant(state, builder, column.spec, value)
        builder.connect(row, field, constant)
    except BaseException:
        state.store.remove_variables(first_variable)
        raise
    builder.constants.append((row, constant.view.variable))


def _connect_field(state: GraphState, builder: BlockBuilder, row: int, field: str, other: FieldRef) -> None:
    """Connect to the elements that a field of another vertex is connected to, now or later."""
    if other.vertex.builder.store is not state.store:
        raise graph_connection_error(f"Field '{other.name}' is of a vertex of another graph.")
    if field not in builder.fields.edges:
        raise builder.fields.no_edge(field)
    link = FieldLink(builder, row, field, other)
    if link.ready:
        link.connect()
    else:
        state.store.field_links.append(link)


def _connect_element(state: GraphState, builder: BlockBuilder, row: int, field: str, index: int, what: Any) -> None:
    column = builder.fields.edges.get(field)
    if column is None:
        raise builder.fields.no_edge(field)
    if isinstance(what, Tensor):
        builder.connect_element(row, field, index, what)
        return
    first_variable = len(state.store.variables.base)
    try:
        constant = _field_constant(state, builder, column.spec, what)
        builder.connect_element(row, field, index, constant)
    except BaseException:
        state.store.remove_variables(first_variable)
        raise
    builder.constants.append((row, constant.view.variable))


def _field_constant(state: GraphState, builder: BlockBuilder, spec: FieldSpec, value: Any) -> Tensor:
    """A constant with a value that was given for an edge, on the tile that the vertex will have."""
    if spec.direction != "in" or spec.type is None or value is None:
        raise graph_connection_error(f"Field '{spec.name}' of {builder.type.name} needs a tensor, got {value!r}.")
    try:
        shape = np.shape(value)
    except ValueError:
        raise graph_connection_error(
            f"Field '{spec.name}' cannot be connected to {value!r:.80}: the items have different shapes; "
            "concat() joins tensors."
        ) from None
    return new_constant(state, spec.type, shape, value, "<const>")


# ---- sizes and limits ------------------------------------------------------------------------------------------------


def set_field_size(state: GraphState, field: FieldRef, size: int) -> None:
    """`Graph.setFieldSize`."""
    state.require_vertex(field.vertex, "setFieldSize")
    builder, row = field.vertex.builder, field.vertex.row
    _indexable(builder.type, field.name)
    if not isinstance(size, int | np.integer) or size < 0 or field.index is not None:
        raise index_error(f"setFieldSize: field '{field.name}' cannot have {size!r} elements.")
    limit = largest_dims(builder.type.fields_by_name[field.name], state.target.getBytesPerTile())[0]
    if size > limit:
        raise index_error(f"setFieldSize: field '{field.name}' holds at most {limit} elements, not {size}.")
    builder.indexed.set_size(row, field.name, int(size))


def field_size(state: GraphState, field: FieldRef) -> int:
    """`Graph.getFieldSize`."""
    state.require_vertex(field.vertex, "getFieldSize")
    builder, row = field.vertex.builder, field.vertex.row
    spec = _indexable(builder.type, field.name)
    if field.index is not None:
        sizes = [t.numElements() for t in builder.tensors_of(row, field.name)] if spec.kind == "vectors" else []
        if field.index >= len(sizes):
            raise index_error(f"getFieldSize: field '{field.name}' has no inner vector {field.index}.")
        return sizes[field.index]
    size = builder.fields.known_size(row, field.name)
    if size is None:
        size = builder.indexed.size_of(row, field.name)
    if size is None:
        vertex = builder.fields.vertex(row)
        raise no_size_specified(f"{vertex}: field '{field.name}' has no size yet; call setFieldSize.")
    return size


def max_field_dim(state: GraphState, vertex_name: str, field_name: str, dim_index: int) -> int:
    """`Graph.getMaxFieldDim`."""
    dims = largest_dims(_indexable(type_of(state.store, vertex_name), field_name), state.target.getBytesPerTile())
    if not isinstance(dim_index, int | np.integer) or not 0 <= dim_index < len(dims):
        raise index_error(f"Field '{field_name}' of {vertex_name} has {len(dims)} dimensions; there is no {dim_index}.")
    return dims[dim_index]


def max_field_value(store: GraphStore, vertex_name: str, field_name: str) -> float:
    """`Graph.getMaxVertexFieldValue`."""
    spec = _field(type_of(store, vertex_name), field_name)
    if spec.type is None:
        raise poplar_error(f"Field '{field_name}' of {vertex_name} takes any type; it has no largest value.")
    return limits_of(spec.type)[1]


def set_init_callback(state: GraphState, field: FieldRef, callback: Callable[..., Any]) -> None:
    """`Graph.setInitCallback`."""
    state.require_vertex(field.vertex, "setInitCallback")
    builder = field.vertex.builder
    if field.name not in builder.fields.values:
        raise poplar_error(f"setInitCallback: field '{field.name}' of {builder.type.name} is an edge, not a value.")
    if not callable(callback):
        raise graph_connection_error(f"setInitCallback: {callback!r} for field '{field.name}' cannot be called.")
    builder.set_late(field.vertex.row, field.name, callback)


def _indexable(type_: VertexType, name: str) -> FieldSpec:
    """The field; raises `poplar_error` for one that is no vector."""
    spec = _field(type_, name)
    if spec.kind == "scalar" or (spec.kind == "value" and not spec.elements):
        raise poplar_error(f"Field '{name}' of {type_.name} is not indexable: it is one element, not a vector.")
    return spec


def _field(type_: VertexType, name: str) -> FieldSpec:
    spec = type_.fields_by_name.get(name)
    if spec is None:
        raise unknown_field(f"{type_.name} has no field '{name}'; its fields are {', '.join(type_.fields_by_name)}.")
    return spec
