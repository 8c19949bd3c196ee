"""Vertex types described in JSON, translated to C++ classes whose code is elsewhere."""

from __future__ import annotations

import json
import re
from typing import Any

from simulator.base.errors import parse_error

_BASES = ("Vertex", "SupervisorVertex", "MultiVertex")
_NAME = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*")
_KNOWN = ("name", "type", "fields", "constraints")
_WORDS = {
    "Input",
    "Output",
    "InOut",
    "Vector",
    "VectorList",
    "bool",
    "char",
    "signed",
    "unsigned",
    "short",
    "int",
    "long",
    "float",
    "half",
    "poplar",
    "VectorLayout",
    "VectorListLayout",
    "SPAN",
    "ONE_PTR",
    "SHORT_SPAN",
    "SCALED_PTR32",
    "SCALED_PTR64",
    "SCALED_PTR128",
    "COMPACT_PTR",
    "DELTAN",
    "DELTANELEMENTS",
    "COMPACT_DELTAN",
    "true",
    "false",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "int8_t",
    "int16_t",
    "int32_t",
}
_HEAD = """#include <stdint.h>
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
using namespace poplar;
"""


def placeholder_source(text: str) -> str:
    """C++ source that declares the vertices of a JSON description. Raises parse_error naming what is wrong."""
    try:
        described = json.loads(text)
    except ValueError as error:
        raise parse_error(f"The codelet description is not JSON: {error}.") from None
    if not isinstance(described, list) or not described:
        raise parse_error('The codelet description must be a list of vertices: [{"name": ...}].')
    return _HEAD + "".join(_class(one) for one in described)


def _class(described: Any) -> str:
    if not isinstance(described, dict):
        raise parse_error(f"The codelet description has {described!r} where a vertex {{...}} belongs.")
    name = described.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise parse_error(f"The codelet description names a vertex {name!r}; a name is a C++ identifier.")
    unknown = [key for key in described if key not in _KNOWN]
    if unknown:
        raise parse_error(
            f"The description of codelet '{name}' has unknown keys {unknown}; known: {', '.join(_KNOWN)}."
        )
    base = described.get("type")
    if base not in _BASES:
        raise parse_error(
            f"The description of codelet '{name}' has type {base!r}; it must be one of {', '.join(_BASES)}."
        )
    fields = described.get("fields")
    if not isinstance(fields, dict) or not all(isinstance(type_, str) for type_ in fields.values()):
        raise parse_error(f"The description of codelet '{name}' needs fields: {{name: type}}.")
    constraints = described.get("constraints", [])
    if not isinstance(constraints, list) or not all(isinstance(one, str) for one in constraints):
        raise parse_error(f"The constraints of codelet '{name}' must be a list of texts.")
    *spaces, own = name.split("::")
    attributes = "".join(f"[[poplar::constraint({json.dumps(one)})]] " for one in constraints)
    lines = [f"  {_type(type_, field, name)} {field};\n" for field, type_ in fields.items()]
    return (
        "".join(f"namespace {space} {{\n" for space in spaces)
        + f"class {attributes}{own} : public {base} {{\n public:\n"
        + "  static const bool isExternalCodelet = true;\n"
        + "".join(lines)
        + "};\n"
        + "}\n" * len(spaces)
    )


def _type(text: str, field: str, vertex: str) -> str:
    words = re.findall(r"[A-Za-z_]\w*", text)
    if not re.fullmatch(r"[A-Za-z_]\w*", field) or not re.fullmatch(r"[\w\s:<>,]+", text) or set(words) - _WORDS:
        raise parse_error(
            f"Field '{field}' of codelet '{vertex}' is described as '{text}', which is no type of a vertex field."
        )
    text = re.sub(r"(?<![:\w])(SPAN|ONE_PTR|SHORT_SPAN|SCALED_PTR\d+|COMPACT_PTR)\b", r"VectorLayout::\1", text)
    return re.sub(r"(?<![:\w])(DELTAN|DELTANELEMENTS|COMPACT_DELTAN)\b", r"VectorListLayout::\1", text)
