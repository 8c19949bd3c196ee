"""popops element by element: each operator by vertices, by its kernel and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import BOOL, FLOAT, HALF, INT, Graph, Tensor, graph_connection_error, type_error
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from tests.poplibs.programs import both_ways, linear, small_graph

UNARY: dict[str, tuple[Any, tuple[float, float]]] = {
    "abs": (np.abs, (-2, 2)),
    "asin": (np.arcsin, (-1, 1)),
    "cbrt": (np.cbrt, (-2, 2)),
    "ceil": (np.ceil, (-3, 3)),
    "cos": (np.cos, (-3, 3)),
    "exp": (np.exp, (-3, 3)),
    "expm1": (np.expm1, (-3, 3)),
    "floor": (np.floor, (-3, 3)),
    "inv": (lambda x: 1 / x, (0.5, 3)),
    "log": (np.log, (0.5, 3)),
    "log1p": (np.log1p, (0, 3)),
    "neg": (np.negative, (-3, 3)),
    "relu": (lambda x: np.maximum(x, 0), (-3, 3)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.5, 3)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-3, 3)),
    "signum": (np.sign, (-3, 3)),
    "sin": (np.sin, (-3, 3)),
    "sqrt": (np.sqrt, (0, 3)),
    "square": (np.square, (-3, 3)),
    "tan": (np.tan, (-1, 1)),
    "tanh": (np.tanh, (-3, 3)),
    "trunc": (np.trunc, (-3, 3)),
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "rem": np.fmod,
    "atan2": np.arctan2,
}
#: stated bound of results, relative to 1 + |result|: one rounding and a few ulps of the function
BOUND = {FLOAT: 5e-7, HALF: 1e-3}


def close(ours: Any, expected: Any, type_: Any) -> None:
    assert (np.abs(ours - expected) <= BOUND[type_] * (1 + np.abs(expected))).all()


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str, type_: Any, in_place: bool) -> None:
    function, (low, high) = UNARY[name]
    values = np.random.default_rng(1).uniform(low, high, (5, 7)).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a = linear(graph, type_, [5, 7])
        if in_place:
            getattr(popops, f"{name}InPlace")(graph, a, program, "u")
            return {"a": (a, values)}, a
        return {"a": (a, values)}, getattr(popops, name)(graph, a, program, "u")

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    close(by_vertex.astype(np.float64), function(values.astype(np.float64)), type_)


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("form", ["tensors", "scalar tensor", "number", "rows", "in place"])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(name: str, form: str, type_: Any) -> None:
    rng = np.random.default_rng(2)
    a_values = rng.uniform(0.5, 3, (6, 5)).astype(type_.dtype)
    shape = {"scalar tensor": (), "rows": (5,)}.get(form, (6, 5))
    b_values = rng.uniform(0.5, 3, shape).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a = linear(graph, type_, [6, 5], "a")
        if form == "number":
            return {"a": (a, a_values)}, getattr(popops, name)(graph, a, 1.5, program)
        b = linear(graph, type_, list(shape), "b")
        inputs = {"a": (a, a_values), "b": (b, b_values)}
        if form == "in place":
            getattr(popops, f"{name}InPlace")(graph, a, b, program)
            return inputs, a
        return inputs, getattr(popops, name)(graph, a, b, program)

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    b = 1.5 if form == "number" else b_values.astype(np.float64)
    close(by_vertex.astype(np.float64), BINARY[name](a_values.astype(np.float64), b), type_)


def test_comparisons_give_bool() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a = linear(graph, FLOAT, [3, 4])
        low, high = popops.gteq(graph, a, 3.0, program), popops.lt(graph, a, 9.0, program)
        return {"a": (a, values)}, popops.logicalAnd(graph, low, high, program)

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    assert np.array_equal(by_vertex, (values >= 3) & (values < 9))


def test_integers_divide_towards_zero() -> None:
    a_values, b_values = np.array([7, -7, 7, -7, 9, 0]), np.array([2, 2, -2, -2, 3, 5])

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b = linear(graph, INT, [6], "a"), linear(graph, INT, [6], "b")
        return {"a": (a, a_values), "b": (b, b_values)}, popops.div(graph, a, b, program)

    by_vertex, by_kernel = both_ways(build)
    assert by_vertex.tolist() == by_kernel.tolist() == [3, -3, -3, 3, 3, 0]


@pytest.mark.parametrize("name", ["relu", "exp"])
def test_a_transposed_tensor_is_worked_on_in_rows(name: str) -> None:
    """Tiles that hold several runs of the view get worker vertices over rows."""
    values = np.random.default_rng(3).normal(size=(9, 10)).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        whole = linear(graph, FLOAT, [9, 10])
        part = whole.transpose().slice(2, 7, 0)
        getattr(popops, f"{name}InPlace")(graph, part, program)
        kinds = {b.type.name.split("<")[0] for b in graph.store.blocks}
        assert "popops::UnaryOp2DInPlace" in kinds
        return {"w": (whole, values)}, whole

    by_vertex, by_kernel = both_ways(build)
    expected = values.copy()
    expected[:, 2:7] = np.maximum(expected[:, 2:7], 0) if name == "relu" else np.exp(expected[:, 2:7])
    assert np.array_equal(by_vertex, by_kernel)
    close(by_vertex, expected, FLOAT)


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("subtract", [False, True])
def test_scaled_add(type_: Any, subtract: bool) -> None:
    rng = np.random.default_rng(4)
    a_values, b_values = (rng.normal(size=(7, 9)).astype(type_.dtype) for _ in range(2))

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b = linear(graph, type_, [7, 9], "a"), linear(graph, type_, [7, 9], "b")
        (popops.scaledSubtractFrom if subtract else popops.scaledAddTo)(graph, a, b, 0.25, program)
        return {"a": (a, a_values), "b": (b, b_values)}, a

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    sign = -1 if subtract else 1
    close(by_vertex.astype(np.float64), a_values.astype(np.float64) + sign * 0.25 * b_values.astype(np.float64), type_)


def test_cast_fill_and_saturation() -> None:
    values = np.array([1.5, -2.75, 1e6, -1e6, 0.1], np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a = linear(graph, FLOAT, [5])
        half = popops.cast(graph, a, HALF, program, "down")
        popops.fill(graph, half.slice(4, 5, 0), program, 7.0)
        return {"a": (a, values)}, popops.cast(graph, half, FLOAT, program, "up")

    by_vertex, by_kernel = both_ways(build)
    assert by_vertex.tolist() == by_kernel.tolist() == [1.5, -2.75, 65504.0, -65504.0, 7.0]


def test_vertices_run_where_the_output_lies() -> None:
    graph, program = small_graph(4), Sequence()
    a = linear(graph, FLOAT, [40])
    popops.add(graph, a, a, program)
    (block,) = graph.store.blocks
    assert block.type.name == "popops::BinaryOp1D<popops::expr::BinaryOpType::ADD,float>"
    assert block.tiles.tolist() == [0, 1, 2, 3]
    assert block.edges["out"].lengths.tolist() == [10, 10, 10, 10]


def test_a_scalar_takes_a_tensor_of_one_element_in_place() -> None:
    """As in PopLibs, which broadcasts both: public programs count so."""

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        counter, one, condition = (linear(graph, t, shape) for t, shape in ((INT, []), (INT, [1]), (BOOL, [1, 1])))
        popops.addInPlace(graph, counter, one, program)
        popops.mapInPlace(graph, popops.expr._1 * popops.expr._2 + popops.expr._1, [counter, one], program)
        popops.selectInPlace(graph, counter, one, condition, program)
        return {"counter": (counter, 5), "one": (one, [2]), "condition": (condition, [[True]])}, counter

    assert [int(value) for value in both_ways(build)] == [21, 21]


def test_refusals() -> None:
    graph, program = small_graph(), Sequence()
    a, b, c = linear(graph, FLOAT, [4]), linear(graph, FLOAT, [3]), linear(graph, HALF, [4])
    d = linear(graph, INT, [4])
    with pytest.raises(graph_connection_error, match=r"ADD: shapes \[4\] and \[3\] cannot be broadcast"):
        popops.add(graph, a, b, program)
    with pytest.raises(type_error, match="operands hold float and half"):
        popops.add(graph, a, c, program)
    with pytest.raises(type_error, match="ATAN2 on int"):
        popops.atan2(graph, d, d, program)
    with pytest.raises(type_error, match="at least one operand"):
        popops.add(graph, 1.0, 2.0, program)
    with pytest.raises(graph_connection_error, match="does not broadcast into"):
        popops.addInPlace(graph, linear(graph, FLOAT, [1]), a, program)
