"""Reductions, cumulative sums and arguments of extremes."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import Entry

_NAMES = {
    "Sum": "aten.sum.dim_IntList",
    "Mean": "aten.mean.dim",
    "Max": "aten.amax.default",
    "Min": "aten.amin.default",
    "Any": "aten.any.dims",
    "All": "aten.all.dims",
}


def _register(type_: str, name: str) -> None:
    @converts(type_)
    def convert(call: Call) -> Sequence[Entry]:
        value, dims = call.value(0), _dims(call)
        if not dims:  # PyTorch reduces all dimensions for an empty list
            return [call.result(value)]
        return call.emit(name, self=value, dim=dims, keepdim=bool(call.attribute("keep_dims")))


def _dims(call: Call) -> list[int]:
    rank = len(call.shape(0))
    return sorted({dim % rank for dim in call.integers(1)}) if rank else []


for _type, _name in _NAMES.items():
    _register(_type, _name)


@converts("Prod")
def product(call: Call) -> Entry:
    """One dimension after the other."""
    value, keep = call.value(0), bool(call.attribute("keep_dims"))
    for dim in reversed(_dims(call)):
        shape = [*value.shape[:dim], *[1] * keep, *value.shape[dim + 1 :]]
        value = call.compute("aten.prod.dim_int", shape, value.dtype, self=value, dim=dim, keepdim=keep)
    return call.result(value)


@converts("EuclideanNorm")
def norm(call: Call) -> Entry:
    value = call.value(0)
    square = call.compute("aten.square.default", value.shape, value.dtype, self=value)
    return call.result(_root(call, square))


def _root(call: Call, square: Value) -> Value:
    shape, keep, dims = call.result_shape(), bool(call.attribute("keep_dims")), _dims(call)
    total = square
    if dims:
        total = call.compute("aten.sum.dim_IntList", shape, square.dtype, self=square, dim=dims, keepdim=keep)
    return call.compute("aten.sqrt.default", shape, square.dtype, self=total)


@converts("L2Loss")
def l2_loss(call: Call) -> Entry:
    value = call.value(0)
    square = call.compute("aten.square.default", value.shape, value.dtype, self=value)
    total = call.compute("aten.sum.default", [], value.dtype, self=square)
    return call.result(call.compute("aten.mul.Tensor", [], value.dtype, self=total, other=0.5))


@converts("ArgMax", "ArgMin")
def arg_extreme(call: Call) -> Sequence[Entry]:
    name = "aten.argmax.default" if call.op.type == "ArgMax" else "aten.argmin.default"
    return call.emit(name, self=call.value(0), dim=call.integers(1)[0], keepdim=False)


@converts("Cumsum", "Cumprod")
def cumulative(call: Call) -> Entry:
    """Exclusive results begin with 0 or 1 and end one element early; reverse ones run over the reversed tensor."""
    value, (axis,) = call.value(0), call.integers(1)
    shape, dtype, backwards = value.shape, value.dtype, bool(call.attribute("reverse"))
    name, neutral = ("aten.cumsum.default", 0) if call.op.type == "Cumsum" else ("aten.cumprod.default", 1)
    axis %= len(shape)
    out = call.compute("aten.flip.default", shape, dtype, self=value, dims=[axis]) if backwards else value
    if call.attribute("exclusive") and shape[axis]:
        less = [*shape[:axis], shape[axis] - 1, *shape[axis + 1 :]]
        end = shape[axis] - 1
        out = call.compute("aten.slice.Tensor", less, dtype, self=out, dim=axis, start=0, end=end, step=1)
        pad = [0, 0] * (len(shape) - 1 - axis) + [1, 0]
        out = call.compute("aten.constant_pad_nd.default", shape, dtype, self=out, pad=pad, value=neutral)
    out = call.compute(name, shape, dtype, self=out, dim=axis)
    return call.result(call.compute("aten.flip.default", shape, dtype, self=out, dims=[axis]) if backwards else out)
