"""Functions of one operand: a table from aten's name to an expression of popops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import is_floating
from simulator.frontends.lowering.elementwise.expressions import in_floats, mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, Tensor
from simulator.poplibs.popops import expr as e

Function = Callable[[Any], Any]


def _half_to_even(x: Any) -> Any:
    """The nearest integer; of two the even one, as torch rounds."""
    whole = e.Trunc(x)
    part = e.Abs(x - whole)
    is_away = e.Or(e.Gt(part, 0.5), e.And(e.Equal(part, 0.5), e.NotEqual(whole % 2, 0)))
    return whole + e.Select(e.Signum(x), 0, is_away)


def _sinh(x: Any) -> Any:
    """(exp |x| - exp -|x|) / 2 by expm1, which keeps the digits of small x."""
    grown = e.Expm1(e.Abs(x))
    below = e.Min(grown, 6e4)  # beyond, exp -|x| is lost in the sum
    return e.Signum(x) * (grown + below / (below + 1)) * 0.5


def _asinh(x: Any) -> Any:
    """log(|x| + sqrt(x^2 + 1)) by log1p, without squares that overflow."""
    size = e.Abs(x)
    other = e.Inv(size)
    return e.Signum(x) * e.Log1p(size + size / (other + e.Sqrt(other * other + 1)))


def _acosh(x: Any) -> Any:
    above = x - 1
    return e.Log1p(above + e.Sqrt(above) * e.Sqrt(above + 2))


def _atanh(x: Any) -> Any:
    return e.Signum(x) * e.Log1p(e.Abs(x) * 2 / (1 - e.Abs(x))) * 0.5


#: results are floating-point numbers, of integers too: aten's name -> (PopART's kind, expression)
_FLOATING: dict[str, tuple[str, Function]] = {
    "reciprocal": ("Reciprocal", e.Inv),
    "sqrt": ("Sqrt", e.Sqrt),
    "rsqrt": ("Rsqrt", e.Rsqrt),
    "exp": ("Exp", e.Exp),
    "exp2": ("Exp2", lambda x: e.Exp(x * math.log(2))),
    "expm1": ("Expm1", e.Expm1),
    "log": ("Log", e.Log),
    "log2": ("Log2", lambda x: e.Log(x) * (1 / math.log(2))),
    "log10": ("Log10", lambda x: e.Log(x) * (1 / math.log(10))),
    "log1p": ("Log1p", e.Log1p),
    "sin": ("Sin", e.Sin),
    "cos": ("Cos", e.Cos),
    "tan": ("Tan", e.Tan),
    "asin": ("Asin", e.Asin),
    "acos": ("Acos", lambda x: math.pi / 2 - e.Asin(x)),
    "atan": ("Atan", lambda x: e.Atan2(x, 1.0)),
    "sinh": ("Sinh", _sinh),
    "cosh": ("Cosh", lambda x: (e.Exp(x) + e.Exp(-x)) * 0.5),
    "asinh": ("Asinh", _asinh),
    "acosh": ("Acosh", _acosh),
    "atanh": ("Atanh", _atanh),
    "tanh": ("Tanh", e.Tanh),
    "erf": ("Erf", e.Erf),
}
#: results have the operand's type; those of the second table leave integers as they are
_SAME: dict[str, tuple[str, Function]] = {
    "neg": ("Neg", e.Neg),
    "abs": ("Abs", e.Abs),
    "square": ("Square", e.Square),
    "sign": ("Sign", e.Signum),
    "sgn": ("Sign", e.Signum),
}
_TO_WHOLE: dict[str, tuple[str, Function]] = {
    "floor": ("Floor", e.Floor),
    "ceil": ("Ceil", e.Ceil),
    "trunc": ("Trunc", e.Trunc),
    "round": ("Round", _half_to_even),
    "frac": ("Frac", lambda x: x - e.Trunc(x)),
}
#: results are bool: (kind, expression, result for every integer)
_QUESTIONS: dict[str, tuple[str, Function, bool]] = {
    "isnan": ("IsNaN", e.IsNaN, False),
    "isinf": ("IsInf", e.IsInf, False),
    "isfinite": ("IsFinite", e.IsFinite, True),
}


def _register_floating(name: str, kind: str, make: Function) -> None:
    @lowers(f"aten.{name}.default", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor) -> Tensor:
        return mapped(at, make, input, name=name, type=in_floats(input))


def _register_same(name: str, kind: str, make: Function, only_floats: bool) -> None:
    @lowers(f"aten.{name}.default", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor) -> Tensor:
        if input.elementType() is BOOL or (only_floats and not is_floating(input.elementType())):
            return input
        return mapped(at, make, input, name=name)


def _register_question(name: str, kind: str, make: Function, of_integers: bool) -> None:
    @lowers(f"aten.{name}.default", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor) -> Tensor:
        if not is_floating(input.elementType()):
            return at.constant(BOOL, input.shape(), of_integers, name)
        return mapped(at, make, input, name=name)


for _name, _row in _FLOATING.items():
    _register_floating(_name, *_row)
for _name, _row in _SAME.items():
    _register_same(_name, *_row, False)
for _name, _row in _TO_WHOLE.items():
    _register_same(_name, *_row, True)
for _name, _question in _QUESTIONS.items():
    _register_question(_name, *_question)


@lowers("aten.nan_to_num.default", kind="NanToNum", call="popops.map")
def nan_to_num(
    at: Building, input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    if not is_floating(input.elementType()):
        return input
    largest = 65504.0 if input.elementType().size == 2 else 3.4028234663852886e38
    above, below = largest if posinf is None else posinf, -largest if neginf is None else neginf

    def finite(x: Any) -> Any:
        bounded = e.Select(e.Select(above, below, e.Gt(x, 0)), x, e.IsInf(x))
        return e.Select(nan or 0.0, bounded, e.IsNaN(x))

    return mapped(at, finite, input, name="nanToNum")


@lowers("aten.round.decimals", kind="Round", call="popops.map")
def round_decimals(at: Building, input: Tensor, decimals: int = 0) -> Tensor:
    if not is_floating(input.elementType()):
        return input
    power = 10.0 ** abs(decimals)
    if decimals < 0:
        return mapped(at, lambda x: _half_to_even(x / power) * power, input, name="round")
    return mapped(at, lambda x: _half_to_even(x * power) / power, input, name="round")
