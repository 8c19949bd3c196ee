"""Steps and aggregations of two reports side by side: itself is zero, a planted difference is found once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.compare.aggregation import COMPARED as SUMS
from popvision.analysis.compare.aggregation import aggregate_both
from popvision.analysis.compare.steps import COMPARED, steps_of_both
from popvision.analysis.execution.aggregation import GROUPINGS
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import StepOnIpu
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import TILES, tiny_compilation, tiny_run, u4, write_tiny
from webapp.components.figure_columns import figure_frame

SAMPLE = Path(__file__).parents[3] / "sample_reports" / "matmul_chain"


@pytest.mark.parametrize("by", GROUPINGS)
def test_a_report_against_itself_is_zero(by: str) -> None:
    source, target = ReportSource(SAMPLE), ReportSource(SAMPLE)
    rows = figure_frame(aggregate_both((source, target), [0], ((0, 10**9), (0, 10**9)), by))
    assert len(rows)
    for field in SUMS:
        assert (rows[f"{field}_diff"] == 0).all()
        assert (rows[f"{field}_rel"] == 0).all()
    steps = viewer_frame(steps_of_both(source, target, 0, (0, 10**9), (0, 10**9)))
    assert (steps["step"] == steps["other_step"]).all()
    assert (steps["matched"] != "").all()
    for field in COMPARED:
        assert (steps[f"{field}_source"] == steps[f"{field}_target"]).all()


def longer(folder: Path) -> ReportSource:
    """The tiny report whose exchange takes 5 cycles longer on tile 0."""
    run = tiny_run()
    patterns = list(run.patterns)
    patterns[2] = StepOnIpu(patterns[2].start, u4(9, 0, 4, 0))
    patterns[3] = StepOnIpu(u4(9, 0, 4, 0), patterns[3].cycles)
    tail = [u4(6 - 5 + 0, 0, 16, 15)]
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(replace(run, patterns=patterns, tail=tail))
    return ReportSource(folder)


def test_one_longer_step_is_found_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    source, target = ReportSource(write_tiny(tmp_path / "a")), longer(tmp_path / "b")
    rows = figure_frame(aggregate_both((source, target), [0], ((0, 43), (0, 43)), "name")).set_index("name")
    assert rows["total_tile_cycles_diff"].to_dict() == {"layer/ExchangePre": 5, "layer/matmul": 0, "Sync (Internal)": 0}
    steps = viewer_frame(steps_of_both(source, target, 0, (0, 43), (0, 43)))
    changed = steps[steps["mean_cycles_source"] != steps["mean_cycles_target"]]
    assert changed["step"].tolist() == [2]
    assert (changed["max_cycles_target"] - changed["max_cycles_source"]).tolist() == [5]
    assert np.allclose(changed["mean_cycles_target"] - changed["mean_cycles_source"], 5 / TILES)


def test_steps_without_a_partner_are_listed(tmp_path: Path) -> None:
    """The target ran only the first two steps: the others have no target side; the other way round no source side."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    source, run = ReportSource(write_tiny(tmp_path / "a")), tiny_run()
    short = replace(
        run, cycles=23, program=run.program[:2], base=run.base[:2], pattern=run.pattern[:2], patterns=run.patterns[:2],
        tail=[u4(0, 0, 0, 0)], data_in=run.data_in[:2], data_out=run.data_out[:2],
    )  # fmt: skip
    with ProfileWriter(tmp_path / "b" / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(short)
    target = ReportSource(tmp_path / "b")
    rows = viewer_frame(steps_of_both(source, target, 0, (0, 43), (0, 23)))
    assert rows["step"].tolist() == [0, 1, 2, 3]
    assert rows["other_step"].isna().tolist() == [False, False, True, True]
    assert rows["matched"].tolist()[2:] == ["", ""]
    back = viewer_frame(steps_of_both(target, source, 0, (0, 23), (0, 43)))
    assert back["other_step"].tolist() == [0, 1, 2, 3]
    assert back["step"].isna().tolist() == [False, False, True, True]
