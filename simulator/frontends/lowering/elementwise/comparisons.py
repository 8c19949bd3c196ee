"""Comparisons, logic, bits and choices: results of comparisons are bool."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.frontends.lowering.building import Building
from simulator.frontends.lowering.element_types import common_type
from simulator.frontends.lowering.elementwise.expressions import Operand, mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, Tensor
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popops import expr as e

_COMPARISONS: dict[str, tuple[str, str, Any]] = {
    "eq": ("Equal", "popops.eq", e.Equal),
    "ne": ("NotEqual", "popops.neq", e.NotEqual),
    "lt": ("Less", "popops.lt", e.Lt),
    "le": ("LessEqual", "popops.lteq", e.Lte),
    "gt": ("Greater", "popops.gt", e.Gt),
    "ge": ("GreaterEqual", "popops.gteq", e.Gte),
}
_LOGIC: dict[str, tuple[str, str, Any]] = {
    "logical_and": ("And", "popops.logicalAnd", e.And),
    "logical_or": ("Or", "popops.logicalOr", e.Or),
    "logical_xor": ("Xor", "popops.neq", e.NotEqual),
}
#: (kind, call, of integers, of bools)
_BITS: dict[str, tuple[str, str, Any, Any]] = {
    "bitwise_and": ("BitwiseAnd", "popops.bitwiseAnd, logicalAnd", e.BitwiseAnd, e.And),
    "bitwise_or": ("BitwiseOr", "popops.bitwiseOr, logicalOr", e.BitwiseOr, e.Or),
    "bitwise_xor": ("BitwiseXor", "popops.bitwiseXor, neq", e.BitwiseXor, e.NotEqual),
}


def _register_comparison(name: str, kind: str, call: str, make: Any) -> None:
    @lowers(f"aten.{name}.Tensor", f"aten.{name}.Scalar", kind=kind, call=call)
    def build(at: Building, input: Tensor, other: Operand) -> Tensor:
        return mapped(at, make, input, other, name=name, result=BOOL)


def _register_logic(name: str, kind: str, call: str, make: Any) -> None:
    @lowers(f"aten.{name}.default", kind=kind, call=call)
    def build(at: Building, input: Tensor, other: Tensor) -> Tensor:
        return mapped(at, make, input, other, name=name, type=BOOL)


def _register_bits(name: str, kind: str, call: str, make: Any, of_bools: Any) -> None:
    @lowers(f"aten.{name}.Tensor", f"aten.{name}.Scalar", kind=kind, call=call)
    def build(at: Building, input: Tensor, other: Operand) -> Tensor:
        return mapped(at, of_bools if common_type([input, other]) is BOOL else make, input, other, name=name)


for _name, _row in _COMPARISONS.items():
    _register_comparison(_name, *_row)
for _name, _row in _LOGIC.items():
    _register_logic(_name, *_row)
for _name, _bits in _BITS.items():
    _register_bits(_name, *_bits)


@lowers("aten.logical_not.default", kind="Not", call="popops.logicalNot")
def logical_not(at: Building, input: Tensor) -> Tensor:
    return mapped(at, e.Not, input, name="not", type=BOOL)


@lowers("aten.bitwise_not.default", kind="BitwiseNot", call="popops.bitwiseNot, logicalNot")
def bitwise_not(at: Building, input: Tensor) -> Tensor:
    return mapped(at, e.Not if input.elementType() is BOOL else e.BitwiseNot, input, name="bitwiseNot")


@lowers(
    "aten.where.self",
    "aten.where.ScalarSelf",
    "aten.where.ScalarOther",
    "aten.where.Scalar",
    kind="Where",
    call="popops.select",
)
def where(at: Building, condition: Tensor, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.Select, input, other, name="where", flags=(at.cast(condition, BOOL),))


@lowers("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", kind="Where", call="popops.select")
def masked_fill(at: Building, input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    return mapped(at, e.Select, value, input, name="where", type=input.elementType(), flags=(mask,))


def _register_shift(name: str, short: str, call: str, make: Any) -> None:
    ends = "Tensor", "Tensor_Scalar", "Scalar_Tensor"
    names = [f"aten.{name}.{end}" for end in ends] + [f"aten.{short}.Tensor", f"aten.{short}.Scalar"]

    @lowers(*names, kind="BitShift", call=call)
    def build(at: Building, input: Operand, other: Operand) -> Tensor:
        return mapped(at, make, input, other, name=name)


_register_shift("bitwise_left_shift", "__lshift__", "popops.shiftLeft", e.Shl)
_register_shift("bitwise_right_shift", "__rshift__", "popops.shiftRightSignExtend", e.ShrSE)


@lowers("aten.tril.default", kind="Trilu", call="popops.select")
def tril(at: Building, input: Tensor, diagonal: int = 0) -> Tensor:
    return _inside(at, input, _triangle(input, diagonal))


@lowers("aten.triu.default", kind="Trilu", call="popops.select")
def triu(at: Building, input: Tensor, diagonal: int = 0) -> Tensor:
    return _inside(at, input, ~_triangle(input, diagonal - 1))


def _triangle(input: Tensor, diagonal: int) -> npt.NDArray[np.bool_]:
    """True on and below a diagonal."""
    rows, columns = input.shape()[-2:]
    return np.tri(rows, columns, diagonal, dtype=np.bool_)


def _inside(at: Building, input: Tensor, mask: npt.NDArray[np.bool_]) -> Tensor:
    """The elements of matrices where a fixed mask is true, zeros elsewhere."""
    flags = broadcast_to(at.constant(BOOL, mask.shape, mask, "mask"), tuple(input.shape()))
    return mapped(at, e.Select, input, 0, name="where", flags=(flags,))
