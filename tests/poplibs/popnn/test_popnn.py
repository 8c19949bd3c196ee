"""popnn: functions, their gradients and the loss, by vertices, by the kernel and against slow formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from simulator.poplar import FLOAT, HALF, UNSIGNED_INT, Graph, Tensor, graph_connection_error, poplar_error, type_error
from simulator.poplar.program import Execute, Sequence
from simulator.poplibs import popnn, popops
from simulator.poplibs.popnn import LossType, NonLinearityType
from tests.poplibs.programs import both_ways, linear, small_graph

FUNCTIONS: dict[NonLinearityType, Any] = {
    NonLinearityType.RELU: lambda x: np.maximum(x, 0),
    NonLinearityType.SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
    NonLinearityType.TANH: np.tanh,
    NonLinearityType.SWISH: lambda x: x / (1 + np.exp(-x)),
    NonLinearityType.GELU_ERF: lambda x: 0.5 * x * (1 + special.erf(x / np.sqrt(2))),
    NonLinearityType.HARD_SIGMOID: lambda x: np.clip(0.2 * x + 0.5, 0, 1),
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
    of_outputs = (NonLinearityType.RELU, NonLinearityType.SIGMOID, NonLinearityType.TANH)
    by_input = kind not in of_outputs
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


SOFTMAXES = [NonLinearityType.SOFTMAX, NonLinearityType.SOFTMAX_STABLE, NonLinearityType.SOFTMAX_SCALED]


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("shape", [(10,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("kind", SOFTMAXES)
def test_softmaxes_of_any_rank(kind: NonLinearityType, shape: tuple[int, ...], type_: Any) -> None:
    values = np.random.default_rng(3).uniform(-3, 3, shape).astype(type_.dtype)
    scale = 16384.0 if kind is NonLinearityType.SOFTMAX_SCALED else 1.0
    exact = scale * special.softmax(values.astype(np.float64), -1)

    for in_place in (False, True):

        def build(
            graph: Graph, program: Sequence, in_place: bool = in_place
        ) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
            t = linear(graph, type_, list(shape))
            if in_place:
                assert popnn.nonLinearityInPlace(graph, kind, t, 0.0, program, "soft") == scale
                return {"t": (t, values)}, t
            out, factor = popnn.nonLinearity(graph, kind, t, 0.0, program, "soft")
            assert factor == scale
            return {"t": (t, values)}, out

        for result in both_ways(build):
            np.testing.assert_allclose(result, exact, rtol=1e-5 if type_ is FLOAT else 4e-3)


def test_stable_softmaxes_stand_large_inputs_and_the_plain_one_does_not() -> None:
    values = np.array([[200.0, 201.0, 199.0]], np.float32)

    def build(
        graph: Graph, program: Sequence, function: Any = popnn.softmax
    ) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        t = linear(graph, FLOAT, [1, 3])
        return {"t": (t, values)}, function(graph, t, program)

    with np.errstate(all="ignore"):
        assert not np.isfinite(both_ways(build)[1]).all()
    stable = both_ways(lambda graph, program: build(graph, program, popnn.softmaxStable))
    scaled = both_ways(lambda graph, program: build(graph, program, popnn.scaledSoftmaxStable))
    exact = special.softmax(values.astype(np.float64), -1)
    for result in (*stable, *(s / 16384 for s in scaled)):
        np.testing.assert_allclose(result, exact, rtol=1e-5)


@pytest.mark.parametrize("in_place", [False, True])
def test_logarithm_of_softmax(in_place: bool) -> None:
    values = np.random.default_rng(4).uniform(-90, 90, (4, 7)).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        t = linear(graph, FLOAT, [4, 7])
        if in_place:
            popnn.logSoftmaxInPlace(graph, t, program, "log")
            return {"t": (t, values)}, t
        return {"t": (t, values)}, popnn.logSoftmax(graph, t, program, "log")

    for result in both_ways(build):
        np.testing.assert_allclose(result, special.log_softmax(values.astype(np.float64), -1), atol=2e-5)


def test_gradient_of_softmax() -> None:
    """For outputs y and their gradient g: the product of the Jacobian diag(y) - y y' with g, row by row."""
    y = special.softmax(VALUES, -1)
    g = np.random.default_rng(9).normal(size=y.shape)
    exact = [(np.diag(a) - np.outer(a, a)) @ b for a, b in zip(y, g, strict=True)]

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, slope = linear(graph, FLOAT, [6, 10], "y"), linear(graph, FLOAT, [6, 10], "g")
        out = popnn.nonLinearityInputGradient(graph, NonLinearityType.SOFTMAX, a, slope, program, "back")
        return {"y": (a, y.astype(np.float32)), "g": (slope, g.astype(np.float32))}, out

    for result in both_ways(build):
        np.testing.assert_allclose(result, exact, atol=1e-6)


