"""Fields of vertices: what they are connected to, their sizes, values and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from simulator.base.errors import (
    graph_connection_error,
    index_error,
    no_size_specified,
    poplar_error,
    unknown_field,
    unknown_vertex_type,
)
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.base.target_units import limits_of
from simulator.base.vertex_layouts import LARGEST_COUNT
from simulator.graph.field_links import FieldLink
from simulator.graph.objects import FieldRef
from simulator.graph.tensor import Tensor
from simulator.graph.vertex_builder import BlockBuilder
from simulator.graph.vertices import FieldSpec, VertexType
from simulator.programming.initial_values import InitialValueMethods

_FIELD = Parameter("field", instance_of(FieldRef))
_CONNECT = Overloads(
    "connect", graph_connection_error, tuple((_FIELD, Parameter(name)) for name in ("tensor", "tensors", "v"))
)


class ConnectionDesc(tuple[Any, ...]):
    """One connection of `addVertex`: `ConnectionDesc(field, v)`, v being a tensor, a list of tensors, a value, or a
    FieldRef with False behind it. Plain tuples and lists do as well."""

    __slots__ = ()

    def __new__(cls, field: str, v: Any, *delayed: bool) -> ConnectionDesc:
        return super().__new__(cls, (field, v, *delayed))


class FieldMethods(InitialValueMethods):
    ConnectionDesc = ConnectionDesc

    def _vertex_type(self, vertexType: str | VertexType) -> VertexType:
        types = self.store.vertex_types
        if isinstance(vertexType, VertexType):
            types.setdefault(vertexType.name, vertexType)
            return vertexType
        try:
            return types[vertexType]
        except (KeyError, TypeError):
            raise unknown_vertex_type(
                f"'{vertexType}' is not a vertex type of this graph; register its codelet with addCodelets."
            ) from None

    @overload
    def connect(self, field: FieldRef, tensor: Tensor) -> None: ...
    @overload
    def connect(self, field: FieldRef, tensors: Sequence[Tensor]) -> None: ...
    @overload
    def connect(self, field: FieldRef, v: Any) -> None: ...
    def connect(self, *arguments: Any, **names: Any) -> None:
        """Connect a field, or one element of it (`v["in"][2]`), to a tensor, a list of tensors or a constant value.

        A scalar edge takes rank 0, a vector rank 1, a vector of edges rank 1, a vector of vectors rank 2 or a list; a
        value becomes a constant on the vertex's tile. Raises `graph_connection_error` for what does not fit,
        `type_error` for another element type, `unknown_field`."""
        if len(arguments) == 2 and isinstance(arguments[0], FieldRef):
            field, what = arguments
        else:
            _, given = _CONNECT.choose(arguments, names)
            field, what = given.values()
        builder, row = field.vertex.builder, field.vertex.row
        if builder.store is not self.store:
            self._own_vertex(field.vertex, "connect")
        if field.index is not None:
            self._connect_element(builder, row, field.name, field.index, what)
        elif isinstance(what, Tensor):
            builder.connect(row, field.name, what)
        else:
            self._connect_other(builder, row, field.name, what)

    def _connect_other(self, builder: BlockBuilder, row: int, field: str, value: Any) -> None:
        """Connect a list of tensors or another vertex's field, set a simple field, or connect a new constant."""
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], FieldRef):
            value = _not_delayed(*value)
        if isinstance(value, FieldRef):
            self._connect_field(builder, row, field, value)
            return
        if field in builder.fields.values:
            builder.fields.set_value(row, field, value)
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
        constant = self._field_constant(builder, row, column.spec, value, np.shape(value))
        builder.connect(row, field, constant)

    def _connect_field(self, builder: BlockBuilder, row: int, field: str, other: FieldRef) -> None:
        """Connect to what a field of another vertex is connected to, or will be."""
        if other.vertex.builder.store is not self.store:
            raise graph_connection_error(f"Field '{other.name}' is of a vertex of another graph.")
        if field not in builder.fields.edges:
            raise builder.fields.no_edge(field)
        link = FieldLink(builder, row, field, other)
        if link.ready:
            link.connect()
        else:
            self.store.field_links.append(link)

    def _connect_element(self, builder: BlockBuilder, row: int, field: str, index: int, what: Any) -> None:
        column = builder.fields.edges.get(field)
        if column is None:
            raise builder.fields.no_edge(field)
        if not isinstance(what, Tensor):
            what = self._field_constant(builder, row, column.spec, what, np.shape(what))
        builder.connect_element(row, field, index, what)

    def _field_constant(
        self, builder: BlockBuilder, row: int, spec: FieldSpec, value: Any, shape: tuple[int, ...]
    ) -> Tensor:
        if spec.direction != "in" or spec.type is None or value is None:
            raise graph_connection_error(f"Field '{spec.name}' of {builder.type.name} needs a tensor, got {value!r}.")
        constant = self.addConstant(spec.type, shape, value)
        builder.constants.append((row, constant.view.variable))
        return constant

    # ---- sizes -------------------------------------------------------------------------------------------------

    def setFieldSize(self, field: FieldRef, size: int) -> None:
        """Set the number of elements of a vector field. Its elements can be connected or set one by one, before or
        after: `connect(v["in"][i], t)`, `setInitialValue(v["table"][i], x)`.

        Raises `poplar_error` for a field that is no vector, `graph_connection_error` where it has another size,
        `index_error` for elements beyond it."""
        self._own_vertex(field.vertex, "setFieldSize")
        builder, row = field.vertex.builder, field.vertex.row
        self._indexable(builder.type, field.name)
        if not isinstance(size, int | np.integer) or size < 0 or field.index is not None:
            raise index_error(f"setFieldSize: field '{field.name}' cannot have {size!r} elements.")
        limit = _largest_size(builder.type.fields_by_name[field.name], 0)
        if size > limit:
            raise index_error(f"setFieldSize: field '{field.name}' holds at most {limit} elements, not {size}.")
        builder.indexed.set_size(row, field.name, int(size))

    def getFieldSize(self, field: FieldRef) -> int:
        """Elements of a vector field, inner vectors of a vector of vectors, elements of one of these (`v["rows"][i]`).

        Raises `no_size_specified` where nothing is connected or set, `poplar_error` for a field that is no vector."""
        self._own_vertex(field.vertex, "getFieldSize")
        builder, row = field.vertex.builder, field.vertex.row
        spec = self._indexable(builder.type, field.name)
        if field.index is not None:
            sizes = [t.numElements() for t in builder.tensors_of(row, field.name)] if spec.kind == "vectors" else []
            if field.index >= len(sizes):
                raise index_error(f"getFieldSize: field '{field.name}' has no inner vector {field.index}.")
            return sizes[field.index]
        size = builder.fields.known_size(row, field.name)
        if size is None:
            size = builder.indexed.size_of(row, field.name)
        if size is None:
            raise no_size_specified(
                f"{builder.fields.vertex(row)}: field '{field.name}' has no size yet; call setFieldSize."
            )
        return size

    def getMaxFieldDim(self, vertexName: str, fieldName: str, dimIndex: int) -> int:
        """Most elements that a dimension of a field can have: what the count that the vertex keeps can say, else what
        fits into a tile's memory.

        Raises `index_error` where there is no such dimension, `poplar_error` for a field that is no vector."""
        spec = self._indexable(self._vertex_type(vertexName), fieldName)
        dims = 2 if spec.kind == "vectors" else 1
        if not isinstance(dimIndex, int | np.integer) or not 0 <= dimIndex < dims:
            raise index_error(f"Field '{fieldName}' of {vertexName} has {dims} dimensions; there is no {dimIndex}.")
        element = spec.type.size if spec.type is not None and dimIndex == dims - 1 else 1
        return LARGEST_COUNT.get(_layout(spec, int(dimIndex)), self._target.getBytesPerTile() // element)

    def getMaxVertexFieldValue(self, vertexName: str, fieldName: str) -> float:
        """The largest value of an element of a field; for QUARTER that of format F152 with scale 0."""
        type_ = self._vertex_type(vertexName)
        spec = _field(type_, fieldName)
        if spec.type is None:
            raise poplar_error(f"Field '{fieldName}' of {vertexName} takes any type; it has no largest value.")
        return limits_of(spec.type)[1]

    def _indexable(self, type_: VertexType, name: str) -> FieldSpec:
        spec = _field(type_, name)
        vector_state = spec.elements or name in getattr(type_, "vectors", ())
        if spec.kind == "scalar" or (spec.kind == "value" and not vector_state):
            raise poplar_error(f"Field '{name}' of {type_.name} is not indexable: it is one element, not a vector.")
        return spec

    def setInitCallback(self, field: FieldRef, callback: Callable[..., Any]) -> None:
        """Let `callback` give a simple field its value when the graph has been built and storage is allocated. It is
        called with a `VertexEdgeInfo`, or with nothing if it takes no argument. Until then the field has the value of
        setInitialValue, if any.

        Raises `poplar_error` for an edge, `graph_connection_error` for what cannot be called."""
        self._own_vertex(field.vertex, "setInitCallback")
        builder = field.vertex.builder
        if field.name not in builder.fields.values:
            raise poplar_error(f"setInitCallback: field '{field.name}' of {builder.type.name} is an edge, not a value.")
        if not callable(callback):
            raise graph_connection_error(f"setInitCallback: {callback!r} for field '{field.name}' cannot be called.")
        builder.set_late(field.vertex.row, field.name, callback)


def _field(type_: VertexType, name: str) -> FieldSpec:
    spec = type_.fields_by_name.get(name)
    if spec is None:
        raise unknown_field(f"{type_.name} has no field '{name}'; its fields are {', '.join(type_.fields_by_name)}.")
    return spec


def _not_delayed(other: FieldRef, delayed: Any) -> FieldRef:
    if delayed:
        raise graph_connection_error(
            f"The connection to field '{other.name}' cannot be delayed; copy the value of the run before to a variable."
        )
    return other


def _layout(spec: FieldSpec, dim: int) -> str:
    """The layout that keeps the count of a dimension."""
    return spec.outer if spec.kind == "scalars" or (spec.kind == "vectors" and dim == 0) else spec.layout


def _largest_size(spec: FieldSpec, dim: int) -> int:
    return LARGEST_COUNT.get(_layout(spec, dim), LARGEST_COUNT["span"])
