"""The twin of tests/cpp/programs/recurrent.cpp."""

from __future__ import annotations

from simulator import poplar
from simulator.poplar import FLOAT
from simulator.poplibs.poplin import PlanningCache
from simulator.poplibs.popnn import NonLinearityType, gru, lstm, rnn
from simulator.poplibs.popnn.lstm import BasicLstmCellUnit as Unit
from tests.cpp.twins.results import Results

STEPS, BATCH, IN, OUT = 3, 2, 3, 2
OPTIONS = {"partialsType": "float"}


def run(results: Results) -> None:
    _lstm(results)
    _gru(results)
    _rnn(results)


def _flat(*tensors: poplar.Tensor | None) -> poplar.Tensor:
    return poplar.concat([t.flatten() for t in tensors if t is not None])


def _fill(results: Results, weights: lstm.LstmWeights | gru.GruWeights, units: int, biases: list[int]) -> None:
    """Give the weights of a layer with `units` products their values."""
    results.filled(weights.inputWeights, results.operand([units, IN, OUT], 1))
    results.filled(weights.outputWeights, results.operand([units, OUT, OUT], 2))
    results.filled(weights.biases, results.operand(biases, 3))


def _lstm(results: Results) -> None:
    graph, prog, cache = results.graph, results.prog, PlanningCache()
    params = lstm.LstmParams(FLOAT, BATCH, STEPS, [IN, OUT])
    params.cellOrder = [
        Unit.BASIC_LSTM_CELL_INPUT_GATE,
        Unit.BASIC_LSTM_CELL_FORGET_GATE,
        Unit.BASIC_LSTM_CELL_CANDIDATE,
        Unit.BASIC_LSTM_CELL_OUTPUT_GATE,
    ]
    results.number("cell order", lstm.getDefaultBasicLstmCellOrder()[3].value)
    source = lstm.createInput(graph, params, "in", OPTIONS, cache)
    results.filled(source, results.operand([STEPS, BATCH, IN]))
    weights = lstm.createWeights(graph, params, "weights", OPTIONS, cache)
    _fill(results, weights, 4, [4, OUT])
    state = lstm.createInitialState(graph, params, "state", OPTIONS, cache)
    lstm.zeroInitialState(graph, state, prog)
    results.read("lstm state", state.getAsTensor())
    out, cell, kept = lstm.lstmFwd(graph, params, state, source, weights, prog, "forward", OPTIONS, cache)
    assert kept is not None
    results.read("lstmFwd", out)
    results.read("lstmFwd cell state", cell)
    inference = {"inferenceOnly": "true"}
    results.read(
        "lstmFwd for inference", lstm.lstmFwd(graph, params, state, source, weights, prog, "inference", inference)[0]
    )
    before = graph.getNumVertices()
    lstm.lstmFwd(graph, params, state, source, weights, prog, "nothing kept", OPTIONS, cache, intermediates=False)
    results.number("vertices of lstmFwd that keeps nothing", graph.getNumVertices() - before)
    slopes, last = results.operand([STEPS, BATCH, OUT], 4), results.operand([BATCH, OUT], 5)
    forward = state, kept, weights, source, out, slopes
    back, slope, units = lstm.lstmBwd(graph, params, prog, *forward, last, "backward", OPTIONS)
    assert slope is not None
    results.read("lstmBwd", poplar.concat([back.output, back.cellState, slope.flatten(0, 2).slice(0, 2, 1)]))
    deltas = lstm.lstmWU(graph, params, prog, state, kept, units, weights, source, out, "update", OPTIONS)
    results.read("lstmWU", _flat(*deltas))
    before = graph.getNumVertices()
    back, *others = lstm.lstmBwd(
        graph, params, prog, *forward, last, "state", OPTIONS, inputGrad=False, bwdIntermediates=False
    )
    assert others == [None, None]
    results.read("lstmBwd of the state alone", back.getAsTensor())
    results.number("vertices of lstmBwd of the state alone", graph.getNumVertices() - before)
    _, slope, both = lstm.lstmBwdWithWU(graph, params, prog, *forward)
    results.read("lstmBwdWithWU", _flat(slope, both.inputWeights, both.biases))
    results.number("lstm operands", 4 * IN * OUT + 4 * OUT * OUT * 100 + 4 * OUT * 10000)


