"""Device time of streams to the device whose host end prefetches: only what the host has not finished is waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import popvision
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, StreamCallback, TargetType
from simulator.poplar.program import Copy, Execute, Program, Repeat, Sequence
from tests.compiler.tiny_graphs import Scale

ASKED, READY, MID = (80_000, 81_000), (155, 87), 1_500
AHEAD = 80_000 - 155  # from the moment at which a transfer leaves the host's memory until the next one lies there


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
    # Between two copies' transfers lie Mid, End, the work, syncs and the Begin itself: AHEAD cycles in all.
    (begin, _), (again, _) = found[2:]
    assert begin == again
    assert AHEAD - MID - 87 - 6_000 - 400 < begin < AHEAD - MID - 87 - 6_000


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


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_a_deeper_buffer_lets_a_burst_through_and_no_more(depth: int, steps: Any) -> None:
    """After `depth` transfers that lie ready the host's pace is the device's: AHEAD cycles from one to the next."""
    found = steps(1_000, Ahead(), trips=12, runs=2, depth=depth)
    second = waits(found)[12:]
    assert second[:depth] == [READY] * depth
    assert all(begin > 155 for begin, _ in second[depth:])
    taken = starts(found)[12:]
    # the host began with the transfer after the buffered ones when the first was taken
    assert [at - taken[0] for at in taken[depth:]] == [AHEAD * (n + 1) for n in range(12 - depth)]


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_pace_of_a_long_loop_does_not_depend_on_the_depth(depth: int, steps: Any) -> None:
    taken = starts(steps(1_000, Ahead(), trips=40, depth=depth))
    assert np.diff(taken)[-20:].tolist() == [AHEAD] * 20


def test_adjacent_copies_of_one_direction_ask_the_host_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three inputs, one of them twice, then two outputs: the second transfer of a stream is a request of its own."""
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
    assert found["Begin"] == [("a", 80_000), ("b", 155), ("a", 80_000), ("c", 155), ("y", 80_000), ("z", 155)]
    assert found["End"] == [("a", 87), ("b", 81_000), ("a", 87), ("c", 81_000), ("y", 87), ("z", 81_000)]
