"""popnn.lstm: a layer of long short-term memory over a sequence, and its gradients.

Each step multiplies the input and the last output by the weights of all four units in one product, adds the biases, and
applies the gates:

    cell = forget * cell + input * candidate          output = output gate * activation(cell)

Sequences are [steps, batch, size]; weights are [4, in, out] and [4, out, out], biases [4, out], in the order of
`cellOrder`. The steps run in a loop (`popops.countedLoop`). Results that C++ returns in pointer arguments are returned
here. Gradients of weights are added step by step, in a loop of their own. There are no sequences of different lengths
in one batch, and no recomputation.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops, poputil
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popnn.lstm_cell import BasicLstmCellUnit as BasicLstmCellUnit
from simulator.poplibs.popnn.lstm_cell import Layer, LstmParams, LstmState, LstmWeights
from simulator.poplibs.popnn.lstm_cell import getDefaultBasicLstmCellOrder as getDefaultBasicLstmCellOrder
from simulator.poplibs.popnn.recurrent import (
    Cache,
    Options,
    RecurrentOptions,
    align_steps,
    at_step,
    check_functions,
    check_tensors,
    create_biases,
    create_input,
    create_kernel,
    flatten_units,
    loop_backwards,
    parse_options,
    put_step,
    shift_sequence,
    unflatten_units,
)
from simulator.poplibs.poputil.exceptions import poplibs_error


def createInput(
    graph: Graph, params: LstmParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> Tensor:
    """A mapped sequence of inputs [steps, batch, in]; each step has the layout that its product with the
    weights reads."""
    fan_in, out = params.layerSizes
    call = operation(graph, debugContext, "popnn", "createInput", timeSteps=params.timeSteps)
    shape = [params.timeSteps, params.batchSize, fan_in]
    return create_input(graph, params.dataType, shape, 4 * out, _parse(options).forward(), planningCache, call)


def createInitialState(
    graph: Graph, params: LstmParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> LstmState:
    """A mapped state; the caller sets its values (`zeroInitialState`)."""
    _parse(options)
    call = operation(graph, debugContext, "popnn", "createInitialState", batchSize=params.batchSize)
    shape = [params.batchSize, params.layerSizes[1]]
    state = LstmState(*(graph.addVariable(params.dataType, shape, (call, name)) for name in ("output", "cellState")))
    for part in state:
        poputil.mapTensorLinearly(graph, part)
    return state


def zeroInitialState(graph: Graph, initialState: LstmState, prog: Sequence, debugContext: Context = "") -> None:
    for tensor in initialState:
        popops.zero(graph, tensor, prog, debugContext)


def createWeightsKernel(
    graph: Graph, params: LstmParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> tuple[Tensor, Tensor]:
    """Mapped weights of the input [4, in, out] and of the last output [4, out, out]."""
    (fan_in, out), given = params.layerSizes, _parse(options).forward()
    call = operation(graph, debugContext, "popnn", "createWeightsKernel", layerSizes=list(params.layerSizes))
    last = params.batchSize, given, planningCache
    if _parse(options).pre_calculate:
        return (
            create_kernel(graph, params.dataType, [4, fan_in, out], *last, (call, "inputWeights")),
            create_kernel(graph, params.dataType, [4, out, out], *last, (call, "outputWeights")),
        )
    both = create_kernel(graph, params.dataType, [4, fan_in + out, out], *last, (call, "weights"))
    return both.slice(0, fan_in, 1), both.slice(fan_in, fan_in + out, 1)


def createWeightsBiases(
    graph: Graph, params: LstmParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> Tensor:
    """Mapped biases [4, out]. The options are only checked, as in PopLibs."""
    _parse(options)
    call = operation(graph, debugContext, "popnn", "createWeightsBiases", layerSizes=list(params.layerSizes))
    return create_biases(graph, params.dataType, [4, params.layerSizes[1]], (call, "biases"))


def createWeights(
    graph: Graph, params: LstmParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> LstmWeights:
    """Mapped weights and biases."""
    call = operation(graph, debugContext, "popnn", "createWeights", layerSizes=list(params.layerSizes))
    kernels = createWeightsKernel(graph, params, call, options, planningCache)
    return LstmWeights(*kernels, createWeightsBiases(graph, params, call, options, planningCache))


def lstmFwd(
    graph: Graph,
    params: LstmParams,
    stateInit: LstmState,
    input: Tensor,
    weights: LstmWeights,
    fwdProg: Sequence,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
    intermediates: bool = True,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """(outputs of all steps or, without `outputFullSequence`, of the last; the last cell state; the values that the
    backward pass needs, None with the option inferenceOnly or without `intermediates`, C++'s null pointer).

    Raises `poplibs_error` for shapes that do not fit, `invalid_option`."""
    _check("lstmFwd", params, input, weights)
    call = operation(graph, debugContext, "popnn", "lstmFwd", input=input)
    given = _parse(options)
    layer = Layer(graph, params, weights, given, planningCache, call)
    output, cell = (poputil.duplicate(graph, t, fwdProg, (call, "state")) for t in stateInit)
    products = None
    if not given.pre_calculate:
        input = align_steps(graph, input, fwdProg, call)
    else:
        products = layer.weighted(input.flatten(0, 2), fwdProg).reshape([*input.shape()[:2], 4 * params.layerSizes[1]])
    made: dict[str, Tensor] = {}

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        if products is None:
            total = layer.product(at_step(graph, input, counter, step, call), output, step)
        else:
            total = layer.product_with(at_step(graph, products, counter, step, call), output, step)
        kept, after, out = layer.step(total, cell, step)
        if intermediates and not given.inference_only:
            saved = concat([t.expand([0]) for t in kept])
            made["kept"] = put_step(graph, made.get("kept"), saved, counter, params.timeSteps, step, call, True)
        if params.outputFullSequence:
            made["out"] = put_step(graph, made.get("out"), out, counter, params.timeSteps, step, call, True)
        step.add(Copy(after, cell, False, (call, "cell")))
        step.add(Copy(out, output, False, (call, "output")))
        return step

    fwdProg.add(popops.countedLoop(graph, params.timeSteps, body, (call, "steps")))
    return made.get("out", output), cell, made.get("kept")


def _state_slopes(
    graph: Graph, state: LstmState, last: Iterable[Tensor | None], prog: Sequence, context: Context
) -> list[Tensor]:
    """Gradients of the state, which begin as those of the last step, or as zeros."""
    slopes = [graph.clone(part, context) for part in state]
    for slope, begin in zip(slopes, last, strict=True):
        if begin is None:
            popops.zero(graph, slope, prog, context)
        else:
            prog.add(Copy(begin, slope, False, context))
    return slopes


def lstmBwd(
    graph: Graph,
    params: LstmParams,
    prog: Sequence,
    fwdStateInit: LstmState,
    fwdIntermediates: Tensor,
    weights: LstmWeights,
    input: Tensor,
    output: Tensor,
    outputGrad: Tensor,
    lastCellStateGrad: Tensor | None = None,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
    inputGrad: bool = True,
    bwdIntermediates: bool = True,
) -> tuple[LstmState, Tensor | None, Tensor | None]:
    """(gradient of the initial state; of the input, None without `calcInputGradients`; the values that `lstmWU` needs).
    Without `inputGrad` or `bwdIntermediates`, C++'s null pointers, that result is None and nothing computes it.

    `outputGrad` has the shape of the output of `lstmFwd`."""
    _check("lstmBwd", params, input, weights)
    check_functions("lstmBwd", params.activation, params.recurrentActivation)
    call = operation(graph, debugContext, "popnn", "lstmBwd", input=input, outputGrad=outputGrad)
    if outputGrad.shape() != output.shape():
        raise poplibs_error(f"lstmBwd: the gradient's shape {outputGrad.shape()} is not the output's {output.shape()}.")
    layer = Layer(graph, params, weights, _parse(options), planningCache, call)
    last = (None if params.outputFullSequence else outputGrad, lastCellStateGrad)
    out_slope, cell_slope = _state_slopes(graph, fwdStateInit, last, prog, (call, "stateGrad"))
    if params.outputFullSequence:
        outputGrad = align_steps(graph, outputGrad, prog, call)
    inputGrad = inputGrad and params.calcInputGradients
    fan_in = params.layerSizes[0] if inputGrad else 0
    own = concat([layer.input_weights, layer.output_weights]) if inputGrad else layer.output_weights
    turned = layer.arrange(own.transpose(), params.batchSize, "bwd/weights", prog)
    results: dict[str, Tensor] = {}

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        if params.outputFullSequence:
            upstream = at_step(graph, outputGrad, counter, step, call)
            popops.addInPlace(graph, out_slope, upstream, step, (call, "outputGrad"))
        kept = at_step(graph, fwdIntermediates, counter, step, call)
        units = layer.back(kept, out_slope, cell_slope, step)
        if bwdIntermediates:
            results["units"] = put_step(graph, results.get("units"), units, counter, params.timeSteps, step, call, True)
        back = layer.multiply(flatten_units(units), turned, "bwd/grad", "TRAINING_BWD", step)
        step.add(Copy(back.slice(fan_in, back.dim(1), 1), out_slope, False, (call, "outputGrad")))
        if inputGrad:
            slope = back.slice(0, fan_in, 1)
            results["input"] = put_step(graph, results.get("input"), slope, counter, params.timeSteps, step, call)
        return step

    prog.add(loop_backwards(graph, params.timeSteps, body, call))
    return LstmState(out_slope, cell_slope), results.get("input"), results.get("units")


def lstmWU(
    graph: Graph,
    params: LstmParams,
    prog: Sequence,
    fwdStateInit: LstmState,
    fwdIntermediates: Tensor,
    bwdIntermediates: Tensor,
    weights: LstmWeights,
    input: Tensor,
    output: Tensor,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
) -> LstmWeights:
    """The gradients of the weights and biases."""
    _check("lstmWU", params, input, weights)
    call = operation(graph, debugContext, "popnn", "lstmWU", input=input)
    layer = Layer(graph, params, weights, _parse(options), planningCache, call)
    input = align_steps(graph, input, prog, call)
    outputs = output if params.outputFullSequence else fwdIntermediates.slice(6, 7, 1).squeeze([1])
    before = shift_sequence(graph, outputs, fwdStateInit.output, prog, call)
    fan_in, out = params.layerSizes
    total = layer.accumulator(fan_in + out, params.batchSize, 4 * out, "wu/weights", prog)

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        rows, last, units = (at_step(graph, t, counter, step, call) for t in (input, before, bwdIntermediates))
        layer.accumulate(total, concat([rows, last], 1).transpose(), flatten_units(units), "wu/weights", step)
        return step

    prog.add(popops.countedLoop(graph, params.timeSteps, body, (call, "wu/steps")))
    slopes = bwdIntermediates.dimShuffle([0, 2, 1, 3]).flatten(0, 2)
    biases = popops.reduce(graph, slopes, [0], popops.Operation.ADD, prog, (call, "wu/biases"))
    by_input, by_output = total.slice(0, fan_in), total.slice(fan_in, fan_in + out)
    return LstmWeights(unflatten_units(by_input, 4), unflatten_units(by_output, 4), biases)


def lstmBwdWithWU(
    graph: Graph,
    params: LstmParams,
    prog: Sequence,
    fwdStateInit: LstmState,
    fwdIntermediates: Tensor,
    weights: LstmWeights,
    input: Tensor,
    output: Tensor,
    outputGrad: Tensor,
    lastCellStateGrad: Tensor | None = None,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
    inputGrad: bool = True,
) -> tuple[LstmState, Tensor | None, LstmWeights]:
    """`lstmBwd` and `lstmWU`: (gradient of the initial state, of the input, of the weights)."""
    last = debugContext, options, planningCache
    state, slope, units = lstmBwd(
        graph,
        params,
        prog,
        fwdStateInit,
        fwdIntermediates,
        weights,
        input,
        output,
        outputGrad,
        lastCellStateGrad,
        *last,
        inputGrad,
    )
    assert units is not None
    found = lstmWU(graph, params, prog, fwdStateInit, fwdIntermediates, units, weights, input, output, *last)
    return state, slope, found


def _parse(options: Options) -> RecurrentOptions:
    return parse_options("lstm", ("inferenceOnly", "preCalcWeights"), options)


def _check(api: str, params: LstmParams, input: Tensor, weights: LstmWeights) -> None:
    fan_in, out = params.layerSizes
    shapes = [params.timeSteps, params.batchSize, fan_in], [4, fan_in, out], [4, out, out], [4, out]
    names = "input", *LstmWeights._fields
    check_tensors(api, params.dataType, dict(zip(names, zip((input, *weights), shapes, strict=True), strict=True)))
