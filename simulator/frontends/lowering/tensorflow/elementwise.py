"""Element-wise operators that PyTorch has not, and gradients that TensorFlow computes from results and slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import common_type, element_type
from simulator.frontends.lowering.elementwise.expressions import Operand, mapped
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import BOOL, Tensor
from simulator.poplibs import popnn, popops
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popops import expr as e

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805
#: TensorFlow's type -> expression of two operands
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "DivNoNan": lambda a, b: e.Select(0.0, a / b, e.Equal(b, 0.0)),
    "MulNoNan": lambda a, b: e.Select(0.0, a * b, e.Equal(b, 0.0)),
    "SquaredDifference": lambda a, b: e.Square(a - b),
    "Xdivy": lambda a, b: e.Select(0.0, a / b, e.Equal(a, 0.0)),
    "Xlog1py": lambda a, b: e.Select(0.0, a * e.Log1p(b), e.Equal(a, 0.0)),
    "Xlogy": lambda a, b: e.Select(0.0, a * e.Log(b), e.Equal(a, 0.0)),
}
#: TensorFlow's type -> (kind, gradient by the operator's result, or its operand, and the slope)
_GRADIENTS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "EluGrad": ("EluGrad", lambda y, g: e.Select(g * (y + 1.0), g, e.Lt(y, 0.0))),
    "ReciprocalGrad": ("ReciprocalGrad", lambda y, g: -g * y * y),
    "Relu6Grad": ("ClipGrad", lambda x, g: e.Select(g, 0.0, e.And(e.Gt(x, 0.0), e.Lt(x, 6.0)))),
    "RsqrtGrad": ("RsqrtGrad", lambda y, g: g * -0.5 * y * y * y),
    "SeluGrad": (
        "SeluGrad",
        lambda y, g: e.Select(g * (y + _SELU_ALPHA * _SELU_SCALE), g * _SELU_SCALE, e.Lt(y, 0.0)),
    ),
    "SoftplusGrad": ("SoftplusGrad", lambda x, g: g * e.Sigmoid(x)),
    "SoftsignGrad": ("SoftsignGrad", lambda x, g: g / e.Square(e.Abs(x) + 1.0)),
    "SqrtGrad": ("SqrtGrad", lambda y, g: g * 0.5 / y),
}
#: gradients that popnn has, by the operator's result
_NON_LINEAR = {
    "ReluGrad": popnn.NonLinearityType.RELU,
    "SigmoidGrad": popnn.NonLinearityType.SIGMOID,
    "TanhGrad": popnn.NonLinearityType.TANH,
}


def _register_of_two(name: str, make: Callable[[Any, Any], Any]) -> None:
    @lowers(f"tf.{name}", kind=name, call="popops.map")
    def build(at: Building, input: Operand, other: Operand) -> Tensor:
        return mapped(at, make, input, other, name=name)


def _register_gradient(name: str, kind: str, make: Callable[[Any, Any], Any]) -> None:
    @lowers(f"tf.{name}", kind=kind, call="popops.map")
    def build(at: Building, input: Tensor, slope: Tensor) -> Tensor:
        return mapped(at, make, input, slope, name=name)


def _register_non_linear(name: str, kind: popnn.NonLinearityType) -> None:
    @lowers(f"tf.{name}", kind=name, call="popnn.nonLinearityInputGradient")
    def build(at: Building, input: Tensor, slope: Tensor) -> Tensor:
        return popnn.nonLinearityInputGradient(at.graph, kind, input, slope, at.program, at.name())


for _name, _make in _OF_TWO.items():
    _register_of_two(_name, _make)
for _name, _row in _GRADIENTS.items():
    _register_gradient(_name, *_row)
for _name, _kind in _NON_LINEAR.items():
    _register_non_linear(_name, _kind)


@lowers("tf.Erfc", kind="Erfc", call="popops.map")
def erfc(at: Building, input: Tensor) -> Tensor:
    """1 - erf x, exact to the last place of a number near 1, so that values beyond x = 4 are 0."""
    return mapped(at, lambda x: 1.0 - e.Erf(x), input, name="erfc")


@lowers("tf.Softsign", kind="Softsign", call="popops.map")
def softsign(at: Building, input: Tensor) -> Tensor:
    return mapped(at, lambda x: x / (e.Abs(x) + 1.0), input, name="softsign")


@lowers("tf.LeakyReluGrad", kind="LeakyReluGrad", call="popops.map")
def leaky_relu_grad(at: Building, input: Tensor, slope: Tensor, alpha: float) -> Tensor:
    return mapped(at, lambda x, g: e.Select(g, g * alpha, e.Gt(x, 0.0)), input, slope, name="leakyReluGrad")


@lowers("tf.AddN", kind="Sum", call="popops.map")
def add_n(at: Building, tensors: Sequence[Tensor]) -> Tensor:
    return mapped(at, lambda first, *rest: sum(rest, first), *tensors, name="addN")


@lowers("tf.Select", kind="Where", call="popops.map")
def select(at: Building, condition: Tensor, input: Operand, other: Operand) -> Tensor:
    if all(not isinstance(one, Tensor) for one in (input, other)):
        input = at.constant(common_type([input, other]), [], input, "yes")
    return mapped(at, e.Select, input, other, name="where", flags=(condition,))


@lowers("tf.Cast", kind="Cast", call="popops.cast")
def cast(at: Building, input: Tensor, dtype: str) -> Tensor:
    type_ = element_type(dtype)
    if type_ is BOOL:
        return mapped(at, lambda x: e.NotEqual(x, 0), input, name="cast", result=BOOL)
    return at.cast(input, type_)


@lowers("tf.Bitcast", kind="Bitcast", call="tensor views only")
def bitcast(at: Building, input: Tensor, dtype: str) -> Tensor:
    return input.reinterpret(element_type(dtype))


@lowers("tf.BiasAdd", kind="BiasAdd", call="popops.map")
def bias_add(at: Building, input: Tensor, bias: Tensor, axis: int) -> Tensor:
    return popops.add(at.graph, input, _along(input, bias, axis), at.program, at.name("addBias"))


def _along(input: Tensor, bias: Tensor, axis: int) -> Tensor:
    """One number for each place of a dimension, as a view of the tensor's shape."""
    channels = axis % input.rank()
    shape = [size if dim == channels else 1 for dim, size in enumerate(input.shape())]
    return broadcast_to(bias.reshape(shape), tuple(input.shape()))


@lowers("tf.BiasAddGrad", kind="BiasAddGrad", call="popops.reduce")
def bias_add_grad(at: Building, input: Tensor, dims: Sequence[int]) -> Tensor:
    how = popops.ReduceParams(popops.Operation.ADD)
    return popops.reduce(at.graph, input, list(dims), how, at.program, at.name("ReduceSum"))
