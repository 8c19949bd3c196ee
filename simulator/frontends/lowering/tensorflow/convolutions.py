"""Convolutions and their two gradients, as three operators, in TensorFlow's order of dimensions.

Activations are [batch, *field, channels], or channels first; weights are [*kernel, in, out], or [*kernel, in, multiple]
where each channel has weights of its own. All become views in PopLibs' order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulator.frontends.captured import Value
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, Type
from simulator.poplibs import poplin
from simulator.poplibs.poplin import ConvParams, InputTransform, OutputTransform


@dataclass(frozen=True)
class _Form:
    """How a convolution steps and how its tensors are laid out. Lists have an entry for each dimension of the field."""

    stride: Sequence[int]
    dilation: Sequence[int]
    before: Sequence[int]
    after: Sequence[int]
    channels_last: bool
    is_depthwise: bool

    def first(self, acts: Tensor) -> Tensor:
        """[batch, channels, *field]."""
        return acts.dimRoll(acts.rank() - 1, 1) if self.channels_last else acts

    def last(self, acts: Tensor) -> Tensor:
        """The reverse of `first`."""
        return acts.dimRoll(1, acts.rank() - 1) if self.channels_last else acts

    def params(self, type_: Type, acts: Sequence[int], weight: Sequence[int]) -> ConvParams:
        """Of activations and weights of these shapes, in TensorFlow's order."""
        channels = acts[-1] if self.channels_last else acts[1]
        field = acts[1:-1] if self.channels_last else acts[2:]
        *kernel, inner, out = weight
        groups = channels if self.is_depthwise else channels // inner
        per_group = out if self.is_depthwise else out // groups
        return ConvParams(
            type_,
            acts[0],
            list(field),
            kernel,
            channels // groups,
            per_group,
            groups,
            InputTransform(paddingLower=list(self.before), paddingUpper=list(self.after)),
            InputTransform(dilation=list(self.dilation)),
            OutputTransform(stride=list(self.stride)),
        )

    def kernel(self, weight: Tensor, groups: int) -> Tensor:
        """[groups, out of a group, in of a group, *kernel]."""
        *kernel, inner, out = weight.shape()
        n = len(kernel)
        if self.is_depthwise:
            return weight.dimShuffle([n, n + 1, *range(n)]).expand([2])
        split = weight.reshape([*kernel, inner, groups, out // groups])
        return split.dimShuffle([n + 1, n + 2, n, *range(n)])

    def weight(self, kernel: Tensor, shape: Sequence[int]) -> Tensor:
        """The reverse of `kernel`."""
        n = kernel.rank() - 3
        if self.is_depthwise:
            return kernel.squeeze([2]).dimShuffle([*range(2, n + 2), 0, 1])
        return kernel.dimShuffle([*range(3, n + 3), 2, 0, 1]).reshape(list(shape))


def _create_weight(at: Building, *, input: Value, weight: Value, **form: Any) -> Tensor:
    made_form = _Form(**form)
    params = made_form.params(element_type(weight.dtype), input.shape, weight.shape)
    made = poplin.createWeights(at.graph, params, at.name("weights"), at.product_options("convolution"))
    return made_form.weight(made, weight.shape)


def _create_input(at: Building, *, input: Value, weight: Value, **form: Any) -> Tensor:
    made_form = _Form(**form)
    params = made_form.params(element_type(input.dtype), input.shape, weight.shape)
    return made_form.last(poplin.createInput(at.graph, params, at.name("input"), at.product_options("convolution")))


@lowers("tf.Conv", kind="Conv", call="poplin.convolution", weight=_create_weight, input=_create_input)
def convolution(at: Building, input: Tensor, weight: Tensor, **form: Any) -> Tensor:
    own = _Form(**form)
    params = own.params(input.elementType(), input.shape(), weight.shape())
    kernel = own.kernel(weight, params.getNumConvGroups())
    options, name = at.product_options("convolution"), at.name("convolution")
    out = poplin.convolution(at.graph, own.first(input), kernel, params, False, at.program, name, options)
    return own.last(out)


@lowers("tf.ConvBackpropInput", kind="ConvDataGrad", call="poplin.convolution")
def gradient_of_input(at: Building, weight: Tensor, slope: Tensor, input_shape: Sequence[int], **form: Any) -> Tensor:
    own = _Form(**form)
    params = own.params(slope.elementType(), input_shape, weight.shape())
    kernel, back = own.kernel(weight, params.getNumConvGroups()), poplin.getGradientParams(params)
    options, name = at.product_options("convolution"), at.name("convolution")
    return own.last(poplin.convolution(at.graph, own.first(slope), kernel, back, True, at.program, name, options))


@lowers("tf.ConvBackpropFilter", kind="ConvWeightsGrad", call="poplin.calculateWeightDeltas")
def gradient_of_weight(at: Building, input: Tensor, slope: Tensor, weight_shape: Sequence[int], **form: Any) -> Tensor:
    own = _Form(**form)
    params = own.params(input.elementType(), input.shape(), weight_shape)
    options, name = at.product_options("convolution"), at.name("weightDeltas")
    acts = own.first(slope), own.first(input)
    deltas = poplin.calculateWeightDeltas(at.graph, *acts, params, at.program, name, options)
    return own.weight(deltas, weight_shape)
