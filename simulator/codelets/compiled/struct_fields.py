"""The fields of a vertex class: from the members of the host's struct to fields of the graph, with their offsets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base import types
from simulator.base.errors import graph_object_load_error, graph_program_compilation_error
from simulator.codelets.compiled.debug_entries import UNREADABLE, Entry, variables
from simulator.graph.vertices import ClassLayout, FieldSpec, HostField, VertexKind

#: Types by the compiler's names.
TYPES = {
    "bool": types.BOOL,
    "char": types.CHAR,
    "signed char": types.SIGNED_CHAR,
    "unsigned char": types.UNSIGNED_CHAR,
    "short int": types.SHORT,
    "short unsigned int": types.UNSIGNED_SHORT,
    "int": types.INT,
    "unsigned int": types.UNSIGNED_INT,
    "float": types.FLOAT,
    "_Float16": types.HALF,
    "__fp16": types.HALF,
    "long long int": types.LONGLONG,
    "long long unsigned int": types.UNSIGNED_LONGLONG,
    "long int": types.INT,
    "long unsigned int": types.UNSIGNED_INT,  # 32 bits on a tile
    "quarter": types.QUARTER,
}
#: Types of enumerations by their size in bytes.
_ENUMERATIONS = {1: types.UNSIGNED_CHAR, 2: types.UNSIGNED_SHORT, 4: types.INT}
#: Poplar's spelling of types, where it differs from the compiler's.
_SPELLED = {
    "short int": "short",
    "short unsigned int": "unsigned short",
    "_Float16": "half",
    "__fp16": "half",
    "long int": "long",
    "long unsigned int": "unsigned long",
    "long long int": "long long",
    "long long unsigned int": "unsigned long long",
}
#: Names of elements in those of short vectors, where they differ.
_VECTORS_OF = {
    "unsigned int": "uint",
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "long long": "longlong",
}
_DIRECTIONS = {"Input": "in", "Output": "out", "InOut": "inout"}
_VECTOR_LAYOUTS = ("span", "one_ptr", "short_span", "scaled_ptr32", "scaled_ptr64", "scaled_ptr128", "compact_ptr")
_LIST_LAYOUTS = (
    "one_ptr",
    "scaled_ptr32",
    "scaled_ptr64",
    "scaled_ptr128",
    "deltan",
    "deltanelements",
    "compact_deltan",
)
#: Base classes that determine the kind of a vertex.
_KINDS: dict[str, VertexKind] = {
    "poplar::Vertex": "worker",
    "poplar::SupervisorVertex": "supervisor",
    "poplar::MultiVertex": "multi",
}


def class_layouts(path: Path, prefix: str, names: Collection[str], source: str) -> list[tuple[str, ClassLayout]]:
    """(name without the prefix, layout of the vertex class) of the variables of an object file that are called a prefix
    and one of these names, each a pointer to a class that may be a vertex. `source`: what was compiled, for messages.

    Raises graph_object_load_error for members of types that no field has, graph_program_compilation_error for debug
    information that cannot be read, or has not all of the names."""
    layouts, missing = [], set(names)
    try:
        for variable in variables(path, prefix):
            name = variable.name.removeprefix(prefix)
            missing.discard(name)
            pointer = variable.type()
            type_ = pointer.type() if pointer is not None else None
            layout = class_layout(type_) if type_ is not None else None
            if layout is not None:
                layouts.append((name, layout))
    except UNREADABLE as error:
        raise _unreadable(source, f"{type(error).__name__}: {error}") from None
    if missing:
        raise _unreadable(source, "it does not name all classes")
    return layouts


def _unreadable(source: str, reason: str) -> graph_program_compilation_error:
    return graph_program_compilation_error(
        f"The debug information that the compiler made of {source} cannot be read: {reason}; compile the codelets "
        "without assembly and flags that change it."
    )


def class_layout(entry: Entry) -> ClassLayout | None:
    """The layout of a class, None if it is no vertex. Raises graph_object_load_error for members of other types."""
    kind = _kind(entry)
    if kind is None:
        return None
    name = class_name(entry)
    fields = tuple(_fields(entry, name, 0))
    external = any(
        member.name == "isExternalCodelet" and member.number("const_value") != 0
        for base in _with_bases(entry)
        for member in base.of("member", "variable")
    )
    computes = any(f.name == "compute" for base in _with_bases(entry) for f in base.of("subprogram"))
    return ClassLayout(name, kind, entry.number("byte_size"), fields, external, computes)


def class_name(entry: Entry) -> str:
    """The name as Poplar spells it: qualified, template arguments separated by commas alone."""
    path = entry.path()
    arguments = []
    for parameter in entry.of("template_type_param", "template_value_param", "GNU_template_parameter_pack"):
        parts = parameter.children if parameter.tag == "GNU_template_parameter_pack" else [parameter]
        arguments += [_argument(part) for part in parts]
    base = entry.name.partition("<")[0].strip()
    name = f"{path}::{base}" if path else base
    return f"{name}<{','.join(arguments)}>" if "<" in entry.name else name


def _argument(parameter: Entry) -> str:
    type_ = parameter.type()
    if type_ is None:
        return "void"
    if parameter.tag == "template_type_param":
        return _type_name(type_)
    value = parameter.number("const_value")
    if type_.tag == "enumeration_type":
        path = type_.path()
        for one in type_.of("enumerator"):
            if one.number("const_value") == value:
                return f"{path}::{type_.name}::{one.name}" if path else f"{type_.name}::{one.name}"
    return ("false", "true")[value != 0] if type_.name == "bool" else str(value)


def _type_name(type_: Entry) -> str:
    if type_.tag == "base_type":
        return _SPELLED.get(type_.name, type_.name)
    if type_.tag == "array_type":  # a short vector of <ipudef.h>
        element = type_.type()
        bounds = [bound.number("upper_bound") for bound in type_.of("subrange_type")]
        if element is not None and len(bounds) == 1:
            name = _type_name(element)
            return f"{_VECTORS_OF.get(name, name)}{bounds[0] + 1}"
    if type_.tag in ("class_type", "structure_type"):
        return class_name(type_)
    path = type_.path()
    return f"{path}::{type_.name}" if path else type_.name


def _kind(entry: Entry) -> VertexKind | None:
    """The kind, by the nearest base class that determines it."""
    for base in _with_bases(entry):
        kind = _KINDS.get(f"{base.path()}::{base.name}")
        if kind is not None:
            return kind
    return None


def _with_bases(entry: Entry) -> list[Entry]:
    classes = [entry]
    for inherited in entry.of("inheritance"):
        base = inherited.type()
        if base is not None:
            classes += _with_bases(base)
    return classes


def _fields(entry: Entry, owner: str, shift: int) -> list[HostField]:
    """The fields in the order of their declaration, those of bases first."""
    fields: list[HostField] = []
    for child in entry.of("inheritance", "member"):
        type_ = child.type()
        if type_ is None or not child.has("data_member_location"):
            continue
        offset = shift + child.number("data_member_location")
        if child.tag == "inheritance":
            fields += _fields(type_, owner, offset)
        else:
            fields.append(_field(child, type_, offset, owner))
    return fields


def _field(member: Entry, type_: Entry, offset: int, owner: str) -> HostField:
    name, size = member.name, type_.number("byte_size")
    field = None
    if type_.name in TYPES and (type_.tag == "base_type" or TYPES[type_.name] is types.QUARTER):
        wide = size > TYPES[type_.name].size
        field = HostField(FieldSpec(name, "value", "", TYPES[type_.name]), offset, wide)
    elif type_.tag == "enumeration_type" and size in _ENUMERATIONS:
        field = HostField(FieldSpec(name, "value", "", _ENUMERATIONS[size]), offset)
    elif type_.path() == "poplar":
        field = _of_template(name, _Spelled.read(type_.name), offset)
    if field is None:
        raise graph_object_load_error(
            f"Field '{name}' of {owner} is of type {type_.name or type_.tag.replace('_', ' ')}, which no field of a "
            "vertex can have: use numbers, Input, Output, InOut, Vector and VectorList of them."
        )
    return field


@dataclass(frozen=True)
class _Spelled:
    """A type as the compiler spells it, "Input<poplar::Vector<float, (poplar::VectorLayout)0, 4, false> >", in parts.
    The debug information of a class that no code uses has only its name."""

    head: str
    arguments: tuple[_Spelled, ...]

    @classmethod
    def read(cls, text: str) -> _Spelled:
        head, _, inside = text.strip().partition("<")
        parts, depth, begin = [], 0, 0
        inside = inside.strip().removesuffix(">")
        for i, letter in enumerate(inside + ","):
            depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                parts.append(inside[begin:i])
                begin = i + 1
        arguments = tuple(cls.read(part) for part in parts if part.strip())
        return cls(head.strip().removeprefix("poplar::").removeprefix("const ").removesuffix(" const"), arguments)

    @property
    def number(self) -> int:
        """The value of an argument that is a number, a truth value or an enumerator "(T)3"."""
        text = self.head.rpartition(")")[2].removesuffix("u")
        return int(text == "true") if text in ("true", "false") else int(text)


def _of_template(name: str, spelled: _Spelled, offset: int) -> HostField | None:
    inner = spelled.arguments[0] if spelled.arguments else None
    if inner is None:
        return None
    if spelled.head == "SimOnlyField" and inner.head in TYPES:
        return HostField(FieldSpec(name, "value", "", TYPES[inner.head]), offset)
    if spelled.head in _DIRECTIONS:
        spec = _edge(name, spelled)
        return None if spec is None else HostField(spec, offset)
    if spelled.head != "Vector":
        return None
    outer, alignment, _ = _layout(spelled, _VECTOR_LAYOUTS)
    if inner.head in TYPES:
        spec = FieldSpec(name, "value", "", TYPES[inner.head], outer, alignment, elements=True)
        return HostField(spec, offset)
    edge = _edge(name, inner) if inner.head in _DIRECTIONS else None
    if edge is None or edge.kind == "vectors":
        return None
    if edge.kind == "scalar":
        return HostField(FieldSpec(name, "scalars", edge.direction, edge.type, outer, outer=outer), offset)
    return HostField(
        FieldSpec(name, "vectors", edge.direction, edge.type, edge.layout, edge.alignment, edge.interleaved, outer),
        offset,
    )


def _edge(name: str, spelled: _Spelled) -> FieldSpec | None:
    """The field that Input, Output or InOut declares."""
    direction: Any = _DIRECTIONS[spelled.head]
    inner = spelled.arguments[0]
    if inner.head in TYPES:
        return FieldSpec(name, "scalar", direction, TYPES[inner.head])
    if inner.head not in ("Vector", "VectorList") or inner.arguments[0].head not in TYPES:
        return None
    listed = inner.head == "VectorList"
    layout, alignment, interleaved = _layout(inner, _LIST_LAYOUTS if listed else _VECTOR_LAYOUTS)
    kind: Any = "vectors" if listed else "vector"
    return FieldSpec(name, kind, direction, TYPES[inner.arguments[0].head], layout, alignment, interleaved)


def _layout(spelled: _Spelled, layouts: tuple[str, ...]) -> tuple[str, int, bool]:
    """(layout, alignment in bytes, interleaved) of a Vector or VectorList; compact layouts as those they stand for."""
    layout, alignment, interleaved = (argument.number for argument in spelled.arguments[1:4])
    name = layouts[layout]
    if name == "compact_ptr":
        name = "scaled_ptr64" if alignment >= 8 else "scaled_ptr32"
    return "deltan" if name == "compact_deltan" else name, alignment, bool(interleaved)
