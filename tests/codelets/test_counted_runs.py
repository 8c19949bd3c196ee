"""On simulated hardware compiled vertices cost what they do in a run: their blocks are counted on its own data."""

from __future__ import annotations

import io
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Bench, model

from simulator.codelets.count_run import ENTRY
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    DeviceManager,
    Engine,
    Executable,
    Graph,
    TargetType,
    compileGraph,
    replication_factor,
)
from simulator.poplar.program import Copy, Execute, Repeat, RepeatWhileTrue, Sequence
from simulator.poplibs import popops
from simulator.runtime.clock import step_counts

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="blocks are counted on x86-64 only")

SOURCE = Path(__file__).with_name("counted_runs.cpp")
#: tile cycles of a trip: a load, an addition, a store and the branch, of one worker
TRIP = 4 * WORKERS
RECORDED = {"debug.instrument": "true", "autoReport.executionProfileProgramRunCount": "10"}


@pytest.fixture(scope="module")
def hardware():
    whole = next(d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1) if d.attach())
    device = whole.createVirtualDevice(4)
    with bench_on(device, "Trips", [0]).engine():
        yield device
    whole.detach()


def bench_on(device: Any, type_: str, numbers: list[int], tiles: list[int] | None = None) -> Bench:
    """Vertices with a field n of their own."""
    bench = Bench(device=device)
    bench.graph.addCodelets(SOURCE)
    n = bench.tensor("n", INT, numbers)
    out = bench.tensor("out", INT, np.zeros(len(numbers)))
    for i, tile in enumerate(tiles or [0] * len(numbers)):
        bench.graph.setTileMapping(n[i], tile)
        bench.graph.setTileMapping(out[i], tile)
        bench.vertex(type_, {"n": n[i], "out": out[i]}, tile)
    return bench


def step_cycles(engine: Engine, run: int = -1) -> list[list[int]]:
    """Cycles of each tile of the first IPU in each execution of the compute set in a run."""
    record = engine.core.recorder.records[run]
    table = engine.core.compiled.lowered.table
    rows = [i for i, row in enumerate(record.program.tolist()) if table.name[row] == "cs"]
    return [record.patterns[int(record.pattern[i, 0])].cycles.tolist() for i in rows]


def run_with(engine: Engine, numbers: list[int]) -> list[int]:
    """Cycles of each tile with these numbers."""
    engine.writeTensor("n in", np.array(numbers, np.int32))
    engine.run(0)
    (cycles,) = step_cycles(engine)
    return cycles


def test_a_trip_more_costs_its_cycles(hardware) -> None:
    with bench_on(hardware, "Trips", [0]).engine(None, RECORDED) as engine:
        none, thousand, two = (run_with(engine, [n])[0] for n in (0, 1000, 2000))
    assert two - thousand == 1000 * TRIP
    assert 999 * TRIP < thousand - none <= 1002 * TRIP


@pytest.mark.parametrize(
    ("name", "slots"), [("Urand32", 2), ("Urand64", 3), ("UrandF32", 2), ("UrandF16", 2), ("Grand", 1)]
)
def test_random_numbers_cost_their_instructions(hardware, name: str, slots: int) -> None:
    with bench_on(hardware, name, [0]).engine(None, RECORDED) as engine:
        thousand, two = (run_with(engine, [n])[0] for n in (1000, 2000))
    assert two - thousand == 1000 * (TRIP + slots * WORKERS)


def test_points_in_a_circle_cost_what_is_published(hardware) -> None:
    """Published are 90 cycles a trip, without the source: ways to write the loop differ by some slots."""
    with bench_on(hardware, "Pi", [0]).engine(None, RECORDED) as engine:
        fewer, more = (run_with(engine, [n])[0] for n in (10_000, 20_000))
    assert 60 <= (more - fewer) / 10_000 <= 90


def test_a_model_estimates_as_before(hardware) -> None:
    with bench_on(model(4), "Trips", [0]).engine(None, RECORDED) as engine:
        few, many = (run_with(engine, [n]) for n in (1, 2000))
    assert few == many


