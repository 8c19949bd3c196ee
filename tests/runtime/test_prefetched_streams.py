"""Device time of streams for which the host has places: only what the host has not finished is waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import popvision
from simulator.machine import host_exchange
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, StreamCallback, TargetType
from simulator.poplar.program import Copy, Execute, Program, Repeat, Sequence
from tests.compiler.tiny_graphs import Scale

ASKED, READY = (80_000, 81_000), (155, 87)
MID = 1_500 + 4 + 45  # 16 bytes at the 4 of a tile, its counter
AHEAD = 80_000 - 155 + 2  # from the end of a transfer until the host has used its place: answer, and 16 bytes


class Ahead(StreamCallback):
    """Provides zeros; prefetches unless `refuses`."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses

    def fetch(self, p: Any) -> None:
        p[:] = 0

    def prefetch(self, p: Any) -> StreamCallback.Result:
        return StreamCallback.Result.NotAvailable if self.refuses else StreamCallback.Result.Success

    def complete(self) -> None:
        pass

    def invalidatePrefetched(self) -> None:
        pass


def buffer() -> np.ndarray[Any, Any]:
    return np.zeros(4, np.float32)


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("POPVISION_TILES", "4")

    def run(
        work: int, source: Any, trips: int = 4, runs: int = 1, unrolled: bool = False, depth: int = 1, **options: str
    ) -> pd.DataFrame:
        """Steps of stream copies with their cycles: trips of a copy and `work` thread cycles on six contexts."""
        device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
        graph = Graph(device.getTarget())
        graph.addCodelets(Scale)
        x, y = graph.addVariable(FLOAT, [4], "x"), graph.addVariable(FLOAT, [4], "y")
        for each in (x, y):
            graph.setTileMapping(each, 0)
        cs = graph.addComputeSet("work")
        vertex = graph.addVertex(cs, "Scale", {"x": x, "y": y})
        graph.setTileMapping(vertex, 0)
        graph.setPerfEstimate(vertex, work)
        stream = graph.addHostToDeviceFIFO("in", FLOAT, 4, options={"bufferingDepth": str(depth)})
        trip = Sequence(Copy(stream, x), Execute(cs))
        program: Program = Sequence(*[trip] * trips) if unrolled else Repeat(trips, trip)
        folder = tmp_path / f"report{len(list(tmp_path.iterdir()))}"
        report = {"autoReport.all": "true", "autoReport.directory": str(folder)}
        report["autoReport.executionProfileProgramRunCount"] = "9"
        dotted = {name.replace("__", "."): value for name, value in options.items()}
        with device, Engine(graph, program, report | dotted) as engine:
            if isinstance(source, np.ndarray):
                engine.connectStream("in", source)
            else:
                engine.connectStreamToCallback("in", source)
            assert device.attach()
            engine.load(device)
            for _ in range(runs):
                engine.run(0)
        found = popvision.open(folder).steps()
        found["ends"] = found.groupby("run").step_cycles.cumsum()  # one tile works: step follows step
        return found[(found["name"] == "in")]

    return run


def waits(found: pd.DataFrame) -> list[tuple[int, int]]:
    """(Begin, End) of each copy."""
    begins, ends = (found[found["type"] == f"StreamCopy{part}"].step_cycles.tolist() for part in ("Begin", "End"))
    return list(zip(begins, ends, strict=True))


def test_a_prefetched_transfer_costs_what_a_control_copy_costs(steps: Any) -> None:
    found = steps(40_000, Ahead())  # 240,000 cycles of work: longer than the host needs
    assert waits(found) == [ASKED, READY, READY, READY]
    later = found.iloc[3:]
    assert later.step_cycles.sum() / 3 < 0.05 * 240_000


def test_a_copy_that_comes_too_early_waits_for_the_rest(steps: Any) -> None:
    found = waits(steps(1_000, Ahead()))
    assert found[0] == ASKED
    assert [end for _, end in found[1:]] == [87] * 3
    (begin, _), (again, _) = found[2:]  # between the End before and the end of this Begin lie the work and syncs
    assert begin == again
    assert AHEAD - 6_000 - 400 < begin < AHEAD - 6_000


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (Ahead(), {"exchange__enablePrefetch": "false"}),
        (Ahead(), {"exchange__streamBufferOverlap": "any"}),
        (Ahead(refuses=True), {}),
        (lambda p: None, {}),
        (buffer(), {"exchange__enablePrefetch": "false"}),
    ],
)
def test_without_prefetching_every_transfer_waits_for_the_host(
    source: Any, options: dict[str, str], steps: Any
) -> None:
    found = waits(steps(40_000, source, runs=2, **options))
    assert found[4:] == [ASKED] * 4


