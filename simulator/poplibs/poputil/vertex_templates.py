"""Names of template vertices: `templateVertex("popops::Fill", FLOAT)` is "popops::Fill<float>"."""

from __future__ import annotations

from enum import Enum
from typing import Any

from simulator.base.types import Type


def templateVertexParams(first: bool, *args: Any) -> str:
    """The parameters in angle brackets, without the opening bracket when they are not the first; "" for none."""
    if not args:
        return "" if first else ">"
    return ("<" if first else ",") + ",".join(_parameter_text(a) for a in args) + ">"


def templateVertex(name: str, *args: Any) -> str:
    """`name` with template parameters: types, truth values, numbers, strings, operators of expressions."""
    return name + templateVertexParams(True, *args)


def _parameter_text(value: Any) -> str:
    if isinstance(value, Type):
        return value.toString()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        space = "popops::expr::" if value.__class__.__name__.endswith("OpType") else ""
        return f"{space}{value.__class__.__name__}::{value.name}"
    if isinstance(value, float):
        return f"{value:f}"  # as std::to_string
    return str(value)
