"""Scaled addition in all forms, casts of all types, fills, one-hot rows and iota: vertices, kernels, NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.poplar import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    Graph,
    Tensor,
    graph_connection_error,
    invalid_option,
    type_error,
)
from simulator.poplar.program import Execute, Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import ScaledAddSpecialisation
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import both_ways, linear, small_graph
from tests.poplibs.slow_machine import SlowMachine

f32 = np.float32
Given = tuple[dict[str, tuple[Tensor, Any]], Tensor]


@pytest.mark.parametrize("types", [(FLOAT, FLOAT), (HALF, HALF), (HALF, FLOAT), (FLOAT, HALF)], ids=str)
@pytest.mark.parametrize("form", ["numbers", "tensors", "mixed", "one minus"])
@pytest.mark.parametrize("subtract", [False, True])
def test_both_operands_scaled(form: str, types: tuple[Any, Any], subtract: bool) -> None:
    if subtract and form == "one minus":
        return
    rng = np.random.default_rng(5)
    a_values, b_values = (rng.normal(size=(7, 9)).astype(t.dtype) for t in types)

    def build(graph: Graph, program: Sequence) -> Given:
        a, b = linear(graph, types[0], [7, 9], "a"), linear(graph, types[1], [7, 9], "b")
        scales: list[Any] = [0.75, 0.5]
        given = {"a": (a, a_values), "b": (b, b_values)}
        for i in range(2):
            if form == "tensors" or (form == "mixed" and i == 1):
                scales[i] = linear(graph, FLOAT, [1], f"s{i}")
                given[f"s{i}"] = (scales[i], [(0.75, 0.5)[i]])
        function = popops.scaledSubtractFrom if subtract else popops.scaledAddTo
        more = [ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY] if form == "one minus" else []
        function(graph, a, scales[0], b, scales[1], program, *more, "sum")
        assert any("XMinusaXPlusbY" in x.type.name for x in graph.store.blocks) == bool(more)
        return given, a

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    wide_b = b_values.astype(types[0].dtype).astype(f32)
    own = f32(0.25 if form == "one minus" else 0.75) * a_values.astype(f32)
    expected = own - f32(0.5) * wide_b if subtract else own + f32(0.5) * wide_b
    bound = 1e-6 if types[0] is FLOAT else 2e-3
    assert np.allclose(by_vertex.astype(f32), expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("type_", [INT, UNSIGNED_INT, HALF], ids=str)
def test_one_operand_scaled_of_other_types_and_rows(type_: Any) -> None:
    a_values, b_values = np.arange(45).reshape(5, 9).astype(type_.dtype), np.full((5, 9), 3, type_.dtype)

    def build(graph: Graph, program: Sequence) -> Given:
        a, b, s = linear(graph, type_, [9, 5], "a"), linear(graph, type_, [5, 9], "b"), linear(graph, type_, [], "s")
        popops.scaledAddTo(graph, a.transpose(), b, s, program)
        popops.scaledSubtractFrom(graph, a.transpose()[1:3], b[1:3], 2, prog=program, debugContext="less")
        given = {"a": (a, a_values.T), "b": (b, b_values), "s": (s, [4])}
        return given, a.transpose()

    by_vertex, by_kernel = both_ways(build)
    expected = a_values + 4 * b_values
    expected[1:3] -= 2 * b_values[1:3]
    assert np.array_equal(by_vertex, expected.astype(type_.dtype))
    assert np.array_equal(by_kernel, by_vertex)


def test_options_of_scaled_addition_choose_the_vertex() -> None:
    graph, program = small_graph(), Sequence()
    a, b = linear(graph, HALF, [64]), linear(graph, HALF, [64])
    for scale, options in (
        (0.5, {}),
        (0.1, {}),
        (0.1, {"scaleFloatToHalfTolerance": 0.01}),
        (0.5, {"optimizeForSpeed": True}),
    ):
        popops.scaledAddTo(graph, a, b, scale, program, "s", options)  # type: ignore[arg-type]
    templates = [x.type.name.split("<")[1] for x in graph.store.blocks]
    assert templates == [
        "half,half,half,true,false>",
        "half,half,float,true,false>",
        "half,half,half,true,false>",
        "half,half,half,true,true>",
    ]
    assert graph.store.blocks[3].type.apart == (("A", "B"),)
    target = graph.getTarget()
    plain, inexact, _, fast = [x.type.costs(x, {"A": np.array([640])}, target).cycles[0] for x in graph.store.blocks]
    assert fast < plain < inexact


def test_wrong_scaled_additions_are_named() -> None:
    graph, program = small_graph(), Sequence()
    a, b, i = linear(graph, FLOAT, [4]), linear(graph, FLOAT, [3]), linear(graph, INT, [4])
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (graph_connection_error, "differ", lambda: popops.scaledAddTo(graph, a, b, 1.0, program)),
        (graph_connection_error, "one element", lambda: popops.scaledAddTo(graph, a, a, b, program)),
        (type_error, "hold float and int", lambda: popops.scaledAddTo(graph, a, i, 1.0, program)),
        (type_error, "FLOAT or HALF is needed", lambda: popops.scaledAddTo(graph, i, 1.0, i, 1.0, program)),
        (invalid_option, "no option slow", lambda: popops.scaledAddTo(graph, a, a, 1.0, program, "", {"slow": "1"})),
        (type_error, "missing", lambda: popops.scaledAddTo(graph, a, a)),  # type: ignore[call-overload]
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()


CASTABLE = [FLOAT, HALF, INT, UNSIGNED_INT, SHORT, SIGNED_CHAR, UNSIGNED_CHAR, BOOL, LONGLONG]


@pytest.mark.parametrize("source", CASTABLE, ids=str)
def test_casts_between_all_types(source: Any) -> None:
    values = np.array([0, 1, 2.75, 100, 7.5, 3]).astype(source.dtype)
    for target in CASTABLE:

        def build(graph: Graph, program: Sequence, target: Any = target) -> Given:
            t = linear(graph, source, [6])
            out = popops.cast(graph, t, target, program)
            assert out.elementType() is target
            return {"t": (t, values)}, out

        by_vertex, by_kernel = both_ways(build)
        assert np.array_equal(by_vertex, by_kernel)
        assert np.array_equal(by_vertex, values.astype(target.dtype))


def test_casts_as_programs_and_into_compute_sets() -> None:
    graph, program = small_graph(), Sequence()
    t, into = linear(graph, FLOAT, [6], "t"), linear(graph, INT, [6], "into")
    program.add(popops.cast(graph, t, into, "one"))
    cs = graph.addComputeSet("casts")
    halves = popops.cast(graph, t, HALF, cs)
    other = linear(graph, UNSIGNED_CHAR, [6], "other")
    assert popops.cast(graph, t, other, cs) is None
    program.add(Execute(cs))
    fits = popops.checkAccuracyWhenCast(graph, t[0], HALF, 1e-6, program)
    not_fits = popops.checkAccuracyWhenCast(graph, t[5], HALF, 1e-6, program)
    for kernels in (False, True):
        machine = SlowMachine(graph, kernels)
        machine.write(t, [1.5, 2.5, 3, 4, 5, 0.1])
        machine.run(program)
        assert machine.read(into).tolist() == [1, 2, 3, 4, 5, 0]
        assert machine.read(halves)[0] == 1.5
        assert machine.read(other).tolist() == [1, 2, 3, 4, 5, 0]
        assert [bool(machine.read(f)) for f in (fits, not_fits)] == [True, False]
    with pytest.raises(graph_connection_error, match="must be equal"):
        popops.cast(graph, t, into[:2])
    with pytest.raises(poplibs_error, match="one FLOAT is checked"):
        popops.checkAccuracyWhenCast(graph, t, HALF, 1e-6, program)


def test_fills_of_tiles_intervals_and_mappings() -> None:
    graph, program = small_graph(4), Sequence()
    t = graph.addVariable(INT, [24], "t")
    for tile in range(4):
        graph.setTileMapping(t[6 * tile : 6 * tile + 6], tile)
    cs = graph.addComputeSet("fills")
    popops.fill(graph, t, 1, cs, 5)
    popops.fill(graph, t, [(0, 2), (4, 5)], 0, cs, 6)
    popops.fill(graph, t, [[], [], [(13, 15)], [(20, 21)]], cs, 7)
    popops.zero(graph, t, [(3, 4)], 0, cs)
    popops.zero(graph, t, [[(16, 17)]], cs)
    other = graph.addComputeSet("others")
    popops.zero(graph, t, 3, other)
    program.add(Execute(cs))
    program.add(Execute(other))
    popops.fill(graph, t[9:11], program, 8)
    popops.fill(graph, linear(graph, INT, [6, 4]).transpose()[1:3], program, 1)
    assert graph.store.blocks[-1].type.name == "popops::Fill2d<int>"
    expected = np.full(24, -1)
    for where, value in (
        ((0, 2), 6),
        ((4, 5), 6),
        ((3, 4), 0),
        ((6, 12), 5),
        ((13, 15), 7),
        ((16, 17), 0),
        ((18, 24), 0),
        ((9, 11), 8),
    ):
        expected[slice(*where)] = value
    for kernels in (False, True):
        machine = SlowMachine(graph, kernels)
        machine.write(t, np.full(24, -1))
        machine.run(program)
        assert machine.read(t).tolist() == expected.tolist()
    with pytest.raises(poplibs_error, match=r"0\.5 is not a value of type int"):
        popops.fill(graph, t, program, 0.5)


@pytest.mark.parametrize("type_", [FLOAT, HALF, INT], ids=str)
@pytest.mark.parametrize("index_type", [INT, UNSIGNED_INT], ids=str)
@pytest.mark.parametrize("custom", [False, True])
def test_one_hot_rows(type_: Any, index_type: Any, custom: bool) -> None:
    masked = popops.MASKED_LABEL_CODE
    indices = np.array([0, 4, masked, 2], np.uint32).astype(index_type.dtype)

    def build(graph: Graph, program: Sequence) -> Given:
        given = {"i": (linear(graph, index_type, [4], "i"), indices)}
        encoded = linear(graph, type_, [5, 4], "e").transpose() if custom else linear(graph, type_, [4, 5], "e")
        more = []
        for name, value in (("on", 9), ("off", 2)) if custom else ():
            more.append(linear(graph, type_, [1], name))
            given[name] = (more[-1], [value])
        popops.encodeOneHot(graph, given["i"][0], encoded, program, *more, "hot")
        return given, encoded

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, by_kernel)
    on, off = (9, 2) if custom else (1, 0)
    assert np.array_equal(by_vertex, np.where(np.array([0, 4, -1, 2])[:, None] == np.arange(5), on, off))


@pytest.mark.parametrize(("type_", "start"), [(INT, -3), (UNSIGNED_INT, 7)], ids=str)
def test_iota(type_: Any, start: int) -> None:
    def build(graph: Graph, program: Sequence) -> Given:
        whole = linear(graph, type_, [4, 9])
        for i in range(9):
            graph.setTileMapping(whole[:, i], i * 5 % 4)
        popops.iota(graph, whole.transpose().flatten(), start, program, "count")
        return {}, whole.transpose().flatten()

    by_vertex, by_kernel = both_ways(build)
    assert by_vertex.tolist() == by_kernel.tolist() == list(range(start, start + 36))
    graph = small_graph()
    with pytest.raises(poplibs_error, match="writeable vector"):
        popops.iota(graph, linear(graph, FLOAT, [3]), 0, Sequence())
