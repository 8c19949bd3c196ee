"""poplin beyond plain products: overloads, products into and added to tensors, arranged operands, preplanning."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    Graph,
    Tensor,
    graph_connection_error,
    invalid_option,
    poplar_error,
    type_error,
)
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin import ConvParams, MatMulParams, PlanningCache
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph

RNG = np.random.default_rng(11)
A, B, C = (RNG.normal(size=s).astype(np.float32) for s in ((2, 9, 20), (2, 20, 13), (2, 9, 13)))
CLOSE = {"rtol": 1e-5, "atol": 2e-5}


def close(build: Any, exact: Any, **bounds: float) -> None:
    for result in both_ways(build, 6):
        np.testing.assert_allclose(result, exact, **(bounds or CLOSE))


def operands(graph: Graph, type_: Any = FLOAT, groups: bool = False) -> tuple[Tensor, Tensor, dict[str, Any]]:
    a, b = (v if groups else v[0] for v in (A, B))
    left, right = linear(graph, type_, list(a.shape), "a"), linear(graph, type_, list(b.shape), "b")
    return left, right, {"a": (left, a), "b": (right, b)}


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("scale", [-0.5, "tensor"])
def test_accumulated_products(groups: bool, scale: Any) -> None:
    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b, inputs = operands(graph, groups=groups)
        c = linear(graph, FLOAT, list((C if groups else C[0]).shape), "c")
        k = scale
        if scale == "tensor":
            k = linear(graph, FLOAT, [1], "k")
            inputs["k"] = (k, [-0.5])
        (poplin.matMulGroupedAcc if groups else poplin.matMulAcc)(graph, c, k, a, b, program, "acc")
        return inputs | {"c": (c, C if groups else C[0])}, c

    exact = C - 0.5 * (A @ B)
    close(build, exact if groups else exact[0])


def test_a_product_written_into_a_tensor_of_another_type_and_into_an_operand() -> None:
    def given(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b, inputs = operands(graph)
        out = poplin.createMatMulOutput(graph, FLOAT, HALF, a.shape(), b.shape(), "out")
        assert out.elementType() is HALF
        assert out.shape() == [9, 13]
        poplin.matMulWithOutput(graph, a, b, out, program, "p")
        return inputs, out

    close(given, A[0] @ B[0], rtol=1e-3, atol=1e-3)

    def grouped(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b, inputs = operands(graph, groups=True)
        out = poplin.createMatMulGroupedOutput(graph, FLOAT, FLOAT, a.shape(), b.shape(), "out")
        poplin.matMulGroupedWithOutput(graph, a, b, out, program, "p")
        return inputs, out

    close(grouped, A @ B)

    def squared(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        q = linear(graph, FLOAT, [9, 9], "q")
        poplin.matMulWithOutput(graph, q.transpose(), q, q, program)
        return {"q": (q, A[0][:, :9])}, q

    close(squared, A[0][:, :9].T @ A[0][:, :9])


@pytest.mark.parametrize("tiles", [1, 4, 12])
def test_an_output_made_to_plan_lies_where_the_product_is_left(tiles: int) -> None:
    graph = small_graph(tiles)
    a, b = linear(graph, FLOAT, [24, 64]), linear(graph, FLOAT, [64, 40])
    product = poplin.matMul(graph, a, b, Sequence(), "p")
    made = poplin.createMatMulOutput(graph, FLOAT, [24, 64], [64, 40], "out")
    assert graph.getTileMapping(made) == graph.getTileMapping(product)


def test_forms_of_matmul_and_of_its_operands() -> None:
    graph, program, cache = small_graph(), Sequence(), PlanningCache()
    a, b = linear(graph, HALF, [4, 16]), linear(graph, HALF, [16, 8])
    assert poplin.matMul(graph, a, b, program).elementType() is HALF
    assert poplin.matMul(graph, a, b, program, FLOAT, "n", {}, cache).elementType() is FLOAT
    assert poplin.matMul(graph, a, b, program, "n", {"partialsType": "half"}, cache).elementType() is HALF
    assert poplin.matMul(graph, A=a, B=b, prog=program, outputType=FLOAT, debugContext="n").elementType() is FLOAT
    assert cache.size() == 2
    for made in (
        poplin.createMatMulInputLHS(graph, HALF, FLOAT, [4, 16], [16, 8], "l", {}, cache),
        poplin.createMatMulInputLHS(graph, dataType=HALF, aShape=[4, 16], bShape=[16, 8], debugContext="l"),
        poplin.createMatMulInputLHS(graph, inputType=HALF, aShape=[4, 16], bShape=[16, 8]),
    ):
        assert (made.shape(), made.elementType()) == ([4, 16], HALF)
    assert cache.size() == 2  # the plan of the product into FLOAT is reused
    assert poplin.createMatMulGroupedInputRHS(graph, HALF, HALF, [3, 4, 16], [3, 16, 8], "r").shape() == [3, 16, 8]
    stack = linear(graph, FLOAT, [2, 3, 4])
    assert poplin.transposeGroupedMatrix(stack) == stack.dimShuffle([0, 2, 1])
    with pytest.raises(poplibs_error, match=r"matMul has no overload for \(.*\); it takes"):
        poplin.matMul(graph, a, b, program, "n", 3)  # type: ignore[call-overload]


def test_an_arranged_operand_is_not_arranged_again() -> None:
    names: list[str] = []

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b, inputs = operands(graph)
        options = {"inputRHSIsPreArranged": "true", "fullyConnectedPass": "INFERENCE_FWD"}
        ready = poplin.preArrangeMatMulInputRHS(graph, a.shape(), b, program, "pre", options)
        before = len(graph.store.variables.name)
        poplin.matMul(graph, a, ready, program, "first", options)
        out = poplin.matMul(graph, a, ready, program, "again", options)
        names.extend(graph.store.variables.name[before:])
        return inputs, out

    close(build, A[0] @ B[0])
    assert names
    graph = small_graph(6)
    a, b, _ = operands(graph)
    with pytest.raises(invalid_option, match="B is not in the layout of the plan; make B with preArrange"):
        poplin.matMul(graph, a, b, Sequence(), "x", {"inputRHSIsPreArranged": "true"})
    stacked = linear(graph, FLOAT, [2, 20, 13])
    made = poplin.preArrangeMatMulGroupedInputRHS(graph, [2, 9, 20], stacked, Sequence(), FLOAT, "pre")
    assert made.shape() == [2, 20, 13]


def test_planning_ahead_leaves_nothing_to_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, program, cache = small_graph(), Sequence(), PlanningCache()
    params = ConvParams(FLOAT, 1, [6, 6], [3, 3], 4, 5, 1)
    target = graph.getTarget()
    product = MatMulParams(FLOAT, FLOAT, [7, 31], [31, 9])
    grouped = MatMulParams(HALF, FLOAT, [2, 7, 31], [2, 31, 9])
    poplin.preplan([(target, params, {})], [(target, product, None), (target, grouped, {})], cache)
    assert cache.size() == 3
    poplin.preplanMatMuls([(target, product, {})], cache)
    poplin.preplanConvolutions([(target, params, {})], cache)
    assert cache.size() == 3

    def planned_again(*arguments: Any) -> None:
        raise AssertionError("planned although the cache holds the plan")

    monkeypatch.setattr("simulator.poplibs.poplin.products.plan_lookup.plan_matmul", planned_again)
    monkeypatch.setattr("simulator.poplibs.poplin.convolutions.plan_lookup.plan_convolution", planned_again)
    poplin.matMul(graph, linear(graph, FLOAT, [7, 31]), linear(graph, FLOAT, [31, 9]), program, FLOAT, "m", {}, cache)
    acts = poplin.createInput(graph, params, "x", {}, cache)
    weights = poplin.createWeights(graph, params, "w", {}, cache)
    poplin.convolution(graph, acts, weights, params, False, program, "c", {}, cache)
    out = io.StringIO()
    poplin.reportPlanInfo(out, graph, params, {}, cache)
    poplin.matMulReportPlan(out, graph, FLOAT, FLOAT, [7, 31], [31, 9], {}, cache)
    assert out.getvalue().count("total:") == 2
    with pytest.raises(AssertionError, match="planned although"):
        poplin.matMul(graph, linear(graph, FLOAT, [8, 31]), linear(graph, FLOAT, [31, 9]), program, "m", {}, cache)


def test_flops_and_costs_of_a_convolution() -> None:
    """5 x 5 field, 3 x 3 kernel, padding 1: 25 windows of 9, less the products with padding: (3 * 5 - 2) ** 2."""
    params = ConvParams(HALF, 2, [5, 5], [3, 3], 4, 6, 3, poplin.InputTransform([], [], [], [1, 1], [1, 1], []))
    flops = 2 * 3 * 2 * 4 * 6 * 13**2
    assert poplin.getFwdFlops(params) == poplin.getBwdFlops(params) == poplin.getWuFlops(params) == flops
    graph = small_graph(8)
    cycles = flops / 2 / (16 * 4 * 8)  # 16 units of four halves on a Mk2 tile, eight tiles
    assert poplin.getFwdPerfectCycleCount(graph, params) == cycles
    assert poplin.getBwdPerfectCycleCount(graph, params) == poplin.getWuPerfectCycleCount(graph, params) == cycles
    costs = poplin.reportPlanEstimatedCosts(graph, params)
    plan = poplin.convolution_plan(graph, params).plan
    assert (costs.cycles, costs.memory) == (plan.total, plan.temporary_bytes)
    out = io.StringIO()
    poplin.reportWeightUpdatePlanInfo(out, graph, params)
    assert "total:" in out.getvalue()


def test_parameters_of_a_convolution_by_name() -> None:
    params = poplin.ConvParams(
        inputType=HALF,
        outputType=FLOAT,
        batchSize=2,
        inputFieldShape=[4],
        kernelShape=[3],
        inputChannels=5,
        outputChannels=6,
        numConvGroups=1,
    )
    assert str(params) == str(poplin.ConvParams(HALF, FLOAT, 2, [4], [3], 5, 6, 1))
    assert "outputType=float, batchSize=2, inputFieldShape=[4]" in str(params)
    with pytest.raises(poplibs_error, match="ConvParams has no overload for"):
        poplin.ConvParams(HALF, 2, [4])  # type: ignore[call-overload]


def test_weights_of_a_fully_connected_layer_turned() -> None:
    """weights [1, groups x inputs, outputs] -> [1, groups x outputs, inputs]."""
    params = ConvParams(FLOAT, 1, [6], [1], 4, 9, 2)
    values = RNG.normal(size=(1, 8, 6)).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        weights = poplin.createInput(graph, params, "w", {"pass": "FC_TRAINING_FWD"})
        out = poplin.fullyConnectedWeightTranspose(graph, weights, params, program, "t", {"pass": "FC_TRAINING_BWD"})
        return {"w": (weights, values)}, out

    for result in both_ways(build):
        assert np.array_equal(result, values.reshape(2, 4, 6).transpose(0, 2, 1).reshape(1, 12, 4))
    graph = small_graph()
    wide = ConvParams(FLOAT, 1, [6], [3], 4, 9, 2)
    with pytest.raises(graph_connection_error, match="kernel \\[3\\] and batch 1 are not those of a fully connected"):
        poplin.fullyConnectedWeightTranspose(graph, linear(graph, FLOAT, [1, 8, 6]), wide, Sequence())


def test_what_fits_nowhere_is_refused() -> None:
    with pytest.raises(poplar_error, match=r"a field \[\] needs a kernel of as many dimensions, not \[\]"):
        ConvParams(FLOAT, 1, [], [], 2, 2, 1)
    graph, program = small_graph(), Sequence()
    a, b, c = linear(graph, FLOAT, [4, 5]), linear(graph, FLOAT, [5, 6]), linear(graph, FLOAT, [4, 5])
    with pytest.raises(graph_connection_error, match=r"matMulAcc: C has shape \[4, 5\], the product has \[4, 6\]"):
        poplin.matMulAcc(graph, c, 1.0, a, b, program)
    with pytest.raises(graph_connection_error, match="matMulWithOutput: out has shape"):
        poplin.matMulWithOutput(graph, a, b, c, program)
    with pytest.raises(type_error, match="matMulAcc: k is half"):
        poplin.matMulAcc(graph, linear(graph, FLOAT, [4, 6]), linear(graph, HALF, [1]), a, b, program)
    with pytest.raises(graph_connection_error, match=r"createMatMulInputLHS: .* must both have 2 dimensions"):
        poplin.createMatMulInputLHS(graph, FLOAT, [1, 4, 5], [1, 5, 6], "l")
    with pytest.raises(type_error, match="FLOAT and HALF are possible"):
        poplin.createMatMulInputLHS(graph, INT, [4, 5], [5, 6], "l")
    with pytest.raises(graph_connection_error, match="transposeGroupedMatrix"):
        poplin.transposeGroupedMatrix(a)
    params = ConvParams(FLOAT, 1, [6], [3], 4, 9, 2)
    with pytest.raises(invalid_option, match="pass 'TRAINING' is not one of"):
        poplin.createInput(graph, params, "x", {"pass": "TRAINING"})
    with pytest.raises(invalid_option, match="convolution has no option 'fullyConnectedPass'"):
        poplin.createInput(graph, params, "x", {"fullyConnectedPass": "NONE"})


@pytest.mark.parametrize(
    ("a", "b"), [([0, 4], [4, 3]), ([3, 0], [0, 4]), ([3, 4], [4, 0]), ([2, 3, 0], [2, 0, 5]), ([0, 3, 4], [0, 4, 2])]
)
def test_products_without_terms_are_zeros(a: list[int], b: list[int]) -> None:
    grouped = len(a) == 3
    left = poplin.createMatMulGroupedInputLHS if grouped else poplin.createMatMulInputLHS
    right = poplin.createMatMulGroupedInputRHS if grouped else poplin.createMatMulInputRHS
    out = poplin.createMatMulGroupedOutput if grouped else poplin.createMatMulOutput
    multiply = poplin.matMulGrouped if grouped else poplin.matMul
    wanted = [*a[:-1], b[-1]]

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        both = left(graph, FLOAT, a, b), right(graph, FLOAT, a, b)
        assert [t.shape() for t in both] == [a, b]
        assert out(graph, FLOAT, HALF, a, b).shape() == wanted
        assert out(graph, FLOAT, HALF, a, b).elementType() is HALF
        return {}, multiply(graph, *both, prog, FLOAT)

    for result in both_ways(build):
        assert result.shape == tuple(wanted)
        assert not result.any()
