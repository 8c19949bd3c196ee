"""LSTM, GRU and plain recurrent layers through popnn.lstm, popnn.gru and popnn.rnn: layers above each other, in one or
two directions.

Every layer and direction is one PopLibs layer over [steps, batch, size]; the steps run in a loop on the device. The
second direction reads the sequence reversed, which is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.base.errors import poplar_error
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import FLOAT, HALF, Tensor, concat
from simulator.poplibs import popnn, popops, poprand
from simulator.poplibs.popnn import gru, lstm, rnn
from simulator.poplibs.popnn.gru_cell import GruParams, GruWeights
from simulator.poplibs.popnn.lstm_cell import BasicLstmCellUnit, LstmParams, LstmState, LstmWeights

#: PyTorch's order of the units of a cell
_LSTM_ORDER = [
    BasicLstmCellUnit.BASIC_LSTM_CELL_INPUT_GATE,
    BasicLstmCellUnit.BASIC_LSTM_CELL_FORGET_GATE,
    BasicLstmCellUnit.BASIC_LSTM_CELL_CANDIDATE,
    BasicLstmCellUnit.BASIC_LSTM_CELL_OUTPUT_GATE,
]


@dataclass
class _Weights:
    """PyTorch's weights of one layer and direction: [units * out, in], [units * out, out] and two biases or none."""

    input: Tensor
    feedback: Tensor
    input_bias: Tensor | None
    feedback_bias: Tensor | None

    @property
    def out(self) -> int:
        return self.feedback.dim(1)

    def kernels(self, units: int) -> tuple[Tensor, Tensor]:
        """[units, in, out] and [units, out, out], as PopLibs has them."""
        return tuple(  # type: ignore[return-value]
            one.reshape([units, self.out, one.dim(1)]).dimShuffle([0, 2, 1]) for one in (self.input, self.feedback)
        )

    def gradients(self, kernel: Tensor, feedback: Tensor, biases: Sequence[Tensor]) -> list[Tensor]:
        """Gradients of PopLibs' weights, shaped like PyTorch's."""
        parts = [
            one.dimShuffle([0, 2, 1]).reshape(like.shape())
            for one, like in ((kernel, self.input), (feedback, self.feedback))
        ]
        return parts + [one.flatten() for one in biases] * (self.input_bias is not None)


@dataclass
class _Run:
    """One layer and direction that ran: outputs [steps, batch, out], last states, and its gradient: (slope of the
    outputs, of the last states) -> (of the input, of the first states, of the weights)."""

    outputs: Tensor
    last: list[Tensor]
    backward: Callable[[Building, Tensor, list[Tensor | None]], tuple[Tensor, list[Tensor], list[Tensor]]]


def _summed_bias(at: Building, weights: _Weights, shape: Sequence[int]) -> Tensor:
    if weights.input_bias is None or weights.feedback_bias is None:
        return at.constant(weights.input.elementType(), shape, 0.0, "biases")
    both = popops.add(at.graph, weights.input_bias, weights.feedback_bias, at.program, at.name("biases"))
    return both.reshape(list(shape))


def _with_last(at: Building, slope: Tensor, last: Tensor | None) -> Tensor:
    """The slope of the outputs, where the last one is also a state that has a slope."""
    if last is None:
        return slope
    steps = slope.dim(0)
    total = popops.add(at.graph, slope[steps - 1], last, at.program, at.name("lastOutputGrad"))
    return concat([slope.slice(0, steps - 1), total.expand([0])]) if steps > 1 else total.expand([0])


