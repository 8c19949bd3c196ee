"""poplin.convolution and its companions, under PopLibs' names, and the kernel that computes a whole convolution.

Activations are [batch, channels, field], channels group by group; weights are [groups, output channels, input channels,
kernel], channels of one group. `createInput` and `createWeights` give tensors in the layout that the plan reads; other
layouts are rearranged first. Options: `simulator.poplibs.poplin.planning.options.parse_convolution_options`."""

from __future__ import annotations

import sys
from typing import Any

from simulator.arrays import AnyArray
from simulator.base.errors import graph_connection_error, type_error
from simulator.base.types import FLOAT, HALF, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, NUMBER, Parameter, match, operation
from simulator.poplibs.poplin.convolutions import build
from simulator.poplibs.poplin.convolutions.params import ConvParams, OutputTransform, weight_deltas
from simulator.poplibs.poplin.convolutions.plan_lookup import look_up_convolution_plan
from simulator.poplibs.poplin.convolutions.turned_weights import turned_on_tiles
from simulator.poplibs.poplin.convolutions.windows import convolve
from simulator.poplibs.poplin.partials import rearrange
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.options import parse_convolution_options, shows_plans
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.poplin.products.kernel import store_product
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.poputil import mapTensorLinearly
from simulator.runtime.values.kernels import register


def attributes_of(plan: Plan, params: CanonicalConvParams) -> dict[str, Any]:
    """What the kernel needs of a convolution and its plan."""
    return {
        "params": params,
        "swapped": plan.swapped,
        "out_group": plan.method.out_group,
        "conv_group": plan.method.conv_group,
    }


@register("poplin.convolution", stores="images")
def _convolution_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    params = attributes["params"]
    result = convolve(wide(inputs[0]), wide(inputs[1]), params)
    product = result.reshape(params.groups, -1, params.out_channels)
    product = product.swapaxes(1, 2) if attributes["swapped"] else product
    store_product(outputs[0], product, attributes["out_group"], attributes["conv_group"])


Options = dict[str, Any] | None
Cache = PlanningCache | None


