"""Declarations of the fields of Python codelets.

x = Input(Vector(FLOAT))             an edge to a run of elements
out = Output(FLOAT)                  an edge to one element
acc = InOut(Vector(HALF, layout="one_ptr", alignment=8))
parts = Vector(Input(FLOAT))         a vector of edges to one element each
rows = Vector(Input(Vector(FLOAT)))  a vector of vector edges; so is Input(VectorList(FLOAT))
scale = FLOAT                        vertex state, a number
table = Vector(INT)                  vertex state, a vector

A field whose name is a word of Python is declared with an underscore behind it: `in_ = Input(...)` is field "in".
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal

from simulator.base.errors import graph_object_load_error
from simulator.base.types import Type
from simulator.base.vertex_layouts import VectorLayout, VectorListLayout
from simulator.graph.vertices import FieldSpec

VECTOR_LAYOUTS = ("span", "short_span", "one_ptr", "scaled_ptr32", "scaled_ptr64", "scaled_ptr128")
LIST_LAYOUTS = ("deltan", "deltanelements", "one_ptr", "scaled_ptr32", "scaled_ptr64", "scaled_ptr128")


@dataclass(frozen=True)
class Vector:
    """A vector of elements (of `Type`), or a vector of edges (of Input, Output or InOut).

    layout: how the vertex points at it (span, short_span, one_ptr, scaled_ptr32/64/128); alignment in bytes;
    interleaved: the elements must lie in interleaved memory."""

    element: Type | Edge
    layout: str | VectorLayout = "span"
    alignment: int = 0
    interleaved: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", _checked_layout(self.layout, VECTOR_LAYOUTS))


@dataclass(frozen=True)
class VectorList:
    """A vector of vectors with a compact layout: deltan, deltanelements, one_ptr or scaled_ptr32/64/128."""

    element: Type
    layout: str | VectorListLayout = "deltanelements"
    alignment: int = 0
    interleaved: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", _checked_layout(self.layout, LIST_LAYOUTS))


@dataclass(frozen=True)
class Edge:
    """An edge to one element or to a vector; made by `Input`, `Output` and `InOut`, whose results count as `Any` for
    type checkers, as codelets see arrays and numbers under the names of their fields."""

    target: Type | Vector | VectorList
    direction: Literal["in", "out", "inout"]


def Input(target: Type | Vector | VectorList) -> Any:
    """Elements that the vertex reads."""
    return Edge(target, "in")


def Output(target: Type | Vector | VectorList) -> Any:
    """Elements that the vertex writes without having read them."""
    return Edge(target, "out")


def InOut(target: Type | Vector | VectorList) -> Any:
    """Elements that the vertex reads and writes."""
    return Edge(target, "inout")


def attribute_of(field: str) -> str:
    """The attribute of a codelet that holds a field."""
    return f"{field}_" if keyword.iskeyword(field) else field


def field_spec(attribute: str, declared: object) -> FieldSpec | None:
    """The field that a class attribute declares, or None when it declares none."""
    name = attribute[:-1] if attribute.endswith("_") and keyword.iskeyword(attribute[:-1]) else attribute
    if isinstance(declared, Type):
        return FieldSpec(name, "value", "", declared)
    if isinstance(declared, Edge):
        target = declared.target
        if isinstance(target, Type):
            return FieldSpec(name, "scalar", declared.direction, target)
        kind: Literal["vector", "vectors"] = "vectors" if isinstance(target, VectorList) else "vector"
        return _vector(name, kind, declared.direction, target)
    if isinstance(declared, Vector):
        if isinstance(declared.element, Type):
            layout = str(declared.layout)
            return FieldSpec(name, "value", "", declared.element, layout, declared.alignment, elements=True)
        edge = declared.element
        if isinstance(edge.target, Type):
            outer = str(declared.layout)
            return FieldSpec(name, "scalars", edge.direction, edge.target, outer, outer=outer)
        if isinstance(edge.target, Vector):
            return replace(_vector(name, "vectors", edge.direction, edge.target), outer=str(declared.layout))
        raise graph_object_load_error(f"Field '{name}': a vector of VectorLists is not a field type.")
    return None


def _vector(
    name: str,
    kind: Literal["vector", "vectors"],
    direction: Literal["in", "out", "inout"],
    target: Vector | VectorList,
) -> FieldSpec:
    if not isinstance(target.element, Type):
        raise graph_object_load_error(f"Field '{name}': an edge inside an edge is not a field type.")
    layout = str(target.layout)
    return FieldSpec(name, kind, direction, target.element, layout, target.alignment, target.interleaved)


def _checked_layout(layout: str | Enum, known: tuple[str, ...]) -> str:
    """The name of a layout that is given by name or as `VectorLayout`, `VectorListLayout`."""
    name = layout.value if isinstance(layout, Enum) else layout
    if name not in known:
        raise graph_object_load_error(f"'{layout}' is not a layout; the layouts are {', '.join(known)}.")
    return str(name)
