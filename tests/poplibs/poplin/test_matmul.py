"""poplin.matMul: results of vertices, of the kernel and of NumPy; the plan; its steps."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    Graph,
    IPUModel,
    Tensor,
    graph_connection_error,
    invalid_option,
    type_error,
)
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, poputil
from simulator.poplibs.memory_order import blocked_view
from tests.poplibs.programs import both_ways, linear, small_graph


def product(m: int, k: int, n: int, type_: Any, tiles: int, turned: str = "") -> tuple[Any, Any, Any, float]:
    """(by vertices, by kernel, exact, bound): the sum of k products is off by at most k roundings of its terms."""
    rng = np.random.default_rng(6)
    a_values, b_values = rng.normal(size=(m, k)).astype(type_.dtype), rng.normal(size=(k, n)).astype(type_.dtype)

    def operand(graph: Graph, shape: tuple[int, int], name: str) -> tuple[Tensor, Tensor]:
        """(stored variable, view): stored transposed when `turned` names the operand."""
        stored = linear(graph, type_, list(shape[::-1] if name in turned else shape), name)
        return stored, stored.transpose() if name in turned else stored

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        (a_stored, a), (b_stored, b) = operand(graph, (m, k), "a"), operand(graph, (k, n), "b")
        inputs = {
            "a": (a_stored, a_values.T if "a" in turned else a_values),
            "b": (b_stored, b_values.T if "b" in turned else b_values),
        }
        return inputs, poplin.matMul(graph, a, b, program, "p")

    by_vertex, by_kernel = both_ways(build, tiles)
    exact = a_values.astype(np.float64) @ b_values.astype(np.float64)
    magnitude = float((np.abs(a_values).astype(np.float64) @ np.abs(b_values).astype(np.float64)).max())
    return by_vertex, by_kernel, exact, magnitude * (k * 6e-8 + (0 if type_ is FLOAT else 5e-4)) + 1e-30


@given(
    st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(1, 40)),
    st.sampled_from([1, 3, 16, 64]),
    st.sampled_from(["", "a", "b", "ab"]),
)
def test_any_size_on_any_number_of_tiles(size: tuple[int, int, int], tiles: int, turned: str) -> None:
    m, k, n = size
    by_vertex, by_kernel, exact, bound = product(m, k, n, FLOAT, tiles, turned)
    assert np.abs(by_vertex - exact).max() <= bound
    assert np.abs(by_kernel - exact).max() <= bound


@pytest.mark.parametrize(("m", "k", "n"), [(20, 50, 30), (7, 3, 5), (33, 100, 1)])
def test_halves_are_summed_in_float(m: int, k: int, n: int) -> None:
    by_vertex, by_kernel, exact, bound = product(m, k, n, HALF, 16)
    assert by_vertex.dtype == np.float16
    assert np.abs(by_vertex - exact).max() <= bound
    assert np.abs(by_kernel - exact).max() <= bound


def test_a_product_can_be_multiplied_again() -> None:
    rng = np.random.default_rng(7)
    values = [rng.normal(size=s).astype(np.float32) for s in ((40, 30), (30, 50), (50, 20))]

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b, c = (linear(graph, FLOAT, list(v.shape), name) for v, name in zip(values, "abc", strict=True))
        first = poplin.matMul(graph, a, b, program, "m4")
        assert blocked_view(first).strided() is not None
        inputs = {name: (t, v) for t, v, name in zip((a, b, c), values, "abc", strict=True)}
        return inputs, poplin.matMul(graph, first, c, program, "m5")

    by_vertex, by_kernel = both_ways(build, 64)
    exact = values[0].astype(np.float64) @ values[1] @ values[2]
    assert np.abs(by_vertex - exact).max() <= 1e-3
    assert np.abs(by_kernel - exact).max() <= 1e-3


def test_steps_carry_poplibs_names() -> None:
    graph, program = Graph(IPUModel().createDevice()), Sequence()
    m1, m2, m3 = (
        graph.addVariable(FLOAT, s, n) for s, n in (([800, 500], "m1"), ([500, 400], "m2"), ([400, 200], "m3"))
    )
    for matrix in (m1, m2, m3):
        poputil.mapTensorLinearly(graph, matrix)
    m4 = poplin.matMul(graph, m1, m2, program, "m4")
    poplin.matMul(graph, m4, m3, program, "m5")
    assert graph.store.compute_set_names == [
        f"{m}/Conv_1/{step}" for m in ("m4", "m5") for step in ("Transpose_#0", "Convolve", "Reduce0")
    ]
    names = set(graph.store.variables.name)
    assert {
        f"m5/Conv_1/{n}" for n in ("preRegroup", "partialTranspose", "actsRearranged", "weightsRearranged")
    } <= names
    # m1's channels are adjacent, so it is used in place.
    assert "m4/Conv_1/weightsRearranged" not in names
    worklists = [
        n
        for name, n in zip(graph.store.variables.name, graph.store.variables.numel, strict=True)
        if "worklists" in name
    ]
    assert [2 * n for n in worklists] == [50_400, 48_600]


def test_report_plan_and_refusals() -> None:
    graph, program = small_graph(16), Sequence()
    out = io.StringIO()
    poplin.matMulReportPlan(out, graph, FLOAT, FLOAT, [64, 64], [64, 64])
    assert "split field x in x out = " in out.getvalue()
    assert "total: " in out.getvalue()
    a, b = linear(graph, FLOAT, [4, 5]), linear(graph, FLOAT, [4, 5])
    with pytest.raises(graph_connection_error, match=r"\[4, 5\] and \[4, 5\] cannot be multiplied"):
        poplin.matMul(graph, a, b, program)
    with pytest.raises(type_error, match="both must be FLOAT or both HALF"):
        poplin.matMul(graph, linear(graph, INT, [2, 2]), linear(graph, INT, [2, 2]), program)
    with pytest.raises(invalid_option, match="no option 'speed'"):
        poplin.matMul(graph, a, b.transpose(), program, options={"speed": "high"})
    with pytest.raises(invalid_option, match="'2' is not a number between 0 and 1"):
        poplin.matMul(graph, a, b.transpose(), program, options={"availableMemoryProportion": "2"})
