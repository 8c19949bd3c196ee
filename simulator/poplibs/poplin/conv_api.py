"""poplin.convolution and what belongs to it, under PopLibs' names.

Activations are [batch, channels, field], channels group by group; weights [groups, output channels, input channels,
kernel], channels of one group. `createInput` and `createWeights` give tensors that lie as the plan reads them; any
other layout is rearranged first. Options are those of matMul (`simulator.poplibs.poplin.options`)."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from simulator.poplar.debug_context import Context
from simulator.poplar.errors import graph_connection_error, invalid_option, poplar_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Copy, LibraryGroup, Sequence
from simulator.poplar.tensor import Tensor, concat
from simulator.poplar.types import FLOAT, HALF, Type
from simulator.poplibs import popops
from simulator.poplibs.debug import LAYER, operation
from simulator.poplibs.poplin import conv_build, rearrange
from simulator.poplibs.poplin.conv_kernel import attributes_of
from simulator.poplibs.poplin.conv_params import ConvParams as PlannedConv
from simulator.poplibs.poplin.conv_planner import ConvPlan, plan_convolution
from simulator.poplibs.poplin.convolution_params import (
    ConvParams,
    check_differentiable,
    weight_deltas,
)
from simulator.poplibs.poplin.options import parse_options, shows_plans
from simulator.poplibs.poputil import mapTensorLinearly

Options = dict[str, Any] | None


def convolution(
    graph: Graph,
    in_: Tensor,
    weights: Tensor,
    params: ConvParams,
    transposeAndFlipWeights: bool,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """Append a convolution to `prog`; returns [batch, output channels, field], laid out as the plan leaves it.

    `transposeAndFlipWeights`: `weights` are those of the forward pass, `params` those of the gradient of its input
    (`getGradientParams`). Raises `type_error`, `graph_connection_error` for operands that do not fit, `poplar_error`,
    `invalid_option`."""
    groups, inputs, outputs = params.numConvGroups, params.inputChannels, params.outputChannels
    channels = [inputs, outputs] if transposeAndFlipWeights else [outputs, inputs]
    _check(in_, [params.batchSize, params.getNumInputChans(), *params.inputFieldShape], params.inputType, "the input")
    _check(weights, [groups, *channels, *params.kernelShape], params.inputType, "the weights")
    call = operation(graph, debugContext, "poplin", "convolution", input=in_, weights=weights, params=params)
    if transposeAndFlipWeights:
        turned = createWeights(graph, params, (call, "weightsTransposed"), options)
        weightsTransposeChansFlipXY(graph, weights, turned, prog, (call, "weightsTransposed"))
        weights = turned
    acts, kernel = _transformed(in_, params.inputTransform, 2), _transformed(weights, params.kernelTransform, 3)
    out = _convolve(graph, acts, kernel, params.planned(), params.outputType, prog, call, options)
    return _padded_output(graph, out, params)


def createInput(graph: Graph, params: ConvParams, name: Context = "", options: Options = None) -> Tensor:
    """A [batch, input channels, field] tensor that lies as the plan of this convolution reads it."""
    call = operation(graph, name, "poplin", "createInput", params=params)
    planned = params.planned()
    if list(planned.field) != params.inputFieldShape:  # what is cut away has no place in the plan
        shape = [params.batchSize, params.getNumInputChans(), *params.inputFieldShape]
        tensor = graph.addVariable(params.inputType, shape, call)
        mapTensorLinearly(graph, tensor)
        return tensor
    acts = conv_build.create_input(graph, _plan(graph, planned, options), planned, params.inputType, call)
    return _flipped(acts, params.inputTransform.flip, 2)


def createWeights(graph: Graph, params: ConvParams, name: Context = "", options: Options = None) -> Tensor:
    """A [groups, output channels, input channels, kernel] tensor that lies as the plan of this convolution reads it."""
    call = operation(graph, name, "poplin", "createWeights", params=params)
    planned = params.planned()
    if list(planned.kernel) != params.kernelShape:
        shape = [params.numConvGroups, params.outputChannels, params.inputChannels, *params.kernelShape]
        tensor = graph.addVariable(params.inputType, shape, call)
        mapTensorLinearly(graph, tensor)
        return tensor
    weights = conv_build.create_weights(graph, _plan(graph, planned, options), planned, params.inputType, call)
    return _flipped(weights, params.kernelTransform.flip, 3)


def createBiases(graph: Graph, acts: Tensor, name: Context = "biases") -> Tensor:
    """One bias for each channel of [batch, channels, field] activations."""
    biases = graph.addVariable(acts.elementType(), [acts.dim(1)], name)
    mapTensorLinearly(graph, biases)
    return biases


def addBias(graph: Graph, acts: Tensor, biases: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """acts[batch, channel, field] += biases[channel], in place."""
    if biases.shape() != [acts.dim(1)]:
        raise graph_connection_error(f"addBias: {biases.shape()} biases do not fit {acts.dim(1)} channels.")
    call = operation(graph, debugContext, "poplin", "addBias", acts=acts, biases=biases)
    popops.addInPlace(graph, acts, biases.reshape([1, acts.dim(1), *[1] * (acts.rank() - 2)]), prog, (call, "addBias"))


def weightsTransposeChansFlipXY(
    graph: Graph, weightsIn: Tensor, weightsOut: Tensor, prog: Sequence, debugContext: Context = ""
) -> None:
    """Copy weights with input and output channels exchanged and the kernel reversed along every dimension."""
    turned = weightsIn.dimShuffle([0, 2, 1, *range(3, weightsIn.rank())])
    turned = _flipped(turned, [True] * (weightsIn.rank() - 3), 3)
    if turned.shape() != weightsOut.shape():
        raise graph_connection_error(
            f"weightsTransposeChansFlipXY: {weightsIn.shape()} does not turn into {weightsOut.shape()}."
        )
    call = operation(graph, debugContext, "poplin", "weightsTransposeChansFlipXY", weightsIn=weightsIn)
    prog.add(Copy(turned, weightsOut, False, call))


def calculateWeightDeltas(
    graph: Graph,
    zDeltas: Tensor,
    activations: Tensor,
    params: ConvParams,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """The gradient of the weights, shaped like them, from the gradient of the output and the input; `params` are those
    of the forward pass."""
    check_differentiable(params)
    planned = weight_deltas(params)
    outputs = [params.batchSize, params.getNumOutputChans(), *params.getOutputFieldShape()]
    _check(zDeltas, outputs, params.inputType, "the gradient of the output")
    inputs = [params.batchSize, params.getNumInputChans(), *params.inputFieldShape]
    _check(activations, inputs, params.inputType, "the input")
    call = operation(graph, debugContext, "poplin", "calculateWeightDeltas", zDeltas=zDeltas, activations=activations)
    groups, batch = params.numConvGroups, params.batchSize
    acts = activations.reshape([batch, groups, params.inputChannels, *params.inputFieldShape])
    acts = acts.dimShuffle([2, 1, 0, *range(3, acts.rank())])
    acts = acts.reshape([params.inputChannels, groups * batch, *params.inputFieldShape])
    deltas = zDeltas.reshape([batch, groups, params.outputChannels, *params.getOutputFieldShape()])
    deltas = deltas.dimShuffle([1, 2, 0, *range(3, deltas.rank())])
    name = (call, "weightDeltas")
    out = _convolve(graph, acts, deltas, planned, params.outputType, prog, graph.addDebugInfo(name, LAYER), options)
    whole = out.reshape([params.inputChannels, groups, params.outputChannels, *params.kernelShape])
    return whole.dimShuffle([1, 2, 0, *range(3, whole.rank())])


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
) -> None:
    """weights += scale * gradient of the weights (give a negative scale to descend)."""
    deltas = calculateWeightDeltas(graph, zDeltas, activations, params, prog, debugContext, options)
    popops.scaledAddTo(graph, weights, deltas, scale, prog, (_name(graph, debugContext), "UpdateWeights"))


def convolutionBiasUpdate(
    graph: Graph, zDeltas: Tensor, biases: Tensor, scale: float | Tensor, prog: Sequence, debugContext: Context = ""
) -> None:
    """biases += scale * sum of the output's gradient over batch and field."""
    call = _name(graph, debugContext)
    dims = [0, *range(2, zDeltas.rank())]
    slope = popops.reduce(graph, zDeltas, dims, popops.Operation.ADD, prog, (call, "BiasUpdate"))
    popops.scaledAddTo(graph, biases, slope, scale, prog, (call, "UpdateBiases"))