def test_branches_of_data(hardware) -> None:
    with bench_on(hardware, "Branches", [0]).engine(None, RECORDED) as engine:
        even, odd = (run_with(engine, [n])[0] for n in (2, 3))
    assert abs(even - odd - 200 * TRIP) <= 2 * WORKERS


def test_nested_loops(hardware) -> None:
    with bench_on(hardware, "Nested", [0]).engine(None, RECORDED) as engine:
        cycles = [run_with(engine, [n])[0] for n in range(10, 15)]
    # a trip of the outer loop more has one inner trip more than the last
    assert np.diff(cycles, 2).tolist() == [TRIP] * 3


def test_an_early_exit(hardware) -> None:
    bench = Bench(device=hardware)
    bench.graph.addCodelets(SOURCE)
    n, out = bench.tensor("n", INT, [5]), bench.tensor("out", INT, [0])
    bench.vertex("Found", {"n": n[0], "out": out[0], "in": bench.tensor("in", INT, np.arange(100))})
    with bench.engine(None, RECORDED) as engine:
        cycles = [run_with(engine, [n])[0] for n in (10, 20, 30, 90)]
        assert bench.read(engine, "out") == 90
    assert cycles[1] - cycles[0] == cycles[2] - cycles[1] == (cycles[3] - cycles[2]) // 6 > 0


def test_the_longest_worker_of_a_tile_counts(hardware) -> None:
    numbers = [10, 200, 30, 40, 50, 60, 7, 80]
    with bench_on(hardware, "Trips", numbers).engine(None, RECORDED) as engine:
        alike = run_with(engine, [0] * 8)[0]
        together = run_with(engine, numbers)[0]
        longest = run_with(engine, [0, 200, 0, 0, 0, 0, 0, 0])[0]
    # six workers; the seventh vertex goes to the first that is free, then the eighth
    assert together - run_twin(numbers) == longest - run_twin([0, 200, 0, 0, 0, 0, 0, 0])
    assert alike < longest <= together


def run_twin(trips: list[int]) -> int:
    """Tile cycles of the trips on the worker with most, each vertex on the first that is free; a vertex without trips
    takes the cycles that another takes beside them."""
    beside = vertex_without_trips()
    load = [0] * WORKERS
    for n in trips:
        load[load.index(min(load))] += n * 4 + beside
    return WORKERS * max(load)


def vertex_without_trips() -> int:
    """Slots of a vertex beside its trips: those of the blocks around the loop, and its entry."""
    source = Graph(model(1).getTarget())
    source.addCodelets(SOURCE)
    n, out = source.addVariable(INT, [], "n"), source.addVariable(INT, [], "out")
    one = source.addVertex(source.addComputeSet("one"), "Trips", {"n": n, "out": out})
    return int(source.guessPerfEstimate(one).cycles) - 4  # on ones: a single trip


def test_tiles_have_their_own_cycles(hardware) -> None:
    with bench_on(hardware, "Trips", [5, 100], [0, 2]).engine(None, RECORDED) as engine:
        cycles = run_with(engine, [5, 100])
        assert cycles[2] - cycles[0] == 95 * TRIP
        assert cycles[1] == cycles[3] == 0
        swapped = run_with(engine, [100, 5])
    assert [swapped[2], swapped[0]] == [cycles[0], cycles[2]]


def test_a_supervisor_takes_every_turn(hardware) -> None:
    with bench_on(hardware, "Alone", [0]).engine(None, RECORDED) as engine:
        few, many = (run_with(engine, [n])[0] for n in (10, 1010))
    assert many - few == 1000 * TRIP


def test_a_multi_vertex_takes_as_long_as_its_longest_worker(hardware) -> None:
    bench = Bench(device=hardware)
    bench.graph.addCodelets(SOURCE)
    bench.vertex("Shares", {"in": bench.tensor("n", INT, [0] * 6), "out": bench.tensor("out", INT, [0] * 6)})
    with bench.engine(None, RECORDED) as engine:
        few, many = (run_with(engine, numbers)[0] for numbers in ([9, 1, 2, 3, 4, 9], [9, 1, 509, 3, 4, 5]))
        assert bench.read(engine, "out").tolist() == [3 * n for n in (9, 1, 509, 3, 4, 5)]
    assert many - few == 500 * TRIP


