"""popnn.lstm: outputs and all gradients against NumPy in double precision, by vertices and by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Graph, Tensor, invalid_option
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popnn
from simulator.poplibs.popnn import lstm
from simulator.poplibs.poputil.exceptions import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph

STEPS, BATCH, FAN_IN, OUT = 3, 2, 5, 4
ORDER = lstm.getDefaultBasicLstmCellOrder()
REVERSED = ORDER[::-1]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


class Reference:
    """Values of a small layer, rounded to the type of its tensors."""

    def __init__(self, dtype: Any, order: Any) -> None:
        rng = np.random.default_rng(3)
        shapes = {
            "input": (STEPS, BATCH, FAN_IN),
            "h": (BATCH, OUT),
            "c": (BATCH, OUT),
            "inputWeights": (4, FAN_IN, OUT),
            "outputWeights": (4, OUT, OUT),
            "biases": (4, OUT),
            "slope": (STEPS, BATCH, OUT),
            "last": (BATCH, OUT),
        }
        self.values = {k: rng.normal(0, 0.6, s).astype(dtype) for k, s in shapes.items()}
        self.places = [order.index(unit) for unit in ORDER]

    def forward(self, values: dict[str, Any]) -> tuple[Any, Any]:
        h, c = values["h"], values["c"]
        outputs = []
        for x in values["input"]:
            sums = x @ values["inputWeights"] + h @ values["outputWeights"] + values["biases"][:, None]
            forget, take, candidate, give = (sums[place] for place in self.places)
            c = sigmoid(forget) * c + sigmoid(take) * np.tanh(candidate)
            h = sigmoid(give) * np.tanh(c)
            outputs.append(h)
        return np.stack(outputs), c

    def double(self) -> dict[str, Any]:
        return {k: v.astype(np.float64) for k, v in self.values.items()}

    def slopes(self, full: bool, name: str) -> Any:
        """Central differences of the sum of outputs times `slope` and of the last cell state times `last`."""
        values = self.double()

        def total() -> float:
            outputs, c = self.forward(values)
            upstream = values["slope"] if full else values["slope"][-1]
            return float(((outputs if full else outputs[-1]) * upstream).sum() + (c * values["last"]).sum())

        found = np.zeros(values[name].shape)
        for place in np.ndindex(found.shape):
            middle = values[name][place]
            values[name][place] = middle + 1e-5
            above = total()
            values[name][place] = middle - 1e-5
            found[place] = (above - total()) / 2e-5
            values[name][place] = middle
        return found


def layer(reference: Reference, type_: Any, full: bool, order: Any, options: Any = None, inference: Any = None) -> Any:
    """A build function for `both_ways` whose result is all results of the layer, flattened; and their shapes. With the
    arguments `inference` of the forward pass there is no backward pass."""
    shapes: list[list[int]] = []

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        params = lstm.LstmParams(type_, BATCH, STEPS, [FAN_IN, OUT], outputFullSequence=full, cellOrder=order)
        x = lstm.createInput(graph, params, "input", options)
        state = lstm.createInitialState(graph, params, "state", options)
        weights = lstm.createWeights(graph, params, "weights", options)
        slope = linear(graph, type_, [STEPS, BATCH, OUT])
        last = linear(graph, type_, [BATCH, OUT])
        tensors = dict(zip(reference.values, (x, state.output, state.cellState, *weights, slope, last), strict=True))
        inputs = {k: (t, reference.values[k]) for k, t in tensors.items()}
        keywords = inference or {"options": options}
        out, cell, kept = lstm.lstmFwd(graph, params, state, x, weights, prog, "lstm", **keywords)
        results = [out, cell]
        if inference:
            assert kept is None
        else:
            slope_of_out = slope if full else slope[STEPS - 1]
            first, back, found = lstm.lstmBwdWithWU(
                graph, params, prog, state, kept, weights, x, out, slope_of_out, last, "back", options
            )
            results += [back, *first, *found]
        total = linear(graph, type_, [sum(t.numElements() for t in results)])
        begin = 0
        for t in results:
            prog.add(Copy(t.flatten(), total.slice(begin, begin + t.numElements())))
            begin += t.numElements()
            shapes.append(t.shape())
        return inputs, total

    return build, shapes


@pytest.mark.parametrize(
    ("type_", "full", "order", "options"),
    [(FLOAT, True, ORDER, None), (FLOAT, False, REVERSED, {"preCalcWeights": "true"}), (HALF, True, ORDER, None)],
)
def test_outputs_and_gradients(type_, full, order, options):
    reference = Reference(type_.dtype, order)
    build, shapes = layer(reference, type_, full, order, options)
    outputs, cell = reference.forward(reference.double())
    names = ("input", "h", "c", "inputWeights", "outputWeights", "biases")
    expected = [outputs if full else outputs[-1], cell, *(reference.slopes(full, name) for name in names)]
    assert names == tuple(reference.values)[:6]
    for result in both_ways(build):
        begin = 0
        for values, shape in zip(expected, shapes, strict=False):
            found = result[begin : begin + values.size].reshape(shape)
            begin += values.size
            bound = {"rtol": 1e-4, "atol": 2e-5} if type_ is FLOAT else {"rtol": 1e-2, "atol": 8e-3}
            np.testing.assert_allclose(found, values, **bound)
        assert begin == len(result)


@pytest.mark.parametrize(
    "inference", [{"options": {"inferenceOnly": "true"}}, {"intermediates": False}], ids=["option", "null"]
)
def test_inference_keeps_nothing_and_says_the_same(inference):
    reference = Reference(np.float32, ORDER)
    build, _ = layer(reference, FLOAT, True, ORDER, inference=inference)
    outputs, cell = reference.forward(reference.double())
    expected = np.concatenate([outputs.ravel(), cell.ravel()])
    for result in both_ways(build):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_refusals():
    graph, prog = small_graph(), Sequence()
    params = lstm.LstmParams(FLOAT, 2, 3, [5, 4])
    with pytest.raises(poplibs_error, match=r"layerSizes \[5, 4, 3\], batchSize 2 and timeSteps 3"):
        lstm.LstmParams(FLOAT, 2, 3, [5, 4, 3])
    with pytest.raises(invalid_option, match="lstm has no option 'numShards'; it has inferenceOnly, preCalcWeights"):
        lstm.createInput(graph, params, "", {"numShards": 2})
    with pytest.raises(invalid_option, match="inferenceOnly 'maybe' is neither true nor false"):
        lstm.createWeights(graph, params, "", {"inferenceOnly": "maybe"})
    x, state, weights = (
        lstm.createInput(graph, params),
        lstm.createInitialState(graph, params),
        lstm.createWeights(graph, params),
    )
    lstm.zeroInitialState(graph, state, prog)
    assert state.getAsTensor().shape() == [2, 2, 4]
    with pytest.raises(poplibs_error, match=r"lstmFwd: input is float\[2, 2, 5\]; float\[3, 2, 5\] is needed"):
        lstm.lstmFwd(graph, params, state, x.slice(0, 2), weights, prog)
    out, _, kept = lstm.lstmFwd(graph, params, state, x, weights, prog)
    with pytest.raises(poplibs_error, match=r"lstmBwd: the gradient's shape \[2, 4\] is not the output's \[3, 2, 4\]"):
        lstm.lstmBwd(graph, params, prog, state, kept, weights, x, out, out[0])


def test_largest_of_rows_in_order():
    values = np.random.default_rng(5).permutation(60).reshape(3, 20).astype(np.float32)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        t = linear(graph, FLOAT, [3, 20])
        found, places = popnn.topK(graph, t, 4, True, prog, "top")
        assert found.shape() == places.shape() == [3, 1, 4]
        return {"t": (t, values)}, found

    for result in both_ways(build):
        assert np.array_equal(result[:, 0], np.sort(values, 1)[:, :-5:-1])


def test_weights_in_parts_are_those_of_one_call():
    graph = small_graph()
    params = lstm.LstmParams(FLOAT, 2, 3, [5, 4])
    parts = (*lstm.createWeightsKernel(graph, params, "kernel"), lstm.createWeightsBiases(graph, params, "biases"))
    for part, tensor in zip(parts, lstm.createWeights(graph, params, "weights"), strict=True):
        assert part.shape() == tensor.shape()
        assert graph.getTileMapping(part) == graph.getTileMapping(tensor)
    with pytest.raises(invalid_option, match="lstm has no option 'x'"):
        lstm.createWeightsBiases(graph, params, "", {"x": 1})