def reportPlanInfo(out: TextIO, graph: Graph, params: ConvParams, options: Options = None) -> None:
    """Write the plan of a convolution and the terms of its cost, one per line."""
    print(_plan(graph, params.planned(), options).describe(), file=out)


def convolution_plan(graph: Graph, params: ConvParams, options: Options = None) -> ConvPlan:
    """The plan that `convolution` would use."""
    return _plan(graph, params.planned(), options)


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


def _plan(graph: Graph, planned: PlannedConv, options: Options) -> ConvPlan:
    parsed = parse_options(options)
    partials = parsed.partials if planned.dtype == "half" else "float"
    try:
        return plan_convolution(planned, parsed.machine(graph.getTarget()), partials, parsed.constraints)
    except ValueError as error:
        kind = invalid_option if "constraints" in str(error) else poplar_error
        raise kind(f"{error}.") from None


def _convolve(
    graph: Graph, acts: Tensor, weights: Tensor, planned: PlannedConv, out_type: Type, prog: Sequence, call: Any,
    options: Options,
) -> Tensor:  # fmt: skip
    """Build one convolution whose transforms are done; the output without its padding."""
    chosen = _plan(graph, planned, options)
    label = "Conv_" + "x".join(str(k) for k in planned.kernel)
    if any(s != 1 for s in planned.stride):
        label += "_stride" + "x".join(str(s) for s in planned.stride)
    name = graph.addDebugInfo((call, label), LAYER, plan=chosen.describe())
    if shows_plans():
        print(f"{label}: {chosen.describe()}", file=sys.stderr)
    parsed = parse_options(options)
    programs, stored = conv_build.add_convolution(graph, acts, weights, chosen, planned, out_type, name, parsed)
    attributes = attributes_of(chosen.plan, planned)
    prog.add(LibraryGroup(programs, "poplin.convolution", [acts, weights], [stored], attributes))
    return conv_build.as_output(stored, chosen.plan, planned)


def _flipped(tensor: Tensor, flip: list[bool], first: int) -> Tensor:
    for dim, turned in enumerate(flip):
        tensor = tensor.reverse(first + dim) if turned else tensor
    return tensor


def _transformed(tensor: Tensor, transform: Any, first: int) -> Tensor:
    """The tensor cut and flipped; dilation and padding are left to the convolution."""
    for dim, (low, high) in enumerate(zip(transform.truncationLower, transform.truncationUpper, strict=True)):
        tensor = tensor.slice(low, tensor.dim(first + dim) - high, first + dim)
    return _flipped(tensor, transform.flip, first)


def _padded_output(graph: Graph, out: Tensor, params: ConvParams) -> Tensor:
    """The output with the zeros that its transform puts around it."""
    o = params.outputTransform
    for dim, (low, high) in enumerate(zip(o.paddingLower, o.paddingUpper, strict=True), start=2):
        if low:
            shape = [low if axis == dim else n for axis, n in enumerate(out.shape())]
            out = concat([rearrange.zeros_of(graph, out.elementType(), shape), out], dim)
        if high:
            out = rearrange.padded(graph, out, [n + high * (axis == dim) for axis, n in enumerate(out.shape())])
    return out
