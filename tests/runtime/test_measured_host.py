"""Device time with POPVISION_HOST_CLOCK=measured: the rules of the modelled host, with times of a clock that the
callbacks of the test move."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import popvision
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, StreamCallback, TargetType
from simulator.poplar.program import Call, Copy, Execute, PrintTensor, Program, Repeat, Sequence
from simulator.runtime.host import host_times
from tests.compiler.tiny_graphs import Scale

CLOCK_HZ = 1.33e9
READY, ACKNOWLEDGED = (155, 87), 81_000
WORK = 240_000  #: cycles of a trip's compute set


class Clock:
    """Seconds that only the test moves."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def move(self, cycles: int) -> None:
        self.seconds += cycles / CLOCK_HZ


class Early(StreamCallback):
    """Prefetches; takes so many cycles for each transfer, in order."""

    def __init__(self, clock: Clock, cycles: list[int]) -> None:
        self.clock, self.cycles = clock, iter([*cycles, *[7] * 100])

    def fetch(self, p: Any) -> None:
        self.clock.move(next(self.cycles))

    def prefetch(self, p: Any) -> StreamCallback.Result:
        self.clock.move(next(self.cycles))
        return StreamCallback.Result.Success

    def complete(self) -> None:
        pass

    def invalidatePrefetched(self) -> None:
        pass


def asked(clock: Clock, cycles: list[int]) -> Callable[[Any], None]:
    """A callback without a prefetch that takes so many cycles for each transfer."""
    left = iter(cycles)
    return lambda p: clock.move(next(left))


