"""Convolutions of one to three dimensions, and transposed ones, through poplin.convolution.

A transposed convolution is the gradient of the input of a convolution from its output to its input, so both share one
set of parameters: `ConvParams` always describe the direct one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.captured import Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, Type
from simulator.poplibs import poplin, popops
from simulator.poplibs.poplin import ConvParams, InputTransform, OutputTransform

_CALLS = "poplin.convolution, calculateWeightDeltas, addBias, popops.reduce"
_NAMES = ("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default")
_SAME = ("aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding")
_TRANSPOSED = ("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")


def _spread(values: Any, dims: int) -> list[int]:
    """One number for each dimension of the field."""
    given = list(values) if isinstance(values, list | tuple) else [values]
    return given * dims if len(given) == 1 else given


def _paddings(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> tuple[list[int], list[int]]:
    """Elements before and after each dimension; "same" pads one more after where the sum is odd, as torch does."""
    if padding == "valid":
        return [0] * len(kernel), [0] * len(kernel)
    if padding == "same":
        both = [step * (size - 1) for size, step in zip(kernel, dilation, strict=True)]
        return [one // 2 for one in both], [one - one // 2 for one in both]
    each = _spread(padding, len(kernel))
    return each, each


def _params(
    type_: Type,
    shape: Sequence[int],
    kernel_shape: Sequence[int],
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    surplus: Sequence[int] = (),
) -> ConvParams:
    """Of the direct convolution of [batch, channels, field] by [out, in of a group, kernel]. `surplus` places at the
    end of each dimension are left out before the stride."""
    dims = len(kernel_shape) - 2
    kernel, steps = list(kernel_shape[2:]), _spread(dilation, dims)
    lower, upper = _paddings(padding, kernel, steps)
    return ConvParams(
        type_,
        shape[0],
        list(shape[2:]),
        kernel,
        kernel_shape[1],
        kernel_shape[0] // groups,
        groups,
        InputTransform(paddingLower=lower, paddingUpper=upper),
        InputTransform(dilation=steps),
        OutputTransform(truncationUpper=list(surplus), stride=_spread(stride, dims)),
    )


def _grouped(weight: Tensor, groups: int) -> Tensor:
    """[groups, out of a group, in of a group, kernel], as poplin has weights."""
    return weight.reshape([groups, weight.dim(0) // groups, *weight.shape()[1:]])


def _create_weight(at: Building, *, input: Value, weight: Value, **rest: Any) -> Tensor:
    stride, padding = rest.get("stride", 1), rest.get("padding", 0)
    dilation, groups = rest.get("dilation", 1), rest.get("groups", 1)
    shape = _batched_shape(input.shape, len(weight.shape))
    params = _params(element_type(weight.dtype), shape, weight.shape, stride, padding, dilation, groups)
    made = poplin.createWeights(at.graph, params, at.name("weights"), at.product_options("convolution"))
    return made.reshape(list(weight.shape))


def _create_input(at: Building, *, input: Value, weight: Value, **rest: Any) -> Tensor:
    stride, padding = rest.get("stride", 1), rest.get("padding", 0)
    dilation, groups = rest.get("dilation", 1), rest.get("groups", 1)
    shape = _batched_shape(input.shape, len(weight.shape))
    params = _params(element_type(input.dtype), shape, weight.shape, stride, padding, dilation, groups)
    made = poplin.createInput(at.graph, params, at.name("input"), at.product_options("convolution"))
    return made.reshape(list(input.shape))


def _batched_shape(shape: Sequence[int], rank: int) -> list[int]:
    return [1, *shape] if len(shape) < rank else list(shape)


def _bias_gradient(at: Building, slope: Tensor) -> Tensor:
    dims = [0, *range(2, slope.rank())]
    how = popops.ReduceParams(popops.Operation.ADD)
    return popops.reduce(at.graph, slope, dims, how, at.program, at.name("ReduceSum"))


@lowers(*_NAMES, *_SAME, kind="Conv", call=_CALLS, own_backward=True, weight=_create_weight, input=_create_input)
def convolution(
    at: Building,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    acts = input.reshape(_batched_shape(input.shape(), weight.rank()))
    params = _params(acts.elementType(), acts.shape(), weight.shape(), stride, padding, dilation, groups)
    kernel, name, options = _grouped(weight, groups), "convolution", at.product_options("convolution")
    out = poplin.convolution(at.graph, acts, kernel, params, False, at.program, at.name(name), options)
    if bias is not None:
        poplin.addBias(at.graph, out, bias, at.program, at.name("bias"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = slopes[0].reshape(out.shape()), {}
        if "input" in wanted:
            back = poplin.getGradientParams(params)
            data = poplin.convolution(at.graph, slope, kernel, back, True, at.program, at.name(name), options)
            gradients["input"] = data.reshape(input.shape())
        if "weight" in wanted:
            deltas = poplin.calculateWeightDeltas(
                at.graph, slope, acts, params, at.program, at.name("weightDeltas"), options
            )
            gradients["weight"] = deltas.reshape(weight.shape())
        if "bias" in wanted:
            gradients["bias"] = _bias_gradient(at, slope)
        return gradients

    unbatched = input.rank() < weight.rank()
    return (out.reshape(out.shape()[1:]) if unbatched else out), backward


@lowers(*_TRANSPOSED, kind="ConvTranspose", call=_CALLS, own_backward=True)
def transposed_convolution(
    at: Building,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    acts = input.reshape(_batched_shape(input.shape(), weight.rank()))
    dims = weight.rank() - 2
    steps, lower, extra = _spread(stride, dims), _spread(padding, dims), _spread(output_padding, dims)
    spread = _spread(dilation, dims)
    field = [
        (acts.dim(2 + dim) - 1) * steps[dim] - 2 * lower[dim] + spread[dim] * (weight.dim(2 + dim) - 1) + extra[dim] + 1
        for dim in range(dims)
    ]
    shape = [acts.dim(0), weight.dim(1) * groups, *field]
    # Where the output is padded by a stride or more, the direct convolution has places that no input stands for.
    surplus = [more - more % step for more, step in zip(extra, steps, strict=True)]
    params = _params(acts.elementType(), shape, weight.shape(), steps, lower, spread, groups, surplus)
    kernel, name, options = _grouped(weight, groups), "convolution", at.product_options("convolution")
    back = poplin.getGradientParams(params)
    out = poplin.convolution(at.graph, acts, kernel, back, True, at.program, at.name(name), options)
    if bias is not None:
        poplin.addBias(at.graph, out, bias, at.program, at.name("bias"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope, gradients = slopes[0].reshape(out.shape()), {}
        if "input" in wanted:
            data = poplin.convolution(at.graph, slope, kernel, params, False, at.program, at.name(name), options)
            gradients["input"] = data.reshape(input.shape())
        if "weight" in wanted:
            deltas = poplin.calculateWeightDeltas(
                at.graph, acts, slope, params, at.program, at.name("weightDeltas"), options
            )
            gradients["weight"] = deltas.reshape(weight.shape())
        if "bias" in wanted:
            gradients["bias"] = _bias_gradient(at, slope)
        return gradients

    unbatched = input.rank() < weight.rank()
    return (out.reshape(out.shape()[1:]) if unbatched else out), backward


@lowers("aten.convolution.default", kind="Conv", call=_CALLS, own_backward=True)
def general_convolution(
    at: Building,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    if transposed:
        return transposed_convolution(at, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolution(at, input, weight, bias, stride, padding, dilation, groups)
