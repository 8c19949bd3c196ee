"""What single tiles did in compute and syncs is unknown on hardware that counted on one tile per IPU or device: in
frames, arrays, SQL views, exported tables, summaries and pva; what the whole IPU did stays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popvision
from popvision import pva
from popvision.analysis.compare.metrics import measure
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.profile_summary import profile_summary
from popvision.export.tables import exported
from popvision.formats.errors import AbsentError, NotRecordedError
from popvision.opened.report import OpenedReport
from popvision.query.run import run_query
from popvision.questions import QUESTIONS
from tests.browser.small_traces import Steps, write_small

#: Compute, sync and exchange of two tiles: tile cycles 6, 2 and 4.
STEPS: Steps = [("C", (2, 4)), ("S", (2, 0)), ("X", (1, 3))]
UNKNOWN = "debug.computeInstrumentationLevel=tile"
REPORTS = pytest.mark.parametrize(
    ("target", "level", "known"),
    [("Ipu", "Tile", True), ("IpuModel", "Ipu", True), ("Ipu", "Ipu", False), ("Ipu", "Device", False)],
)


def opened(folder: Path, target: str, level: str) -> OpenedReport:
    report = popvision.open(write_small(folder / "small", STEPS, target=target, level=level))
    assert isinstance(report, OpenedReport)
    return report


def plain(values: Any) -> list[Any]:
    """NaN as None."""
    return [None if isinstance(each, float) and math.isnan(each) else each for each in list(values)]


@REPORTS
def test_frames_and_arrays(tmp_path: Path, target: str, level: str, known: bool) -> None:
    report = opened(tmp_path, target, level)
    frame = report.steps_on_ipu(0)
    assert frame.step_cycles.tolist() == [4, 0, 3]
    assert plain(frame.longest_tile_cycles) == ([4, 2, 3] if known else [None, None, 3])
    assert plain(frame.tile_cycles) == ([6, 2, 4] if known else [None, None, 4])
    assert plain(frame.tile_balance) == ([3 / 4, 1 / 2, 2 / 3] if known else [None, None, 2 / 3])
    assert plain(frame.active_to_min_cycle)[:2] == ([2, 4] if known else [None, None])
    assert report.cycles_by_tile(2, 2).tolist() == [[1, 3]]
    if known:
        assert report.cycles_by_tile().tolist() == [[2, 4], [2, 0], [1, 3]]
        assert report.begins_by_tile(1, 1).tolist() == [[2, 4]]
        return
    for question in (report.cycles_by_tile, report.begins_by_tile):
        with pytest.raises(NotRecordedError, match=rf"{UNKNOWN} to record every tile\. It is step 1\."):
            question(1, 2)


@REPORTS
def test_phases_count_an_ipu_as_one_tile(tmp_path: Path, target: str, level: str, known: bool) -> None:
    report = opened(tmp_path, target, level)
    phases = report.phases().set_index("phase")
    chosen = ["compute", "exchange", "sync"]
    assert plain(phases.tile_cycles[chosen]) == ([6, 4, 4] if known else [None] * 3)
    assert plain(phases.average_cycles[chosen]) == ([3, 2, 2] if known else [4, 3, 0])
    assert math.isclose(phases.time_share.sum(), 1)
    groups = report.grouped_steps("type").set_index("name")
    assert groups.total_cycles[["OnTileExecute", "DoExchange"]].tolist() == [4, 3]
    assert plain(groups.total_tile_cycles[["OnTileExecute", "DoExchange"]]) == ([6, 4] if known else [None, None])


@REPORTS
def test_intervals_say_how_many_tiles_take_part(tmp_path: Path, target: str, level: str, known: bool) -> None:
    intervals = opened(tmp_path, target, level).intervals()
    rows = intervals[["begin_cycle", "end_cycle", "computing", "exchanging", "syncing"]].to_numpy().tolist()
    if known:
        assert rows == [[0, 2, 2, 0, 0], [2, 4, 1, 0, 1], [4, 5, 0, 2, 0], [5, 7, 0, 1, 1]]
    else:
        assert rows == [[0, 4, 2, 0, 0], [4, 7, 0, 2, 0]]


@REPORTS
def test_views(tmp_path: Path, target: str, level: str, known: bool) -> None:
    source = ReportSource(write_small(tmp_path / "small", STEPS, target=target, level=level))

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return run_query(source, sql).rows

    spans = [(0, 4), (2, 4), (4, 7)] if known else [(None, 4), (None, 4), (4, 7)]
    assert rows("select begin_cycle, end_cycle from execution_steps order by step") == spans
    figures = "tile_cycles, tile_balance, active_tile_balance, cycles_array IS NULL"
    compute, _, exchange = rows(f"select {figures} from execution_steps order by step")
    assert compute == ((6, 3 / 4, 3 / 4, 0) if known else (None, None, None, 1))
    assert exchange == (4, 2 / 3, 2 / 3, 0)
    lengths = rows("select step_cycles, longest_tile_cycles from execution_steps order by step")
    assert lengths == ([(4, 4), (0, 2), (3, 3)] if known else [(4, None), (0, None), (3, 3)])
    tiles = rows("select step, tile, begin_cycle, cycles from cycles_by_tile")
    of_exchange = [(2, 0, 4, 1), (2, 1, 4, 3)]
    assert tiles == ([(0, 0, 0, 2), (0, 1, 0, 4), (1, 0, 2, 2), (1, 1, 4, 0)] if known else []) + of_exchange
    by_program = rows("select type, self_cycles, tile_cycles from program_cycles order by program")
    assert by_program == [
        ("OnTileExecute", 4, 6 if known else None),
        ("Sync", 0, 2 if known else None),
        ("DoExchange", 3, 4),
    ]
    by_phase = dict(rows("select phase, tile_cycles from phase_cycles"))
    assert by_phase == {"compute": 6 if known else None, "exchange": 4, "sync": 4 if known else None}


@REPORTS
def test_exported_steps_and_metrics(tmp_path: Path, target: str, level: str, known: bool) -> None:
    source = ReportSource(write_small(tmp_path / "small", STEPS, target=target, level=level))
    table = exported(QUESTIONS["steps_on_ipu"], source, {})
    assert list(table["tile_balance"]) == ([3 / 4, 1 / 2, 2 / 3] if known else [None, None, 2 / 3])
    assert np.asarray(table["step_cycles"]).tolist() == [4, 0, 3]
    values = measure(source)
    assert (values["balance"], values.get("compute_cycles")) == ((3 / 4, 3) if known else (None, None))
    (line,) = [each for each in profile_summary(source).splitlines() if "compute cycles (including" in each]
    assert (
        line.split()
        == (
            "Tile average compute cycles (including idle threads): 3.0 (42.9% of total)"
            if known
            else "Slowest tile compute cycles (including idle threads): 4.0 (57.1% of total)"
        ).split()
    )


@REPORTS
def test_pva(tmp_path: Path, target: str, level: str, known: bool) -> None:
    execution = pva.openReport(write_small(tmp_path / "small", STEPS, target=target, level=level)).execution
    compute, sync, exchange = execution.steps
    assert [list(step.cyclesByTile) for step in (compute, sync)] == ([[2, 4], [2, 0]] if known else [[], []])
    assert exchange.cyclesByTile == [1, 3]
    assert exchange.ipus[0].tileBalance == 2 / 3
    ipu = compute.ipus[0]
    assert (ipu.cycles, ipu.activeTiles, ipu.activeCycles.cyclesFrom.max, ipu.allCycles.cyclesTo.max) == (4, 2, 0, 4)
    unknown = [
        lambda: ipu.tileBalance,
        lambda: ipu.activeTileBalance,
        lambda: ipu.activeCycles.cyclesTo.min,
        lambda: ipu.allCycles.cyclesFrom.min,
        lambda: execution.totalCycles.compute,
        lambda: execution.totalCycles.sync,
    ]
    if known:
        assert [each() for each in unknown] == [3 / 4, 3 / 4, 2, 0, 6, 2]
    else:
        for each in unknown:
            with pytest.raises(AbsentError, match=UNKNOWN):
                each()
    assert execution.totalCycles.doExchange == 4
