"""Products under options: each method, passes, kinds of reduction and groups give NumPy's results; plans
are printed."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Graph, Tensor, graph_connection_error, invalid_option
from simulator.poplar.program import Copy, Execute, LibraryGroup, Sequence
from simulator.poplibs import poplin
from tests.poplibs.programs import both_ways, linear, small_graph

Size = tuple[int, int, int, int]

ONE_STAGE = {"enableMultiStageReduce": "false"}


def constrained(method: str = "", **partition: Any) -> dict[str, str]:
    plan: dict[str, Any] = {"method": method} if method else {}
    if partition:
        plan["0"] = {"partition": partition}
    return {"planConstraints": json.dumps(plan)}


def check(size: Size, type_: Any, tiles: int, options: dict[str, str], out_type: Any = None) -> None:
    """Compare both ways of running a grouped product with NumPy."""
    groups, m, k, n = size
    rng = np.random.default_rng(8)
    left, right = (rng.normal(size=s).astype(type_.dtype) for s in ((groups, m, k), (groups, k, n)))

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        a, b = linear(graph, type_, list(left.shape), "a"), linear(graph, type_, list(right.shape), "b")
        product = poplin.matMulGrouped(graph, a, b, program, out_type, "p", options)
        return {"a": (a, left), "b": (b, right)}, product

    by_vertex, by_kernel = both_ways(build, tiles)
    exact = left.astype(np.float64) @ right.astype(np.float64)
    bound = (np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64))).max()
    bound *= (
        k * 6e-8
        + (2e-3 if options.get("partialsType") == "half" and type_ is HALF else 0)
        + (0 if (out_type or type_) is FLOAT else 5e-4)
    )
    assert by_vertex.dtype == (out_type or type_).dtype
    assert np.abs(by_vertex - exact).max() <= bound
    assert np.abs(by_kernel - exact).max() <= bound


@pytest.mark.parametrize("type_", [FLOAT, HALF])
@pytest.mark.parametrize(
    "size", [(1, 1, 17, 7), (1, 7, 1, 17), (1, 17, 7, 1), (1, 1, 1, 1), (5, 4, 17, 3), (8, 17, 7, 1)]
)
@pytest.mark.parametrize("tiles", [1, 4, 16])
def test_odd_shapes_on_few_tiles(size: Size, type_: Any, tiles: int) -> None:
    check(size, type_, tiles, {})


@pytest.mark.parametrize(
    ("size", "type_", "tiles", "options"),
    [
        ((3, 20, 40, 30), FLOAT, 16, constrained("AMP")),
        ((3, 20, 40, 30), HALF, 16, constrained("HMAC")),
        ((5, 17, 7, 3), HALF, 40, constrained("VMAC")),
        ((9, 17, 40, 3), HALF, 40, constrained("VMAC") | {"partialsType": "half"}),
        ((2, 9, 1, 11), FLOAT, 16, constrained("OUTER_PRODUCT")),
        ((1, 24, 64, 40), HALF, 16, {"partialsType": "half"}),
        ((1, 24, 64, 40), HALF, 16, {"partialsType": "half"} | constrained("HMAC")),
        ((1, 24, 256, 40), HALF, 64, {"enableFastReduce": "true"}),
        ((1, 24, 256, 40), FLOAT, 64, {"enableFastReduce": "true", "use128BitConvUnitLoad": "true"}),
        ((1, 4, 640, 8), FLOAT, 100, constrained("AMP", inChanSplit={"parallel": 40})),
        ((1, 4, 640, 8), FLOAT, 100, constrained("AMP", inChanSplit={"parallel": 40}) | ONE_STAGE),
        ((2, 24, 64, 48), FLOAT, 8, constrained(outChanSplit={"serial": 2})),
        ((1, 24, 64, 48), HALF, 8, constrained(outChanSplit={"serial": 3})),
        ((1, 24, 64, 48), FLOAT, 8, constrained(inChanSplit={"serial": 4})),
        ((2, 24, 64, 48), HALF, 8, constrained(inChanSplit={"serial": 2})),
        ((1, 60, 128, 96), FLOAT, 4, {"availableMemoryProportion": "0.05"}),
        ((1, 12, 40, 20), HALF, 8, {"fullyConnectedPass": "TRAINING_WU"}),
    ],
)
def test_options_change_the_plan_and_not_the_product(
    size: Size, type_: Any, tiles: int, options: dict[str, str]
) -> None:
    check(size, type_, tiles, options)


def test_halves_in_one_piece_are_cast_from_their_float_sums() -> None:
    check((1, 24, 256, 40), HALF, 4, constrained("AMP", inChanSplit={"parallel": 1}), HALF)
    check((1, 24, 256, 40), HALF, 64, {"partialsType": "half"}, FLOAT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": "high"}, "no option 'speed'; it has availableMemoryProportion"),
        ({"partialsType": "int"}, "partialsType 'int' is neither half nor float"),
        ({"fullyConnectedPass": "FWD"}, "is not one of NONE, INFERENCE_FWD"),
        ({"use128BitConvUnitLoad": "yes"}, "is neither true nor false"),
        ({"planConstraints": "{"}, "is not a JSON object"),
        ({"planConstraints": '{"speed": 1}'}, "planConstraints has no 'speed'"),
        (constrained("WINOGRAD"), "method 'WINOGRAD' is not one of AMP"),
        (constrained(inChanSplit={"parallel": 0}), "must be a whole number of at least 1"),
        (constrained(inChanSplit={"parallel": 99}), "meets the plan constraints"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    graph = small_graph(8)
    a, b = linear(graph, FLOAT, [4, 5]), linear(graph, FLOAT, [5, 6])
    with pytest.raises(invalid_option, match=message):
        poplin.matMul(graph, a, b, Sequence(), "p", options=options)


def test_stacks_must_fit() -> None:
    graph = small_graph(8)
    with pytest.raises(
        graph_connection_error, match=r"matMulGrouped: \[2, 4, 5\] and \[3, 5, 6\] cannot be multiplied"
    ):
        poplin.matMulGrouped(graph, linear(graph, FLOAT, [2, 4, 5]), linear(graph, FLOAT, [3, 5, 6]), Sequence())


def test_operands_made_for_a_product_need_no_copy() -> None:
    graph, program = small_graph(16), Sequence()
    shapes = [32, 64], [64, 48]
    a = poplin.createMatMulInputLHS(graph, HALF, *shapes, "a")
    b = poplin.createMatMulInputRHS(graph, HALF, *shapes, "b")
    assert (a.shape(), b.shape()) == shapes
    poplin.matMul(graph, a, b, program, "p")
    (group,) = program.programs
    assert isinstance(group, LibraryGroup)
    assert not [step for step in group.programs if isinstance(step, Copy)]
    convolve, cast = group.programs  # the partial sums are floats
    assert isinstance(convolve, Execute)
    assert isinstance(cast, LibraryGroup)
    other = linear(graph, HALF, [64, 48])
    poplin.matMul(graph, linear(graph, HALF, [32, 64]), other, program, "q")
    assert any(isinstance(step, Copy) for step in program.programs[1].programs)  # type: ignore[attr-defined]


def test_plans_are_told_on_request(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    graph = small_graph(16)
    a, b = linear(graph, FLOAT, [3, 20, 30]), linear(graph, FLOAT, [3, 30, 40])
    out = io.StringIO()
    poplin.matMulGroupedReportPlan(out, graph, FLOAT, FLOAT, a.shape(), b.shape())
    poplin.matMulGrouped(graph, a, b, Sequence(), "p")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("POPVISION_PLAN", "1")
    poplin.matMulGrouped(graph, a, b, Sequence(), "p")
    assert capsys.readouterr().err == f"matMulGrouped [20, 30] x [30, 40]: {out.getvalue()}"
    plan = poplin.plan_of(graph, FLOAT, a.shape(), b.shape())
    (name,) = {c for c in graph.store.compute_set_names if c.endswith("Convolve")}
    terms = graph.store.compute_set_terms[graph.store.compute_set_names.index(name)]
    told = {term: value for term, value, _ in terms}
    assert told["total"] == plan.total
    assert told["partials"] == plan.term("partials")
    assert all(source for _, _, source in terms)
