"""Short names of element types, as the cycle formulas and vertex type names spell them."""

from __future__ import annotations

from simulator.base import types
from simulator.base.types import Type

_SHORT = {
    types.FLOAT: "float",
    types.HALF: "half",
    types.INT: "int",
    types.UNSIGNED_INT: "uint",
    types.BOOL: "bool",
    types.SHORT: "short",
    types.UNSIGNED_SHORT: "ushort",
    types.CHAR: "char",
    types.SIGNED_CHAR: "schar",
    types.UNSIGNED_CHAR: "uchar",
    types.LONGLONG: "longlong",
    types.UNSIGNED_LONGLONG: "ulonglong",
}


def short_name(type_: Type) -> str:
    """ "float", "half", "uint", ...: the name of the type in cycle formulas."""
    return _SHORT.get(type_, type_.name)
