"""Reductions that scale, update, write to given tensors or run side by side, and their vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from simulator.machine.cycles import reduction as cycles
from simulator.poplar import BOOL, FLOAT, HALF, INT, Graph, Tensor, concat, invalid_option, poplar_error, type_error
from simulator.poplar.program import Execute, Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import Operation, ReduceParams, SingleReduceOp
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph
from tests.poplibs.slow_machine import SlowMachine

Given = tuple[dict[str, tuple[Tensor, Any]], Tensor]
BOUND = {FLOAT: 1e-5, HALF: 4e-3}


def test_all_true_takes_truth_values() -> None:
    graph = small_graph()
    with pytest.raises(type_error, match="allTrue: the tensor holds float; compare it first"):
        popops.allTrue(graph, linear(graph, FLOAT, [3]), Sequence())


@pytest.mark.parametrize("terms", [5, 40, 130])
@pytest.mark.parametrize("out_type", [FLOAT, HALF], ids=str)
@pytest.mark.parametrize("in_type", [FLOAT, HALF], ids=str)
@pytest.mark.parametrize(
    ("op", "scaled", "update"),
    [
        (Operation.ADD, True, False),
        (Operation.ADD, False, True),
        (Operation.SQUARE_ADD, True, True),
    ],
)
def test_scale_and_update(op: Operation, scaled: bool, update: bool, in_type: Any, out_type: Any, terms: int) -> None:
    rng = np.random.default_rng(1)
    values, before = (
        rng.uniform(-1, 1, (terms, 12)).astype(in_type.dtype),
        rng.uniform(-1, 1, 12).astype(out_type.dtype),
    )
    for transposed in (False, True):

        def build(graph: Graph, program: Sequence, transposed: bool = transposed) -> Given:
            t = (
                linear(graph, in_type, [12, terms], "t").transpose()
                if transposed
                else linear(graph, in_type, [terms, 12])
            )
            out, scale = linear(graph, out_type, [12], "out"), linear(graph, FLOAT, [], "scale")
            params = ReduceParams(op, update, scale if scaled else None)
            popops.reduceWithOutput(graph, t, out, [0], params, program, "r")
            return {"t": (t, values), "out": (out, before), "scale": (scale, [0.5])}, out

        by_vertex, by_kernel = both_ways(build)
        source = values.astype(np.float64)
        expected = (source**2 if op is Operation.SQUARE_ADD else source).sum(0) * (0.5 if scaled else 1)
        expected = expected + (before.astype(np.float64) if update else 0)
        bound = max(BOUND[in_type], BOUND[out_type]) * np.sqrt(terms)
        assert np.allclose(by_vertex.astype(np.float64), expected, atol=bound, rtol=bound)
        assert np.allclose(by_kernel.astype(np.float64), expected, atol=bound, rtol=bound)


@pytest.mark.parametrize("dims", [[0], [1], [0, 1]])
@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=str)
def test_log_add(type_: Any, dims: list[int]) -> None:
    values = np.random.default_rng(2).uniform(-3, 3, (20, 6)).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> Given:
        t = linear(graph, type_, [20, 6])
        return {"t": (t, values)}, popops.reduce(graph, t, dims, Operation.LOG_ADD, program)

    expected = special.logsumexp(values.astype(np.float64), axis=tuple(dims))
    for found in both_ways(build):
        assert np.allclose(found.astype(np.float64), expected, rtol=BOUND[type_], atol=BOUND[type_])


@pytest.mark.parametrize("op", [Operation.ADD, Operation.MUL, Operation.MIN, Operation.MAX])
def test_whole_numbers(op: Operation) -> None:
    values = np.random.default_rng(3).integers(1, 5, (7, 6)).astype(np.int32)

    def build(graph: Graph, program: Sequence) -> Given:
        t = linear(graph, INT, [7, 6])
        return {"t": (t, values)}, popops.reduce(graph, t, [1], op, program)

    expected = {"ADD": values.sum(1), "MUL": values.prod(1), "MIN": values.min(1), "MAX": values.max(1)}[op.name]
    for found in both_ways(build):
        assert np.array_equal(found, expected)


def test_outputs_that_are_views_and_outputs_without_a_mapping() -> None:
    values, before = np.arange(24, dtype=np.float32).reshape(4, 6), np.full((3, 6), 100, np.float32)

    def build(graph: Graph, program: Sequence) -> Given:
        t, whole = linear(graph, FLOAT, [4, 6], "t"), linear(graph, FLOAT, [6, 3], "whole")
        popops.reduceWithOutput(graph, t, whole.transpose()[1], [0], ReduceParams(Operation.ADD, True), program)
        fresh = graph.addVariable(FLOAT, [6], "fresh")
        popops.reduceWithOutput(graph, t, fresh, [0], Operation.MAX, program)
        assert sum(i.size() for tile in graph.getTileMapping(fresh) for i in tile) == 6
        popops.addInPlace(graph, whole.transpose()[0], fresh, program)
        return {"t": (t, values), "whole": (whole, before.T)}, whole.transpose()

    for found in both_ways(build):
        assert np.array_equal(found, np.stack([100 + values.max(0), 100 + values.sum(0), before[2]]))


def test_reductions_into_compute_sets_and_side_by_side() -> None:
    graph, program = small_graph(), Sequence()
    a, b = linear(graph, FLOAT, [40, 6], "a"), linear(graph, FLOAT, [5, 20], "b")
    sets: list[Any] = []
    first = popops.reduce(graph, a, [0], Operation.ADD, sets, "first")
    second = popops.reduce(graph, b, FLOAT, [1], Operation.MAX, sets, "second")
    assert len(sets) == 2
    for cs in sets:
        program.add(Execute(cs))
    outs: list[Tensor] = []
    both = [SingleReduceOp(a, [0], Operation.ADD, debugName="x"), SingleReduceOp(b, [1], ReduceParams(Operation.MIN))]
    popops.reduceMany(graph, both, outs, program, "many")
    given = [linear(graph, FLOAT, [6]), linear(graph, FLOAT, [5])]
    popops.reduceMany(graph, both, given, program)
    assert len(graph.store.compute_set_names) == 6
    values = np.arange(240, dtype=np.float32).reshape(40, 6), np.arange(100, dtype=np.float32).reshape(5, 20)
    for kernels in (False, True):
        machine = SlowMachine(graph, kernels)
        machine.write(a, values[0])
        machine.write(b, values[1])
        machine.run(program)
        for found in (first, outs[0], given[0]):
            assert np.array_equal(machine.read(found), values[0].sum(0))
        assert np.array_equal(machine.read(second), values[1].max(1))
        for found in (outs[1], given[1]):
            assert np.array_equal(machine.read(found), values[1].min(1))


def kinds(graph: Graph) -> list[str]:
    return [b.type.name.split("<")[0] + ("1" if "SINGLE" in b.type.name else "") for b in graph.store.blocks]


def test_the_layout_chooses_the_vertex() -> None:
    """One tile, so that each operand is on the tile that uses it."""
    graph, program = small_graph(1), Sequence()
    t = graph.addVariable(FLOAT, [12, 10], "t")
    for view, dims, kind in (
        (t, [0], "popops::StridedReduce"),
        (t, [1], "popops::ContinuousReduce"),
        (t[:, 0:7], [1], "popops::Reduce"),
        (t[0:1], [1], "popops::Reduce1"),
    ):
        graph.store.settled_blocks.clear()
        popops.reduce(graph, view, dims, Operation.ADD, program)
        assert kinds(graph) == [kind]
        if kind == "popops::ContinuousReduce":
            (block,) = graph.store.blocks
            assert len(block) == 6  # two outputs for each worker
            cost = block.type.costs(block, {"out": np.full(6, 2), "partials": np.full(6, 20)}, None)
            assert cost.cycles.tolist() == [int(cycles.continuous("ADD", "float", 2, 10))] * 6
        if kind == "popops::Reduce":
            (block,) = graph.store.blocks
            cost = block.type.costs(block, {"out": np.full(6, 2), "partials": np.full(6, 14)}, None)
            one = int(cycles.generic("ADD", "float", 1, 1, 7))
            assert cost.cycles.tolist() == [33 + 2 * one] * 6


def test_options_choose_the_types_between_and_within() -> None:
    def partials(options: dict[str, str]) -> list[str]:
        graph, program = small_graph(), Sequence()
        popops.reduce(graph, linear(graph, HALF, [40, 8]), [0], Operation.ADD, program, "r", options)
        return [b.type.name.split("<")[1].rstrip(">") for b in graph.store.blocks]

    assert partials({})[0] == "popops::ReduceAdd,half,float,false"
    assert partials({"accumType.interTile": "half"})[1] == "popops::ReduceAdd,half,half,false"
    assert partials({"accumType.inVertex": "half"})[0] == "popops::ReduceAdd,half,float,half,false"
    values = np.full((2000, 1), 1.0, np.float16)

    def build(options: dict[str, str]) -> Callable[[Graph, Sequence], Given]:
        def inner(graph: Graph, program: Sequence) -> Given:
            t = linear(graph, HALF, [2000, 1])
            return {"t": (t, values * 1.25)}, popops.reduce(graph, t, [0], Operation.ADD, program, "r", options)

        return inner

    exact, _ = both_ways(build({}), 4)
    assert exact[0] == 2500


def test_wrong_reductions_are_named() -> None:
    graph, program = small_graph(), Sequence()
    t, i, flags = linear(graph, FLOAT, [4, 6]), linear(graph, INT, [4]), linear(graph, BOOL, [4])
    out = linear(graph, FLOAT, [4])
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (
            poplibs_error,
            "no scale and no update",
            lambda: popops.reduceWithOutput(graph, t, out, [1], ReduceParams(Operation.MAX, True), program),
        ),
        (
            poplibs_error,
            "one FLOAT",
            lambda: popops.reduce(graph, t, [1], ReduceParams(Operation.ADD, False, out), program),
        ),
        (
            poplibs_error,
            "needs an output",
            lambda: popops.reduce(graph, t, [1], ReduceParams(Operation.ADD, True), program),
        ),
        (
            poplibs_error,
            "the output has shape",
            lambda: popops.reduceWithOutput(graph, t, out, [0], Operation.ADD, program),
        ),
        (type_error, "cannot be half", lambda: popops.reduce(graph, t, HALF, [1], Operation.MAX, program)),
        (type_error, "no ADD of bool", lambda: popops.reduce(graph, flags, [0], Operation.ADD, program)),
        (type_error, "no LOG_ADD of int", lambda: popops.reduce(graph, i, [0], Operation.LOG_ADD, program)),
        (
            poplibs_error,
            "2 outputs for 1",
            lambda: popops.reduceMany(graph, [SingleReduceOp(t, [0])], [out, out], program),
        ),
        (
            invalid_option,
            "no option slow",
            lambda: popops.reduce(graph, t, [0], Operation.ADD, program, "", {"slow": "float"}),
        ),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()


OF_NOTHING = {
    Operation.ADD: (0, (FLOAT, HALF, INT)),
    Operation.SQUARE_ADD: (0, (FLOAT, HALF, INT)),
    Operation.MUL: (1, (FLOAT, HALF, INT)),
    Operation.MAX: (-np.inf, (FLOAT, HALF)),
    Operation.MIN: (np.inf, (FLOAT, HALF)),
    Operation.LOGICAL_AND: (True, (BOOL,)),
    Operation.LOGICAL_OR: (False, (BOOL,)),
}


@pytest.mark.parametrize(("op", "value", "type_"), [(op, v, t) for op, (v, ts) in OF_NOTHING.items() for t in ts])
def test_reductions_of_nothing(op, value, type_):
    """[3, 0, 5] without its middle dimension: 15 results without a term."""

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        empty = graph.addVariable(type_, [3, 0, 5], "empty")
        out = popops.reduce(graph, empty, [1], op, prog, "r")
        return {"out": (out, np.full((3, 5), 7).astype(type_.dtype))}, out

    for result in both_ways(build):
        assert result.shape == (3, 5)
        assert result.dtype == type_.dtype
        assert np.all(result == value)


def test_updates_by_nothing_and_results_without_elements_run_nothing():
    graph, prog = small_graph(), Sequence()
    empty, out = graph.addVariable(FLOAT, [3, 0, 5], "empty"), linear(graph, FLOAT, [3, 5])
    popops.reduceWithOutput(graph, empty, out, [1], popops.ReduceParams(Operation.ADD, True), prog)
    assert popops.reduce(graph, empty, [0], Operation.MAX, prog).shape() == [0, 5]
    outputs: list[Tensor] = []
    popops.reduceMany(graph, [popops.SingleReduceOp(empty, [2])], outputs, prog)
    assert [t.shape() for t in outputs] == [[3, 0]]
    assert graph.addComputeSet("first").getId() == 0


def test_many_reductions_some_of_nothing():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        t, empty = linear(graph, FLOAT, [3, 4]), graph.addVariable(FLOAT, [0, 4], "empty")
        outputs: list[Tensor] = []
        many = [popops.SingleReduceOp(x, [0], op) for x, op in ((empty, Operation.MUL), (t, Operation.ADD))]
        popops.reduceMany(graph, many, outputs, prog)
        return {"t": (t, values)}, concat([t.expand([0]) for t in outputs])

    for result in both_ways(build):
        assert np.array_equal(result, [[1, 1, 1, 1], values.sum(0)])


def test_extremes_of_no_integers_have_no_value():
    graph, prog = small_graph(), Sequence()
    for op, type_ in ((Operation.MAX, INT), (Operation.LOG_ADD, FLOAT)):
        empty = graph.addVariable(type_, [2, 0], "empty")
        with pytest.raises(
            poplar_error, match=rf"reduce: {op.name} of {type_} has no value for no elements; .* \[2, 0\]"
        ):
            popops.reduce(graph, empty, [1], op, prog)