def _lstm(at: Building, x: Tensor, first: list[Tensor], weights: _Weights) -> _Run:
    steps, batch, size = x.shape()
    params = LstmParams(
        x.elementType(), batch, steps, [size, weights.out], calcInputGradients=True, cellOrder=_LSTM_ORDER
    )
    bias = _summed_bias(at, weights, [4, weights.out])
    given = LstmWeights(*weights.kernels(4), bias)
    options = {"inferenceOnly": not at.training, "partialsType": _partials(at)}
    state = LstmState(*first)
    graph, name = at.graph, at.name("LSTM")
    outputs, cell, saved = lstm.lstmFwd(graph, params, state, x, given, at.program, name, options)

    def backward(at: Building, slope: Tensor, last: list[Tensor | None]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        whole = _with_last(at, slope, last[0])
        assert saved is not None
        states, back, found = lstm.lstmBwdWithWU(
            at.graph,
            params,
            at.program,
            state,
            saved,
            given,
            x,
            outputs,
            whole,
            last[1],
            at.name("LSTMGrad"),
            options,
        )
        assert back is not None
        gradients = weights.gradients(found.inputWeights, found.outputWeights, [found.biases, found.biases])
        return back, [states.output, states.cellState], gradients

    return _Run(outputs, [outputs[steps - 1], cell], backward)


def _gru(at: Building, x: Tensor, first: list[Tensor], weights: _Weights) -> _Run:
    steps, batch, size = x.shape()
    params = GruParams(x.elementType(), batch, steps, [size, weights.out], resetAfter=True)
    if weights.input_bias is None or weights.feedback_bias is None:
        biases = at.constant(x.elementType(), [3, 2, weights.out], 0.0, "biases")
    else:
        pair = [one.reshape([3, 1, weights.out]) for one in (weights.input_bias, weights.feedback_bias)]
        biases = concat(pair, 1)
    given = GruWeights(*weights.kernels(3), biases)
    options = {"inferenceOnly": not at.training}
    outputs, saved = gru.gruFwd(at.graph, params, first[0], x, given, at.program, at.name("GRU"), options)

    def backward(at: Building, slope: Tensor, last: list[Tensor | None]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        whole = _with_last(at, slope, last[0])
        assert saved is not None
        state, back, found = gru.gruBwdWithWU(
            at.graph, params, at.program, first[0], saved, given, x, outputs, whole, at.name("GRUGrad"), options
        )
        assert back is not None
        both = [found.biases.slice(side, side + 1, 1) for side in (0, 1)]
        return back, [state], weights.gradients(found.inputWeights, found.outputWeights, both)

    return _Run(outputs, [outputs[steps - 1]], backward)


def _plain(function: popnn.NonLinearityType) -> Callable[..., _Run]:
    def run(at: Building, x: Tensor, first: list[Tensor], weights: _Weights) -> _Run:
        bias = _summed_bias(at, weights, [weights.out])
        kernel, feedback = (one.squeeze([0]) for one in weights.kernels(1))
        partials = HALF if _partials(at) == "half" else FLOAT
        outputs = rnn.rnnFwdSequence(
            at.graph,
            at.program,
            first[0],
            None,
            bias,
            kernel,
            feedback,
            x,
            function,
            partials,
            not at.training,
            at.name("RNN"),
        )

        def backward(
            at: Building, slope: Tensor, last: list[Tensor | None]
        ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
            whole = _with_last(at, slope, last[0])
            found = rnn.rnnBwdSequence(
                at.graph,
                True,
                False,
                at.program,
                first[0],
                outputs,
                bias,
                kernel,
                feedback,
                whole,
                x,
                function,
                partials,
                at.name("RNNGrad"),
            )
            assert found.input is not None
            assert found.weightsInput is not None
            assert found.weightsFeedback is not None
            assert found.biases is not None
            kernels = found.weightsInput.expand([0]), found.weightsFeedback.expand([0])
            return found.input, [found.initialState], weights.gradients(*kernels, [found.biases, found.biases])

        return _Run(outputs, [outputs[x.dim(0) - 1]], backward)

    return run


def _partials(at: Building) -> str:
    return at.precision.partials


@dataclass
class _Stack:
    """Layers above each other, as PyTorch numbers them: layer by layer, the forward direction first."""

    run: Callable[..., _Run]
    states: int  #: per layer and direction: 2 for LSTM
    has_biases: bool
    num_layers: int
    dropout: float
    bidirectional: bool

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def weights(self, params: Sequence[Tensor], index: int) -> _Weights:
        count = 4 if self.has_biases else 2
        own = list(params[index * count : (index + 1) * count])
        return _Weights(own[0], own[1], *(own[2:] if self.has_biases else (None, None)))

    def build(self, at: Building, x: Tensor, first: Sequence[Tensor], params: Sequence[Tensor]) -> Any:
        """(outputs, last states, backward) of [steps, batch, size]; states are [layers * directions, batch, out]."""
        runs: list[_Run] = []
        drops: list[Callable[[Building, Tensor], Tensor]] = []
        for layer in range(self.num_layers):
            if layer:
                drops.append(_dropout_of(at, x, self.dropout))
                x = drops[-1](at, x)
            sides = []
            for side in range(self.directions):
                index = layer * self.directions + side
                given = x.reverse(0) if side else x
                runs.append(self.run(at, given, [one[index] for one in first], self.weights(params, index)))
                sides.append(runs[-1].outputs.reverse(0) if side else runs[-1].outputs)
            x = concat(sides, 2) if len(sides) > 1 else sides[0]
        last = [concat([run.last[kind].expand([0]) for run in runs]) for kind in range(self.states)]

        def backward(at: Building, slope: Tensor, ends: Sequence[Tensor | None]) -> Any:
            if not slope.isParallelWriteable():  # steps are sliced into tensors that are laid out like this one
                slope = at.copy(slope, "outputsGrad")
            return self._back(at, slope, ends, runs, drops, len(params))

        return x, last, backward

    def _back(
        self,
        at: Building,
        slope: Tensor,
        ends: Sequence[Tensor | None],
        runs: Sequence[_Run],
        drops: Sequence[Callable[[Building, Tensor], Tensor]],
        params: int,
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        count = 4 if self.has_biases else 2
        weights: list[Any] = [None] * params
        starts: list[list[Any]] = [[None] * len(runs) for _ in range(self.states)]
        for layer in reversed(range(self.num_layers)):
            backs = []
            for side in range(self.directions):
                index = layer * self.directions + side
                out = runs[index].outputs.dim(2)
                own = slope.slice(side * out, (side + 1) * out, 2)
                given: list[Tensor | None] = [None if end is None else end[index] for end in ends]
                back, first, found = runs[index].backward(at, own.reverse(0) if side else own, given)
                backs.append(back.reverse(0) if side else back)
                weights[index * count : (index + 1) * count] = found
                for kind, one in enumerate(first):
                    starts[kind][index] = one.expand([0])
            slope = backs[0]
            if len(backs) > 1:
                slope = popops.add(at.graph, backs[0], backs[1], at.program, at.name("directions"))
            if layer:
                slope = drops[layer - 1](at, slope)
        return slope, [concat(one) for one in starts], weights


def _dropout_of(at: Building, x: Tensor, p: float) -> Callable[[Building, Tensor], Tensor]:
    """Dropout between two layers: the same draw for values and gradients."""
    if not at.training or p == 0:
        return lambda at, tensor: tensor
    draw, scale, keep = at.next_draw(), 1 / (1 - p) if p < 1 else 0.0, 1 - p
    return lambda at, tensor: poprand.dropout(
        at.graph, at.seed, draw, tensor, x, keep, scale, at.program, at.name("dropout")
    )


def _sequence(at: Building, stack: _Stack, input: Tensor, first: list[Tensor], params: Any, batch_first: bool) -> Any:
    """Results (outputs, last states) and backward in PyTorch's shapes: without a batch, or with it first."""
    unbatched = input.rank() == 2
    x = input.expand([1]) if unbatched else (input.dimShuffle([1, 0, 2]) if batch_first else input)
    starts = [one.expand([1]) if unbatched else one for one in first]

    def shaped(outputs: Tensor) -> Tensor:
        if unbatched:
            return outputs.squeeze([1])
        return outputs.dimShuffle([1, 0, 2]) if batch_first else outputs

    outputs, last, back = stack.build(at, x, starts, params)
    results = (shaped(outputs), *(one.squeeze([1]) if unbatched else one for one in last))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Any]:
        if slopes[0] is None:
            whole = at.constant(outputs.elementType(), outputs.shape(), 0.0, "zeros")
        else:
            given = slopes[0]
            whole = given.expand([1]) if unbatched else (given.dimShuffle([1, 0, 2]) if batch_first else given)
        ends = [one if one is None or not unbatched else one.expand([1]) for one in slopes[1:]]
        slope, states, weights = back(at, whole, ends)
        begun = [one.squeeze([1]) if unbatched else one for one in states]
        return {"input": shaped(slope), "hx": begun if stack.states > 1 else begun[0], "params": weights}

    return results, backward


@lowers("aten.lstm.input", kind="LSTM", call="popnn.lstm.lstmFwd, lstmBwdWithWU", own_backward=True)
def lstm_input(
    at: Building,
    input: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    if hx[0].dim(2) != hx[1].dim(2):
        raise poplar_error("an LSTM has no proj_size there; put a Linear layer without bias behind it.")
    stack = _Stack(_lstm, 2, has_biases, num_layers, dropout if train else 0.0, bidirectional)
    return _sequence(at, stack, input, hx, params, batch_first)


def _single_state(run: Callable[..., _Run]) -> Callable[..., Any]:
    def rule(
        at: Building,
        input: Tensor,
        hx: Tensor,
        params: list[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        stack = _Stack(run, 1, has_biases, num_layers, dropout if train else 0.0, bidirectional)
        return _sequence(at, stack, input, [hx], params, batch_first)

    return rule


lowers("aten.gru.input", kind="GRU", call="popnn.gru.gruFwd, gruBwdWithWU", own_backward=True)(_single_state(_gru))
for _name, _function in (("tanh", popnn.NonLinearityType.TANH), ("relu", popnn.NonLinearityType.RELU)):
    lowers(f"aten.rnn_{_name}.input", kind="RNN", call="popnn.rnn.rnnFwdSequence, rnnBwdSequence", own_backward=True)(
        _single_state(_plain(_function))
    )
