"""Steps of the device over the host's time: each run stretched over its event; waits and the host's transfers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.timeline import run_bars, timeline
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.device_strip import DeviceStrip, device_strip, host_waits
from popvision.analysis.trace.activity import RUN_LABEL
from popvision.formats.profile.writer import ProfileWriter
from tests.analysis.trace.trace_case import make_trace
from tests.reports import tiny_compilation, tiny_run

RUN = f"Poplar Runtime/{RUN_LABEL}"
FIRST = ("user/first", 1_000)  # an event before all others: the begin of the trace


def report_of(folder: Path, spans_ns: list[tuple[int, int]]) -> ReportSource:
    """A report of tiny runs (43 cycles, four steps), each about an event of these times."""
    folder.mkdir()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        for number, (begin, end) in enumerate(spans_ns):
            run = tiny_run()
            base = run.base + 43 * number
            writer.append_run(replace(run, base=base, host_start_us=begin // 1000, host_end_us=-(-end // 1000)))
    return ReportSource(folder)


def strip_of(tmp_path: Path, spans_ns: list[tuple[int, int]]) -> tuple[DeviceStrip, ReportSource]:
    report = report_of(tmp_path / "r", spans_ns)
    name, begin = FIRST
    trace = make_trace(tmp_path / "t.pvti", [(0, begin, begin + 500, name), *((0, *span, RUN) for span in spans_ns)])
    return device_strip(trace, report, 0), report


def test_a_run_is_stretched_over_its_event(tmp_path: Path) -> None:
    """Two runs of 43 cycles: over 43 us, so a cycle is 1,000 ns, and over 86 us."""
    strip, report = strip_of(tmp_path, [(101_000, 144_000), (301_000, 387_000)])
    steps, bars = timeline(report, 0), run_bars(report)
    assert strip.run.tolist() == [0, 1]
    assert (strip.begin.tolist(), strip.end.tolist()) == ([100_000, 300_000], [143_000, 386_000])
    assert (strip.first_cycle.tolist(), strip.cycles.tolist()) == ([0, 43], [43, 43])
    first = steps.begin[:4].tolist(), steps.end[:4].tolist()
    assert strip.level.begin.tolist() == [100_000 + 1_000 * at for at in first[0]] + [
        300_000 + 2_000 * at for at in first[0]
    ]
    assert strip.level.end.tolist() == [100_000 + 1_000 * at for at in first[1]] + [
        300_000 + 2_000 * at for at in first[1]
    ]
    assert strip.level.first.tolist() == list(range(8)) == strip.level.last.tolist()
    assert bars.total == 86


def test_a_run_without_an_event_is_left_out(tmp_path: Path) -> None:
    report = report_of(tmp_path / "r", [(101_000, 144_000), (301_000, 387_000)])
    trace = make_trace(tmp_path / "t.pvti", [(0, 1_000, 1_500, FIRST[0]), (0, 301_000, 387_000, RUN)])
    strip = device_strip(trace, report, 0)
    assert (strip.run.tolist(), strip.level.first.tolist()) == ([1], [4, 5, 6, 7])


@given(length=st.integers(1_000, 10**12))
def test_each_end_lies_within_a_nanosecond_of_its_share(length: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    strip, report = strip_of(tmp_path_factory.mktemp("strip"), [(101_000, 101_000 + length)])
    steps = timeline(report, 0)
    for placed, cycle in zip(
        np.concatenate([strip.level.begin, strip.level.end]).tolist(),
        np.concatenate([steps.begin, steps.end]).tolist(),
        strict=True,
    ):
        assert abs(placed - 100_000 - Fraction(cycle, 43) * length) <= 1
        assert 100_000 <= placed <= 100_000 + length


def test_a_run_without_stream_copies_has_no_waits(tmp_path: Path) -> None:
    report = report_of(tmp_path / "r", [(101_000, 144_000)])
    trace = make_trace(tmp_path / "t.pvti", [(0, 101_000, 144_000, RUN)])
    waits = host_waits(trace, report, 0)
    assert (waits.stream, len(waits.step), waits.row_of_step(0)) == ([], 0, None)
