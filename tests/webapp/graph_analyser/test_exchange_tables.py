"""Tables of the exchange page: ranks, and two reports side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.compare.exchange import COMPARED, compared_exchanges
from popvision.analysis.exchange.table import exchange_programs_table, pairs_table
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileWriter
from tests.planted import planted
from tests.reports import tiny_compilation
from webapp.components.figure_columns import figure_frame


@pytest.fixture
def source(tmp_path: Path) -> ReportSource:
    return ReportSource(planted().write(tmp_path / "source"))


def test_programs_are_ranked_by_the_bytes_of_all_runs(source: ReportSource) -> None:
    frame = figure_frame(exchange_programs_table(source))
    assert frame["program"].tolist() == [2, 6]
    assert frame["total"].tolist() == [2_048, 2_048]
    assert frame["share"].tolist() == [0.5, 0.5]
    assert frame["multicast"].tolist() == frame["fan_mean"].tolist() == [1.0, 1.0]
    assert frame["cycles"].tolist() == [64.0, 64.0]
    assert frame["use"].tolist() == [2_048 / (64 * 4 * 8)] * 2
    assert frame["dictated"].tolist() == [1.0, 1.0]
    pairs = figure_frame(pairs_table(source, 2))
    assert pairs[["source", "destination", "bytes"]].values.tolist() == [[t, (t + 1) % 8, 256] for t in range(8)]
    assert np.isclose(pairs["share"].sum(), 1)


def test_without_a_run_totals_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
    frame = figure_frame(exchange_programs_table(ReportSource(path)))
    assert frame[["received", "sent", "estimated", "cycles"]].values.tolist() == [[16, 8, 4, 4.0]]
    assert frame[["total", "share", "executions", "all_cycles"]].isna().all(axis=None)


def test_compared_with_itself_every_difference_is_zero(source: ReportSource) -> None:
    frame = figure_frame(compared_exchanges(source, source))
    assert len(frame) == 2
    assert all((frame[f"{field}_{side}"] == 0).all() for field in COMPARED for side in ("diff", "rel"))


def test_a_planted_difference_is_found_once(source: ReportSource, tmp_path: Path) -> None:
    messages = [(tile, (tile + 1) % 8, 256 + 44 * (tile == 3)) for tile in range(8)]
    changed = ReportSource(planted().with_program(1, messages=messages).write(tmp_path / "changed"))
    frame = figure_frame(compared_exchanges(source, changed))
    assert frame["received_diff"].tolist() == [44, 0]
    assert frame["received_rel"].tolist() == [44 / 2_048, 0]
    assert frame["messages_diff"].tolist() == [0, 0]


def test_a_removed_exchange_is_listed_without_a_target(source: ReportSource, tmp_path: Path) -> None:
    shorter = ReportSource(planted().with_program(5, remove=True).write(tmp_path / "shorter"))
    for one, other, side, where in (
        (source, shorter, "target", "source"),
        (shorter, source, "source", "target"),
    ):
        frame = figure_frame(compared_exchanges(one, other))
        alone = frame[frame["in_report"] == where]
        assert len(frame) == 2
        assert alone["name"].tolist() == ["layer1/scores/ExchangePre"]
        there = {"source": "target", "target": "source"}[side]
        assert alone[f"received_{side}"].tolist() == [0]
        assert alone["received_diff"].abs().tolist() == alone[f"received_{there}"].tolist() != [0]
