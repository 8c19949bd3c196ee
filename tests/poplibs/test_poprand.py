"""poprand: distributions against SciPy, dependence on seed and place, dropout, seeds, costs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.machine.cycles import random_numbers as cycles
from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Repeat, Sequence
from simulator.poplibs import poprand, poputil
from simulator.poplibs.poputil import poplibs_error
from tests.poplibs.programs import linear, small_graph
from tests.poplibs.slow_machine import SlowMachine

Draw = Callable[..., Tensor]
#: name -> (function, its parameters, SciPy's name and parameters)
DRAWS: dict[str, tuple[Draw, tuple[float, ...], tuple[str, tuple[float, ...]]]] = {
    "uniform": (poprand.uniform, (-2.0, 6.0), ("uniform", (-2, 8))),
    "normal": (poprand.normal, (1.5, 0.5), ("norm", (1.5, 0.5))),
    "truncatedNormal": (poprand.truncatedNormal, (1.0, 2.0, 0.75), ("truncnorm", (-0.75, 0.75, 1, 2))),
    "logUniform": (poprand.logUniform, (1.0, 100.0), ("loguniform", (1, 100))),
}


@pytest.fixture(scope="module")
def stats() -> Any:
    """SciPy's distributions take a second to import: not while tests are collected."""
    return importlib.import_module("scipy.stats")


def drawn(
    build: Callable[[Graph, Sequence, Tensor], Tensor], shape: list[int], tiles: int = 8, kernels: bool = True
) -> Any:
    """The result of `build(graph, program, seed)` for the seed (11, 22)."""
    graph, program = small_graph(tiles), Sequence()
    seed = linear(graph, UNSIGNED_INT, [2], "seed")
    out = build(graph, program, seed)
    machine = SlowMachine(graph, kernels)
    machine.write(seed, [11, 22])
    for v, initial in enumerate(graph.store.variables.initial):
        for offset, values in initial:
            base = graph.store.variables.base[v] + offset
            machine.memory[graph.store.variables.type[v]][base : base + len(values)] = values
    machine.run(program)
    return machine.read(out)


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=str)
@pytest.mark.parametrize("name", sorted(DRAWS))
def test_distributions(name: str, type_: Any, stats: Any) -> None:
    function, parameters, (same, of_scipy) = DRAWS[name]
    expected = getattr(stats, same)(*of_scipy)

    def build(graph: Graph, program: Sequence, seed: Tensor) -> Tensor:
        return function(graph, seed, 5, linear(graph, FLOAT, [40, 50]), type_, *parameters, program)

    found = drawn(build, [40, 50])
    assert found.dtype == type_.dtype
    # Kolmogorov-Smirnov distance of 2,000 numbers: a wrong distribution misses this bound by far.
    assert stats.kstest(found.reshape(-1).astype(np.float64), expected.cdf).statistic < 0.04
    low, high = expected.support()
    assert found.min() >= low
    assert found.max() <= high


def test_whole_numbers(stats: Any) -> None:
    def uniform(graph: Graph, program: Sequence, seed: Tensor) -> Tensor:
        return poprand.uniform(graph, seed, 5, linear(graph, FLOAT, [3000]), INT, -2, 3, program)

    counts = np.unique(drawn(uniform, [3000]), return_counts=True)
    assert counts[0].tolist() == [-2, -1, 0, 1, 2, 3]
    assert stats.chisquare(counts[1]).pvalue > 1e-3

    def powers(graph: Graph, program: Sequence, seed: Tensor) -> Tensor:
        return poprand.logUniform(graph, seed, 5, linear(graph, FLOAT, [500]), INT, 1.5, 9.5, program, 2.0)

    assert set(drawn(powers, [500]).tolist()) <= set(range(2, 10))
    for type_ in (INT, HALF):

        def flips(graph: Graph, program: Sequence, seed: Tensor, type_: Any = type_) -> Tensor:
            return poprand.bernoulli(graph, seed, 5, linear(graph, FLOAT, [4000]), type_, 0.3, program)

        found = drawn(flips, [4000])
        assert set(found.tolist()) == {0, 1}
        assert abs(found.astype(np.float64).mean() - 0.3) < 0.03


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", sorted(DRAWS))
def test_vertices_draw_what_the_kernel_draws(name: str, seeded: bool) -> None:
    function, parameters, _ = DRAWS[name]

    def build(graph: Graph, program: Sequence, seed: Tensor) -> Tensor:
        whole = linear(graph, FLOAT, [9, 10])
        graph.setTileMapping(whole[4], 0)  # tile 0 holds runs that are not consecutive
        function(graph, seed if seeded else None, 5, whole[1:3], FLOAT, *parameters, program)
        return function(graph, seed if seeded else None, 5, whole.transpose(), FLOAT, *parameters, program)

    assert np.array_equal(drawn(build, [10, 9]), drawn(build, [10, 9], kernels=False))