# ---- runs ----------------------------------------------------------------------------------------------------------


def test_each_run_has_its_own_steps_and_shares_equal_ones(hardware) -> None:
    with bench_on(hardware, "Trips", [0]).engine(None, RECORDED) as engine:
        cycles = [run_with(engine, [n])[0] for n in (7, 7, 9, 7)]
        records = engine.core.recorder.records
    assert [c - cycles[0] for c in cycles] == [0, 0, 2 * TRIP, 0]
    assert np.diff([r.cycles for r in records]).tolist() == [0, 2 * TRIP, -2 * TRIP]
    arrays = [[id(p.cycles) for p in record.patterns] for record in records]
    assert arrays[0] == arrays[1] == arrays[3] != arrays[2]
    assert records[0].patterns is records[1].patterns


def test_the_profile_has_the_cycles_of_each_run(hardware, tmp_path) -> None:
    options = RECORDED | {"autoReport.outputGraphProfile": "true", "autoReport.directory": str(tmp_path)}
    with bench_on(hardware, "Trips", [0]).engine(None, options) as engine:
        for n in (50, 80):
            run_with(engine, [n])
        steps = engine.getReport().execution.steps
        first, second = (step.ipus[0].cycles for step in steps if step.program.name == "cs")
    assert second - first == 30 * TRIP


def test_trips_of_a_loop_with_changing_data(hardware) -> None:
    """Each trip adds to the number of the next: Trips writes three times as many."""
    bench = bench_on(hardware, "Trips", [1])
    n, out = bench._names["n"], bench._names["out"]
    with bench.engine(Repeat(5, Sequence([Execute(bench.cs), Copy(out, n)])), RECORDED) as engine:
        engine.run(0)
        cycles = [tiles[0] for tiles in step_cycles(engine)]
    assert np.diff(cycles).tolist() == [TRIP * 2 * 3**i for i in range(4)]


def test_arrays_of_a_long_run_are_bounded(hardware, monkeypatch) -> None:
    """Beyond the bytes that a run may keep, its length is the same, and no array of all tiles is added."""
    bench = bench_on(hardware, "Trips", [1, 40], [0, 1])
    n, out = bench._names["n"], bench._names["out"]
    program = Repeat(6, Sequence([Execute(bench.cs), Copy(out, n)]))
    with bench.engine(program, RECORDED) as engine:
        engine.run(0)
        unbounded = engine.core.recorder.records[-1].cycles
    tiles = hardware.getTarget().getNumTiles()
    monkeypatch.setattr(step_counts, "_MAX_BYTES", 2 * 4 * tiles)
    with bench.engine(program, RECORDED) as engine:
        engine.run(0)
        assert engine.core.recorder.records[-1].cycles == unbounded
        arrays = engine.core._counts._arrays
        assert len(arrays) == 6
        assert sum(array.nbytes for array in arrays if array.strides != (0,)) == 2 * 4 * tiles
        engine.writeTensor("n in", np.array([1, 40], np.int32))
        engine.run(0)  # begins without the arrays of the run before
        assert engine.core.recorder.records[-1].cycles == unbounded


def test_trips_of_a_loop_with_constant_data_count_together(hardware) -> None:
    bench = bench_on(hardware, "Trips", [5, 9], [0, 1])
    with bench.engine(Sequence([Execute(bench.cs)] * 30), RECORDED) as engine:
        engine.run(0)
        unrolled = step_cycles(engine)
    with bench.engine(Repeat(30, Execute(bench.cs)), RECORDED) as engine:
        engine.run(0)
        assert step_cycles(engine) == unrolled
        assert len({tuple(tiles) for tiles in unrolled}) == 1


def test_programs_that_choose_and_count(hardware) -> None:
    """While the number is not 0: it halves, and its vertex takes trips for it."""
    bench = bench_on(hardware, "Trips", [40])
    program = Sequence([RepeatWhileTrue(Execute(bench.cs), bench._names["n"][0], halved(bench))])
    with bench.engine(program, RECORDED) as engine:
        engine.run(0)
        cycles = [tiles[0] for tiles in step_cycles(engine)]
    assert np.diff(cycles).tolist() == [TRIP * d for d in (-20, -10, -5, -3, -1, -1)]


