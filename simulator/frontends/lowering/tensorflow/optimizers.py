"""Updates of optimisers, one operator per variable: new values of the variable and of its states from the slope.

The formulas are those of TensorFlow's ResourceApply operators (tensorflow/core/kernels/training_ops.cc). Factors are
numbers, or scalars that the program computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.elementwise.expressions import Operand, mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor
from simulator.poplibs.popops import expr as e


def _new(at: Building, make: Callable[..., Any], *operands: Operand, name: str) -> Tensor:
    return mapped(at, make, *operands, name=name)


@lowers("tf.ApplyGradientDescent", kind="SGD0VarUpdate", call="popops.map")
def gradient_descent(at: Building, variables: Sequence[Tensor], rate: Operand, slope: Tensor) -> Tensor:
    return _new(at, lambda w, r, g: w - r * g, variables[0], rate, slope, name="update")


@lowers("tf.ApplyMomentum", kind="SGD1VarUpdate", call="popops.map")
def momentum_descent(
    at: Building,
    variables: Sequence[Tensor],
    rate: Operand,
    slope: Tensor,
    momentum: Operand,
    nesterov: bool,
    keras: bool,
) -> tuple[Tensor, Tensor]:
    """Keras' form has the rate in the velocity, the older one applies it to the sum."""
    weight, velocity = variables
    if keras:
        new = _new(at, lambda v, m, r, g: v * m - r * g, velocity, momentum, rate, slope, name="velocity")
        if not nesterov:
            return _new(at, e.Add, weight, new, name="update"), new
        step = lambda w, v, m, r, g: w + v * m - r * g  # noqa: E731
    else:
        new = _new(at, lambda v, m, g: v * m + g, velocity, momentum, slope, name="velocity")
        if not nesterov:
            return _new(at, lambda w, v, r: w - r * v, weight, new, rate, name="update"), new
        step = lambda w, v, m, r, g: w - (g * r + v * m * r)  # noqa: E731
    return _new(at, step, weight, new, momentum, rate, slope, name="update"), new


@lowers("tf.ApplyAdam", kind="AdamVarUpdate", call="popops.map")
def adam(
    at: Building,
    variables: Sequence[Tensor],
    beta1_power: Operand,
    beta2_power: Operand,
    rate: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    slope: Tensor,
    nesterov: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    weight, first, second = variables
    new_first = _new(at, lambda m, b, g: m + (g - m) * (1.0 - b), first, beta1, slope, name="first")
    new_second = _new(at, lambda v, b, g: v + (e.Square(g) - v) * (1.0 - b), second, beta2, slope, name="second")
    step = (
        _new(at, lambda r, one, two: r * e.Sqrt(1.0 - two) / (1.0 - one), rate, beta1_power, beta2_power, name="rate")
        if any(isinstance(one, Tensor) for one in (rate, beta1_power, beta2_power))
        else _number(rate, beta1_power, beta2_power)
    )

    def moved(w: Any, m: Any, v: Any, r: Any, eps: Any, b: Any, g: Any) -> Any:
        top = m * b + g * (1.0 - b) if nesterov else m
        return w - top * r / (e.Sqrt(v) + eps)

    new = _new(at, moved, weight, new_first, new_second, step, epsilon, beta1, slope, name="update")
    return new, new_first, new_second


def _number(rate: Any, one: Any, two: Any) -> float:
    return float(rate * (1.0 - two) ** 0.5 / (1.0 - one))


@lowers("tf.ApplyRMSProp", kind="RMSPropUpdater", call="popops.map")
def rms_prop(
    at: Building,
    variables: Sequence[Tensor],
    rate: Operand,
    rho: Operand,
    momentum: Operand,
    epsilon: Operand,
    slope: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    weight, squares, velocity = variables
    mean = _new(at, lambda s, p, g: s + (e.Square(g) - s) * (1.0 - p), squares, rho, slope, name="squares")

    def moved(v: Any, m: Any, s: Any, r: Any, eps: Any, g: Any) -> Any:
        return v * m + g * r * e.Rsqrt(s + eps)

    step = _new(at, moved, velocity, momentum, mean, rate, epsilon, slope, name="velocity")
    return _new(at, e.Sub, weight, step, name="update"), mean, step