def test_what_a_run_begins_with(steps: Any) -> None:
    """A callback was asked for the next transfer when the run before ended; a buffer may have changed since."""
    assert waits(steps(40_000, Ahead(), trips=2, runs=2)) == [ASKED, READY, READY, READY]
    assert waits(steps(40_000, buffer(), trips=2, runs=2)) == [ASKED, READY, ASKED, READY]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("work", [1_000, 40_000])
def test_a_loop_takes_as_long_as_its_trips_one_by_one(work: int, depth: int, steps: Any) -> None:
    looped, unrolled = (steps(work, Ahead(), trips=9, unrolled=flag, depth=depth) for flag in (False, True))
    assert looped.step_cycles.tolist() == unrolled.step_cycles.tolist()


def starts(found: pd.DataFrame) -> list[int]:
    """The cycle of its run at which each copy's Begin ends, that is when the device takes the transfer."""
    return found[found["type"] == "StreamCopyBegin"].ends.tolist()


def lefts(found: pd.DataFrame) -> list[int]:
    """The cycle of its run at which each copy leaves its place to the host."""
    return found[found["type"] == "StreamCopyEnd"].ends.tolist()


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_a_deeper_buffer_lets_a_burst_through_and_no_more(depth: int, steps: Any) -> None:
    """After `depth` transfers that lie ready, each waits for the place of the one `depth` before."""
    found = steps(1_000, Ahead(), trips=12, runs=2, depth=depth)
    second = waits(found)[12:]
    assert second[:depth] == [READY] * depth
    taken, left = starts(found)[12:], lefts(found)[12:]
    late = [n for n in range(depth, 12) if second[n][0] > 155]
    assert late[0] == depth
    assert {taken[n] - left[n - depth] for n in late} == {AHEAD}


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_deeper_buffer_makes_a_long_loop_faster(depth: int, steps: Any) -> None:
    """Answers overlap: in steady state `depth` transfers take an answer, their bytes, Mid and End."""
    taken = starts(steps(1_000, Ahead(), trips=40, depth=depth))
    assert {b - a for a, b in zip(taken[20:], taken[20 + depth :], strict=False)} == {AHEAD + MID + 87}


