"""Convolutions, poolings, normalisations, softmax and losses of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import CaptureError, Entry


def _has_channels_last(call: Call) -> bool:
    return not call.attribute("data_format").decode().startswith("NC")


def _of_field(call: Call, name: str) -> list[int]:
    """The entries of an attribute for the dimensions of the field."""
    values = [int(one) for one in call.attribute(name)]
    return values[1:-1] if _has_channels_last(call) else values[2:]


def _field(call: Call, shape: Sequence[int]) -> list[int]:
    return list(shape[1:-1] if _has_channels_last(call) else shape[2:])


def _paddings(
    call: Call, field: Sequence[int], reach: Sequence[int], stride: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Elements before and after each dimension. SAME makes ceil(size / stride) windows and pads one more after."""
    padding = call.attribute("padding").decode()
    if padding == "VALID":
        return [0] * len(field), [0] * len(field)
    if padding == "EXPLICIT":
        pairs = [int(one) for one in call.attribute("explicit_paddings")]
        own = pairs[2:-2] if _has_channels_last(call) else pairs[4:]
        return own[::2], own[1::2]
    both = [
        max(0, (-(-size // step) - 1) * step + length - size)
        for size, length, step in zip(field, reach, stride, strict=True)
    ]
    return [one // 2 for one in both], [one - one // 2 for one in both]


def _form(call: Call, input_shape: Sequence[int], weight_shape: Sequence[int], is_depthwise: bool) -> dict[str, Any]:
    stride, dilation = _of_field(call, "strides"), _of_field(call, "dilations")
    reach = [(size - 1) * step + 1 for size, step in zip(weight_shape[:-2], dilation, strict=True)]
    before, after = _paddings(call, _field(call, input_shape), reach, stride)
    return {
        "stride": stride,
        "dilation": dilation,
        "before": before,
        "after": after,
        "channels_last": _has_channels_last(call),
        "is_depthwise": is_depthwise,
    }


def _register_convolution(forward: str, by_input: str, by_weight: str, is_depthwise: bool) -> None:
    @converts(forward)
    def convolution(call: Call) -> Sequence[Entry]:
        acts, weight = call.value(0), call.value(1)
        return call.emit("tf.Conv", self=acts, weight=weight, **_form(call, acts.shape, weight.shape, is_depthwise))

    @converts(by_input)
    def gradient_of_input(call: Call) -> Sequence[Entry]:
        shape, weight, slope = call.integers(0), call.value(1), call.value(2)
        form = _form(call, shape, weight.shape, is_depthwise)
        return call.emit("tf.ConvBackpropInput", weight=weight, slope=slope, input_shape=shape, **form)

    @converts(by_weight)
    def gradient_of_weight(call: Call) -> Sequence[Entry]:
        acts, shape, slope = call.value(0), call.integers(1), call.value(2)
        form = _form(call, acts.shape, shape, is_depthwise)
        return call.emit("tf.ConvBackpropFilter", self=acts, slope=slope, weight_shape=shape, **form)


_register_convolution("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", False)
_register_convolution("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", False)
_register_convolution(
    "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter", True
)


def _windows(call: Call, shape: Sequence[int]) -> list[list[int]]:
    kernel, stride = _of_field(call, "ksize"), _of_field(call, "strides")
    before, after = _paddings(call, _field(call, shape), kernel, stride)
    outside = [int(one) for name in ("ksize", "strides") for one in call.attribute(name)]
    if len(outside) - 2 * len(kernel) != 4 or sum(outside) - sum(kernel) - sum(stride) != 4:
        raise CaptureError(f"{call.described} pools over batch or channels, which popnn does not.")
    # What lies behind the last window is not read.
    field = _field(call, shape)
    after = [
        ((size + low + high - length) // step) * step + length - size - low
        for size, low, high, length, step in zip(field, before, after, kernel, stride, strict=True)
    ]
    return [kernel, stride, before, after]


def _register_pool(types: Sequence[str], kind: str) -> None:
    @converts(*types)
    def convert(call: Call) -> Sequence[Entry]:
        acts = call.value(0)
        windows = _windows(call, acts.shape)
        return call.emit("tf.Pool", self=acts, kind=kind, windows=windows, channels_last=_has_channels_last(call))


_register_pool(("MaxPool", "MaxPool3D"), "MAX")
_register_pool(("AvgPool", "AvgPool3D"), "AVG")


@converts("MaxPoolGrad", "MaxPool3DGrad")
def max_pool_gradient(call: Call) -> Sequence[Entry]:
    acts, out, slope = (call.value(index) for index in range(3))
    windows, last = _windows(call, acts.shape), _has_channels_last(call)
    return call.emit("tf.MaxPoolGrad", self=acts, out=out, slope=slope, windows=windows, channels_last=last)


@converts("AvgPoolGrad", "AvgPool3DGrad")
def average_pool_gradient(call: Call) -> Sequence[Entry]:
    shape, slope, last = call.integers(0), call.value(1), _has_channels_last(call)
    first = [shape[0], shape[-1], *shape[1:-1]] if last else shape
    return call.emit(
        "tf.AvgPoolGrad", slope=slope, input_shape=first, windows=_windows(call, shape), channels_last=last
    )


@converts("Softmax")
def softmax(call: Call) -> Sequence[Entry]:
    return call.emit("aten.softmax.int", self=call.value(0), dim=-1)


@converts("LogSoftmax")
def log_softmax(call: Call) -> Sequence[Entry]:
    return call.emit("aten.log_softmax.int", self=call.value(0), dim=-1)


@converts("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
def cross_entropy(call: Call) -> Sequence[Entry]:
    return call.emit(f"tf.{call.op.type}", self=call.value(0), labels=call.value(1))


@converts("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(call: Call) -> Sequence[Entry]:
    """The reserved results pass to the gradient: the mean and 1 / the standard deviation."""
    acts, scale, offset, mean, variance = (call.value(index) for index in range(5))
    training, channels = bool(call.attribute("is_training")), scale.shape
    if training and mean.shape == (0,):
        mean, variance = offset, scale  # with a factor of 1 their values do not count
    results = [call.tracer.new_value(acts.shape, acts.dtype)]
    results += [call.tracer.new_value(channels, scale.dtype) for _ in range(4)]
    call.tracer.add(
        "tf.FusedBatchNorm",
        {
            "self": acts,
            "scale": scale,
            "offset": offset,
            "mean": mean,
            "variance": variance,
            "epsilon": float(call.attribute("epsilon")),
            "factor": float(call.attribute("exponential_avg_factor")) if "V3" in call.op.type else 1.0,
            "training": training,
            "channels_last": _has_channels_last(call),
        },
        results,
        call.place,
    )
    entries: list[Entry] = [call.result(one, index) for index, one in enumerate(results)]
    return [*entries, entries[4]][: len(call.op.outputs)]


@converts("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def fused_batch_norm_gradient(call: Call) -> Sequence[Entry]:
    slope, acts, scale, mean, spread = (call.value(index) for index in range(5))
    results = [call.tracer.new_value(one.shape, one.dtype) for one in (acts, scale, scale)]
    call.tracer.add(
        "tf.FusedBatchNormGrad",
        {
            "slope": slope,
            "self": acts,
            "scale": scale,
            "mean": mean,
            "spread": spread,
            "epsilon": float(call.attribute("epsilon")),
            "training": bool(call.attribute("is_training")),
            "channels_last": _has_channels_last(call),
        },
        results,
        call.place,
    )
    entries: list[Entry] = [call.result(one, index) for index, one in enumerate(results)]
    return [*entries, entries[1], entries[1]]  # the last two are empty and never read