def convolution(
    graph: Graph,
    in_: Tensor,
    weights: Tensor,
    params: ConvParams,
    transposeAndFlipWeights: bool,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """Append a convolution to `prog`; returns [batch, output channels, field] in the layout that the plan leaves.

    With `transposeAndFlipWeights`, `weights` are those of the forward pass and `params` those of the gradient of its
    input (`getGradientParams`). Raises `type_error`, `graph_connection_error` for operands that do not fit,
    `poplar_error`, `invalid_option`."""
    groups, inputs, outputs = params.numConvGroups, params.inputChannels, params.outputChannels
    channels = [inputs, outputs] if transposeAndFlipWeights else [outputs, inputs]
    _check(in_, [params.batchSize, params.getNumInputChans(), *params.inputFieldShape], params.inputType, "the input")
    _check(weights, [groups, *channels, *params.kernelShape], params.inputType, "the weights")
    call = operation(graph, debugContext, "poplin", "convolution", input=in_, weights=weights, params=params)
    if transposeAndFlipWeights:
        turned = createWeights(graph, params, (call, "weightsTransposed"), options, cache)
        weightsTransposeChansFlipXY(graph, weights, turned, prog, (call, "weightsTransposed"))
        weights = turned
    acts, kernel = _transformed(in_, params.inputTransform, 2), _transformed(weights, params.kernelTransform, 3)
    out = _convolve(graph, acts, kernel, params.planned(), params.outputType, prog, call, options, cache)
    o = params.outputTransform
    return _padded(graph, out, o.paddingLower, o.paddingUpper, 2)


def createInput(
    graph: Graph, params: ConvParams, name: Context = "", options: Options = None, cache: Cache = None
) -> Tensor:
    """A [batch, input channels, field] tensor in the layout that the plan of this convolution reads."""
    call = operation(graph, name, "poplin", "createInput", params=params)
    planned = params.planned()
    if list(planned.field) != params.inputFieldShape:  # the plan leaves out truncated elements
        shape = [params.batchSize, params.getNumInputChans(), *params.inputFieldShape]
        return _mapped_linearly(graph, params.inputType, shape, call)
    chosen = look_up_convolution_plan(graph.getTarget(), planned, options, cache)
    acts = build.create_input(graph, chosen, planned.deferred(), params.inputType, call)
    return _flipped(acts, params.inputTransform.flip, 2)


def createWeights(
    graph: Graph, params: ConvParams, name: Context = "", options: Options = None, cache: Cache = None
) -> Tensor:
    """A [groups, output channels, input channels, kernel] tensor in the layout that the plan of this
    convolution reads."""
    call = operation(graph, name, "poplin", "createWeights", params=params)
    planned = params.planned()
    if list(planned.kernel) != params.kernelShape:
        shape = [params.numConvGroups, params.outputChannels, params.inputChannels, *params.kernelShape]
        return _mapped_linearly(graph, params.inputType, shape, call)
    chosen = look_up_convolution_plan(graph.getTarget(), planned, options, cache)
    weights = build.create_weights(graph, chosen, planned.deferred(), params.inputType, call)
    return _flipped(weights, params.kernelTransform.flip, 3)


def createBiases(graph: Graph, activations: Tensor, name: Context = "biases") -> Tensor:
    """One bias for each channel of [batch, channels, field] activations."""
    return _mapped_linearly(graph, activations.elementType(), [activations.dim(1)], name)


def addBias(graph: Graph, in_: Tensor, biases: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """in[batch, channel, field] += biases[channel], in place."""
    acts = in_
    if biases.shape() != [acts.dim(1)]:
        raise graph_connection_error(f"addBias: {biases.shape()} biases do not fit {acts.dim(1)} channels.")
    call = operation(graph, debugContext, "poplin", "addBias", acts=acts, biases=biases)
    popops.addInPlace(graph, acts, biases.reshape([1, acts.dim(1), *[1] * (acts.rank() - 2)]), prog, (call, "addBias"))


def weightsTransposeChansFlipXY(
    graph: Graph, weightsIn: Tensor, weightsOut: Tensor, prog: Sequence, debugContext: Context = ""
) -> None:
    """Copy weights with input and output channels exchanged and the kernel reversed along every dimension. Where that
    saves runs to exchange, tiles transpose blocks of channels first (`turned_weights`)."""
    turned = weightsIn.dimShuffle([0, 2, 1, *range(3, weightsIn.rank())])
    turned = _flipped(turned, [True] * (weightsIn.rank() - 3), 3)
    if turned.shape() != weightsOut.shape():
        raise graph_connection_error(
            f"weightsTransposeChansFlipXY: weights of {weightsIn.shape()} do not fit an output of {weightsOut.shape()}."
        )
    call = operation(graph, debugContext, "poplin", "weightsTransposeChansFlipXY", weightsIn=weightsIn)
    target = _flipped(weightsOut, [True] * (weightsIn.rank() - 3), 3)
    target = target.dimShuffle([0, 2, 1, *range(3, weightsIn.rank())])
    prog.add(turned_on_tiles(graph, weightsIn, target, call) or Copy(turned, weightsOut, False, call))


def calculateWeightDeltas(
    graph: Graph,
    zDeltas: Tensor,
    activations: Tensor,
    params: ConvParams,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """The gradient of the weights, shaped like them, from the gradient of the output and the input; `params` are those
    of the forward pass."""
    planned = weight_deltas(params)
    outputs = [params.batchSize, params.getNumOutputChans(), *params.getOutputFieldShape()]
    _check(zDeltas, outputs, params.inputType, "the gradient of the output")
    inputs = [params.batchSize, params.getNumInputChans(), *params.inputFieldShape]
    _check(activations, inputs, params.inputType, "the input")
    call = operation(graph, debugContext, "poplin", "calculateWeightDeltas", zDeltas=zDeltas, activations=activations)
    groups, batch = params.numConvGroups, params.batchSize
    seen = _transformed(activations, params.inputTransform, 2)
    field = seen.shape()[2:]
    acts = seen.reshape([batch, groups, params.inputChannels, *field])
    acts = acts.dimShuffle([2, 1, 0, *range(3, acts.rank())])
    acts = acts.reshape([params.inputChannels, groups * batch, *field])
    own = _without_padding(zDeltas, params.outputTransform)
    deltas = own.reshape([batch, groups, params.outputChannels, *own.shape()[2:]])
    deltas = deltas.dimShuffle([1, 2, 0, *range(3, deltas.rank())])
    name = graph.addDebugInfo((call, "weightDeltas"), LAYER)
    out = _convolve(graph, acts, deltas, planned, params.outputType, prog, name, options, cache)
    whole = out.reshape([params.inputChannels, groups, params.outputChannels, *out.shape()[2:]])
    whole = whole.dimShuffle([1, 2, 0, *range(3, whole.rank())])
    k = params.kernelTransform
    return _padded(graph, _flipped(whole, k.flip, 3), k.truncationLower, k.truncationUpper, 3)


def convolutionWeightUpdate(
    graph: Graph,
    zDeltas: Tensor,
    weights: Tensor,
    activations: Tensor,
    params: ConvParams,
    scale: float | Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> None:
    """weights += scale * gradient of the weights (give a negative scale to descend)."""
    deltas = calculateWeightDeltas(graph, zDeltas, activations, params, prog, debugContext, options, cache)
    name = _name(graph, debugContext)
    deltas = regrouped_like(graph, weights, deltas, prog, name)
    popops.scaledAddTo(graph, weights, deltas, scale, prog, (name, "UpdateWeights"))


def regrouped_like(graph: Graph, weights: Tensor, deltas: Tensor, prog: Sequence, name: DebugInfo) -> Tensor:
    """The gradients of weights, in the layout of these where that helps: where output channels are adjacent in memory,
    and input channels in that of the weights, tiles transpose blocks first (PopLibs' regroupIfBeneficial)."""
    exchanged = [0, 2, 1, *range(3, weights.rank())]
    regrouped = graph.clone(weights, (name, "regroupGrads"))
    views = deltas.dimShuffle(exchanged), regrouped.dimShuffle(exchanged)
    turned = turned_on_tiles(graph, *views, graph.addDebugInfo((name, "regroupGrads"), LAYER))
    if turned is None:
        return deltas
    prog.add(turned)
    return regrouped


_BIAS_UPDATE = (
    Parameter("scale", (NUMBER, Tensor)),
    Parameter("options", dict, None),
    Parameter("prog", Sequence),
    Parameter("debugContext", default=""),
)


def convolutionBiasUpdate(graph: Graph, zDeltas: Tensor, biases: Tensor, *arguments: Any, **named: Any) -> None:
    """biases += scale * sum of the output's gradient over batch and field: (..., scale, options, prog,
    debugContext=""), where `options` may be left out."""
    forms = (_BIAS_UPDATE, (_BIAS_UPDATE[0], *_BIAS_UPDATE[2:]))
    given = match("convolutionBiasUpdate", forms, arguments, named)
    parse_convolution_options(given.get("options"))
    call = _name(graph, given["debugContext"])
    dims = [0, *range(2, zDeltas.rank())]
    slope = popops.reduce(graph, zDeltas, dims, popops.Operation.ADD, given["prog"], (call, "BiasUpdate"))
    popops.scaledAddTo(graph, biases, slope, given["scale"], given["prog"], (call, "UpdateBiases"))


def fullyConnectedWeightTranspose(
    graph: Graph,
    weights: Tensor,
    params: ConvParams,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """The weights of a fully connected layer, transposed and arranged for its backward pass.

    `weights` are the input of the convolution that `params` describe: its positions are the layer's outputs, its
    channels the layer's inputs. The result is the input of the backward convolution: [1, outputs, 1 .., inputs]. Raises
    `graph_connection_error` for a convolution that is no fully connected layer."""
    if params.kernelShape != [1] * len(params.kernelShape) or params.batchSize != 1 or len(params.kernelShape) != 1:
        raise graph_connection_error(
            f"fullyConnectedWeightTranspose: kernel {params.kernelShape} and batch {params.batchSize} are not those of "
            "a fully connected layer, which has one dimension, a kernel of 1 and a batch of 1."
        )
    groups, inputs, outputs = params.numConvGroups, params.inputChannels, params.inputFieldShape[0]
    _check(weights, [1, groups * inputs, outputs], params.inputType, "the weights")
    call = operation(graph, debugContext, "poplin", "fullyConnectedWeightTranspose", weights=weights, params=params)
    backward = ConvParams(params.inputType, params.outputType, 1, [inputs], [1], outputs, params.outputChannels, groups)
    turned = createInput(graph, backward, (call, "transposed"), options, cache)
    view = weights.reshape([groups, inputs, outputs]).dimShuffle([0, 2, 1]).reshape([1, groups * outputs, inputs])
    prog.add(Copy(view, turned, False, call))
    return turned


def _name(graph: Graph, context: Context) -> Any:
    return graph.addDebugInfo(context, LAYER)


def _check(tensor: Tensor, shape: list[int], type_: Type, what: str) -> None:
    if type_ not in (FLOAT, HALF) or tensor.elementType() is not type_:
        raise type_error(
            f"convolution: {what} holds {tensor.elementType()}, the parameters say {type_}; FLOAT and HALF are possible"
            "."
        )
    if tensor.shape() != shape:
        raise graph_connection_error(f"convolution: {what} has shape {tensor.shape()}, the parameters say {shape}.")


def _convolve(
    graph: Graph,
    acts: Tensor,
    weights: Tensor,
    planned: CanonicalConvParams,
    out_type: Type,
    prog: Sequence,
    call: Any,
    options: Options,
    cache: Cache,
) -> Tensor:
    """Build one convolution whose transforms are done; returns the output without its padding."""
    chosen = look_up_convolution_plan(graph.getTarget(), planned, options, cache)
    label = "Conv_" + "x".join(str(k) for k in planned.kernel)
    if any(s != 1 for s in planned.stride):
        label += "_stride" + "x".join(str(s) for s in planned.stride)
    name = graph.addDebugInfo((call, label), LAYER, plan=chosen.describe())
    if shows_plans():
        print(f"{label}: {chosen.describe()}", file=sys.stderr)
    parsed = parse_convolution_options(options)
    inner = planned.deferred()
    programs, stored = build.add_convolution(graph, acts, weights, chosen, inner, out_type, name, parsed)
    attributes = attributes_of(chosen.plan, inner)
    prog.add(LibraryGroup(programs, "poplin.convolution", [acts, weights], [stored], attributes))
    out = build.as_output(stored, chosen.plan, inner)
    for dim in planned.deferred_dims():
        out = _dilated(graph, out, planned, dim)
    return out


def _dilated(graph: Graph, out: Tensor, planned: CanonicalConvParams, dim: int) -> Tensor:
    """The output with the deferred dilation of a dimension of the field: a view with zeros between and around its
    elements."""
    axis, step = 2 + dim, planned.input_dilation[dim]
    apart = rearrange.padded(graph, out.expand([axis + 1]), _with(out.shape(), axis, out.dim(axis), step))
    spread = apart.flatten(axis, axis + 2).slice(0, (out.dim(axis) - 1) * step + 1, axis)
    return _padded(graph, spread, [planned.padding_lower[dim]], [planned.padding_upper[dim]], axis)


def _with(shape: list[int], axis: int, *sizes: int) -> list[int]:
    """The shape with these sizes in place of that of `axis`."""
    return [*shape[:axis], *sizes, *shape[axis + 1 :]]


def _flipped(tensor: Tensor, flip: list[bool], first: int) -> Tensor:
    for dim, turned in enumerate(flip):
        tensor = tensor.reverse(first + dim) if turned else tensor
    return tensor


def _transformed(tensor: Tensor, transform: Any, first: int) -> Tensor:
    """The tensor truncated and flipped; the convolution itself handles dilation and padding."""
    for dim, (low, high) in enumerate(zip(transform.truncationLower, transform.truncationUpper, strict=True)):
        tensor = tensor.slice(low, tensor.dim(first + dim) - high, first + dim)
    return _flipped(tensor, transform.flip, first)


def _without_padding(tensor: Tensor, transform: OutputTransform) -> Tensor:
    """An output without the padding of its transform."""
    for dim, (low, high) in enumerate(zip(transform.paddingLower, transform.paddingUpper, strict=True), start=2):
        tensor = tensor.slice(low, tensor.dim(dim) - high, dim)
    return tensor


def _padded(graph: Graph, tensor: Tensor, lower: list[int], upper: list[int], first: int) -> Tensor:
    """The tensor with zeros around its dimensions from `first` on."""
    for dim, (low, high) in enumerate(zip(lower, upper, strict=True), start=first):
        tensor = rearrange.with_zeros(graph, tensor, dim, low, high)
    return tensor


def _mapped_linearly(graph: Graph, type_: Type, shape: list[int], name: Context) -> Tensor:
    variable = graph.addVariable(type_, shape, name)
    mapTensorLinearly(graph, variable)
    return variable
