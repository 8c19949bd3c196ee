"""cycleCount and cycleStamp: what programs read of the cycle counters is what the report says of their steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision import pva
from simulator.codelets.vertex import InOut, SupervisorVertex
from simulator.machine.counters import STAMP_CYCLES
from simulator.machine.launch import SUPERVISOR
from simulator.poplar import (
    INT,
    UNSIGNED_INT,
    Device,
    DeviceManager,
    Engine,
    Graph,
    IPUModel,
    SyncType,
    TargetType,
    Tensor,
    concat,
    control_program_error,
    cycleCount,
    cycleStamp,
    invalid_tile_mapping,
    poplar_error,
    replication_factor,
)
from simulator.poplar.program import Copy, Execute, If, Program, Repeat, RepeatWhileTrue, Sequence, Switch
from tests.poplar.graph_state import state_of

INTERNAL = SyncType.INTERNAL
TILES = 4
RECORDED = {"autoReport.outputGraphProfile": "true", "autoReport.outputExecutionProfile": "true"}
ACCURATE = {"popvision.addressAccurate": "true"}


class Decrease(SupervisorVertex):
    """Takes 1 from a number, in so many tile cycles."""

    x = InOut(INT)
    cycles = UNSIGNED_INT

    def compute(self) -> None:
        self.x = self.x - 1

    @classmethod
    def estimate(cls, sizes: Any, values: Any, target: Any) -> Any:
        return values["cycles"]


ATTACHED: list[Device] = []


@pytest.fixture(autouse=True)
def small_hardware(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POPVISION_TILES", str(TILES))
    yield
    detach()


def detach() -> None:
    while ATTACHED:
        ATTACHED.pop().detach()


class Bench:
    """A graph on simulated hardware, work on tile 1, and stamps that go to the host as they are made."""

    def __init__(self, replicas: int = 1) -> None:
        self.device = next(d for d in DeviceManager().getDevices(TargetType.IPU, replicas) if d.attach())
        ATTACHED.append(self.device)
        self.graph = Graph(self.device.getTarget(), replication_factor(replicas))
        self.graph.addCodelets(Decrease)
        self.x = self.number(0)
        self.seen: list[int] = []
        self._streams = 0

    def number(self, value: int) -> Tensor:
        made = self.graph.addVariable(INT, [])
        self.graph.setTileMapping(made, 1)
        self.graph.setInitialValue(made, value)
        return made

    def work(self, cycles: int, x: Tensor | None = None) -> Program:
        cs = self.graph.addComputeSet("work")
        vertex = self.graph.addVertex(cs, "Decrease", {"x": self.x if x is None else x, "cycles": cycles})
        self.graph.setTileMapping(vertex, 1)
        return Execute(cs)

    def stamp(self, tile: int = 0) -> Program:
        prog = Sequence()
        stream = self.graph.addDeviceToHostFIFO(f"stamp {self._streams}", UNSIGNED_INT, 2)
        self._streams += 1
        prog.add(Copy(cycleStamp(self.graph, prog, tile, INTERNAL), stream))
        return prog

    def engine(self, program: Program, options: dict[str, str] | None = None) -> Engine:
        engine = Engine(self.graph, program, options or {})
        engine.load(self.device)
        for number in range(self._streams):
            engine.connectStreamToCallback(f"stamp {number}", lambda words: self.seen.append(number_of(words)))
        return engine

    def counts(self, program: Program, stamps: list[Tensor], options: dict[str, str] | None = None) -> list[int]:
        """What stamps hold after a run."""
        self.graph.createHostRead("stamps", concat(stamps))
        with self.engine(program, options) as engine:
            engine.run()
            words = np.zeros((self.graph.getReplicationFactor() * len(stamps), 2), np.uint32)
            engine.readTensor("stamps", words)
        return [number_of(row) for row in words]


def number_of(words: Any) -> int:
    low, high = np.asarray(words, np.uint32).tolist()
    return int(low | high << 32)


def begins(folder: Path) -> list[int]:
    """When tiles began to read their counters, by the steps of a report."""
    report = pva.openReport(str(folder / "profile.pop"))
    steps = [s for s in report.execution.steps if s.program.type.name == "OnTileExecute" and "timeIt" in s.program.name]
    return [int(s.ipus[0].activeCycles.cyclesFrom.min) for s in steps]


def test_a_count_is_what_the_report_says_of_the_steps_between(tmp_path: Path) -> None:
    bench = Bench()
    timed = Sequence(Repeat(5, bench.work(300)))
    count = cycleCount(bench.graph, timed, 0, INTERNAL)
    [read] = bench.counts(timed, [count], {**RECORDED, "autoReport.directory": str(tmp_path)})
    before, after = begins(tmp_path)
    assert read == after - before > 1500


def test_nothing_takes_the_first_vertex_and_a_barrier() -> None:
    bench = Bench()
    timed = Sequence()
    [read] = bench.counts(timed, [cycleCount(bench.graph, timed, 0, INTERNAL)])
    spent = STAMP_CYCLES + SUPERVISOR
    assert spent + bench.device.getTarget().getMinIPUSyncDelay() <= read <= spent + 133  # the longest published barrier


def test_work_takes_its_cycles_longer() -> None:
    bench = Bench()
    short, long = Sequence(bench.work(1000)), Sequence(bench.work(1600))
    stamps = [cycleCount(bench.graph, timed, 0, INTERNAL) for timed in (short, long)]
    [first, second] = bench.counts(Sequence(short, long), stamps)
    assert second - first == 600


def test_a_count_holds_the_reading_within_it() -> None:
    bench = Bench()
    inner = Sequence(bench.work(1000))
    within = cycleCount(bench.graph, inner, 1, INTERNAL)
    outer = Sequence(inner)
    around = cycleCount(bench.graph, outer, 1, INTERNAL)
    short, long = bench.counts(outer, [within, around])
    assert long >= short + 2 * (STAMP_CYCLES + SUPERVISOR)


def test_stamps_go_on_from_run_to_run_and_begin_with_load() -> None:
    bench = Bench()
    with bench.engine(Sequence(bench.work(100), bench.stamp())) as engine:
        for _ in range(3):
            engine.run()
        engine.load(bench.device)
        engine.run()
    first, second, third, again = bench.seen
    assert third - second == second - first > 100
    assert again == first


def test_several_tiles_are_read_at_once() -> None:
    bench = Bench()
    program = Sequence()
    read = bench.counts(program, cycleStamp(bench.graph, program, range(TILES), INTERNAL))
    assert len(read) == TILES
    assert max(read) - min(read) <= 54  # the largest published delay of a release


def test_both_words_hold_a_number() -> None:
    bench = Bench()
    cs = bench.graph.addComputeSet()
    vertex = bench.graph.addVertex(cs, "Decrease", {"x": bench.x, "cycles": 0})
    bench.graph.setTileMapping(vertex, 1)
    bench.graph.setPerfEstimate(vertex, 3 << 32)
    timed = Sequence(Execute(cs))
    [read] = bench.counts(timed, [cycleCount(bench.graph, timed, 0, INTERNAL)])
    assert 3 << 32 < read < (3 << 32) + 1000


def test_each_replica_reads_its_tile() -> None:
    bench = Bench(replicas=2)
    timed = Sequence(bench.work(500))
    first, second = bench.counts(timed, [cycleCount(bench.graph, timed, 0, SyncType.EXTERNAL)])
    assert first == second > 500


def tree(bench: Bench, draw: st.DrawFn, depth: int) -> Program:
    """A program with work, stamps, loops, and branches that data choose."""
    kinds = ["work", "stamp"] + ["sequence", "repeat", "while", "if", "switch"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))
    if kind == "work":
        return bench.work(draw(st.integers(1, 2000)))
    if kind == "stamp":
        return bench.stamp(draw(st.integers(0, TILES - 1)))
    if kind == "sequence":
        return Sequence([tree(bench, draw, depth - 1) for _ in range(draw(st.integers(1, 3)))])
    body = tree(bench, draw, depth - 1)
    if kind == "repeat":
        return Repeat(draw(st.integers(1, 3)), body)
    if kind == "while":  # runs once more only where it is within a loop: the number stays below
        left = bench.number(draw(st.integers(0, 3)))
        return RepeatWhileTrue(Sequence(), left, Sequence(body, bench.work(50, left)))
    if kind == "if":
        return If(bench.number(draw(st.integers(0, 1))), body, bench.stamp())
    return Switch(bench.number(draw(st.integers(0, 2))), [(0, body), (1, bench.stamp())])


@given(st.data())
def test_stamps_of_any_program_are_the_begins_of_steps(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    bench, folder = Bench(), tmp_path_factory.mktemp("report")
    program = Sequence(tree(bench, data.draw, 3), bench.stamp())
    with bench.engine(program, {**RECORDED, "autoReport.directory": str(folder)}) as engine:
        engine.run()
    detach()
    assert bench.seen == begins(folder)


def test_bytes_of_tiles_have_the_same_stamps() -> None:
    seen = []
    for options in ({}, ACCURATE):
        bench = Bench()
        left = bench.number(3)
        loop = RepeatWhileTrue(Sequence(), left, Sequence(bench.work(70, left), bench.stamp(2)))
        with bench.engine(Sequence(bench.stamp(), loop), options) as engine:
            engine.run()
        seen.append(bench.seen)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 4


def test_a_saved_executable_reads_the_same(tmp_path: Path) -> None:
    from simulator.poplar import Executable, compileGraph

    bench = Bench()
    timed = Sequence(bench.work(400))
    bench.graph.createHostRead("count", cycleCount(bench.graph, timed, 0, INTERNAL))
    executable = compileGraph(bench.graph, timed)
    with (tmp_path / "saved").open("wb") as file:
        executable.serialize(file)
    read = []
    for program in (executable, Executable.deserialize((tmp_path / "saved").open("rb"))):
        with Engine(program, {}) as engine:
            engine.load(bench.device)
            engine.run()
            words = np.zeros(2, np.uint32)
            engine.readTensor("count", words)
            read.append(number_of(words))
    assert read[0] == read[1] > 400


@pytest.mark.parametrize("function", [cycleCount, cycleStamp])
def test_refused_calls_leave_the_graph_as_it_was(function: Any) -> None:
    model = IPUModel()
    model.tilesPerIPU = TILES
    graph = Graph(model.createDevice())
    with pytest.raises(poplar_error, match=rf"{function.__name__} needs hardware: an IPU Model has estimates"):
        function(graph, Sequence(), 0, INTERNAL)
    bench = Bench()
    part = Sequence(Sequence(bench.work(10))).programs[0]
    before = state_of(bench.graph)
    with pytest.raises(invalid_tile_mapping, match="Tile 4 is out of range"):
        function(bench.graph, Sequence(), TILES, INTERNAL)
    with pytest.raises(control_program_error, match="is a part of another program"):
        function(bench.graph, part, 0, INTERNAL)
    assert state_of(bench.graph) == before


def test_the_form_of_version_1_has_no_barrier(tmp_path: Path) -> None:
    bench = Bench()
    new, old = Sequence(), Sequence()
    counted = [cycleCount(bench.graph, new, 0, INTERNAL, "name"), cycleCount(bench.graph, old, 0, "name")]
    first, second = bench.counts(Sequence(new, old), counted)
    assert first == second
