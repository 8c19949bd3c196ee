"""popnn.gru: a layer of gated recurrent units over a sequence, and its gradients.

    r = sigmoid(x Wr + h Ur + br)        u = sigmoid(x Wu + h Uu + bu)
    c = tanh(x Wc + (r * h) Uc + bc)     or, with `resetAfter`,  c = tanh(x Wc + bc + r * (h Uc + dc))
    h' = u * h + (1 - u) * c

Sequences are [steps, batch, size]; weights are [3, in, out] and [3, out, out], biases [3, out], in the order of
`cellOrder`. With `resetAfter` biases are [3, 2, out]: those of the input's product, then those of the last output's;
this is the layer of PyTorch, whose gates r, z, n are the default order. The steps run in a loop
(`popops.countedLoop`). Results that C++ returns in pointer arguments are returned here. One product after the loop sums
the gradients of weights over all steps; PopLibs adds them step by step. There are no sequences of different lengths in
one batch, and no attention (AUGRU). The option inferenceOnly is false unless given.
"""

from __future__ import annotations

from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops, poputil
from simulator.poplibs.library_calls import operation
from simulator.poplibs.popnn.gru_cell import BasicGruCellUnit as BasicGruCellUnit
from simulator.poplibs.popnn.gru_cell import GruParams, GruWeights, Layer
from simulator.poplibs.popnn.gru_cell import getDefaultBasicGruCellOrder as getDefaultBasicGruCellOrder
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
    loop_backwards,
    parse_options,
    put_step,
    shift_sequence,
    unflatten_units,
)


