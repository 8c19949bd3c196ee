"""Worker lanes against a loop over vertices, and against the figures of a simulated report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.worker_lanes import NO_CONTEXT, lanes_by_tile, lanes_of_tile, worker_lanes
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import VertexLanes
from tests.reports import write_tiny

SAMPLES = Path(__file__).parents[3] / "sample_reports"


def lanes(*vertices: tuple[int, int]) -> VertexLanes:
    """One tile; each vertex = (context, cycles)."""
    columns = np.array(vertices, np.int64).reshape(-1, 2)
    return VertexLanes(
        0, 0, np.array([0, len(columns)]), np.zeros(len(columns), np.int64), columns[:, 1], columns[:, 0]
    )


def test_six_contexts_and_a_supervisor() -> None:
    """Contexts 0 to 2 hold 30 + 5, 20 and 20 thread cycles; the supervisor's 100 are tile cycles."""
    found = lanes_of_tile(lanes((0, 30), (1, 20), (2, 20), (0, 5), (NO_CONTEXT, 100)), 0, 0, 6, 320)
    assert found.load.tolist() == [35, 20, 20, 0, 0, 0]
    assert found.worker_part == 6 * 35
    assert (found.length, found.beyond) == (310, 10)
    assert found.begin.tolist() == [0, 0, 0, 180, 210]
    assert found.end.tolist() == [180, 120, 120, 210, 310]
    assert found.idle_share == 1 - 75 / (6 * 35)
    assert found.critical == 0
    assert found.held_up == 6 * (35 - 20)


def test_supervisors_alone() -> None:
    found = lanes_of_tile(lanes((NO_CONTEXT, 7), (NO_CONTEXT, 9)), 0, 0, 6, None)
    assert (found.length, found.critical, found.held_up, found.idle_share, found.beyond) == (16, 1, 9, None, None)


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2, 3, 4, 5, NO_CONTEXT]), st.integers(0, 50)), max_size=30))
def test_lanes_equal_a_loop(vertices: list[tuple[int, int]]) -> None:
    found = lanes_of_tile(lanes(*vertices), 0, 0, 6, None)
    clock = [0] * 6
    for row, (context, cycles) in enumerate(vertices):
        if context != NO_CONTEXT:
            assert found.begin[row] == 6 * clock[context]
            clock[context] += cycles
    at = 6 * max(clock)
    for row, (context, cycles) in enumerate(vertices):
        if context == NO_CONTEXT:
            assert found.begin[row] == at
            at += cycles
    assert found.length == at
    assert found.held_up >= 0


@pytest.mark.parametrize("sample", ["train_mlp", "matmul_chain_hardware"])
def test_lanes_of_a_simulated_report_make_up_its_estimate(sample: str) -> None:
    """Model: the estimate exactly. Hardware: launch and counters come on top, the same for all tiles with work."""
    source = ReportSource(SAMPLES / sample)
    hardware = source.reader.target().type == "Ipu"
    seen = 0
    for part in source.reader.compute_set_vertices():
        tiles = lanes_by_tile(source, part.compute_set, part.ipu)
        one = worker_lanes(source, part.compute_set, int(tiles["tile"][-1]))
        assert one.length == tiles["length"][-1]
        assert one.beyond is not None
        assert (one.beyond > 0) if hardware else (one.beyond == 0)
        seen += 1
    assert seen > 2


def test_what_is_not_recorded_is_said(tmp_path: Path) -> None:
    source = ReportSource(write_tiny(tmp_path))
    with pytest.raises(NotRecordedError, match="does not say which worker"):
        worker_lanes(source, 0, 0)
    with pytest.raises(NotRecordedError, match="OnTileExecute"):
        worker_lanes(source, -1, 0)
    with pytest.raises(ValueError, match="tile 9 is not one of this report's 4 tiles"):
        worker_lanes(source, 0, 9)
