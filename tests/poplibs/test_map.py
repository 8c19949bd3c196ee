"""popops.map: expressions by vertices, by the kernel and in NumPy; which of them become one vertex, and its cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.poplar import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Graph, Tensor, invalid_option, type_error
from simulator.poplar.program import Execute, LibraryGroup, Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import expr
from simulator.poplibs.popops.expr import BinaryOpType, Cast, Const, Select, UnaryOpType, _1, _2, _3
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph

f32 = np.float32


def sets(program: Any) -> int:
    """Compute sets that a program executes."""
    if isinstance(program, Execute):
        return 1
    return sum(sets(p) for p in program.programs) if isinstance(program, Sequence) else 0


def run_map(
    expression: expr.Expr, values: list[Any], types: list[Any], in_place: bool = False, options: Any = None
) -> tuple[Any, Any, list[int]]:
    counted: list[int] = []

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        tensors = [linear(graph, t, list(v.shape), f"t{i}") for i, (t, v) in enumerate(zip(types, values, strict=True))]
        if in_place:
            popops.mapInPlace(graph, expression, tensors, program, "m", options)
            out = tensors[0]
        else:
            out = popops.map(graph, expression, tensors, program, "m", options)
        counted.append(sets(program))
        return {f"t{i}": (t, v) for i, (t, v) in enumerate(zip(tensors, values, strict=True))}, out

    return *both_ways(build), counted


CASES: dict[str, tuple[expr.Expr, Callable[..., Any], list[Any]]] = {
    "polynomial": ((_1 * _1 + 3) / (_2 - 0.25), lambda a, b: (a * a + 3) / (b - 0.25), [FLOAT, FLOAT]),
    "halves": (expr.Tanh(expr.Add(expr.Square(_1), Const(3))), lambda a: np.tanh(a * a + 3), [HALF]),
    "reflected": (1 - 2 * _1, lambda a: 1 - 2 * a, [FLOAT]),
    "selected": (Select(_1, _2, _1 > _2), np.maximum, [FLOAT, FLOAT]),
    "clamped": (expr.Clamp(-_1, Const(-1.0), Const(0.5)) * _2, lambda a, b: np.clip(-a, -1, 0.5) * b, [FLOAT, FLOAT]),
    "cast": (Cast(Cast(_1 * 4, INT), FLOAT) + _1, lambda a: np.trunc(a * 4) + a, [FLOAT]),
    "half cast": (Cast(Cast(_1 / 3, HALF), FLOAT) * 2, lambda a: (a / f32(3)).astype(np.float16) * f32(2), [FLOAT]),
    "bits": ((_1 & 6) ^ (_2 << 1) | ~_1, lambda a, b: (a & 6) ^ (b << 1) | ~a, [INT, INT]),
    "comparison": (expr.And(_1 <= _2, expr.Not(_1 == 2)), lambda a, b: (a <= b) & (a != 2), [INT, INT]),
    "remainder": (_1 % 3 + _2, lambda a, b: np.fmod(a, 3) + b, [INT, INT]),
    "circle": (
        Cast(_1 * _1 + _2 * _2 <= 1.0, UNSIGNED_INT),
        lambda a, b: (a * a + b * b <= 1).astype(np.uint32),
        [FLOAT, FLOAT],
    ),
}


def given_values(types: list[Any], shape: tuple[int, ...] = (5, 7)) -> list[Any]:
    rng = np.random.default_rng(7)
    floats = lambda t: rng.uniform(0.5, 2.5, shape).astype(t.dtype)  # noqa: E731
    return [floats(t) if t in (FLOAT, HALF) else rng.integers(0, 9, shape).astype(t.dtype) for t in types]


@pytest.mark.parametrize("generated", ["true", "false"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_expressions(name: str, generated: str) -> None:
    expression, function, types = CASES[name]
    values = given_values(types)
    options = {"enableGenerateCodelet": generated}
    by_vertex, by_kernel, counted = run_map(expression, values, types, options=options)
    assert np.array_equal(by_vertex, by_kernel)
    expected = function(*[v.astype(f32) if v.dtype == np.float16 else v for v in values])
    bound = 2e-3 if HALF in types else 1e-6
    assert np.allclose(by_vertex.astype(np.float64), np.asarray(expected, np.float64), rtol=bound, atol=bound)
    assert counted[0] == 1 if generated == "true" else counted[0] > 1


@pytest.mark.parametrize("generated", ["true", "false"])
@pytest.mark.parametrize("name", ["polynomial", "halves", "selected", "bits", "cast", "clamped", "reflected"])
def test_expressions_in_place(name: str, generated: str) -> None:
    expression, function, types = CASES[name]
    values = given_values(types)
    options = {"enableGenerateCodelet": generated}
    by_vertex, by_kernel, _ = run_map(expression, values, types, True, options)
    assert np.array_equal(by_vertex, by_kernel)
    expected = function(*[v.astype(f32) if v.dtype == np.float16 else v for v in values])
    bound = 2e-3 if HALF in types else 1e-6
    assert np.allclose(by_vertex.astype(np.float64), np.asarray(expected, np.float64), rtol=bound, atol=bound)


def test_other_shapes_and_aliases_are_a_chain() -> None:
    values = [given_values([FLOAT])[0], given_values([FLOAT], (7,))[0], given_values([FLOAT], (1,))[0]]
    by_vertex, by_kernel, counted = run_map((_1 + _2) * _3 - _1, values, [FLOAT] * 3)
    assert counted == [3]
    assert np.array_equal(by_vertex, by_kernel)
    assert np.allclose(by_vertex, (values[0] + values[1]) * values[2] - values[0], rtol=1e-6)
    graph, program = small_graph(), Sequence()
    row = linear(graph, FLOAT, [4]).broadcast(3, 0).reshape([3, 4])
    popops.map(graph, _1 * _1 + 1, [row], program)
    assert sets(program) == 2
    popops.map(graph, _1 * _1 + 1, [linear(graph, INT, [1]).reinterpret(FLOAT)], program)
    assert sets(program) == 3


def test_one_operation_is_the_operators_own_vertex_unless_forced() -> None:
    graph, program = small_graph(), Sequence()
    a = linear(graph, FLOAT, [8])
    popops.map(graph, expr.Exp(_1), [a], program)
    popops.map(graph, BinaryOpType.ADD, a, a, program, "two")
    popops.mapInPlace(graph, UnaryOpType.SQRT, a, program)
    popops.exp(graph, a, program, "forced", {"forceGenerateCodelet": True})
    names = [b.type.name.split("<")[0].split("_")[0] for b in graph.store.blocks]
    assert names[:3] == ["popops::UnaryOp1D", "popops::BinaryOp1D", "popops::UnaryOp1DInPlace"]
    assert names[3].startswith("MapGenerated")


def test_powers_by_constants_become_products() -> None:
    values = given_values([FLOAT])
    for exponent in (0.5, -0.5, 1, 2, 3, 4, -1, -2, 2.5):
        by_vertex, by_kernel, _ = run_map(expr.Pow(_1, Const(exponent)) + _1, values, [FLOAT])
        assert np.array_equal(by_vertex, by_kernel)
        assert np.allclose(by_vertex, values[0] ** f32(exponent) + values[0], rtol=1e-5)
    for optimised, words in (("true", {"SQUARE"}), ("false", {"POWER"})):
        graph, program = small_graph(), Sequence()
        a = linear(graph, FLOAT, [8])
        popops.map(graph, expr.Pow(_1, Const(2.0)), [a], program, options={"enableExpressionOptimizations": optimised})
        assert {b.type.name.split("::")[-1].split(",")[0] for b in graph.store.blocks} == words


def test_vector_broadcasts_can_be_left_out() -> None:
    for chosen, name in (("true", "BroadcastVector"), ("false", "BinaryOp")):
        graph, program = small_graph(2), Sequence()
        a, row = linear(graph, HALF, [6, 8]), linear(graph, HALF, [8])
        popops.add(graph, a, row, program, options={"enableVectorBroadcastOptimisations": chosen})
        assert all(name in b.type.name for b in graph.store.blocks)


def test_generated_vertices_cost_what_poplibs_says() -> None:
    """One run per tile: 20 + operators (n // v + n mod v) for each operand, in whole sixths; rows: 13 + the same."""
    graph, program = small_graph(2), Sequence()
    a, b = (graph.addVariable(FLOAT, [2, 41], n) for n in "ab")
    for t in (a, b):
        graph.setTileMapping(t[0], 0)
        graph.setTileMapping(t[1], 1)
    popops.map(graph, (_1 + _2) * _1, [a, b], program)
    popops.mapInPlace(graph, (_1 + 1) * 2, [a[:, 0:40].transpose().slice(2, 20, 0)], program)
    (multi, worker) = graph.store.blocks
    cost = multi.type.costs(multi, {"in1": np.array([41]), "in2": np.array([41]), "out": np.array([41])}, None)
    assert cost.cycles.tolist() == [-(-(20 + 2 * 2 * (20 + 1)) // 6) * 6]
    assert cost.flops.tolist() == [82]
    assert worker.type.kind == "multi"  # each tile has one run of each row
    rows = linear(graph, FLOAT, [9, 10]).transpose().slice(2, 7, 0)
    popops.mapInPlace(graph, (_1 + 1) * 2, [rows], program)
    last = graph.store.blocks[-1]
    assert last.type.kind == "worker"
    cost = last.type.costs(last, {"in1": np.array([7, 1])}, None)
    assert cost.cycles.tolist() == [13 + 2 * (3 + 1), 13 + 2]


@pytest.mark.parametrize("type_", [FLOAT, HALF, INT, BOOL], ids=str)
@pytest.mark.parametrize("form", ["tensors", "two values", "one selector", "row", "in place"])
def test_select(form: str, type_: Any) -> None:
    rng = np.random.default_rng(3)
    shapes = {"two values": ((), (1,), (6, 5)), "one selector": ((6, 5), (6, 5), ()), "row": ((6, 5), (5,), (6, 1))}
    a, b, c = (rng.integers(0, 2 if type_ is BOOL else 9, s) for s in shapes.get(form, ((6, 5),) * 3))
    a, b, c = a.astype(type_.dtype), b.astype(type_.dtype), c % 2 == 1

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        ts = [linear(graph, t, list(v.shape), n) for t, v, n in ((type_, a, "a"), (type_, b, "b"), (BOOL, c, "c"))]
        given = dict(zip("abc", zip(ts, (a, b, c), strict=True), strict=True))
        if form == "in place":
            popops.selectInPlace(graph, *ts, program)
            return given, ts[0]
        return given, popops.select(graph, *ts, program)

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    assert np.array_equal(by_vertex, np.where(c, a, b))


@pytest.mark.parametrize("form", ["tensors", "limits", "in place"])
@pytest.mark.parametrize("type_", [FLOAT, HALF, INT], ids=str)
def test_clamp(form: str, type_: Any) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(-9, 9, (4, 9)).astype(type_.dtype)
    limits = [np.full((4, 9) if form != "limits" else (), v, type_.dtype) for v in (-3, 4)]

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        values = dict(zip("abc", (a, *limits), strict=True))
        ts = [linear(graph, type_, list(v.shape), n) for n, v in values.items()]
        out = popops.clampInPlace if form == "in place" else popops.clamp
        result = out(graph, *ts, program)
        kinds = {b.type.name for b in graph.store.blocks}
        assert all(("Broadcast" in k) == (form == "limits") for k in kinds)
        return dict(zip(values, zip(ts, values.values(), strict=True), strict=True)), ts[
            0
        ] if result is None else result

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    assert np.array_equal(by_vertex, np.clip(a, -3, 4))


def test_shifts_know_their_sign_and_epsilons_their_shape() -> None:
    a = np.array([-8, 7, -1, 1 << 30], np.int32)
    for name, expected in (("shiftRight", (a.view(np.uint32) >> 1).view(np.int32)), ("shiftRightSignExtend", a >> 1)):

        def build(graph: Graph, program: Sequence, name: str = name) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
            t = linear(graph, INT, [4])
            return {"t": (t, a)}, getattr(popops, name)(graph, t, 1, program)

        by_vertex, by_kernel = both_ways(build)
        assert by_vertex.tolist() == by_kernel.tolist() == expected.tolist()
    values = given_values([FLOAT, FLOAT])
    for operator, result in (
        (expr.VarianceToInvStdDev, 1 / np.sqrt(values[0] + values[1])),
        (expr.InvStdDevToVariance, 1 / values[0] ** 2 - values[1]),
    ):
        by_vertex, by_kernel, _ = run_map(operator(_1, _2), values, [FLOAT, FLOAT])
        assert np.array_equal(by_vertex, by_kernel)
        assert np.allclose(by_vertex, result, rtol=1e-5, atol=1e-6)


def test_expressions_are_compared_by_how_they_are_built() -> None:
    assert (_1 + 2).deepEquals(expr.Add(_1, Const(2)))
    assert not (_1 + 2).deepEquals(_1 + 2.0)
    assert expr.ConstHalf(1.5).getType() is HALF
    assert repr(_1 < 3) == "LESS_THAN(_1, Const(3))"
    with pytest.raises(type_error, match="no truth value"):
        bool(_1 > 1)
    with pytest.raises(type_error, match="neither an expression nor a number"):
        _1 + "x"


def test_wrong_expressions_are_named() -> None:
    graph, program = small_graph(), Sequence()
    a, b = linear(graph, FLOAT, [4], "a"), linear(graph, INT, [4], "b")
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("stands for tensor 2", lambda: popops.map(graph, _1 + _2, [a], program)),
        ("hold float and int", lambda: popops.map(graph, _1 + _2, [a, b], program)),
        ("is not a value of type int", lambda: popops.map(graph, _1 + 0.5, [b], program)),
        ("must be bool", lambda: popops.map(graph, Select(_1, _1, _1), [a], program)),
        ("the expression is bool", lambda: popops.mapInPlace(graph, _1 < 1, [a], program)),
        ("no tensors", lambda: popops.map(graph, Const(1), [], program)),
        ("is not an expression", lambda: popops.map(graph, 3, [a], program)),
        ("do not broadcast into the first", lambda: popops.mapInPlace(graph, _1 + _2, [a[0:1], a], program)),
        ("it must be bool", lambda: popops.select(graph, a, a, b, program)),
        ("cast them", lambda: popops.clamp(graph, a, b, b, program)),
    ]
    for text, call in wrong:
        with pytest.raises(poplibs_error, match=text):
            call()
    with pytest.raises(invalid_option, match="no option 'fast'"):
        popops.add(graph, a, a, program, "", {"fast": "true"})


def test_the_same_expression_has_the_same_vertex() -> None:
    graph, program = small_graph(), Sequence()
    a = linear(graph, FLOAT, [4, 4])
    for _ in range(2):
        popops.map(graph, _1 * _1 + 1, [a], program)
    popops.map(graph, _1 * _1 + 2, [a], program)
    assert len({b.type.name for b in graph.store.blocks}) == 2
    assert all(isinstance(p, LibraryGroup) for p in program.programs)
