"""Keras' LSTM layer and its gradient through popnn.lstm, in Keras' order of dimensions and of weights.

Sequences are [batch, steps, size]; weights are [size, 4 * units] and [units, 4 * units], biases [4 * units], in the
order input, forget, candidate, output.
"""

from __future__ import annotations

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.popnn import lstm
from simulator.poplibs.popnn.lstm_cell import BasicLstmCellUnit, LstmParams, LstmState, LstmWeights

_UNITS = BasicLstmCellUnit
_ORDER = [
    _UNITS.BASIC_LSTM_CELL_INPUT_GATE,
    _UNITS.BASIC_LSTM_CELL_FORGET_GATE,
    _UNITS.BASIC_LSTM_CELL_CANDIDATE,
    _UNITS.BASIC_LSTM_CELL_OUTPUT_GATE,
]


def _params(x: Tensor, units: int) -> LstmParams:
    steps, batch, size = x.shape()
    return LstmParams(x.elementType(), batch, steps, [size, units], calcInputGradients=True, cellOrder=_ORDER)


def _by_unit(weight: Tensor) -> Tensor:
    """[size, 4 * units] as [4, size, units]."""
    size, columns = weight.shape()
    return weight.reshape([size, 4, columns // 4]).dimShuffle([1, 0, 2])


def _weights(kernel: Tensor, recurrent: Tensor, bias: Tensor) -> LstmWeights:
    return LstmWeights(_by_unit(kernel), _by_unit(recurrent), bias.reshape([4, recurrent.dim(0)]))


def _forward(
    at: Building,
    x: Tensor,
    output: Tensor,
    cell: Tensor,
    weights: tuple[Tensor, Tensor, Tensor],
    inference: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    options = {"inferenceOnly": inference, "partialsType": at.precision.partials}
    params, given = _params(x, weights[1].dim(0)), _weights(*weights)
    return lstm.lstmFwd(at.graph, params, LstmState(output, cell), x, given, at.program, at.name("LSTM"), options)


@lowers("tf.Lstm", kind="LSTM", call="popnn.lstm.lstmFwd")
def lstm_forward(
    at: Building, input: Tensor, output: Tensor, cell: Tensor, kernel: Tensor, recurrent: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(outputs, last cell state, what the gradient needs)."""
    x = input.dimShuffle([1, 0, 2])
    outputs, last, saved = _forward(at, x, output, cell, (kernel, recurrent, bias), False)
    assert saved is not None
    return outputs.dimShuffle([1, 0, 2]), last, saved


@lowers("tf.LstmInference", kind="LSTM", call="popnn.lstm.lstmFwd")
def lstm_inference(
    at: Building, input: Tensor, output: Tensor, cell: Tensor, kernel: Tensor, recurrent: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    x = input.dimShuffle([1, 0, 2])
    outputs, last, _ = _forward(at, x, output, cell, (kernel, recurrent, bias), True)
    return outputs.dimShuffle([1, 0, 2]), last


@lowers("tf.LstmGrad", kind="LSTMGrad", call="popnn.lstm.lstmBwdWithWU")
def lstm_gradient(
    at: Building,
    input: Tensor,
    output: Tensor,
    cell: Tensor,
    kernel: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    outputs: Tensor,
    saved: Tensor,
    slope: Tensor,
    last_output_slope: Tensor,
    last_cell_slope: Tensor,
) -> tuple[Tensor, ...]:
    """Gradients of the input, of both first states and of the weights. `slope` is that of all outputs."""
    x, whole = input.dimShuffle([1, 0, 2]), slope.dimShuffle([1, 0, 2])
    steps = whole.dim(0)
    last = popops.add(at.graph, whole[steps - 1], last_output_slope, at.program, at.name("lastOutputGrad")).expand([0])
    whole = concat([whole.slice(0, steps - 1), last]) if steps > 1 else last
    states, back, found = lstm.lstmBwdWithWU(
        at.graph,
        _params(x, recurrent.dim(0)),
        at.program,
        LstmState(output, cell),
        saved,
        _weights(kernel, recurrent, bias),
        x,
        outputs.dimShuffle([1, 0, 2]),
        whole,
        last_cell_slope,
        at.name("LSTMGrad"),
        {"inferenceOnly": False, "partialsType": at.precision.partials},
    )
    assert back is not None
    by_kernel, by_recurrent = (
        one.dimShuffle([1, 0, 2]).reshape(like.shape())
        for one, like in ((found.inputWeights, kernel), (found.outputWeights, recurrent))
    )
    gradients = by_kernel, by_recurrent, found.biases.flatten()
    return back.dimShuffle([1, 0, 2]), states.output, states.cellState, *gradients
