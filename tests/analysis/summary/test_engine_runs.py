"""Which `Engine::run` events of a host trace are which recorded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.engine_runs import EngineRuns, match_engine_runs
from popvision.analysis.trace.activity import RUN_LABEL
from popvision.formats.profile.writer import ProfileWriter
from tests.analysis.trace.trace_case import Span, make_trace
from tests.reports import tiny_compilation, tiny_run

RUN = f"Poplar Runtime/{RUN_LABEL}"


def report_of(folder: Path, spans_us: list[tuple[int, int]]) -> ReportSource:
    """A report with a run for each (begin, end), in microseconds of the host."""
    folder.mkdir()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        for begin, end in spans_us:
            writer.append_run(replace(tiny_run(), host_start_us=begin, host_end_us=end))
    return ReportSource(folder)


def matched(tmp_path: Path, spans_us: list[tuple[int, int]], spans: list[Span]) -> EngineRuns:
    return match_engine_runs(make_trace(tmp_path / "t.pvti", spans), report_of(tmp_path / "r", spans_us))


def rows(runs: EngineRuns) -> list[tuple[int, ...]]:
    columns = (runs.run, runs.thread, runs.depth, runs.position, runs.begin, runs.end)
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


def test_each_run_is_the_event_inside_its_span(tmp_path: Path) -> None:
    spans = [
        (0, 0, 900_000, "user/epoch"),
        (0, 100_300, 190_700, RUN),
        (0, 110_000, 120_000, "user/callback"),
        (0, 300_400, 380_900, RUN),
        (0, 500_100, 500_200, RUN),  # of this run nothing was recorded
    ]
    runs = matched(tmp_path, [(100, 191), (300, 381)], spans)
    assert rows(runs) == [(0, 0, 1, 0, 100_300, 190_700), (1, 0, 1, 1, 300_400, 380_900)]
    assert (runs.row_of_run(1), runs.row_of_run(2)) == (1, None)
    assert (runs.row_of_event(0, 1, 0), runs.row_of_event(0, 1, 2), runs.row_of_event(0, 0, 0)) == (0, None, None)


def test_a_run_is_not_the_shorter_run_of_another_thread(tmp_path: Path) -> None:
    spans = [(0, 100_000, 200_000, RUN), (1, 120_000, 130_000, RUN), (1, 150_000, 160_000, RUN)]
    assert rows(matched(tmp_path, [(100, 200)], spans)) == [(0, 0, 0, 0, 100_000, 200_000)]


def test_an_event_belongs_to_the_shortest_run_that_claims_it(tmp_path: Path) -> None:
    runs = matched(tmp_path, [(0, 900), (120, 130)], [(0, 120_100, 129_900, RUN)])
    assert rows(runs) == [(1, 0, 0, 0, 120_100, 129_900)]


@pytest.mark.parametrize("shift_us", [-5_000, 50, 3_600_000_000])
def test_a_clock_that_was_set_leaves_no_match(tmp_path: Path, shift_us: int) -> None:
    runs = [(begin + 10_000 + shift_us, end + 10_000 + shift_us) for begin, end in [(100, 200), (300, 400)]]
    spans = [(0, 10_100_000, 10_200_000, RUN), (0, 10_300_000, 10_400_000, RUN)]
    assert rows(matched(tmp_path, runs, spans)) == []


def test_traces_and_reports_without_runs_have_no_match(tmp_path: Path) -> None:
    assert rows(matched(tmp_path, [(0, 10)], [(0, 0, 5_000, "user/poplar::core::Engine::running")])) == []
    assert rows(match_engine_runs(make_trace(tmp_path / "u.pvti", []), report_of(tmp_path / "s", []))) == []