def test_seeded_numbers_depend_on_seed_modifier_and_place_only() -> None:
    def build(mapping: str, modifier: int = 3, before: bool = False) -> Any:
        def make(graph: Graph, program: Sequence, seed: Tensor) -> Tensor:
            reference = graph.addVariable(HALF, [6, 20], "r")
            if mapping == "linear":
                poputil.mapTensorLinearly(graph, reference, 1)
            else:
                for i in range(120):
                    graph.setTileMapping(reference.flatten()[i], i * 7 % 8)
            if before:
                poprand.normal(graph, None, 0, reference, FLOAT, 0, 1, program)
            return poprand.uniform(graph, seed, modifier, reference, FLOAT, 0, 1, program)

        return drawn(make, [6, 20])

    first = build("linear")
    assert np.array_equal(first, build("scattered", before=True))
    assert not np.array_equal(first, build("linear", 4))
    assert len(np.unique(first)) == 120


def engine_numbers(build: Callable[[Graph, Sequence], list[Tensor]], runs: int = 1) -> list[list[Any]]:
    model = IPUModel()
    model.tilesPerIPU = 4
    device = model.createDevice()
    graph, program = Graph(device), Sequence()
    outs = build(graph, program)
    for i, t in enumerate(outs):
        graph.createHostRead(f"out{i}", t)
    found = []
    with Engine(graph, program) as engine:
        engine.load(device)
        for _ in range(runs):
            engine.run(0)
            row = [np.zeros(t.numElements(), np.float32) for t in outs]
            for i, values in enumerate(row):
                engine.readTensor(f"out{i}", values)
            found.append(row)
    return found


def test_numbers_without_a_seed_go_on() -> None:
    def build(graph: Graph, program: Sequence) -> list[Tensor]:
        r = linear(graph, FLOAT, [32])
        return [poprand.uniform(graph, None, 0, r, FLOAT, 0, 1, program) for _ in range(2)]

    (a, b), (c, d) = engine_numbers(build, 2)
    assert len(np.unique(np.concatenate([a, b, c, d]))) > 125


def test_generators_are_seeded_saved_and_put_back() -> None:
    def build(graph: Graph, program: Sequence) -> list[Tensor]:
        r = linear(graph, FLOAT, [32])
        seed = graph.addConstant(UNSIGNED_INT, [2], [7, 8])
        graph.setTileMapping(seed, 0)
        draw = lambda: poprand.uniform(graph, None, 0, r, FLOAT, 0, 1, program)  # noqa: E731
        poprand.setSeed(graph, seed, 1, program)
        outs = [draw()]
        saved = poprand.getHwSeeds(graph, program)
        outs += [draw()]
        poprand.uniform(graph, seed, 9, r, FLOAT, 0, 1, program)  # does not change the generators
        outs += [draw()]
        poprand.setHwSeeds(graph, saved, program)
        outs += [draw(), draw()]
        poprand.setSeed(graph, seed, 1, program)
        outs += [draw()]
        poprand.setSeed(graph, seed, 2, program)
        return [*outs, draw()]

    first, second, third, again, after, once_more, other = engine_numbers(build)[0]
    assert np.array_equal(second, again)
    assert np.array_equal(third, after)
    assert np.array_equal(first, once_more)
    assert not np.array_equal(first, other)
    assert len(np.unique(np.concatenate([first, second, third]))) > 90