class Case:
    """A graph on four tiles of simulated hardware: `x` on tile 0, and a compute set of WORK cycles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
        self.graph = Graph(self.device.getTarget())
        self.graph.addCodelets(Scale)
        self.x, self.y = (self.graph.addVariable(FLOAT, [4], name) for name in "xy")
        for tensor in (self.x, self.y):
            self.graph.setTileMapping(tensor, 0)
        cs = self.graph.addComputeSet("work")
        vertex = self.graph.addVertex(cs, "Scale", {"x": self.x, "y": self.y})
        self.graph.setTileMapping(vertex, 0)
        self.graph.setPerfEstimate(vertex, WORK // 6)
        self.work = Execute(cs)

    def run(self, program: Program, runs: int = 1, **callbacks: Any) -> pd.DataFrame:
        """Steps of stream copies, with the cycle of the run at which each ends."""
        report = {"autoReport.all": "true", "autoReport.directory": str(self.folder)}
        report["autoReport.executionProfileProgramRunCount"] = "9"
        with self.device, Engine(self.graph, program, report) as engine:
            engine.setPrintTensorStream(io.StringIO())
            for handle, callback in callbacks.items():
                engine.connectStreamToCallback(handle, callback)
            assert self.device.attach()
            engine.load(self.device)
            for _ in range(runs):
                engine.run(0)
        found = popvision.open(self.folder).steps()
        found["ends"] = found.groupby("run").step_cycles.cumsum()  # one tile works: step follows step
        return found[found["name"] != ""]


def waits(found: pd.DataFrame, name: str) -> list[tuple[int, int]]:
    """(Begin, End) of each copy of this name."""
    mine = found[found["name"] == name]
    begins, ends = (mine[mine["type"] == f"StreamCopy{part}"].step_cycles.tolist() for part in ("Begin", "End"))
    return list(zip(begins, ends, strict=True))


def gaps(found: pd.DataFrame, name: str) -> list[int]:
    """Cycles from the End of each copy to the end of the Begin of the next."""
    mine = found[found["name"] == name]
    begins, ends = (mine[mine["type"] == f"StreamCopy{part}"].ends.tolist() for part in ("Begin", "End"))
    return [begin - end for end, begin in zip(ends, begins[1:], strict=False)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("POPVISION_TILES", "4")
    monkeypatch.setenv("POPVISION_HOST_CLOCK", "measured")
    clock = Clock()
    monkeypatch.setattr(host_times, "now", clock)
    return clock


def test_a_transfer_that_the_device_asks_for_waits_for_its_callback(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    source = asked(clock, [5_000, 900_000, 3])
    found = case.run(Repeat(3, Sequence(Copy(stream, case.x), case.work)), **{"in": source})
    assert waits(found, "in") == [(5_000, ACKNOWLEDGED), (900_000, ACKNOWLEDGED), (155, ACKNOWLEDGED)]


def test_a_callback_that_prefetches_in_time_is_not_waited_for(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    source = Early(clock, [5_000, 200_000, 230_000, 10_000])
    found = case.run(Repeat(4, Sequence(Copy(stream, case.x), case.work)), **{"in": source})
    assert waits(found, "in") == [(5_000, ACKNOWLEDGED), READY, READY, READY]


def test_the_device_waits_for_what_a_prefetch_has_not_finished(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    source = Early(clock, [5_000, 300_000, 400_000, 10])
    found = case.run(Repeat(4, Sequence(Copy(stream, case.x), case.work)), **{"in": source})
    assert gaps(found, "in")[:2] == [300_000, 400_000]  # of which WORK and its syncs are not waiting
    assert waits(found, "in")[3] == READY


def test_prefetched_transfers_of_one_callback_follow_each_other(clock: Clock, tmp_path: Path) -> None:
    """Two places: the first two transfers after the asked one are ready when the host has made one and both of them."""
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4, options={"bufferingDepth": "2"})
    source = Early(clock, [5_000, 700_000, 600_000, 10])
    found = case.run(Repeat(3, Sequence(Copy(stream, case.x), case.work)), **{"in": source})
    mine = found[found["name"] == "in"]
    first_end = int(mine[mine["type"] == "StreamCopyEnd"].ends.iloc[0])
    taken = mine[mine["type"] == "StreamCopyBegin"].ends.tolist()
    assert [at - first_end for at in taken[1:]] == [700_000, 1_300_000]


def test_a_run_begins_with_what_the_run_before_has_prefetched(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    source = Early(clock, [5_000, 300_000, 400_000, 500_000, 10])
    found = case.run(Repeat(2, Sequence(Copy(stream, case.x), case.work)), runs=2, **{"in": source})
    assert waits(found, "in")[2] == READY
    assert gaps(found[found["run"] == found["run"].max()], "in") == [500_000]


def test_outputs_wait_for_a_callback_that_has_not_emptied_their_place(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addDeviceToHostFIFO("out", FLOAT, 4)
    sink = asked(clock, [300_000, 20_000, 10])
    found = case.run(Repeat(3, Sequence(case.work, Copy(case.x, stream))), out=sink)
    assert waits(found, "out")[0] == READY
    assert gaps(found, "out")[0] == 300_000
    assert waits(found, "out")[2] == READY


def test_remote_buffers_neither_wait_nor_take_the_time_of_others(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream, buffer = case.graph.addHostToDeviceFIFO("in", FLOAT, 4), case.graph.addRemoteBuffer("far", FLOAT, 4)
    trip = Sequence(Copy(case.x, buffer), Copy(stream, case.x), Copy(buffer, case.y))
    found = case.run(Repeat(2, trip), **{"in": asked(clock, [5_000, 6_000])})
    assert waits(found, "far") == [READY] * 4
    assert [begin for begin, _ in waits(found, "in")] == [5_000, 6_000]


def test_prints_and_streams_take_their_own_times(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    program = Sequence(PrintTensor("shown", case.x), Copy(stream, case.x), PrintTensor("again", case.x))
    found = case.run(program, **{"in": asked(clock, [5_000])})
    prints = found[(found["name"] != "in") & (found["type"] == "StreamCopyBegin")]
    assert prints.step_cycles.tolist() == [155, 155]
    assert waits(found, "in") == [(5_000, ACKNOWLEDGED)]


def test_a_stream_that_is_split_divides_its_time(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4, options={"splitLimit": "8"})
    found = case.run(Copy(stream, case.x), **{"in": asked(clock, [5_000])})
    assert [waits(found, f"in/{part}")[0][0] for part in (0, 1)] == [2_500, 2_500]


def test_a_buffer_takes_what_copying_from_it_took(clock: Clock, tmp_path: Path) -> None:
    """The first transfer of a run is asked for; the clock stands still while the buffer is read."""
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    program = Repeat(2, Sequence(Copy(stream, case.x), case.work))
    report = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with case.device, Engine(case.graph, program, report) as engine:
        engine.connectStream("in", np.zeros(4, np.float32))
        assert case.device.attach()
        engine.load(case.device)
        engine.run(0)
    assert waits(popvision.open(tmp_path).steps(), "in") == [(155, ACKNOWLEDGED), READY]


def test_the_outputs_of_a_host_function_wait_for_it(clock: Clock, tmp_path: Path) -> None:
    case = Case(tmp_path)
    stream = case.graph.addHostToDeviceFIFO("in", FLOAT, 4)
    function = case.graph.addHostFunction("slow", [(FLOAT, 4)], [(FLOAT, 4)])
    program = Sequence(Call(function, [case.x], [case.y]), Copy(stream, case.x))
    report = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with case.device, Engine(case.graph, program, report) as engine:
        engine.connectHostFunction("slow", 0, lambda given, made: clock.move(9_000))
        engine.connectStreamToCallback("in", asked(clock, [5_000]))
        assert case.device.attach()
        engine.load(case.device)
        engine.run(0)
    found = popvision.open(tmp_path).steps()
    assert waits(found, "slow/outputs") == [(9_000, ACKNOWLEDGED)]
    assert waits(found, "in") == [(5_000, ACKNOWLEDGED)]
