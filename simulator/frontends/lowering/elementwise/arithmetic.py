"""Arithmetic of two and three operands: popops' operators, fused by popops.map where there are several."""

from __future__ import annotations

from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import common_type, is_floating
from simulator.frontends.lowering.elementwise.expressions import Operand, in_floats, mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, INT, Tensor
from simulator.poplibs.popops import expr as e


@lowers("aten.add.Tensor", "aten.add.Scalar", kind="Add", call="popops.map")
def add(at: Building, input: Operand, other: Operand, alpha: float = 1) -> Tensor:
    if common_type([input, other]) is BOOL:
        return mapped(at, e.Or, input, other, name="add")
    if alpha == 1:
        return mapped(at, e.Add, input, other, name="add")
    return mapped(at, lambda a, b, c: a + c * b, input, other, alpha, name="add", type=common_type([input, other]))


@lowers("aten.sub.Tensor", "aten.sub.Scalar", kind="Sub", call="popops.map")
def sub(at: Building, input: Operand, other: Operand, alpha: float = 1) -> Tensor:
    if alpha == 1:
        return mapped(at, e.Sub, input, other, name="sub")
    return mapped(at, lambda a, b, c: a - c * b, input, other, alpha, name="sub", type=common_type([input, other]))


@lowers("aten.rsub.Tensor", "aten.rsub.Scalar", kind="Sub", call="popops.map")
def rsub(at: Building, input: Operand, other: Operand, alpha: float = 1) -> Tensor:
    return sub(at, other, input, alpha)


@lowers("aten.mul.Tensor", "aten.mul.Scalar", kind="Mul", call="popops.map")
def mul(at: Building, input: Operand, other: Operand) -> Tensor:
    if common_type([input, other]) is BOOL:
        return mapped(at, e.And, input, other, name="mul")
    return mapped(at, e.Mul, input, other, name="mul")


@lowers("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", kind="Div", call="popops.map")
def div(at: Building, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.Divide, input, other, name="div", type=in_floats(input, other))


@lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode", kind="Div", call="popops.map")
def div_mode(at: Building, input: Operand, other: Operand, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        return div(at, input, other)
    if rounding_mode == "floor":
        return floor_divide(at, input, other)
    if is_floating(common_type([input, other])):
        return mapped(at, lambda a, b: e.Trunc(a / b), input, other, name="div")
    return mapped(at, e.Divide, input, other, name="div")


@lowers("aten.floor_divide.default", "aten.floor_divide.Scalar", kind="Div", call="popops.map")
def floor_divide(at: Building, input: Operand, other: Operand) -> Tensor:
    floating = is_floating(common_type([input, other]))
    return mapped(at, _floor_of_floats if floating else _floor_of_integers, input, other, name="floorDiv")


def _has_wrong_sign(rest: Any, divisor: Any) -> Any:
    """Whether the remainder of a division towards zero differs from that of one towards minus infinity."""
    return e.And(e.NotEqual(rest, 0), e.NotEqual(e.Lt(divisor, 0), e.Lt(rest, 0)))


def _floor_of_integers(a: Any, b: Any) -> Any:
    return a / b - e.Select(1, 0, _has_wrong_sign(a % b, b))


def _floor_of_floats(a: Any, b: Any) -> Any:
    """As Python and torch divide: the quotient of what the remainder leaves, so that 1 // 0.1 is 9."""
    whole = (a - a % b) / b - e.Select(1, 0, _has_wrong_sign(a % b, b))
    down = e.Floor(whole)
    return e.Select(a / b, down + e.Select(1, 0, e.Gt(whole - down, 0.5)), e.Equal(b, 0))


@lowers(
    "aten.remainder.Tensor",
    "aten.remainder.Scalar",
    "aten.remainder.Scalar_Tensor",
    kind="Mod",
    call="popops.map",
)
def remainder(at: Building, input: Operand, other: Operand) -> Tensor:
    def signed(a: Any, b: Any) -> Any:
        return e.Select(a % b + b, a % b, _has_wrong_sign(a % b, b))

    return mapped(at, signed, input, other, name="mod")


@lowers("aten.fmod.Tensor", "aten.fmod.Scalar", kind="Fmod", call="popops.map")
def fmod(at: Building, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.Rem, input, other, name="fmod")


@lowers("aten.pow.Tensor_Scalar", "aten.pow.Scalar", "aten.pow.Tensor_Tensor", kind="Pow", call="popops.map")
def pow_(at: Building, input: Operand, exponent: Operand) -> Tensor:
    if not isinstance(exponent, Tensor) and exponent in (0, 1):
        assert isinstance(input, Tensor)
        type_ = common_type([input, exponent])
        return at.constant(type_, input.shape(), 1, "ones") if exponent == 0 else at.cast(input, type_)
    return mapped(at, e.Pow, input, exponent, name="pow")


@lowers("aten.atan2.default", kind="Atan2", call="popops.map")
def atan2(at: Building, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.Atan2, input, other, name="atan2", type=in_floats(input, other))


@lowers("aten.maximum.default", kind="Max", call="popops.map")
def maximum(at: Building, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.Or if common_type([input, other]) is BOOL else e.Max, input, other, name="max")


@lowers("aten.minimum.default", kind="Min", call="popops.map")
def minimum(at: Building, input: Operand, other: Operand) -> Tensor:
    return mapped(at, e.And if common_type([input, other]) is BOOL else e.Min, input, other, name="min")


@lowers("aten.clamp.default", "aten.clamp.Tensor", kind="Clip", call="popops.map")
def clamp(at: Building, input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    if min is None:
        assert max is not None
        return mapped(at, e.Min, input, max, name="clip")
    if max is None:
        return mapped(at, e.Max, input, min, name="clip")
    return mapped(at, e.Clamp, input, min, max, name="clip")


@lowers("aten.clamp_min.default", "aten.clamp_min.Tensor", kind="Max", call="popops.map")
def clamp_min(at: Building, input: Tensor, min: Operand) -> Tensor:
    return clamp(at, input, min, None)


@lowers("aten.clamp_max.default", "aten.clamp_max.Tensor", kind="Min", call="popops.map")
def clamp_max(at: Building, input: Tensor, max: Operand) -> Tensor:
    return clamp(at, input, None, max)


@lowers("aten.lerp.Tensor", "aten.lerp.Scalar", kind="Lerp", call="popops.map")
def lerp(at: Building, input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    return mapped(at, lambda a, b, w: a + w * (b - a), input, end, weight, name="lerp")


@lowers("aten.addcmul.default", kind="Addcmul", call="popops.map")
def addcmul(at: Building, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float = 1) -> Tensor:
    if value == 1:
        return mapped(at, lambda a, b, c: b * c + a, input, tensor1, tensor2, name="addcmul")
    return mapped(at, lambda a, b, c, v: b * c * v + a, input, tensor1, tensor2, value, name="addcmul")


@lowers("aten.addcdiv.default", kind="Addcdiv", call="popops.map")
def addcdiv(at: Building, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float = 1) -> Tensor:
    return mapped(at, lambda a, b, c, v: b / c * v + a, input, tensor1, tensor2, value, name="addcdiv")


def _larger(a: Any, b: Any) -> Any:
    return e.Select(b, e.Select(a, e.Max(a, b), e.IsNaN(b)), e.IsNaN(a))


def _smaller(a: Any, b: Any) -> Any:
    return e.Select(b, e.Select(a, e.Min(a, b), e.IsNaN(b)), e.IsNaN(a))


@lowers("aten.fmax.default", kind="Max", call="popops.map")
def fmax(at: Building, input: Tensor, other: Tensor) -> Tensor:
    floating = is_floating(common_type([input, other]))
    return mapped(at, _larger, input, other, name="max") if floating else maximum(at, input, other)


@lowers("aten.fmin.default", kind="Min", call="popops.map")
def fmin(at: Building, input: Tensor, other: Tensor) -> Tensor:
    floating = is_floating(common_type([input, other]))
    return mapped(at, _smaller, input, other, name="min") if floating else minimum(at, input, other)


@lowers("aten.hypot.default", kind="Hypot", call="popops.map")
def hypot(at: Building, input: Tensor, other: Tensor) -> Tensor:
    def length(a: Any, b: Any) -> Any:
        """The larger side times a root, so that squares do not overflow."""
        longer, shorter = e.Max(e.Abs(a), e.Abs(b)), e.Min(e.Abs(a), e.Abs(b))
        return e.Select(0, longer * e.Sqrt(e.Square(shorter / longer) + 1), e.Equal(longer, 0))

    return mapped(at, length, input, other, name="hypot", type=in_floats(input, other))


@lowers("aten.signbit.default", kind="Signbit", call="popops.map")
def signbit(at: Building, input: Tensor) -> Tensor:
    """Whether a number is negative, minus zero too: the angle of (x, -1) tells the zeros apart."""
    if not is_floating(input.elementType()):
        return mapped(at, e.Lt, input, 0, name="signbit", type=INT, result=BOOL)
    return mapped(at, lambda x: e.Lt(e.Atan2(x, -1.0), 0), input, name="signbit", result=BOOL)


@lowers("aten.copysign.Tensor", kind="Copysign", call="popops.map")
def copysign(at: Building, input: Tensor, other: Tensor) -> Tensor:
    flags = (signbit(at, other),)
    return mapped(
        at,
        lambda a, s: e.Select(-e.Abs(a), e.Abs(a), s),
        input,
        name="copysign",
        type=in_floats(input, other),
        flags=flags,
    )
