"""Element-wise operators: tables from TensorFlow's type to the rule and the names of its operands."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import Entry, Known

#: operators of one tensor
_UNARY = {
    "Abs": "aten.abs.default",
    "Acos": "aten.acos.default",
    "Acosh": "aten.acosh.default",
    "Asin": "aten.asin.default",
    "Asinh": "aten.asinh.default",
    "Atan": "aten.atan.default",
    "Atanh": "aten.atanh.default",
    "Ceil": "aten.ceil.default",
    "Cos": "aten.cos.default",
    "Cosh": "aten.cosh.default",
    "Erf": "aten.erf.default",
    "Erfc": "tf.Erfc",
    "Exp": "aten.exp.default",
    "Expm1": "aten.expm1.default",
    "Floor": "aten.floor.default",
    "Inv": "aten.reciprocal.default",
    "Invert": "aten.bitwise_not.default",
    "IsFinite": "aten.isfinite.default",
    "IsInf": "aten.isinf.default",
    "IsNan": "aten.isnan.default",
    "Log": "aten.log.default",
    "Log1p": "aten.log1p.default",
    "LogicalNot": "aten.logical_not.default",
    "Neg": "aten.neg.default",
    "Reciprocal": "aten.reciprocal.default",
    "Relu": "aten.relu.default",
    "Relu6": "aten.relu6.default",
    "Rint": "aten.round.default",
    "Round": "aten.round.default",
    "Rsqrt": "aten.rsqrt.default",
    "Selu": "aten.selu.default",
    "Sigmoid": "aten.sigmoid.default",
    "Sign": "aten.sign.default",
    "Sin": "aten.sin.default",
    "Sinh": "aten.sinh.default",
    "Softsign": "tf.Softsign",
    "Sqrt": "aten.sqrt.default",
    "Square": "aten.square.default",
    "Tan": "aten.tan.default",
    "Tanh": "aten.tanh.default",
}
#: operators of two tensors, or of a tensor and a number
_BINARY = {
    "Add": "aten.add.Tensor",
    "AddV2": "aten.add.Tensor",
    "Atan2": "aten.atan2.default",
    "BitwiseAnd": "aten.bitwise_and.Tensor",
    "BitwiseOr": "aten.bitwise_or.Tensor",
    "BitwiseXor": "aten.bitwise_xor.Tensor",
    "Div": "aten.div.Tensor",
    "DivNoNan": "tf.DivNoNan",
    "FloorDiv": "aten.floor_divide.default",
    "FloorMod": "aten.remainder.Tensor",
    "LeftShift": "aten.bitwise_left_shift.Tensor",
    "Maximum": "aten.maximum.default",
    "Minimum": "aten.minimum.default",
    "Mod": "aten.fmod.Tensor",
    "Mul": "aten.mul.Tensor",
    "MulNoNan": "tf.MulNoNan",
    "RealDiv": "aten.div.Tensor",
    "RightShift": "aten.bitwise_right_shift.Tensor",
    "SquaredDifference": "tf.SquaredDifference",
    "Sub": "aten.sub.Tensor",
    "Xdivy": "tf.Xdivy",
    "Xlog1py": "tf.Xlog1py",
    "Xlogy": "tf.Xlogy",
}
#: operators of two tensors, the first of them on the device
_COMPARISONS = {
    "Equal": "aten.eq.Tensor",
    "Greater": "aten.gt.Tensor",
    "GreaterEqual": "aten.ge.Tensor",
    "Less": "aten.lt.Tensor",
    "LessEqual": "aten.le.Tensor",
    "LogicalAnd": "aten.logical_and.default",
    "LogicalOr": "aten.logical_or.default",
    "NotEqual": "aten.ne.Tensor",
}
#: gradients by the operator's result (or operand) and the slope; the flag says that the slope comes first
_GRADIENTS = {
    "EluGrad": True,
    "ReciprocalGrad": False,
    "InvGrad": False,
    "Relu6Grad": True,
    "ReluGrad": True,
    "RsqrtGrad": False,
    "SeluGrad": True,
    "SigmoidGrad": False,
    "SoftplusGrad": True,
    "SoftsignGrad": True,
    "SqrtGrad": False,
    "TanhGrad": False,
}
_NO_NUMBER_FIRST = frozenset({"Maximum", "Minimum"})


def _register_unary(type_: str, name: str) -> None:
    @converts(type_)
    def convert(call: Call) -> Sequence[Entry]:
        return call.emit(name, self=call.value(0))


def _register_binary(type_: str, name: str) -> None:
    @converts(type_)
    def convert(call: Call) -> Sequence[Entry]:
        first = call.value(0) if type_ in _NO_NUMBER_FIRST else call.operand(0)
        second = call.operand(1)
        if not isinstance(first, Value) and not isinstance(second, Value):
            first = call.value(0)
        return call.emit(name, self=first, other=second)


def _register_comparison(type_: str, name: str) -> None:
    @converts(type_)
    def convert(call: Call) -> Sequence[Entry]:
        tensors_only = type_.startswith("Logical")
        return call.emit(name, self=call.value(0), other=call.value(1) if tensors_only else call.operand(1))


def _register_gradient(type_: str, slope_first: bool) -> None:
    @converts(type_)
    def convert(call: Call) -> Sequence[Entry]:
        slope, act = (call.value(0), call.value(1)) if slope_first else (call.value(1), call.value(0))
        name = "ReciprocalGrad" if type_ == "InvGrad" else type_
        return call.emit(f"tf.{name}", self=act, slope=slope)


for _type, _name in _UNARY.items():
    _register_unary(_type, _name)
for _type, _name in _BINARY.items():
    _register_binary(_type, _name)
for _type, _name in _COMPARISONS.items():
    _register_comparison(_type, _name)
for _type, _first in _GRADIENTS.items():
    _register_gradient(_type, _first)


@converts("Identity", "StopGradient", "PreventGradient", "Snapshot", "OptimizationBarrier", eager=True)
def stop_gradient(call: Call) -> Sequence[Entry]:
    return call.inputs


@converts("IdentityN", eager=True)
def identity_n(call: Call) -> Sequence[Entry]:
    return call.inputs


@converts("Pow")
def pow_(call: Call) -> Sequence[Entry]:
    base, exponent = call.operand(0), call.operand(1)
    if not isinstance(exponent, Value) and call.result_dtype() in ("float32", "float16", "float64"):
        exponent = float(exponent)
    if isinstance(exponent, float) and exponent in (0.0, 1.0):
        exponent = call.value(1)
    kind = "aten.pow.Tensor_Tensor" if isinstance(exponent, Value) else "aten.pow.Tensor_Scalar"
    return call.emit(kind, self=base, exponent=exponent)


@converts("TruncateDiv")
def truncate_div(call: Call) -> Sequence[Entry]:
    return call.emit("aten.div.Tensor_mode", self=call.operand(0), other=call.operand(1), rounding_mode="trunc")


@converts("TruncateMod")
def truncate_mod(call: Call) -> Sequence[Entry]:
    return call.emit("aten.fmod.Tensor", self=call.operand(0), other=call.operand(1))


@converts("Elu")
def elu(call: Call) -> Sequence[Entry]:
    return call.emit("aten.elu.default", self=call.value(0), alpha=1.0, scale=1.0, input_scale=1.0)


@converts("LeakyRelu")
def leaky_relu(call: Call) -> Sequence[Entry]:
    return call.emit("aten.leaky_relu.default", self=call.value(0), negative_slope=call.attribute("alpha"))


@converts("LeakyReluGrad")
def leaky_relu_grad(call: Call) -> Sequence[Entry]:
    slope, act = call.value(0), call.value(1)
    return call.emit("tf.LeakyReluGrad", self=act, slope=slope, alpha=call.attribute("alpha"))


@converts("Softplus")
def softplus(call: Call) -> Sequence[Entry]:
    return call.emit("aten.softplus.default", self=call.value(0), beta=1.0, threshold=30.0)


@converts("ClipByValue")
def clip_by_value(call: Call) -> Sequence[Entry]:
    return call.emit("aten.clamp.Tensor", self=call.value(0), min=call.operand(1), max=call.operand(2))


@converts("SelectV2", "Select")
def select(call: Call) -> Sequence[Entry]:
    condition = call.inputs[0]
    if isinstance(condition, Known) and condition.array.ndim == 0:
        chosen = call.inputs[1 if condition.array else 2]
        if getattr(chosen, "shape", None) == call.result_shape():
            return [chosen]
    return call.emit("tf.Select", condition=_for_rows(call), self=call.operand(1), other=call.operand(2))


def _for_rows(call: Call) -> Value:
    """The condition; that of the older operator may be a vector which chooses whole rows."""
    flags, rank = call.value(0), len(call.result_shape())
    if call.op.type == "Select" and len(flags.shape) == 1 and rank > 1:
        shape = [*flags.shape, *[1] * (rank - 1)]
        return call.compute("aten.view.default", shape, "bool", self=flags, size=shape)
    return flags


@converts("Cast")
def cast(call: Call) -> Sequence[Entry]:
    value, dtype = call.value(0), call.device_dtype(call.result_dtype())
    if value.dtype == dtype:
        return [call.result(value)]
    return call.emit("tf.Cast", self=value, dtype=dtype)


@converts("Bitcast")
def bitcast(call: Call) -> Sequence[Entry]:
    return call.emit("tf.Bitcast", self=call.value(0), dtype=call.device_dtype(call.result_dtype()))