def test_a_loop_draws_anew() -> None:
    def build(graph: Graph, program: Sequence) -> list[Tensor]:
        body = Sequence()
        r, total = linear(graph, FLOAT, [64]), linear(graph, FLOAT, [64])
        from simulator.poplibs import popops

        popops.zero(graph, total, program)
        popops.addInPlace(graph, total, poprand.bernoulli(graph, None, 0, r, FLOAT, 0.5, body), body)
        program.add(Repeat(8, body))
        return [total]

    assert len(np.unique(engine_numbers(build)[0][0])) > 3


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=str)
def test_dropout(type_: Any) -> None:
    values = np.random.default_rng(1).uniform(1, 2, (40, 30)).astype(type_.dtype)

    def build(shape: list[int] | None, kernels: bool) -> Any:
        graph, program = small_graph(8), Sequence()
        seed, x = linear(graph, UNSIGNED_INT, [2], "seed"), linear(graph, type_, [40, 30], "x")
        if shape is None:
            out = poprand.dropout(graph, seed, 1, x, linear(graph, FLOAT, [40, 30]), 0.75, 2.0, False, program)
        else:
            out = poprand.shapedDropout(graph, seed, 1, x, linear(graph, FLOAT, shape), 0.75, 2.0, program)
        machine = SlowMachine(graph, kernels)
        machine.write(seed, [11, 22])
        machine.write(x, values)
        machine.run(program)
        return machine.read(out)

    found = build(None, True)
    assert np.array_equal(found, build(None, False))
    kept = found != 0
    assert np.array_equal(found[kept], (values * 2)[kept])
    assert abs(kept.mean() - 0.75) < 0.05
    rows = build([40, 1], True)
    assert np.array_equal(rows, build([40, 1], False))
    assert set((rows != 0).mean(axis=1)) == {0.0, 1.0}


def test_costs_are_the_estimators() -> None:
    """Written out by hand: 41 floats, 41 halves on one tile."""
    assert cycles.uniform("float", 41) == 4 + 4 * (41 + 31) // 32 + 22 * 6 + 4
    assert cycles.uniform("half", 48) == 4 + 4 * (48 + 15) // 16 + 24 * 6
    assert cycles.uniform("int", 41) == 4 + 22 * 6 + 6 * 20 + 2
    assert cycles.normal("float", 41) == 4 + 4 * 42 // 2 + 22 * 6 + 3
    assert cycles.bernoulli("half", 41) == 4 + (41 + 15) // 16 + 21 * 6 + 9
    assert cycles.truncated_normal("float", 40, 4) == 4 + 26 * 6 + (11 * 4 + 5) * 41 // 2
    assert cycles.dropout("float", 41) == 6 + 24 * 6 + 2 * 42 // 2 + 1
    assert cycles.set_seed() == 14 + 27 * 6
    graph, program = small_graph(2), Sequence()
    seed = linear(graph, UNSIGNED_INT, [2])
    poprand.normal(graph, seed, 0, linear(graph, FLOAT, [64]), HALF, 0, 1, program, "n")
    names = [graph.store.compute_set_names[b.compute_set] for b in graph.store.blocks]
    assert names == ["n/normal/getHwSeeds", "n/normal/setMasterSeed", "n/normal", "n/normal/setHwSeeds"]
    assert [len(b) for b in graph.store.blocks] == [2, 2, 2, 2]


def test_wrong_arguments_are_named() -> None:
    graph, program = small_graph(), Sequence()
    r, seed = linear(graph, FLOAT, [4]), linear(graph, UNSIGNED_INT, [2])
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("vector of two", lambda: poprand.setSeed(graph, r, 0, program)),
        ("vector of two", lambda: poprand.uniform(graph, seed[:1], 0, r, FLOAT, 0, 1, program)),
        ("must be greater than", lambda: poprand.uniform(graph, None, 0, r, FLOAT, 1, 1, program)),
        ("beyond the range", lambda: poprand.uniform(graph, None, 0, r, INT, 0, 2**31, program)),
        ("draws no int", lambda: poprand.normal(graph, None, 0, r, INT, 0, 1, program)),
        ("alpha", lambda: poprand.truncatedNormal(graph, None, 0, r, FLOAT, 0, 1, 0, program)),
        ("between 0 and 1", lambda: poprand.bernoulli(graph, None, 0, r, FLOAT, 1.5, program)),
        ("1 <= minVal", lambda: poprand.logUniform(graph, None, 0, r, FLOAT, 0.5, 2, program)),
        ("no two values", lambda: poprand.logUniform(graph, None, 0, r, INT, 1.2, 1.8, program)),
        ("must have one shape", lambda: poprand.dropout(graph, None, 0, r, r[:2], 0.5, 2, program)),
        ("does not broadcast", lambda: poprand.shapedDropout(graph, None, 0, r, r[:2], 0.5, 2, program)),
        ("setHwSeeds needs", lambda: poprand.setHwSeeds(graph, seed, program)),
    ]
    for text, call in wrong:
        with pytest.raises(poplibs_error, match=text):
            call()