def createInput(
    graph: Graph, params: GruParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> Tensor:
    """A mapped sequence of inputs [steps, batch, in]; each step has the layout that its product with the
    weights reads."""
    fan_in, out = params.layerSizes
    call = operation(graph, debugContext, "popnn", "createInput", timeSteps=params.timeSteps)
    shape = [params.timeSteps, params.batchSize, fan_in]
    return create_input(graph, params.dataType, shape, 3 * out, _parse(options).forward(), planningCache, call)


def createInitialState(
    graph: Graph, params: GruParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> Tensor:
    """A mapped state [batch, out]; the caller sets its values."""
    _parse(options)
    call = operation(graph, debugContext, "popnn", "createInitialState", batchSize=params.batchSize)
    state = graph.addVariable(params.dataType, [params.batchSize, params.layerSizes[1]], (call, "output"))
    poputil.mapTensorLinearly(graph, state)
    return state


def createWeightsKernel(
    graph: Graph, params: GruParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> tuple[Tensor, Tensor]:
    """Mapped weights of the input [3, in, out] and of the last output [3, out, out]."""
    (fan_in, out), given = params.layerSizes, _parse(options).forward()
    call = operation(graph, debugContext, "popnn", "createWeightsKernel", layerSizes=list(params.layerSizes))
    last = params.batchSize, given, planningCache
    by_input = create_kernel(graph, params.dataType, [3, fan_in, out], *last, (call, "inputWeights"))
    if params.resetAfter:
        return by_input, create_kernel(graph, params.dataType, [3, out, out], *last, (call, "outputWeights"))
    gates = create_kernel(graph, params.dataType, [2, out, out], *last, (call, "outputWeights"))
    candidate = create_kernel(graph, params.dataType, [1, out, out], *last, (call, "candidateWeights"))
    units = concat([gates, candidate])  # reset gate, update gate, candidate
    return by_input, concat([units.slice(unit.value, unit.value + 1) for unit in params.cellOrder])


def createWeightsBiases(
    graph: Graph, params: GruParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> Tensor:
    """Mapped biases [3, out], with `resetAfter` [3, 2, out]. The options are only checked, as in PopLibs."""
    _parse(options)
    call = operation(graph, debugContext, "popnn", "createWeightsBiases", layerSizes=list(params.layerSizes))
    return create_biases(graph, params.dataType, params.biases_shape(), (call, "biases"))


def createWeights(
    graph: Graph, params: GruParams, debugContext: Context = "", options: Options = None, planningCache: Cache = None
) -> GruWeights:
    """Mapped weights and biases."""
    call = operation(graph, debugContext, "popnn", "createWeights", layerSizes=list(params.layerSizes))
    kernels = createWeightsKernel(graph, params, call, options, planningCache)
    return GruWeights(*kernels, createWeightsBiases(graph, params, call, options, planningCache))


def gruFwd(
    graph: Graph,
    params: GruParams,
    stateInit: Tensor,
    input: Tensor,
    weights: GruWeights,
    fwdProg: Sequence,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
    intermediates: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """(outputs of all steps or, without `outputFullSequence`, of the last; the values that the backward pass needs,
    None with the option inferenceOnly or without `intermediates`, C++'s null pointer).

    Raises `poplibs_error` for shapes that do not fit, `invalid_option`."""
    _check("gruFwd", params, stateInit, input, weights)
    call = operation(graph, debugContext, "popnn", "gruFwd", input=input)
    given = _parse(options)
    layer = Layer(graph, params, weights, given, planningCache, call)
    output = poputil.duplicate(graph, stateInit, fwdProg, (call, "state"))
    input = align_steps(graph, input, fwdProg, call)
    sequences: dict[str, Tensor] = {}

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        saved, new = layer.step(at_step(graph, input, counter, step, call), output, step)
        if intermediates and not given.inference_only:
            rows = concat([t.expand([0]) for t in (saved if params.outputFullSequence else [*saved, new])])
            sequences["saved"] = put_step(
                graph, sequences.get("saved"), rows, counter, params.timeSteps, step, call, True
            )
        if params.outputFullSequence:
            sequences["out"] = put_step(graph, sequences.get("out"), new, counter, params.timeSteps, step, call, True)
        step.add(Copy(new, output, False, (call, "output")))
        return step

    fwdProg.add(popops.countedLoop(graph, params.timeSteps, body, (call, "steps")))
    return sequences.get("out", output), sequences.get("saved")


def gruBwd(
    graph: Graph,
    params: GruParams,
    prog: Sequence,
    fwdOutputInit: Tensor,
    fwdIntermediatesSeq: Tensor,
    weights: GruWeights,
    fwdInputSeq: Tensor,
    fwdOutput: Tensor,
    gradLayerNext: Tensor,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
    inputGrad: bool = True,
    bwdIntermediates: bool = True,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """(gradient of the initial state; of the input, None without `calcInputGradients`; the values that `gruWU` needs).
    Without `inputGrad` or `bwdIntermediates`, C++'s null pointers, that result is None and nothing computes it.

    `gradLayerNext` has the shape of the output of `gruFwd`. Raises `poplibs_error` for shapes that do not fit."""
    _check("gruBwd", params, fwdOutputInit, fwdInputSeq, weights, fwdOutput, gradLayerNext)
    check_functions("gruBwd", params.activation, params.recurrentActivation)
    call = operation(graph, debugContext, "popnn", "gruBwd", input=fwdInputSeq, outputGrad=gradLayerNext)
    layer = Layer(graph, params, weights, _parse(options), planningCache, call)
    slope = graph.clone(fwdOutputInit, (call, "stateGrad"))
    if params.outputFullSequence:
        popops.zero(graph, slope, prog, (call, "stateGrad"))
        gradLayerNext = align_steps(graph, gradLayerNext, prog, call)
    else:
        prog.add(Copy(gradLayerNext, slope, False, (call, "stateGrad")))
    outputs = _outputs(params, fwdIntermediatesSeq, fwdOutput)
    previous = shift_sequence(graph, outputs, fwdOutputInit, prog, call)
    layer.arrange_backward(prog)
    forward = layer.input_weights.transpose()
    inputGrad = inputGrad and params.calcInputGradients
    if inputGrad:
        forward = layer.arrange(forward, params.batchSize, "bwd/inputWeights", prog)
    sequences: dict[str, Tensor] = {}

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        if params.outputFullSequence:
            upstream = at_step(graph, gradLayerNext, counter, step, call)
            popops.addInPlace(graph, slope, upstream, step, (call, "outputGrad"))
        saved = at_step(graph, fwdIntermediatesSeq, counter, step, call)
        units, back = layer.step_back(saved, at_step(graph, previous, counter, step, call), slope, step)
        step.add(Copy(back, slope, False, (call, "outputGrad")))
        if bwdIntermediates:
            rows = concat([t.expand([0]) for t in units])
            sequences["units"] = put_step(
                graph, sequences.get("units"), rows, counter, params.timeSteps, step, call, True
            )
        if inputGrad:
            flat = concat([units[unit.value] for unit in params.cellOrder], 1)
            product = layer.multiply(flat, forward, "bwd/inputGrad", "TRAINING_BWD", step)
            sequences["input"] = put_step(graph, sequences.get("input"), product, counter, params.timeSteps, step, call)
        return step

    prog.add(loop_backwards(graph, params.timeSteps, body, call))
    return slope, sequences.get("input"), sequences.get("units")


def gruWU(
    graph: Graph,
    params: GruParams,
    prog: Sequence,
    fwdOutputInit: Tensor,
    fwdIntermediates: Tensor,
    bwdIntermediates: Tensor,
    weights: GruWeights,
    input: Tensor,
    output: Tensor,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
) -> GruWeights:
    """The gradients of the weights and biases."""
    _check("gruWU", params, fwdOutputInit, input, weights, output)
    call = operation(graph, debugContext, "popnn", "gruWU", input=input)
    layer = Layer(graph, params, weights, _parse(options), planningCache, call)
    input = align_steps(graph, input, prog, call)
    before = shift_sequence(graph, _outputs(params, fwdIntermediates, output), fwdOutputInit, prog, call)
    fan_in, out = params.layerSizes
    by_input = layer.accumulator(fan_in, params.batchSize, 3 * out, "wu/inputWeights", prog)
    widths = [3 * out] if params.resetAfter else [2 * out, out]  # all units; or the gates, and the candidate
    by_output = [layer.accumulator(out, params.batchSize, width, "wu/outputWeights", prog) for width in widths]
    places = [unit.value for unit in params.cellOrder]

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        rows, last, units = (at_step(graph, t, counter, step, call) for t in (input, before, bwdIntermediates))
        slopes = concat([units[place] for place in places], 1)
        layer.accumulate(by_input, rows.transpose(), slopes, "wu/inputWeights", step)
        if params.resetAfter:
            slopes = concat([units[place] for place in _recurrent(places)], 1)
            layer.accumulate(by_output[0], last.transpose(), slopes, "wu/outputWeights", step)
        else:
            reset = at_step(graph, fwdIntermediates, counter, step, call)[0]
            _accumulate_reset_before(layer, by_output, (last, reset), units, step)
        return step

    prog.add(popops.countedLoop(graph, params.timeSteps, body, (call, "wu/steps")))
    rows = bwdIntermediates.dimShuffle([1, 0, 2, 3]).flatten(1, 3)  # [units, steps * batch, out]
    sums = popops.reduce(graph, rows, [1], popops.Operation.ADD, prog, (call, "wu/biases"))
    of_units = [places, _recurrent(places)] if params.resetAfter else [places]
    biases = [concat([sums.slice(place, place + 1) for place in order]) for order in of_units]
    kernel = unflatten_units(by_input, 3)
    if params.resetAfter:
        whole = unflatten_units(by_output[0], 3)
        return GruWeights(kernel, whole, concat([part.expand([1]) for part in biases], 1))
    units = [*unflatten_units(by_output[0], 2), by_output[1]]
    return GruWeights(kernel, concat([units[place].expand([0]) for place in places]), biases[0])


def gruBwdWithWU(
    graph: Graph,
    params: GruParams,
    prog: Sequence,
    fwdOutputInit: Tensor,
    fwdIntermediates: Tensor,
    weights: GruWeights,
    input: Tensor,
    output: Tensor,
    outputGrad: Tensor,
    debugContext: Context = "",
    options: Options = None,
    planningCache: Cache = None,
    inputGrad: bool = True,
) -> tuple[Tensor, Tensor | None, GruWeights]:
    """`gruBwd` and `gruWU`: (gradient of the initial state, of the input, of the weights)."""
    first, saved = fwdOutputInit, fwdIntermediates
    last = debugContext, options, planningCache
    operands = first, saved, weights, input, output, outputGrad
    state, slope, units = gruBwd(graph, params, prog, *operands, *last, inputGrad)
    assert units is not None
    return state, slope, gruWU(graph, params, prog, first, saved, units, weights, input, output, *last)


def _recurrent(places: list[int]) -> list[int]:
    """The places of the gradients of products with the last output: with `resetAfter` that of the candidate has one of
    its own."""
    return [[0, 1, 3][place] for place in places]


def _accumulate_reset_before(
    layer: Layer, totals: list[Tensor], rows: tuple[Tensor, Tensor], units: Tensor, prog: Sequence
) -> None:
    """Add a step's gradients of the last output's weights, where the candidate's product reads the gated output.
    `rows`: the last output, the reset gate."""
    last, reset = rows
    gates, candidate = totals
    layer.accumulate(gates, last.transpose(), concat([units[0], units[1]], 1), "wu/outputWeights", prog)
    gated = popops.mul(layer.graph, last, reset, prog, (layer.call, "wu/reset"))
    layer.accumulate(candidate, gated.transpose(), units[2], "wu/candidateWeights", prog)


def _outputs(params: GruParams, intermediates: Tensor, output: Tensor) -> Tensor:
    """The outputs of all steps; the forward pass that returns only the last stores them after the other values."""
    return output if params.outputFullSequence else intermediates[:, -1]


def _parse(options: Options) -> RecurrentOptions:
    return parse_options("gru", ("inferenceOnly",), options)


def _check(
    api: str,
    params: GruParams,
    state: Tensor,
    input: Tensor,
    weights: GruWeights,
    output: Tensor | None = None,
    slope: Tensor | None = None,
) -> None:
    (fan_in, out), batch = params.layerSizes, params.batchSize
    expected = {
        "the initial state": (state, [batch, out]),
        "input": (input, [params.timeSteps, batch, fan_in]),
        "inputWeights": (weights.inputWeights, [3, fan_in, out]),
        "outputWeights": (weights.outputWeights, [3, out, out]),
        "biases": (weights.biases, params.biases_shape()),
    }
    shape = [params.timeSteps, batch, out] if params.outputFullSequence else [batch, out]
    expected |= {n: (t, shape) for n, t in (("output", output), ("the output's gradient", slope)) if t is not None}
    check_tensors(api, params.dataType, expected)
