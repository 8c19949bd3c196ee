"""The clock of traces and of runs in reports: how it is set, and that both have it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from popvision.formats.profile.reader import ProfileReader
from popvision.pvti import clock
from popvision.pvti.session import session
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Execute, Sequence


class Machine:
    """Clocks of a machine that runs another program for ten milliseconds between some readings."""

    def __init__(self, interrupted: range) -> None:
        self.now, self.readings, self.interrupted = 5_000, 0, interrupted

    def pass_time(self) -> None:
        self.now += 10_000_000 if self.readings in self.interrupted else 40
        self.readings += 1

    def perf_counter_ns(self) -> int:
        self.pass_time()
        return self.now

    def time_ns(self) -> int:
        self.pass_time()
        return self.now + 1_700_000_000_000_000_000


@pytest.mark.parametrize("interrupted", [range(0), range(1, 2), range(2, 3), range(40), range(4, 999)])
def test_a_program_that_runs_in_between_does_not_shift_the_clock(
    interrupted: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "time", Machine(interrupted))
    assert clock.measure_offset_ns() == 1_700_000_000_000_000_000


def test_the_clock_is_the_systems() -> None:
    assert abs(clock.epoch_ns() - time.time_ns()) < 1_000_000_000
    assert clock.measure_offset_ns() == pytest.approx(clock.OFFSET_NS, abs=1_000_000_000)


def test_runs_of_a_report_have_the_clock_of_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the system may be set, or drift away from it, during the program."""
    assert session.clock_offset_ns == clock.OFFSET_NS
    hour = 3_600_000_000_000
    monkeypatch.setattr(clock, "OFFSET_NS", clock.OFFSET_NS + hour)
    model = IPUModel("ipu2")
    model.tilesPerIPU = 1
    graph = Graph(model.createDevice().getTarget())
    x = graph.addVariable(FLOAT, [1], "x")
    graph.setTileMapping(x, 0)
    empty = graph.addComputeSet("empty")
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    engine = Engine(graph, Sequence([Execute(empty)]), options)
    engine.load(model.createDevice())
    before = time.perf_counter_ns()
    engine.run(0)
    after = time.perf_counter_ns()
    engine.close()
    runs = ProfileReader(tmp_path / "profile.pop").runs()
    begin, end = (int(each[0]) * 1000 - clock.OFFSET_NS for each in (runs.host_start_us, runs.host_end_us))
    assert before - 1000 <= begin <= end <= after + 1000
