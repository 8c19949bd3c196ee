"""The laws of memory and liveness on the reports that the simulator wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.liveness.curve import curve
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.lowered import address_use, lowered_tile
from popvision.analysis.memory.usage import BREAKDOWNS, breakdown, memory_by_tile
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where

SAMPLES = Path(__file__).parents[3] / "sample_reports"


@pytest.fixture(scope="module", params=["train_mlp", "out_of_memory"])
def source(request: pytest.FixtureRequest) -> ReportSource:
    return ReportSource(SAMPLES / request.param)


@pytest.mark.parametrize("by", BREAKDOWNS)
def test_breakdowns_add_up(source: ReportSource, by: str) -> None:
    parts = breakdown(source, by, None).values
    assert np.sum(parts, axis=0).tolist() == memory_by_tile(source, None).excluding_gaps.tolist()
    assert min(int(part.min()) for part in parts) >= 0


def test_allocations_agree_with_the_totals_of_their_tile(source: ReportSource) -> None:
    memory = memory_by_tile(source, None)
    for tile in memory.tiles:
        low = lowered_tile(source, tile)
        use = address_use(low)
        assert (use.including_gaps, use.excluding_gaps) == (memory.including_gaps[tile], memory.excluding_gaps[tile])
        assert int(low.bytes[low.eq_class < 0].sum()) == memory.always_live[tile]


def test_tile_curves_peak_as_stored_and_add_up_to_the_whole(source: ReportSource) -> None:
    memory = memory_by_tile(source, None)
    whole = curve(source)
    total = np.zeros(len(whole.program), dtype=np.int64)
    for tile in memory.tiles:
        mine = curve(source, Where("tile", tile))
        assert int(mine.not_always_live.max()) == memory.not_always_live[tile]
        total += mine.not_always_live
    assert total.tolist() == whole.not_always_live.tolist()


def test_variables_add_up_to_the_curve(source: ReportSource) -> None:
    whole = curve(source)
    assert int(viewer_frame(always_live_table(source))["size_bytes"].sum()) == whole.always_live
    for index in range(0, len(whole.program), 7):
        assert (
            int(viewer_frame(live_table(source, [index]))[f"size_bytes, {index}"].sum()) == whole.not_always_live[index]
        )
