"""popnn.rnn: outputs and all gradients against NumPy in double precision, by vertices and by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Graph, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs.popnn import NonLinearityType, gru, lstm, rnn
from simulator.poplibs.poputil.exceptions import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph

TANH, RELU, SIGMOID = NonLinearityType.TANH, NonLinearityType.RELU, NonLinearityType.SIGMOID
#: each function, and its slope from its output
FUNCTIONS = {
    TANH: (np.tanh, lambda y: 1 - y * y),
    RELU: (lambda x: np.maximum(x, 0), lambda y: (y > 0) * 1.0),
    SIGMOID: (lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y)),
}
NAMES = ("x", "h", "biases", "forward", "feedback", "slope")


def given_values(dtype: Any, steps: int, batch: int, fan_in: int, out: int) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    shapes = (steps, batch, fan_in), (batch, out), (out,), (fan_in, out), (out, out), (steps, batch, out)
    return {name: rng.normal(0, 0.5, shape).astype(dtype) for name, shape in zip(NAMES, shapes, strict=True)}


def double_layer(kind: NonLinearityType, given: dict[str, Any]) -> tuple[Any, ...]:
    """(outputs, gradients of input, Wff, Wfb, biases, initial state) by back-propagation, step by step."""
    v = {name: values.astype(np.float64) for name, values in given.items()}
    function, slope_of = FUNCTIONS[kind]
    outputs = [v["h"]]
    for x in v["x"]:
        outputs.append(function(x @ v["forward"] + outputs[-1] @ v["feedback"] + v["biases"]))
    by_x = np.zeros(v["x"].shape)
    by_forward, by_feedback, by_biases = (np.zeros(v[name].shape) for name in ("forward", "feedback", "biases"))
    carried = np.zeros(v["h"].shape)
    for step in reversed(range(len(by_x))):
        inner = (carried + v["slope"][step]) * slope_of(outputs[step + 1])
        by_x[step] = inner @ v["forward"].T
        by_forward += v["x"][step].T @ inner
        by_feedback += outputs[step].T @ inner
        by_biases += inner.sum(0)
        carried = inner @ v["feedback"].T
    return np.stack(outputs[1:]), by_x, by_forward, by_feedback, by_biases, carried


def pack(graph: Graph, prog: Sequence, tensors: list[Tensor]) -> Tensor:
    total = linear(graph, tensors[0].elementType(), [sum(t.numElements() for t in tensors)])
    begin = 0
    for t in tensors:
        prog.add(Copy(t.flatten(), total.slice(begin, begin + t.numElements())))
        begin += t.numElements()
    return total


def create(graph: Graph, prog: Sequence, type_: Any, sizes: tuple[int, ...], partials: Any) -> list[Tensor]:
    """Tensors in the order of NAMES."""
    steps, batch, _, out = sizes
    return [
        rnn.createInput(graph, *sizes, type_, partials, debugContext="x"),
        rnn.createFwdState(graph, type_, batch, out, prog, False, False, "h"),
        linear(graph, type_, [out], "biases"),
        rnn.createWeightsInput(graph, *sizes, type_, partials, debugContext="forward"),
        rnn.createWeightsFeedback(graph, batch, out, type_, partials, debugContext="feedback"),
        linear(graph, type_, [steps, batch, out], "slope"),
    ]


@pytest.mark.parametrize("weighted_first", [True, False])
@pytest.mark.parametrize(
    ("type_", "kind", "sizes"),
    [
        (FLOAT, TANH, (3, 2, 5, 4)),
        (FLOAT, RELU, (5, 3, 2, 7)),
        (FLOAT, SIGMOID, (1, 1, 1, 1)),
        (FLOAT, TANH, (2, 1, 7, 1)),
        (HALF, TANH, (3, 2, 5, 4)),
        (HALF, RELU, (2, 3, 3, 5)),
    ],
)
def test_outputs_and_gradients(type_, kind, sizes, weighted_first):
    values = given_values(type_.dtype, *sizes)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        x, h, biases, forward, feedback, slope = tensors = create(graph, prog, type_, sizes, FLOAT)
        weighted = rnn.forwardWeightInput(graph, x, forward, prog) if weighted_first else None
        out = rnn.rnnFwdSequence(graph, prog, h, weighted, biases, forward, feedback, x, kind, debugContext="fwd")
        back = rnn.rnnBwdSequence(graph, True, False, prog, h, out, biases, forward, feedback, slope, x, kind, FLOAT)
        given = {name: (t, values[name]) for name, t in zip(NAMES, tensors, strict=True)}
        return given, pack(graph, prog, [out, *(t for t in back if t is not None)])

    expected = np.concatenate([part.ravel() for part in double_layer(kind, values)])
    bound = {"rtol": 1e-4, "atol": 1e-5} if type_ is FLOAT else {"rtol": 2e-2, "atol": 1e-2}
    for result in both_ways(build):
        np.testing.assert_allclose(result, expected, **bound)


def test_only_the_gradients_asked_for():
    sizes = (3, 2, 5, 4)
    values = given_values(np.float32, *sizes)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        x, h, biases, forward, feedback, slope = tensors = create(graph, prog, FLOAT, sizes, FLOAT)
        out = rnn.rnnFwdSequence(graph, prog, h, None, biases, forward, feedback, x, TANH)
        back = rnn.rnnBwdSequence(graph, False, True, prog, h, out, biases, forward, feedback, slope, x, TANH)
        assert back[:4] == (None, None, None, None)
        return {name: (t, values[name]) for name, t in zip(NAMES, tensors, strict=True)}, back.initialState

    for result in both_ways(build):
        np.testing.assert_allclose(result, double_layer(TANH, values)[-1], rtol=1e-4, atol=1e-6)


def test_steps_written_out_are_those_of_the_loop():
    sizes = (4, 2, 3, 5)
    values = given_values(np.float32, *sizes)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        x, h, biases, forward, feedback, _ = tensors = create(graph, prog, FLOAT, sizes, FLOAT)
        weighted = rnn.forwardWeightInput(graph, x, forward, prog, FLOAT, True)
        out = rnn.forwardIterate(graph, weighted, h, feedback, biases, prog, RELU, FLOAT, True)
        return {name: (t, values[name]) for name, t in zip(NAMES, tensors, strict=True)}, out

    for result in both_ways(build):
        np.testing.assert_allclose(result, double_layer(RELU, values)[0], rtol=1e-4, atol=1e-6)


def test_flops_by_hand():
    """2 steps, batch 3, 5 -> 4: products of 6 rows with 5 x 4 (216 operations) and 4 x 4 (168)."""
    assert rnn.getFwdFlops(2, 3, 5, 4) == 216 + 168 + 2 * 2 * 4
    assert rnn.getFwdFlops(2, 3, 5, 4, False) == 168 + 16
    assert rnn.getBwdFlops(2, 3, 5, 4) == 216 + 168
    assert rnn.getBwdFlops(2, 3, 5, 4, False) == 168
    assert rnn.getWuFlops(2, 3, 5, 4) == (5 + 4) * 4 * 11 + 5 * 4 + (5 * 4 + 4 * 4 + 4)


def test_state_starts_at_zero_on_request():
    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        state = rnn.createFwdState(graph, FLOAT, 2, 3, prog, True, True)
        assert rnn.getOutputFromFwdState(state).shape() == [2, 3]
        return {"state": (state, np.ones((2, 3)))}, state

    for result in both_ways(build):
        assert not result.any()


def test_refusals():
    graph, prog = small_graph(), Sequence()
    with pytest.raises(poplibs_error, match=r"rnn.createInput: layerSizes \[5, 4\], batchSize 2 and timeSteps 0"):
        rnn.createInput(graph, 0, 2, 5, 4, FLOAT)
    x, h, biases, forward, feedback, slope = create(graph, prog, FLOAT, (3, 2, 5, 4), FLOAT)
    with pytest.raises(
        poplibs_error, match=r"rnnFwdSequence: feedFwdWeights is float\[4, 5\]; float\[5, 4\] is needed"
    ):
        rnn.rnnFwdSequence(graph, prog, h, None, biases, forward.transpose(), feedback, x, TANH)
    with pytest.raises(poplibs_error, match=r"the initial state \[4\] and the input \[3, 2, 5\] must have shapes"):
        rnn.rnnFwdSequence(graph, prog, h[0], None, biases, forward, feedback, x, TANH)
    with pytest.raises(poplibs_error, match=r"outGradient is float\[2, 2, 4\]; float\[3, 2, 4\] is needed"):
        rnn.rnnBwdSequence(graph, True, False, prog, h, slope, biases, forward, feedback, slope[:2], x, TANH)


def test_functions_whose_gradients_need_their_inputs_are_refused():
    graph, prog = small_graph(), Sequence()
    x, h, biases, forward, feedback, slope = create(graph, prog, FLOAT, (3, 2, 5, 4), FLOAT)
    gelu = NonLinearityType.GELU
    message = "the gradient of GELU needs its input; use one of TANH, RELU, SIGMOID"
    with pytest.raises(poplibs_error, match=message):
        rnn.rnnBwdSequence(graph, True, False, prog, h, slope, biases, forward, feedback, slope, x, gelu)
    params = lstm.LstmParams(FLOAT, 2, 3, [5, 4], gelu)
    given, state, weights = (f(graph, params) for f in (lstm.createInput, lstm.createInitialState, lstm.createWeights))
    out, _, saved = lstm.lstmFwd(graph, params, state, given, weights, prog)
    with pytest.raises(poplibs_error, match=f"lstmBwd: {message}"):
        lstm.lstmBwd(graph, params, prog, state, saved, weights, given, out, out)
    gates = gru.GruParams(FLOAT, 2, 3, [5, 4], recurrentActivation=gelu)
    first, kernels = gru.createInitialState(graph, gates), gru.createWeights(graph, gates)
    out, saved = gru.gruFwd(graph, gates, first, given, kernels, prog)
    with pytest.raises(poplibs_error, match=f"gruBwd: {message}"):
        gru.gruBwd(graph, gates, prog, first, saved, kernels, given, out, out)