def halved(bench: Bench) -> Sequence:
    program, n = Sequence(), bench._names["n"]
    popops.mapInPlace(bench.graph, popops.expr.Divide(popops.expr._1, popops.expr.Const(2)), [n], program)
    return program


def test_saved_executables_count_as_well(hardware) -> None:
    bench = bench_on(hardware, "Trips", [0])
    with bench.engine(None, RECORDED) as engine:
        wanted = [run_with(engine, [n]) for n in (3, 300)]
    file = io.BytesIO()
    compileGraph(bench.graph, [Execute(bench.cs)], RECORDED).serialize(file)
    file.seek(0)
    with Engine(Executable.deserialize(file), RECORDED) as again:
        again.load(hardware)
        assert [run_with(again, [n]) for n in (3, 300)] == wanted


def test_the_address_accurate_mode_counts_the_same(hardware) -> None:
    numbers = [4, 30, 6]
    with bench_on(hardware, "Trips", numbers, [0, 0, 1]).engine(None, RECORDED) as engine:
        wanted = run_with(engine, numbers)
    options = RECORDED | {"popvision.addressAccurate": "true"}
    with bench_on(hardware, "Trips", numbers, [0, 0, 1]).engine(None, options) as engine:
        assert run_with(engine, numbers) == wanted


def test_replicas_take_what_their_own_data_do() -> None:
    whole = next(d for d in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 2) if d.attach())
    device = whole.createVirtualDevice(2)
    graph = Graph(device.getTarget(), replication_factor(2))
    graph.addCodelets(SOURCE)
    n, out = graph.addVariable(INT, [1], "n"), graph.addVariable(INT, [1], "out")
    cs = graph.addComputeSet("cs")
    vertex = graph.addVertex(cs, "Trips", {"n": n[0], "out": out[0]})
    for tensor in (n, out, vertex):
        graph.setTileMapping(tensor, 0)
    graph.createHostWrite("n in", n)
    try:
        with Engine(graph, Execute(cs), RECORDED) as engine:
            engine.load(device)
            engine.writeTensor("n in", np.array([100, 40], np.int32))
            engine.run(0)
            record = engine.core.recorder.records[0]
            row = next(i for i, p in enumerate(record.program) if engine.core.compiled.lowered.table.name[p] == "cs")
            first, second = (int(record.patterns[p].cycles[0]) for p in record.pattern[row].tolist())
    finally:
        whole.detach()
    assert first - second == 60 * TRIP


def test_halves_are_rounded_and_counted(hardware) -> None:
    """x is doubled n times, up to the largest half."""
    with bench_on(hardware, "Doubled", [0]).engine(None, RECORDED) as engine:
        cycles, values = [], []
        for n in (10, 20, 30):
            cycles.append(run_with(engine, [n])[0])
            out = np.zeros(1, np.int32)
            engine.readTensor("out", out)
            values.append(int(out[0]))
    assert values == [1024, 65504, 65504]
    assert cycles[1] - cycles[0] == cycles[2] - cycles[1] == 10 * WORKERS  # a product, in one bundle with the branch


def test_halves_beyond_the_range_are_those_of_a_model(hardware) -> None:
    values = [1.0, 65519, 65520, -1e9, np.inf, np.nan, 1e-7, 6.1e-5, 0.333]
    for options in ({}, {"debug.nanOverflowMode": "true"}):
        results = []
        for device in (hardware, model(4)):
            bench = Bench(device=device)
            bench.graph.addCodelets(Path(__file__).with_name("sums.cpp"))
            numbers = bench.tensor("from", FLOAT, values)
            bench.vertex("HalfVertex", {"from": numbers, "to": bench.tensor("to", HALF, np.zeros(len(values)))})
            results.append(bench.run(["to"], options)[0])
        np.testing.assert_array_equal(*results)


def test_entry_and_exit_cost_what_published_estimators_have() -> None:
    assert vertex_without_trips() >= ENTRY
