"""popnn.gru: outputs and all gradients against NumPy in double precision, by vertices and by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Graph, Tensor, invalid_option
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs.popnn import gru
from simulator.poplibs.poputil.exceptions import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph

ORDER = gru.getDefaultBasicGruCellOrder()
SHUFFLED = [ORDER[2], ORDER[0], ORDER[1]]
NAMES = ("input", "h", "inputWeights", "outputWeights", "biases")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def double_layer(params: gru.GruParams, values: dict[str, Any]) -> Any:
    """Outputs of all steps, written from the formulas of the cell."""
    reset_at, update_at, candidate_at = (params.cellOrder.index(unit) for unit in ORDER)
    kernel, feedback = values["inputWeights"], values["outputWeights"]
    biases = values["biases"] if params.resetAfter else np.stack([values["biases"], 0 * values["biases"]], 1)
    h, outputs = values["h"], []
    for x in values["input"]:
        gates = [
            sigmoid(x @ kernel[at] + biases[at, 0] + h @ feedback[at] + biases[at, 1]) for at in (reset_at, update_at)
        ]
        if params.resetAfter:
            recurrent = gates[0] * (h @ feedback[candidate_at] + biases[candidate_at, 1])
        else:
            recurrent = (gates[0] * h) @ feedback[candidate_at]
        candidate = np.tanh(x @ kernel[candidate_at] + biases[candidate_at, 0] + recurrent)
        h = gates[1] * h + (1 - gates[1]) * candidate
        outputs.append(h)
    return np.stack(outputs) if params.outputFullSequence else h


def given_values(params: gru.GruParams) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    (fan_in, out), batch, steps = params.layerSizes, params.batchSize, params.timeSteps
    slope = (steps, batch, out) if params.outputFullSequence else (batch, out)
    shapes = (steps, batch, fan_in), (batch, out), (3, fan_in, out), (3, out, out), params.biases_shape(), slope
    dtype = params.dataType.dtype
    return {k: rng.normal(0, 0.6, s).astype(dtype) for k, s in zip((*NAMES, "slope"), shapes, strict=True)}


def differences(params: gru.GruParams, values: dict[str, Any], name: str) -> Any:
    """Central differences of the sum of outputs times `slope`."""
    double = {k: v.astype(np.float64) for k, v in values.items()}

    def total(moved: Any) -> Any:
        return (double_layer(params, double | {name: moved}) * double["slope"]).sum()

    slopes = np.zeros(values[name].shape)
    for place in np.ndindex(slopes.shape):
        step = np.zeros(slopes.shape)
        step[place] = 1e-5
        slopes[place] = (total(double[name] + step) - total(double[name] - step)) / 2e-5
    return slopes


def results_of_layer(params: gru.GruParams, values: dict[str, Any], options: Any) -> list[list[Any]]:
    """[output, gradients by NAMES] from vertices, and from kernels."""
    shapes: list[list[int]] = []

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        x = gru.createInput(graph, params, "input", options)
        state = gru.createInitialState(graph, params, "state", options)
        weights = gru.createWeights(graph, params, "weights", options)
        slope = linear(graph, params.dataType, list(values["slope"].shape))
        tensors = dict(zip(values, (x, state, *weights, slope), strict=True))
        out, saved = gru.gruFwd(graph, params, state, x, weights, prog, "gru", options)
        assert saved is not None
        first, back, found = gru.gruBwdWithWU(
            graph, params, prog, state, saved, weights, x, out, slope, "back", options
        )
        assert (back is not None) == params.calcInputGradients
        results = [out, *([back] if back is not None else []), first, *found]
        total = linear(graph, params.dataType, [sum(t.numElements() for t in results)])
        begin = 0
        for t in results:
            prog.add(Copy(t.flatten(), total.slice(begin, begin + t.numElements())))
            begin += t.numElements()
            shapes.append(t.shape())
        return {k: (t, values[k]) for k, t in tensors.items()}, total

    found = []
    for flat in both_ways(build):
        edges = np.cumsum([0, *(np.prod(shape, dtype=int) for shape in shapes)])
        assert edges[-1] == len(flat)
        found.append([flat[a:b].reshape(s) for a, b, s in zip(edges, edges[1:], shapes, strict=False)])
    return found


@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize(
    ("type_", "batch", "steps", "sizes", "full", "order"),
    [
        (FLOAT, 2, 3, [5, 4], True, ORDER),
        (FLOAT, 3, 4, [2, 7], False, SHUFFLED),
        (FLOAT, 1, 1, [1, 1], True, ORDER),
        (FLOAT, 1, 1, [3, 1], False, SHUFFLED),
        (HALF, 2, 3, [5, 4], True, SHUFFLED),
        (HALF, 1, 2, [3, 5], False, ORDER),
    ],
)
def test_outputs_and_gradients(type_, batch, steps, sizes, full, order, reset_after):
    params = gru.GruParams(type_, batch, steps, sizes, outputFullSequence=full, cellOrder=order, resetAfter=reset_after)
    values = given_values(params)
    double = {k: v.astype(np.float64) for k, v in values.items()}
    expected = [double_layer(params, double), *(differences(params, values, name) for name in NAMES)]
    bound = {"rtol": 1e-4, "atol": 1e-5} if type_ is FLOAT else {"rtol": 2e-2, "atol": 1e-2}
    for results in results_of_layer(params, values, {"partialsType": "float"} if type_ is HALF else None):
        for found, exact in zip(results, expected, strict=True):
            np.testing.assert_allclose(found, exact, **bound)


def test_layer_without_gradients_of_its_input():
    params = gru.GruParams(FLOAT, 2, 3, [5, 4], calcInputGradients=False, resetAfter=True)
    values = given_values(params)
    expected = [differences(params, values, name) for name in NAMES[1:]]
    for results in results_of_layer(params, values, None):
        for found, exact in zip(results[1:], expected, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize(
    "keywords", [{"options": {"inferenceOnly": True}}, {"intermediates": False}], ids=["option", "null"]
)
def test_inference_stores_nothing_and_says_the_same(reset_after, keywords):
    params = gru.GruParams(FLOAT, 2, 3, [5, 4], resetAfter=reset_after)
    values = given_values(params)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        x, state = gru.createInput(graph, params), gru.createInitialState(graph, params)
        weights = gru.createWeights(graph, params)
        out, saved = gru.gruFwd(graph, params, state, x, weights, prog, "gru", **keywords)
        assert saved is None
        return {k: (t, values[k]) for k, t in zip(NAMES, (x, state, *weights), strict=True)}, out

    expected = double_layer(params, {k: v.astype(np.float64) for k, v in values.items()})
    for result in both_ways(build):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_programs_of_long_sequences_are_no_longer():
    sizes = []
    for steps in (2, 50):
        graph, prog = small_graph(), Sequence()
        params = gru.GruParams(FLOAT, 2, steps, [5, 4], resetAfter=True)
        x, state = gru.createInput(graph, params), gru.createInitialState(graph, params)
        weights = gru.createWeights(graph, params)
        out, saved = gru.gruFwd(graph, params, state, x, weights, prog)
        assert saved is not None
        gru.gruBwd(graph, params, prog, state, saved, weights, x, out, out)
        sizes.append(graph.addComputeSet("last").getId())
    assert sizes[0] == sizes[1] > 0


def test_refusals():
    graph, prog = small_graph(), Sequence()
    params = gru.GruParams(FLOAT, 2, 3, [5, 4], resetAfter=True)
    with pytest.raises(poplibs_error, match=r"GruParams: layerSizes \[5, 0\], batchSize 2 and timeSteps 3"):
        gru.GruParams(FLOAT, 2, 3, [5, 0])
    with pytest.raises(poplibs_error, match=r"cellOrder \['BASIC_GRU_CELL_RESET_GATE'\] must name each of the 3 units"):
        gru.GruParams(FLOAT, 2, 3, [5, 4], cellOrder=ORDER[:1])
    with pytest.raises(invalid_option, match="gru has no option 'preCalcWeights'; it has inferenceOnly, partialsType"):
        gru.createInput(graph, params, "", {"preCalcWeights": "true"})
    with pytest.raises(invalid_option, match="inferenceOnly '2' is neither true nor false"):
        gru.createWeightsBiases(graph, params, "", {"inferenceOnly": 2})
    x, state = gru.createInput(graph, params), gru.createInitialState(graph, params)
    weights = gru.createWeights(graph, params)
    with pytest.raises(poplibs_error, match=r"gruFwd: the initial state is float\[2, 5\]; float\[2, 4\] is needed"):
        gru.gruFwd(graph, params, x[0], x, weights, prog)
    flat = gru.GruWeights(weights.inputWeights, weights.outputWeights, weights.biases[:, 0])
    with pytest.raises(poplibs_error, match=r"gruFwd: biases is float\[3, 4\]; float\[3, 2, 4\] is needed"):
        gru.gruFwd(graph, params, state, x, flat, prog)
    out, saved = gru.gruFwd(graph, params, state, x, weights, prog)
    assert saved is not None
    with pytest.raises(poplibs_error, match=r"gruBwd: the output's gradient is float\[2, 4\]; float\[3, 2, 4\]"):
        gru.gruBwd(graph, params, prog, state, saved, weights, x, out, out[0])
