"""popnn.rnn: the plain recurrent layer of popnn/Recurrent.hpp, y' = f(x Wff + y Wfb + b), and its gradients.

Sequences are [steps, batch, size]; Wff is [in, out], Wfb [out, out] (rows: the last output), biases [out]. f is one of
TANH, RELU and SIGMOID. The steps run in a loop (`popops.countedLoop`); `forwardIterate` alone writes them out one after
the other, as in PopLibs. Differences from PopLibs: gradients of outputs are [steps, batch, out] (there
[batch, steps, out]); one product after the loop sums the gradients of weights over all steps (there step by step); the
backward pass returns the gradient of the initial state too. An optional `weightedIn` is None where C++ takes a null
pointer.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.base.types import FLOAT, Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Copy, Sequence
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs import popops, poputil
from simulator.poplibs.library_calls import operation
from simulator.poplibs.poplin.products.operands import createMatMulInputLHS, createMatMulInputRHS
from simulator.poplibs.popnn.nonlinearity import NonLinearityType, nonLinearityInPlace, nonLinearityInputGradient
from simulator.poplibs.popnn.recurrent import (
    Cache,
    RecurrentOptions,
    RecurrentProducts,
    align_steps,
    at_step,
    check_functions,
    check_sizes,
    check_tensors,
    create_input,
    loop_backwards,
    put_step,
)
from simulator.poplibs.poputil.exceptions import poplibs_error


class RnnGradients(NamedTuple):
    """Gradients of a layer: of the input [steps, batch, in] (None unless asked for), of Wff, Wfb and the biases (None
    without weight update), of the initial state [batch, out]."""

    input: Tensor | None
    weightsInput: Tensor | None
    weightsFeedback: Tensor | None
    biases: Tensor | None
    initialState: Tensor


def getFwdFlops(sequenceSize: int, batchSize: int, inputSize: int, outputSize: int, weightInput: bool = True) -> int:
    """Floating-point operations of the forward pass by PopLibs' count: the products (of the input only with
    `weightInput`), and twice steps * out for the sums."""
    rows = batchSize * sequenceSize
    flops = _product_flops(rows, outputSize, outputSize) + 2 * sequenceSize * outputSize
    return flops + _product_flops(rows, inputSize, outputSize) * weightInput


def getBwdFlops(sequenceSize: int, batchSize: int, inputSize: int, outputSize: int, calcInputGrad: bool = True) -> int:
    """Floating-point operations of the backward pass without weight update, by PopLibs' count."""
    rows = batchSize * sequenceSize
    flops = _product_flops(rows, outputSize, outputSize)
    return flops + _product_flops(rows, inputSize, outputSize) * calcInputGrad


def getWuFlops(sequenceSize: int, batchSize: int, inputSize: int, outputSize: int) -> int:
    """Floating-point operations of the weight update, by PopLibs' count: two products over all rows, the sum of the
    biases, and one addition a parameter."""
    rows = batchSize * sequenceSize
    products = sum(size * _product_flops(1, rows, outputSize) for size in (inputSize, outputSize))
    return products + (rows - 1) * outputSize + outputSize * (inputSize + outputSize + 1)


