"""Comparisons, logic, bits and choices: results of comparisons are bool."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import common_type
from simulator.frontends.lowering.elementwise.expressions import Operand, mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, Tensor
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popops import expr as e

_COMPARISONS: dict[str, tuple[str, Any]] = {
    "eq": ("Equal", e.Equal),
    "ne": ("NotEqual", e.NotEqual),
    "lt": ("Less", e.Lt),
    "le": ("LessEqual", e.Lte),
    "gt": ("Greater", e.Gt),
    "ge": ("GreaterEqual", e.Gte),
}
_LOGIC: dict[str, tuple[str, Any]] = {
    "logical_and": ("And", e.And),
    "logical_or": ("Or", e.Or),
    "logical_xor": ("Xor", e.NotEqual),
}
#: (kind, of integers, of bools)
_BITS: dict[str, tuple[str, Any, Any]] = {
    "bitwise_and": ("BitwiseAnd", e.BitwiseAnd, e.And),
    "bitwise_or": ("BitwiseOr", e.BitwiseOr, e.Or),
    "bitwise_xor": ("BitwiseXor", e.BitwiseXor, e.NotEqual),
}


def _register_comparison(name: str, kind: str, make: Any) -> None:
    @lowers(f"aten.{name}.Tensor", f"aten.{name}.Scalar", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor, other: Operand) -> Tensor:
        return mapped(at, make, input, other, name=name, result=BOOL)


def _register_logic(name: str, kind: str, make: Any) -> None:
    @lowers(f"aten.{name}.default", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor, other: Tensor) -> Tensor:
        return mapped(at, make, input, other, name=name, type=BOOL)


def _register_bits(name: str, kind: str, make: Any, of_bools: Any) -> None:
    @lowers(f"aten.{name}.Tensor", f"aten.{name}.Scalar", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor, other: Operand) -> Tensor:
        return mapped(at, of_bools if common_type([input, other]) is BOOL else make, input, other, name=name)


for _name, _row in _COMPARISONS.items():
    _register_comparison(_name, *_row)
for _name, _row in _LOGIC.items():
    _register_logic(_name, *_row)
for _name, _bits in _BITS.items():
    _register_bits(_name, *_bits)


@lowers("aten.logical_not.default", kind="Not", call="popops.map")
def logical_not(at: Building, input: Tensor) -> Tensor:
    return mapped(at, e.Not, input, name="not", type=BOOL)


@lowers("aten.bitwise_not.default", kind="BitwiseNot", call="popops.map")
def bitwise_not(at: Building, input: Tensor) -> Tensor:
    return mapped(at, e.Not if input.elementType() is BOOL else e.BitwiseNot, input, name="bitwiseNot")


@lowers(
    "aten.where.self",
    "aten.where.ScalarSelf",
    "aten.where.ScalarOther",
    "aten.where.Scalar",
    kind="Where",
    call="popops.map",
)
def where(at: Building, condition: Tensor, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.Select, input, other, name="where", flags=(at.cast(condition, BOOL),))


@lowers("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", kind="Where", call="popops.map")
def masked_fill(at: Building, input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    return mapped(at, e.Select, value, input, name="where", type=input.elementType(), flags=(mask,))


def _register_shift(name: str, short: str, make: Any) -> None:
    ends = "Tensor", "Tensor_Scalar", "Scalar_Tensor"
    names = [f"aten.{name}.{end}" for end in ends] + [f"aten.{short}.Tensor", f"aten.{short}.Scalar"]

    @lowers(*names, kind="BitShift", call="popops.map")
    def build(at: Building, input: Operand, other: Operand) -> Tensor:
        return mapped(at, make, input, other, name=name)


_register_shift("bitwise_left_shift", "__lshift__", e.Shl)
_register_shift("bitwise_right_shift", "__rshift__", e.ShrSE)


@lowers("aten.tril.default", kind="Trilu", call="popops.map")
def tril(at: Building, input: Tensor, diagonal: int = 0) -> Tensor:
    return _inside(at, input, _triangle(input, diagonal))


@lowers("aten.triu.default", kind="Trilu", call="popops.map")
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