def test_vertices_in_a_compute_set_of_the_callers() -> None:
    """Two functions and a gradient in one compute set, executed once."""
    values = VALUES.astype(np.float32)

    def build(graph: Graph, program: Sequence, what: int) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b, c, g = (linear(graph, FLOAT, [6, 10], name) for name in "abcg")
        cs = graph.addComputeSet("together")
        popnn.reluInPlace(graph, a, cs)
        assert popnn.tanhInPlace(graph, b, 0.0, cs, "b") == 1.0
        out = popnn.nonLinearityInputGradient(graph, NonLinearityType.SWISH, c, g, cs, "c")
        program.add(Execute(cs))
        assert graph.store.compute_set_names == ["together"]
        return {n: (t, values) for n, t in zip("abcg", (a, b, c, g), strict=True)}, (a, b, out)[what]

    s = 1 / (1 + np.exp(-values.astype(np.float64)))
    exact = (np.maximum(values, 0), np.tanh(values), values * (s + values * s * (1 - s)))
    for what, wanted in enumerate(exact):
        np.testing.assert_allclose(both_ways(lambda g, p, w=what: build(g, p, w))[0], wanted, atol=1e-6)  # type: ignore[misc]


def test_short_names_are_the_functions() -> None:
    functions = {
        "sigmoid": "SIGMOID",
        "relu": "RELU",
        "tanh": "TANH",
        "gelu": "GELU",
        "swish": "SWISH",
        "softmax": "SOFTMAX",
        "softmaxStable": "SOFTMAX_STABLE",
        "scaledSoftmaxStable": "SOFTMAX_SCALED",
    }
    for name, kind in functions.items():
        graph, other = small_graph(), small_graph()
        program, same = Sequence(), Sequence()
        popnn.nonLinearity(graph, NonLinearityType[kind], linear(graph, FLOAT, [2, 4]), program, "n")
        getattr(popnn, name)(other, linear(other, FLOAT, [2, 4]), same, "n")
        assert [b.type.name for b in graph.store.blocks] == [b.type.name for b in other.store.blocks]
        graph, other = small_graph(), small_graph()
        popnn.nonLinearityInPlace(graph, NonLinearityType[kind], linear(graph, FLOAT, [2, 4]), program, "n")
        getattr(popnn, f"{name}InPlace")(other, linear(other, FLOAT, [2, 4]), same, "n")
        assert [b.type.name for b in graph.store.blocks] == [b.type.name for b in other.store.blocks]


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
    cs = graph.addComputeSet("cs")
    for kind in (NonLinearityType.SOFTMAX_STABLE, NonLinearityType.HARD_SIGMOID):
        with pytest.raises(poplar_error, match=f"The form of {kind.value} takes several steps"):
            popnn.nonLinearityInPlace(graph, kind, t, cs)
        with pytest.raises(poplar_error, match=f"The gradient of {kind.value} takes several steps"):
            popnn.nonLinearityInputGradient(graph, kind, t, t, cs)
    with pytest.raises(poplar_error, match="cannot be written; use nonLinearity"):
        popnn.reluInPlace(graph, t.broadcast(2, 0), program)
    with pytest.raises(graph_connection_error, match="at least one dimension"):
        popnn.softmax(graph, linear(graph, FLOAT, []), program)
    with pytest.raises(type_error, match="logSoftmax takes FLOAT or HALF"):
        popnn.logSoftmax(graph, u, program)
    with pytest.raises(graph_connection_error, match="Gradient: shapes"):
        popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, t, linear(graph, FLOAT, [4]), program)
    with pytest.raises(type_error, match="FLOAT or HALF, not unsigned int"):
        popnn.nonLinearity(graph, NonLinearityType.RELU, u, program)
    with pytest.raises(graph_connection_error, match="must be"):
        popnn.calcLoss(graph, t, u, linear(graph, FLOAT, [3]), t, LossType.CROSS_ENTROPY_LOSS)
