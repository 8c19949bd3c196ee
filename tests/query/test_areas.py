"""The aggregate of a selected area, by SQL, against arrays and the figures of the pages."""

from __future__ import annotations

import numpy as np
import pytest

from popvision.analysis.execution.timeline import PHASES, run_bars
from popvision.analysis.execution.window import window_figures
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.source import ReportSource
from popvision.package_data import package_folder
from popvision.query import Limits
from popvision.query.areas import bytes_of_tiles, cycles_of_area
from popvision.query.run import run_query


@pytest.fixture(scope="module")
def source() -> ReportSource:
    return ReportSource(package_folder("sample_reports") / "train_mlp")


def cycles(source: ReportSource, sql: str) -> dict[str, int]:
    return {row[0]: row[1] for row in run_query(source, sql).rows}


@pytest.mark.parametrize("window", [(0.0, 1.0), (0.2, 0.3), (0.5, 0.5003)])
def test_phases_are_those_of_the_page(source: ReportSource, window: tuple[float, float]) -> None:
    total = run_bars(source).total
    begin, end = (int(total * each) for each in window)
    figures = window_figures(source, 0, begin, end, ())
    expected = {phase: figures.recorded_cycles(phase) for phase in PHASES if figures.recorded_cycles(phase)}
    expected["sync"] = expected.get("sync", 0) - figures.tail
    assert cycles(source, cycles_of_area(begin, end, 0)) == {name: value for name, value in expected.items() if value}


def test_some_tiles_are_sums_over_their_intervals(source: ReportSource) -> None:
    begin, end, tiles = 20_000, 60_000, [0, 1, 2, 9, 40]
    rows = run_query(source, "select tile, begin_cycle, cycles from cycles_by_tile", Limits(rows=1_000_000)).rows
    assert len(rows) > 100_000
    expected = sum(
        max(0, min(first + length, end) - max(first, begin)) for tile, first, length in rows if tile in tiles
    )
    assert expected == sum(cycles(source, cycles_of_area(begin, end, None, tiles)).values()) > 0


def test_bytes_add_up_to_those_of_the_tiles(source: ReportSource) -> None:
    tiles = [3, 4, 5, 60]
    used = memory_by_tile(source, None).excluding_gaps
    rows = run_query(source, bytes_of_tiles(tiles)).rows
    assert sum(row[1] for row in rows) == int(np.asarray(used)[tiles].sum())
    assert all(0 < row[2] <= len(tiles) for row in rows)


def test_ranges_are_bounded() -> None:
    assert "(tile = 1 or tile between 3 and 5)" in bytes_of_tiles([5, 3, 4, 1, 3])
    with pytest.raises(ValueError, match="60 ranges"):
        bytes_of_tiles(range(0, 120, 2))
    with pytest.raises(ValueError, match="at least one tile"):
        bytes_of_tiles([])