def _gru(results: Results) -> None:
    graph, prog = results.graph, results.prog
    params = gru.GruParams(FLOAT, BATCH, STEPS, [IN, OUT], outputFullSequence=False, resetAfter=True)
    results.number("gru order", gru.getDefaultBasicGruCellOrder()[1].value)
    source = results.filled(gru.createInput(graph, params, "in"), results.operand([STEPS, BATCH, IN]))
    weights = gru.createWeights(graph, params, "weights")
    _fill(results, weights, 3, [3, 2, OUT])
    state = results.filled(gru.createInitialState(graph, params, "state"), results.operand([BATCH, OUT], 6))
    out, kept = gru.gruFwd(graph, params, state, source, weights, prog, "forward")
    assert kept is not None
    results.read("gruFwd", out)
    before = graph.getNumVertices()
    gru.gruFwd(graph, params, state, source, weights, prog, "nothing kept", intermediates=False)
    results.number("vertices of gruFwd that keeps nothing", graph.getNumVertices() - before)
    forward = state, kept, weights, source, out, results.operand([BATCH, OUT], 4)
    back, slope, units = gru.gruBwd(graph, params, prog, *forward)
    results.read("gruBwd", _flat(back, slope))
    deltas = gru.gruWU(graph, params, prog, state, kept, units, weights, source, out)
    results.read("gruWU", _flat(*deltas))
    before = graph.getNumVertices()
    state_grad, *others = gru.gruBwd(graph, params, prog, *forward, inputGrad=False, bwdIntermediates=False)
    assert others == [None, None]
    results.read("gruBwd of the state alone", state_grad)
    results.number("vertices of gruBwd of the state alone", graph.getNumVertices() - before)
    _, slope, both = gru.gruBwdWithWU(graph, params, prog, *forward)
    results.read("gruBwdWithWU", _flat(slope, both.inputWeights, both.biases))
    results.number("gru operands", 3 * IN * OUT + 3 * OUT * OUT * 100 + 3 * 2 * OUT * 10000)


def _rnn(results: Results) -> None:
    graph, prog, tanh = results.graph, results.prog, NonLinearityType.TANH
    source = rnn.createInput(graph, STEPS, BATCH, IN, OUT, FLOAT)
    results.filled(source, results.operand([STEPS, BATCH, IN]))
    state = rnn.createFwdState(graph, FLOAT, BATCH, OUT, prog, True, False, "state")
    weights = results.filled(rnn.createWeightsInput(graph, STEPS, BATCH, IN, OUT, FLOAT), results.operand([IN, OUT], 1))
    feedback = results.filled(rnn.createWeightsFeedback(graph, BATCH, OUT, FLOAT), results.operand([OUT, OUT], 2))
    biases = results.variable(results.operand([OUT], 3))
    weighted = rnn.forwardWeightInput(graph, source, weights, prog)
    results.read("forwardWeightInput", weighted)
    results.read("forwardIterate", rnn.forwardIterate(graph, weighted, state, feedback, biases, prog, tanh))
    layer = biases, weights, feedback
    out = rnn.rnnFwdSequence(graph, prog, state, None, *layer, source, tanh)
    results.read("rnnFwdSequence", out)
    results.read(
        "rnnFwdSequence of weighted input", rnn.rnnFwdSequence(graph, prog, state, weighted, *layer, source, tanh)
    )
    slopes = results.operand([STEPS, BATCH, OUT], 4)
    last, backward = out[STEPS - 1], rnn.createBwdState(graph, FLOAT, BATCH, OUT, prog)
    slope, after = rnn.backwardGradientStep(graph, slopes[2], backward, last, weights, feedback, prog, tanh)
    assert slope is not None
    results.read("backwardGradientStep", poplar.concat(slope, after, 1))
    results.read("backwardGradientStep without input", after)
    back = rnn.rnnBwdSequence(graph, True, False, prog, state, out, *layer, slopes, source, tanh)
    results.read("rnnBwdSequence", _flat(back.input, back.weightsInput, back.weightsFeedback, back.biases))
    sizes = STEPS, BATCH, IN, OUT
    flops = rnn.getFwdFlops(*sizes) + rnn.getBwdFlops(*sizes) * 1000 + rnn.getWuFlops(*sizes) * 1000000
    results.number("rnn flops", flops)
