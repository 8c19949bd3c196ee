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


def results(found: Results) -> None:
    _lstm(found)
    _gru(found)
    _rnn(found)


def _flat(*tensors: poplar.Tensor | None) -> poplar.Tensor:
    return poplar.concat([t.flatten() for t in tensors if t is not None])


def _lstm(found: Results) -> None:
    graph, prog, cache = found.graph, found.prog, PlanningCache()
    params = lstm.LstmParams(FLOAT, BATCH, STEPS, [IN, OUT])
    params.cellOrder = [
        Unit.BASIC_LSTM_CELL_INPUT_GATE,
        Unit.BASIC_LSTM_CELL_FORGET_GATE,
        Unit.BASIC_LSTM_CELL_CANDIDATE,
        Unit.BASIC_LSTM_CELL_OUTPUT_GATE,
    ]
    found.number("cell order", lstm.getDefaultBasicLstmCellOrder()[3].value)
    source = lstm.createInput(graph, params, "in", OPTIONS, cache)
    found.filled(source, found.given([STEPS, BATCH, IN]))
    weights = lstm.createWeights(graph, params, "weights", OPTIONS, cache)
    found.filled(weights.inputWeights, found.given([4, IN, OUT], 1))
    found.filled(weights.outputWeights, found.given([4, OUT, OUT], 2))
    found.filled(weights.biases, found.given([4, OUT], 3))
    state = lstm.createInitialState(graph, params, "state", OPTIONS, cache)
    lstm.zeroInitialState(graph, state, prog)
    found.read("lstm state", state.getAsTensor())
    out, cell, kept = lstm.lstmFwd(graph, params, state, source, weights, prog, "forward", OPTIONS, cache)
    assert kept is not None
    found.read("lstmFwd", out)
    found.read("lstmFwd cell state", cell)
    inference = {"inferenceOnly": "true"}
    found.read(
        "lstmFwd for inference", lstm.lstmFwd(graph, params, state, source, weights, prog, "inference", inference)[0]
    )
    slopes, last = found.given([STEPS, BATCH, OUT], 4), found.given([BATCH, OUT], 5)
    forward = state, kept, weights, source, out, slopes
    back, slope, units = lstm.lstmBwd(graph, params, prog, *forward, last, "backward", OPTIONS)
    assert slope is not None
    found.read("lstmBwd", poplar.concat([back.output, back.cellState, slope.flatten(0, 2).slice(0, 2, 1)]))
    deltas = lstm.lstmWU(graph, params, prog, state, kept, units, weights, source, out, "update", OPTIONS)
    found.read("lstmWU", _flat(*deltas))
    _, slope, both = lstm.lstmBwdWithWU(graph, params, prog, *forward)
    found.read("lstmBwdWithWU", _flat(slope, both.inputWeights, both.biases))
    found.number("lstm operands", 4 * IN * OUT + 4 * OUT * OUT * 100 + 4 * OUT * 10000)


def _gru(found: Results) -> None:
    graph, prog = found.graph, found.prog
    params = gru.GruParams(FLOAT, BATCH, STEPS, [IN, OUT], outputFullSequence=False, resetAfter=True)
    found.number("gru order", gru.getDefaultBasicGruCellOrder()[1].value)
    source = found.filled(gru.createInput(graph, params, "in"), found.given([STEPS, BATCH, IN]))
    weights = gru.createWeights(graph, params, "weights")
    found.filled(weights.inputWeights, found.given([3, IN, OUT], 1))
    found.filled(weights.outputWeights, found.given([3, OUT, OUT], 2))
    found.filled(weights.biases, found.given([3, 2, OUT], 3))
    state = found.filled(gru.createInitialState(graph, params, "state"), found.given([BATCH, OUT], 6))
    out, kept = gru.gruFwd(graph, params, state, source, weights, prog, "forward")
    assert kept is not None
    found.read("gruFwd", out)
    forward = state, kept, weights, source, out, found.given([BATCH, OUT], 4)
    back, slope, units = gru.gruBwd(graph, params, prog, *forward)
    found.read("gruBwd", _flat(back, slope))
    deltas = gru.gruWU(graph, params, prog, state, kept, units, weights, source, out)
    found.read("gruWU", _flat(*deltas))
    _, slope, both = gru.gruBwdWithWU(graph, params, prog, *forward)
    found.read("gruBwdWithWU", _flat(slope, both.inputWeights, both.biases))
    found.number("gru operands", 3 * IN * OUT + 3 * OUT * OUT * 100 + 3 * 2 * OUT * 10000)


def _rnn(found: Results) -> None:
    graph, prog, tanh = found.graph, found.prog, NonLinearityType.TANH
    source = rnn.createInput(graph, STEPS, BATCH, IN, OUT, FLOAT)
    found.filled(source, found.given([STEPS, BATCH, IN]))
    state = rnn.createFwdState(graph, FLOAT, BATCH, OUT, prog, True, False, "state")
    weights = found.filled(rnn.createWeightsInput(graph, STEPS, BATCH, IN, OUT, FLOAT), found.given([IN, OUT], 1))
    feedback = found.filled(rnn.createWeightsFeedback(graph, BATCH, OUT, FLOAT), found.given([OUT, OUT], 2))
    biases = found.variable(found.given([OUT], 3))
    weighted = rnn.forwardWeightInput(graph, source, weights, prog)
    found.read("forwardWeightInput", weighted)
    found.read("forwardIterate", rnn.forwardIterate(graph, weighted, state, feedback, biases, prog, tanh))
    layer = biases, weights, feedback
    out = rnn.rnnFwdSequence(graph, prog, state, None, *layer, source, tanh)
    found.read("rnnFwdSequence", out)
    found.read(
        "rnnFwdSequence of weighted input", rnn.rnnFwdSequence(graph, prog, state, weighted, *layer, source, tanh)
    )
    slopes = found.given([STEPS, BATCH, OUT], 4)
    last, backward = out[STEPS - 1], rnn.createBwdState(graph, FLOAT, BATCH, OUT, prog)
    slope, after = rnn.backwardGradientStep(graph, slopes[2], backward, last, weights, feedback, prog, tanh)
    assert slope is not None
    found.read("backwardGradientStep", poplar.concat(slope, after, 1))
    found.read("backwardGradientStep without input", after)
    back = rnn.rnnBwdSequence(graph, True, False, prog, state, out, *layer, slopes, source, tanh)
    found.read("rnnBwdSequence", _flat(back.input, back.weightsInput, back.weightsFeedback, back.biases))
    sizes = STEPS, BATCH, IN, OUT
    flops = rnn.getFwdFlops(*sizes) + rnn.getBwdFlops(*sizes) * 1000 + rnn.getWuFlops(*sizes) * 1000000
    found.number("rnn flops", flops)
