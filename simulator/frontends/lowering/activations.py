"""Activations: popnn.nonLinearity where it has the function, one expression of popops for the others.

Each function of the table comes with its derivative, so that its gradient is one expression too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs import popnn, popops, poprand
from simulator.poplibs.popops import expr as e

#: numbers of SELU (Klambauer and others, 2017)
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805
_NON_LINEARITY = "popnn.nonLinearity, nonLinearityInputGradient"
Term = Any
_Function = Callable[..., Term]


def _non_linear(at: Building, kind: popnn.NonLinearityType, input: Tensor, from_output: bool) -> Any:
    out = popnn.nonLinearity(at.graph, kind, input, at.program, at.name())

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        act = out if from_output else input
        back = popnn.nonLinearityInputGradient(at.graph, kind, act, slopes[0], at.program, at.name())
        return {"input": back}

    return out, backward


@lowers("aten.relu.default", kind="Relu", call=_NON_LINEARITY, own_backward=True)
def relu(at: Building, input: Tensor) -> Any:
    return _non_linear(at, popnn.NonLinearityType.RELU, input, True)


@lowers("aten.sigmoid.default", kind="Sigmoid", call=_NON_LINEARITY, own_backward=True)
def sigmoid(at: Building, input: Tensor) -> Any:
    return _non_linear(at, popnn.NonLinearityType.SIGMOID, input, True)


@lowers("aten.silu.default", kind="Swish", call=_NON_LINEARITY, own_backward=True)
def silu(at: Building, input: Tensor) -> Any:
    return _non_linear(at, popnn.NonLinearityType.SWISH, input, False)


@lowers("aten.gelu.default", kind="Gelu", call=_NON_LINEARITY, own_backward=True)
def gelu(at: Building, input: Tensor, approximate: str) -> Any:
    exact = approximate == "none"
    kind = popnn.NonLinearityType.GELU_ERF if exact else popnn.NonLinearityType.GELU
    return _non_linear(at, kind, input, False)


def _where(condition: Term, yes: Term, no: Term) -> Term:
    return e.Select(yes, no, condition)


def _soft_plus(x: Term) -> Term:
    """log(1 + exp x), which neither overflows nor loses small values."""
    return e.Max(x, 0.0) + e.Log1p(e.Exp(-e.Abs(x)))


def _mish_slope(x: Term) -> Term:
    active = e.Tanh(_soft_plus(x))
    return active + x * (1.0 - active * active) * e.Sigmoid(x)


#: aten's name -> (kind, function, derivative), each of x and the operator's numbers
_TABLE: dict[str, tuple[str, _Function, _Function]] = {
    "elu": (
        "Elu",
        lambda x, alpha, scale, input_scale: _where(
            e.Gt(x, 0.0), x * scale, e.Expm1(e.Min(x, 0.0) * input_scale) * (alpha * scale)
        ),
        lambda x, alpha, scale, input_scale: _where(
            e.Gt(x, 0.0), scale, e.Exp(e.Min(x, 0.0) * input_scale) * (alpha * scale * input_scale)
        ),
    ),
    "selu": (
        "Selu",
        lambda x: _where(e.Gt(x, 0.0), x * _SELU_SCALE, e.Expm1(e.Min(x, 0.0)) * (_SELU_ALPHA * _SELU_SCALE)),
        lambda x: _where(e.Gt(x, 0.0), _SELU_SCALE, e.Exp(e.Min(x, 0.0)) * (_SELU_ALPHA * _SELU_SCALE)),
    ),
    "celu": (
        "Elu",
        lambda x, alpha: e.Max(x, 0.0) + e.Expm1(e.Min(x, 0.0) * (1.0 / alpha)) * alpha,
        lambda x, alpha: _where(e.Gt(x, 0.0), 1.0, e.Exp(e.Min(x, 0.0) * (1.0 / alpha))),
    ),
    "leaky_relu": (
        "LeakyRelu",
        lambda x, negative_slope: _where(e.Gt(x, 0.0), x, x * negative_slope),
        lambda x, negative_slope: _where(e.Gt(x, 0.0), 1.0, negative_slope),
    ),
    "hardtanh": (
        "Clip",
        lambda x, min_val, max_val: e.Min(e.Max(x, min_val), max_val),
        lambda x, min_val, max_val: _where(e.And(e.Gt(x, min_val), e.Lt(x, max_val)), 1.0, 0.0),
    ),
    "relu6": (
        "Clip",
        lambda x: e.Min(e.Max(x, 0.0), 6.0),
        lambda x: _where(e.And(e.Gt(x, 0.0), e.Lt(x, 6.0)), 1.0, 0.0),
    ),
    "hardsigmoid": (
        "HardSigmoid",
        lambda x: e.Min(e.Max(x + 3.0, 0.0), 6.0) * (1 / 6),
        lambda x: _where(e.And(e.Gt(x, -3.0), e.Lt(x, 3.0)), 1 / 6, 0.0),
    ),
    "hardswish": (
        "HardSwish",
        lambda x: x * e.Min(e.Max(x + 3.0, 0.0), 6.0) * (1 / 6),
        lambda x: _where(e.Lte(x, -3.0), 0.0, _where(e.Lt(x, 3.0), x * (1 / 3) + 0.5, 1.0)),
    ),
    "softplus": (
        "Softplus",
        lambda x, beta, threshold: _where(e.Gt(x * beta, threshold), x, _soft_plus(x * beta) * (1.0 / beta)),
        lambda x, beta, threshold: _where(e.Gt(x * beta, threshold), 1.0, e.Sigmoid(x * beta)),
    ),
    "log_sigmoid": (
        "LogSigmoid",
        lambda x: -_soft_plus(-x),
        lambda x: e.Sigmoid(-x),
    ),
    "mish": ("Mish", lambda x: x * e.Tanh(_soft_plus(x)), _mish_slope),
    "threshold": (
        "Threshold",
        lambda x, threshold, value: _where(e.Gt(x, threshold), x, value),
        lambda x, threshold, value: _where(e.Gt(x, threshold), 1.0, 0.0),
    ),
}


def _rule(function: _Function, derivative: _Function) -> Callable[..., Any]:
    def build(at: Building, input: Tensor, **numbers: float) -> Any:
        plain = {name: float(value) for name, value in numbers.items()}
        out = popops.map(at.graph, function(e._1, **plain), [input], at.program, at.name("map"))

        def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
            body = e._2 * derivative(e._1, **plain)
            return {"input": popops.map(at.graph, body, [input, slopes[0]], at.program, at.name("map"))}

        return out, backward

    return build


for _name, (_kind, _forward, _derivative) in _TABLE.items():
    lowers(f"aten.{_name}.default", kind=_kind, call="popops.map", own_backward=True)(_rule(_forward, _derivative))


@lowers("aten.rrelu.default", kind="LeakyRelu", call="popops.map, poprand.uniform", own_backward=True)
def rrelu(at: Building, input: Tensor, lower: float, upper: float, training: bool, generator: None) -> Any:
    """Negative values times a random number in training, times the mean of its range otherwise."""
    if at.training and training and lower < upper:
        reference = input if input.isParallelWriteable() else at.variable(input.elementType(), input.shape(), "like")
        slope: Any = poprand.uniform(
            at.graph,
            at.seed,
            at.next_draw(),
            reference,
            input.elementType(),
            lower,
            upper,
            at.program,
            at.name("uniform"),
        )
        factor = popops.map(at.graph, _where(e.Gt(e._1, 0.0), 1.0, e._2), [input, slope], at.program, at.name("factor"))
    else:
        factors = e.Cast(_where(e.Gt(e._1, 0.0), 1.0, (lower + upper) / 2), input.elementType())
        factor = popops.map(at.graph, factors, [input], at.program, at.name("factor"))
    out = popops.mul(at.graph, input, factor, at.program, at.name("mul"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": popops.mul(at.graph, slopes[0], factor, at.program, at.name("mul"))}

    return out, backward