def createInput(
    graph: Graph,
    numSteps: int,
    batchSize: int,
    inputSize: int,
    outputSize: int,
    dType: Type,
    partialsType: Type = FLOAT,
    inferenceOnly: bool = False,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """A mapped sequence of inputs [steps, batch, in]; each step has the layout that its product with Wff reads.

    Raises `poplibs_error` for sizes below 1."""
    check_sizes("rnn.createInput", [inputSize, outputSize], batchSize, numSteps)
    call = operation(graph, debugContext, "popnn", "createInput", timeSteps=numSteps)
    given = _options(partialsType, inferenceOnly).forward()
    return create_input(graph, dType, [numSteps, batchSize, inputSize], outputSize, given, planningCache, call)


def createFwdState(
    graph: Graph,
    dType: Type,
    batchSize: int,
    outputSize: int,
    prog: Sequence,
    initState: bool,
    inferenceOnly: bool,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """A mapped initial state [batch, out]; `initState` sets it to zero in `prog`, otherwise the caller sets its
    values."""
    call = operation(graph, debugContext, "popnn", "createFwdState", batchSize=batchSize)
    shapes = [batchSize, outputSize], [outputSize, outputSize]
    given = RecurrentOptions(inference_only=inferenceOnly).forward()
    state = createMatMulInputLHS(graph, dType, *shapes, (call, "FwdState"), given, planningCache)
    if initState:
        popops.zero(graph, state, prog, call)
    return state


def createBwdState(
    graph: Graph,
    dType: Type,
    batchSize: int,
    outputSize: int,
    prog: Sequence,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """The state [batch, out] that the backward pass starts from, set to zero in `prog`."""
    call = operation(graph, debugContext, "popnn", "createBwdState", batchSize=batchSize)
    shapes = [batchSize, outputSize], [outputSize, outputSize]
    given = RecurrentOptions().of_pass("TRAINING_BWD")
    state = createMatMulInputLHS(graph, dType, *shapes, (call, "BwdState"), given, planningCache)
    popops.zero(graph, state, prog, call)
    return state


def getOutputFromFwdState(fwdState: Tensor) -> Tensor:
    """The output that a forward state holds: the state itself."""
    return fwdState


def createWeightsInput(
    graph: Graph,
    sequenceSize: int,
    batchSize: int,
    inputSize: int,
    outputSize: int,
    dType: Type,
    partialsType: Type = FLOAT,
    inferenceOnly: bool = False,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """Wff, [in, out], in the layout that the product with the input of one step reads."""
    check_sizes("createWeightsInput", [inputSize, outputSize], batchSize, sequenceSize)
    call = operation(graph, debugContext, "popnn", "createWeightsInput", inputSize=inputSize, outputSize=outputSize)
    shapes = [batchSize, inputSize], [inputSize, outputSize]
    given = _options(partialsType, inferenceOnly).forward()
    return createMatMulInputRHS(graph, dType, *shapes, (call, "weightsInput"), given, planningCache)


def createWeightsFeedback(
    graph: Graph,
    batchSize: int,
    outputSize: int,
    dType: Type,
    partialsType: Type = FLOAT,
    inferenceOnly: bool = False,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """Wfb, [out, out]: its rows are elements of the last output."""
    call = operation(graph, debugContext, "popnn", "createWeightsFeedback", outputSize=outputSize)
    shapes = [batchSize, outputSize], [outputSize, outputSize]
    given = _options(partialsType, inferenceOnly).forward()
    return createMatMulInputRHS(graph, dType, *shapes, (call, "weightsRecurrent"), given, planningCache)


def forwardWeightInput(
    graph: Graph,
    actIn: Tensor,
    weights: Tensor,
    prog: Sequence,
    partialsType: Type = FLOAT,
    inferenceOnly: bool = False,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """x Wff for all steps of `actIn` in one product, [steps, batch, out]."""
    call = operation(graph, debugContext, "popnn", "forwardWeightInput", actIn=actIn, weights=weights)
    products = _products(graph, actIn.elementType(), partialsType, inferenceOnly, planningCache, call)
    flat = products.multiply(actIn.flatten(0, 2), weights, "RnnFwd/FeedFwd", "", prog)
    return flat.reshape([*actIn.shape()[:2], weights.dim(1)])


def forwardIterate(
    graph: Graph,
    feedFwdIn: Tensor,
    initState: Tensor,
    feedbackWeights: Tensor,
    biases: Tensor,
    prog: Sequence,
    nonLinearityType: NonLinearityType,
    partialsType: Type = FLOAT,
    inferenceOnly: bool = False,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """The outputs [steps, batch, out] of weighted inputs `feedFwdIn`, one step after the other without a loop."""
    steps, batch, out = feedFwdIn.shape()
    shapes = {"initState": (initState, [batch, out]), "feedbackWeights": (feedbackWeights, [out, out])}
    shapes |= {"feedFwdIn": (feedFwdIn, [steps, batch, out]), "biases": (biases, [out])}
    check_tensors("forwardIterate", feedFwdIn.elementType(), shapes)
    call = operation(graph, debugContext, "popnn", "forwardIterate", feedFwdIn=feedFwdIn)
    products = _products(graph, feedFwdIn.elementType(), partialsType, inferenceOnly, planningCache, call)
    outputs, state = [], initState
    for step, weighted in enumerate(feedFwdIn):
        name = f"RnnFwd/Feedback/{step}"
        state = products.multiply(state, feedbackWeights, name, "", prog)
        popops.addInPlace(graph, state, weighted, prog, (call, f"{name}/Sum"))
        popops.addInPlace(graph, state, biases, prog, (call, f"{name}/Bias"))
        nonLinearityInPlace(graph, nonLinearityType, state, prog, (call, name))
        outputs.append(state.expand([0]))
    return concat(outputs)


def rnnFwdSequence(
    graph: Graph,
    prog: Sequence,
    fwdStateInit: Tensor,
    weightedIn: Tensor | None,
    biases: Tensor,
    feedFwdWeights: Tensor,
    feedbackWeights: Tensor,
    prevLayerActs: Tensor,
    nonLinearityType: NonLinearityType,
    partialsType: Type = FLOAT,
    inferenceOnly: bool = False,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> Tensor:
    """The outputs of all steps [steps, batch, out], from the inputs `prevLayerActs` or, where given, from inputs that
    `forwardWeightInput` has weighted.

    Raises `poplibs_error` for shapes that do not fit."""
    _check("rnnFwdSequence", fwdStateInit, biases, feedFwdWeights, feedbackWeights, prevLayerActs)
    steps = prevLayerActs.dim(0)
    if weightedIn is not None:
        shape = [steps, *fwdStateInit.shape()]
        check_tensors("rnnFwdSequence", prevLayerActs.elementType(), {"weightedIn": (weightedIn, shape)})
    call = operation(graph, debugContext, "popnn", "rnnFwdSequence", prevLayerActs=prevLayerActs)
    state = poputil.duplicate(graph, fwdStateInit, prog, (call, "state"))
    last = partialsType, inferenceOnly, call, planningCache
    sequence = align_steps(graph, prevLayerActs if weightedIn is None else weightedIn, prog, call)
    outputs: Tensor | None = None

    def body(counter: Tensor) -> Sequence:
        nonlocal outputs
        step = Sequence()
        weighted = at_step(graph, sequence, counter, step, call).expand([0])
        if weightedIn is None:
            weighted = forwardWeightInput(graph, weighted, feedFwdWeights, step, *last)
        new = forwardIterate(graph, weighted, state, feedbackWeights, biases, step, nonLinearityType, *last)[0]
        outputs = put_step(graph, outputs, new, counter, steps, step, call)
        step.add(Copy(new, state, False, (call, "state")))
        return step

    prog.add(popops.countedLoop(graph, steps, body, (call, "steps")))
    assert outputs is not None
    return outputs


def backwardGradientStep(
    graph: Graph,
    nextLayerGrad: Tensor,
    bwdState: Tensor,
    actOut: Tensor,
    weightsInput: Tensor | None,
    weightsFeedback: Tensor,
    prog: Sequence,
    nonLinearityType: NonLinearityType,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> tuple[Tensor | None, Tensor]:
    """One step back: (the gradient of the input, None without `weightsInput`; the gradient before the function, which
    is the `bwdState` of the step before).

    `bwdState` is that of the step after, `actOut` the output of this step, `nextLayerGrad` its gradient from outside
    the layer. Raises `poplibs_error` for a function whose gradient needs its input."""
    check_functions("backwardGradientStep", nonLinearityType)
    call = operation(graph, debugContext, "popnn", "backwardGradientStep", actOut=actOut)
    products = _products(graph, actOut.elementType(), partialsType, False, planningCache, call)
    slope = products.multiply(bwdState, weightsFeedback.transpose(), "RnnBwd/Fb", "TRAINING_BWD", prog)
    popops.addInPlace(graph, slope, nextLayerGrad, prog, (call, "RnnBwd/AddOutGrad"))
    state = nonLinearityInputGradient(graph, nonLinearityType, actOut, slope, prog, (call, "RnnBwd"))
    if weightsInput is None:
        return None, state
    return products.multiply(state, weightsInput.transpose(), "RnnBwd/Ff", "TRAINING_BWD", prog), state


def rnnBwdSequence(
    graph: Graph,
    doWU: bool,
    ignoreInputGradientCalc: bool,
    prog: Sequence,
    fwdStateInit: Tensor,
    fwdState: Tensor,
    biases: Tensor,
    feedFwdWeights: Tensor,
    feedbackWeights: Tensor,
    outGradient: Tensor,
    actIn: Tensor,
    nonLinearityType: NonLinearityType,
    partialsType: Type = FLOAT,
    debugContext: Context = "",
    planningCache: Cache = None,
) -> RnnGradients:
    """The gradients of the layer whose outputs are `fwdState`, from those of its outputs, `outGradient`
    [steps, batch, out]; with `doWU` those of weights and biases too.

    Raises `poplibs_error` for shapes that do not fit and for a function whose gradient needs its input."""
    _check("rnnBwdSequence", fwdStateInit, biases, feedFwdWeights, feedbackWeights, actIn)
    (batch, out), steps, type_ = fwdStateInit.shape(), actIn.dim(0), actIn.elementType()
    sequences = {"fwdState": fwdState, "outGradient": outGradient}
    check_tensors("rnnBwdSequence", type_, {name: (t, [steps, batch, out]) for name, t in sequences.items()})
    call = operation(graph, debugContext, "popnn", "rnnBwdSequence", actIn=actIn, outGradient=outGradient)
    state = createBwdState(graph, type_, batch, out, prog, call, planningCache)
    products = _products(graph, type_, partialsType, False, planningCache, call)
    back = products.arrange(feedbackWeights.transpose(), batch, "RnnBwd/Fb", prog).transpose()
    weights = None
    if not ignoreInputGradientCalc:
        weights = products.arrange(feedFwdWeights.transpose(), batch, "RnnBwd/Ff", prog).transpose()
    slopes, outputs = (align_steps(graph, t, prog, call) for t in (outGradient, fwdState))
    stored: dict[str, Tensor] = {}

    def body(counter: Tensor) -> Sequence:
        step = Sequence()
        slope, act = (at_step(graph, t, counter, step, call) for t in (slopes, outputs))
        last = nonLinearityType, partialsType, call, planningCache
        by_input, new = backwardGradientStep(graph, slope, state, act, weights, back, step, *last)
        if by_input is not None:
            stored["input"] = put_step(graph, stored.get("input"), by_input, counter, steps, step, call)
        if doWU:
            stored["states"] = put_step(graph, stored.get("states"), new, counter, steps, step, call)
        step.add(Copy(new, state, False, (call, "state")))
        return step

    prog.add(loop_backwards(graph, steps, body, call))
    first = products.multiply(state, back.transpose(), "RnnBwd/Fb", "TRAINING_BWD", prog)
    if not doWU:
        return RnnGradients(stored.get("input"), None, None, None, first)
    states = stored["states"].flatten(0, 2)
    previous = concat([fwdStateInit.expand([0]), fwdState.slice(0, steps - 1)]).flatten(0, 2)
    rows = actIn.flatten(0, 2).transpose()
    by_forward = products.multiply(rows, states, "RnnDeltas/Wi", "TRAINING_WU", prog)
    by_feedback = products.multiply(previous.transpose(), states, "RnnDeltas/Wfb", "TRAINING_WU", prog)
    by_biases = popops.reduce(graph, states, [0], popops.Operation.ADD, prog, (call, "RnnDeltas"))
    return RnnGradients(stored.get("input"), by_forward, by_feedback, by_biases, first)


def _product_flops(rows: int, inner: int, columns: int) -> int:
    return rows * columns * (2 * inner - 1)


def _options(partials: Type, inference: bool) -> RecurrentOptions:
    return RecurrentOptions(inference_only=inference, products=(("partialsType", str(partials)),))


def _products(
    graph: Graph, type_: Type, partials: Type, inference: bool, cache: Cache, call: DebugInfo
) -> RecurrentProducts:
    return RecurrentProducts(graph, type_, _options(partials, inference), cache, call)


def _check(api: str, state: Tensor, biases: Tensor, forward: Tensor, feedback: Tensor, input: Tensor) -> None:
    if state.rank() != 2 or input.rank() != 3 or 0 in (*state.shape(), *input.shape()):
        raise poplibs_error(
            f"{api}: the initial state {state.shape()} and the input {input.shape()} must have shapes [batch, out] and "
            "[steps, batch, in] without zeros."
        )
    (batch, out), (steps, _, fan_in) = state.shape(), input.shape()
    expected = {"the input": (input, [steps, batch, fan_in]), "the initial state": (state, [batch, out])}
    expected |= {"biases": (biases, [out]), "feedFwdWeights": (forward, [fan_in, out])}
    check_tensors(api, input.elementType(), expected | {"feedbackWeights": (feedback, [out, out])})