@pytest.mark.parametrize("places", [False, True])
def test_adjacent_copies_of_one_direction_ask_the_host_once(
    places: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three inputs, one of them twice, then two outputs: the second transfer of a stream is a request of its own.
    Outputs with `places` in buffers of their own ask for nothing."""
    monkeypatch.setenv("POPVISION_TILES", "4")
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph, program = Graph(device.getTarget()), Sequence()
    x = graph.addVariable(FLOAT, [6, 4], "x")
    graph.setTileMapping(x, 0)
    inputs = {name: graph.addHostToDeviceFIFO(name, FLOAT, 4) for name in "abc"}
    for row, name in enumerate("abac"):
        program.add(Copy(inputs[name], x[row]))
    for row, name in enumerate("yz"):
        program.add(Copy(x[row], graph.addDeviceToHostFIFO(name, FLOAT, 4)))
    report = {"autoReport.all": "true", "autoReport.directory": str(tmp_path), "exchange.enablePrefetch": "false"}
    report["exchange.streamBufferOverlap"] = "none" if places else "any"
    with device, Engine(graph, program, report) as engine:
        for name in "abcyz":
            engine.connectStream(name, buffer())
        assert device.attach()
        engine.load(device)
        engine.run(0)
    steps = popvision.open(tmp_path).steps()
    found = {
        part: [
            (name, cycles)
            for name, kind, cycles in zip(steps["name"], steps["type"], steps.step_cycles, strict=True)
            if kind == f"StreamCopy{part}" and name
        ]
        for part in ("Begin", "End")
    }
    inputs = [("a", 80_000), ("b", 155), ("a", 80_000), ("c", 155)]
    assert found["Begin"] == [*inputs, ("y", 155 if places else 80_000), ("z", 155)]
    inputs = [("a", 87), ("b", 81_000), ("a", 87), ("c", 81_000)]
    assert found["End"] == [*inputs, ("y", 87), ("z", 87 if places else 81_000)]


def outputs(folder: Path, work: int, trips: int, size: int = 4, **options: str) -> pd.DataFrame:
    """Steps of copies to the host: trips of `work` thread cycles on six contexts and a copy of `size` floats."""
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph = Graph(device.getTarget())
    graph.addCodelets(Scale)
    x, y = graph.addVariable(FLOAT, [size], "x"), graph.addVariable(FLOAT, [size], "y")
    for each in (x, y):
        graph.setTileMapping(each, 0)
    cs = graph.addComputeSet("work")
    vertex = graph.addVertex(cs, "Scale", {"x": x, "y": y})
    graph.setTileMapping(vertex, 0)
    graph.setPerfEstimate(vertex, work)
    program = Repeat(trips, Sequence(Execute(cs), Copy(y, graph.addDeviceToHostFIFO("out", FLOAT, size))))
    report = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    with device, Engine(graph, program, report | {k.replace("__", "."): v for k, v in options.items()}) as engine:
        engine.connectStream("out", np.zeros(size, np.float32))
        assert device.attach()
        engine.load(device)
        engine.run(0)
    found = popvision.open(folder).steps()
    found["ends"] = found.groupby("run").step_cycles.cumsum()
    return found[found["name"] == "out"]


def test_outputs_do_not_wait_while_their_place_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trips longer than the host's answer wait for nothing; shorter ones for what is left of it."""
    monkeypatch.setenv("POPVISION_TILES", "4")
    slow = outputs(tmp_path / "slow", 40_000, 4)
    assert waits(slow) == [READY] * 4
    assert slow.step_cycles.sum() < 0.05 * 4 * 240_000
    fast = outputs(tmp_path / "fast", 1_000, 4)
    assert waits(fast)[0] == READY
    assert [b - a for a, b in zip(lefts(fast), starts(fast)[1:], strict=False)] == [AHEAD] * 3


def test_outputs_that_share_their_buffer_wait_for_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_TILES", "4")
    assert waits(outputs(tmp_path, 40_000, 3, exchange__streamBufferOverlap="any")) == [ASKED] * 3


def test_the_bytes_of_a_transfer_pass_on_both_sides_of_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 GB/s at 1.33 GHz: 15.04 bytes a cycle between a place and the user's memory; 4 a cycle leave one tile."""
    monkeypatch.setenv("POPVISION_TILES", "4")
    found = outputs(tmp_path, 1_000, 3, size=10_000)
    assert found[found["type"] == "StreamCopyMid"].step_cycles.tolist() == [1_500 + 10_000 + 45] * 3
    passing = int(np.ceil(40_000 * 1.33 / 20))
    assert [b - a for a, b in zip(lefts(found), starts(found)[1:], strict=False)] == [80_000 - 155 + passing] * 2


def test_the_answer_takes_time_and_not_cycles() -> None:
    mk2, bow = (host_exchange.host_link(hardware=True, clock_hz=clock) for clock in (1.33e9, 1.85e9))
    assert (mk2.begin_data, mk2.end_data) == (80_000, 81_000)
    assert (bow.begin_data, bow.end_data) == (round(80_000 * 1.85 / 1.33), round(81_000 * 1.85 / 1.33))
    assert (bow.begin_control, bow.end_control) == (155, 87)


def test_remote_buffers_do_not_ask_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPVISION_TILES", "4")
    device = DeviceManager().getDevices(TargetType.IPU, 1)[0]
    graph = Graph(device.getTarget())
    x = graph.addVariable(FLOAT, [4], "x")
    graph.setTileMapping(x, 0)
    buffer = graph.addRemoteBuffer("out", FLOAT, 4)
    report = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with device, Engine(graph, Sequence(Copy(x, buffer), Copy(buffer, x)), report) as engine:
        assert device.attach()
        engine.load(device)
        engine.run(0)
    found = popvision.open(tmp_path).steps()
    assert waits(found[found["name"] == "out"]) == [READY] * 2
