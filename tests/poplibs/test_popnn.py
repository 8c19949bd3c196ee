"""popnn: functions, their gradients and the loss, by vertices, by kernel and against slow formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import both_ways, linear, small_graph

from simulator.poplar import FLOAT, HALF, UNSIGNED_INT, Graph, Tensor, graph_connection_error, poplar_error, type_error
from simulator.poplar.program import Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.popnn import LossType, NonLinearityType

FUNCTIONS: dict[NonLinearityType, Any] = {
    NonLinearityType.RELU: lambda x: np.maximum(x, 0),
    NonLinearityType.SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
    NonLinearityType.TANH: np.tanh,
    NonLinearityType.SWISH: lambda x: x / (1 + np.exp(-x)),
    NonLinearityType.GELU: lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}
BOUND = {FLOAT: 1e-6, HALF: 1e-3}
VALUES = np.random.default_rng(8).uniform(-3, 3, (6, 10))


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("kind", list(FUNCTIONS))
def test_forward(kind: NonLinearityType, in_place: bool, type_: Any) -> None:
    values = VALUES.astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        t = linear(graph, type_, [6, 10])
        if in_place:
            popnn.nonLinearityInPlace(graph, kind, t, program, "act")
            return {"t": (t, values)}, t
        return {"t": (t, values)}, popnn.nonLinearity(graph, kind, t, program, "act")

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    expected = FUNCTIONS[kind](values.astype(np.float64))
    assert (np.abs(by_vertex - expected) <= BOUND[type_] * (1 + np.abs(expected))).all()


@pytest.mark.parametrize("kind", list(FUNCTIONS))
def test_gradient_is_the_slope_of_the_function(kind: NonLinearityType) -> None:
    x = VALUES
    step = 1e-5
    slope = (FUNCTIONS[kind](x + step) - FUNCTIONS[kind](x - step)) / (2 * step)
    by_input = kind in (NonLinearityType.GELU, NonLinearityType.SWISH)
    act = (x if by_input else FUNCTIONS[kind](x)).astype(np.float32)
    upstream = np.random.default_rng(9).normal(size=x.shape).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, g = linear(graph, FLOAT, [6, 10], "act"), linear(graph, FLOAT, [6, 10], "grad")
        inputs = {"a": (a, act), "g": (g, upstream)}
        return inputs, popnn.nonLinearityInputGradient(graph, kind, a, g, program, "back")

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    assert np.allclose(by_vertex, slope * upstream, atol=2e-5)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_softmax_and_cross_entropy() -> None:
    labels = np.array([3, 0, 9, 9, 1, 5], np.uint32)
    values = VALUES.astype(np.float32)
    probabilities = _softmax(values.astype(np.float64))
    one_hot = np.eye(10)[labels]

    def build(graph: Graph, program: Sequence, what: int) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        t, expected = linear(graph, FLOAT, [6, 10]), linear(graph, UNSIGNED_INT, [6], "labels")
        loss, deltas = linear(graph, FLOAT, [6], "loss"), linear(graph, FLOAT, [6, 10], "deltas")
        p = popnn.nonLinearity(graph, NonLinearityType.SOFTMAX, t, program, "soft")
        program.add(popnn.calcLoss(graph, p, expected, loss, deltas, LossType.CROSS_ENTROPY_LOSS, "loss"))
        return {"t": (t, values), "l": (expected, labels)}, (p, loss, deltas)[what]

    exact = (probabilities, -np.log(probabilities[np.arange(6), labels]), probabilities - one_hot)
    for what, wanted in enumerate(exact):
        by_vertex, by_kernel = both_ways(lambda graph, program, what=what: build(graph, program, what))  # type: ignore[misc]
        assert np.allclose(by_vertex, wanted, atol=2e-6)
        assert np.allclose(by_kernel, wanted, atol=2e-6)


def test_one_hot_rows_out_of_range_are_zero() -> None:
    indices = np.array([2, 7, 0], np.uint32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        i, out = linear(graph, UNSIGNED_INT, [3], "i"), linear(graph, FLOAT, [3, 5], "out")
        popops.encodeOneHot(graph, i, out, program)
        return {"i": (i, indices)}, out

    by_vertex, by_kernel = both_ways(build)
    expected = np.zeros((3, 5))
    expected[0, 2] = expected[2, 0] = 1
    assert np.array_equal(by_vertex, expected)
    assert np.array_equal(by_kernel, expected)


def test_refusals() -> None:
    graph, program = small_graph(), Sequence()
    t, u = linear(graph, FLOAT, [4, 4]), linear(graph, UNSIGNED_INT, [4])
    with pytest.raises(poplar_error, match="SOFTMAX is not done in place"):
        popnn.nonLinearityInPlace(graph, NonLinearityType.SOFTMAX, t, program)
    with pytest.raises(type_error, match="FLOAT or HALF, not unsigned int"):
        popnn.nonLinearity(graph, NonLinearityType.RELU, u, program)
    with pytest.raises(graph_connection_error, match="must be"):
        popnn.calcLoss(graph, t, u, linear(graph, FLOAT, [3]), t, LossType.CROSS_ENTROPY_LOSS)
