"""Tabs of the exchange page of two reports: every figure of either stands there, and the difference, once."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.compare.exchange import compared_host_copies, compared_pairs
from popvision.analysis.compare.matching import match_programs
from popvision.analysis.exchange.host import host_copies
from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.report.source import ReportSource
from tests.planted import planted
from tests.samples import SAMPLES, program_ending
from webapp.base.view import ViewContext
from webapp.components.figure_columns import figure_frame
from webapp.graph_analyser.exchange.tabs import tab_content

TABS = ("fan", "ipus", "host", "pairs")


def _tables(component: Any) -> list[list[dict[str, Any]]]:
    """Rows of every table in a component."""
    rows = getattr(component, "rowData", None)
    found = [rows] if rows is not None else []
    children = getattr(component, "children", None)
    for child in children if isinstance(children, list | tuple) else [children]:
        found += _tables(child) if hasattr(child, "to_plotly_json") else []
    return found


def _shown(source: ReportSource, target: ReportSource, tab: str, program: int) -> list[list[dict[str, Any]]]:
    return _tables(
        tab_content(ViewContext("key", source, {"program": str(program), "vs": "other"}, "light", target), tab)
    )


@pytest.fixture
def source(tmp_path: Path) -> ReportSource:
    return ReportSource(planted().write(tmp_path / "source"))


@pytest.mark.parametrize("tab", TABS)
def test_a_report_differs_nowhere_from_itself(tab: str) -> None:
    source = ReportSource(SAMPLES / "train_mlp")
    for table in _shown(source, source, tab, 29):
        changes = {value for row in table for name, value in row.items() if name.endswith(("_diff", "_rel"))}
        assert changes <= {0, None}


def test_planted_messages_change_fan_out_and_pairs(source: ReportSource, tmp_path: Path) -> None:
    messages = [(tile, (tile + 1) % 8, 256 + 44 * (tile == 3)) for tile in range(8)] + [(0, 5, 12)]
    changed = ReportSource(planted().with_program(1, messages=messages).write(tmp_path / "changed"))
    fan = _shown(source, changed, "fan", 2)[0]
    found = [(row["receivers"], row["tiles_source"], row["tiles_target"], row["tiles_diff"]) for row in fan]
    assert found == [(1, 8, 7, -1), (2, 0, 1, 1)]
    frame = figure_frame(compared_pairs(source, changed, 2))
    fields = ["source", "destination", "bytes_source", "bytes_target", "bytes_diff"]
    assert frame[frame["bytes_diff"] != 0][fields].values.tolist() == [[3, 4, 256, 300, 44], [0, 5, 0, 12, 12]]


def test_fan_out_of_two_programs_against_their_messages() -> None:
    source, target = (ReportSource(SAMPLES / each) for each in ("train_mlp", "train_mlp_wide"))
    gathers = program_ending(source, "layer1/fwd/Conv_1/Convolve/ExchangePre")
    partner = int(match_programs(source, target).target_rows()[gathers])
    rows = {row["receivers"]: row for row in _shown(source, target, "fan", gathers)[0]}
    for side, report, program in (("source", source, gathers), ("target", target, partner)):
        counted = Counter(Counter(messages_of(report, program).src.tolist()).values())
        assert {count: row[f"tiles_{side}"] for count, row in rows.items() if row[f"tiles_{side}"]} == dict(counted)


def test_host_copies_against_sql() -> None:
    source, target = (ReportSource(SAMPLES / each) for each in ("train_mlp", "train_mlp_wide"))
    (table,) = _shown(source, target, "host", program_ending(source, "Convolve/ExchangePre"))
    query = (
        "select sum(data_in), sum(data_out), sum(cycles) from steps_by_ipu join steps on steps.id = step_id "
        "where steps.type = 'StreamCopyMid'"
    )
    for side, name in (("source", "train_mlp"), ("target", "train_mlp_wide")):
        with sqlite3.connect(f"file:{SAMPLES / name / 'profile.pop'}?mode=ro", uri=True) as db:
            expected = db.execute(query).fetchone()
        sums = [
            sum(row[f"{field}_{side}"] or 0 for row in table)
            for field in ("to_device_bytes", "to_host_bytes", "mid_cycles")
        ]
        assert sums == list(expected)


def test_host_copies_of_two_reports_match_like_programs() -> None:
    """Copies that one report alone has count in full, 0 in the other; none is lost."""
    source, target = (ReportSource(SAMPLES / each) for each in ("train_mlp", "matmul_chain"))
    frame = figure_frame(compared_host_copies(source, target))
    own = [set(host_copies(each)["program"].tolist()) for each in (source, target)]
    for name, other, programs in zip(("program", "other_program"), ("target", "source"), own, strict=True):
        assert sorted(frame[frame["in_report"] != other][name]) == sorted(programs)
    lone = frame["in_report"] != "both"
    in_source = frame["in_report"] != "target"
    assert frame[lone]["mid_cycles_diff"].equals(
        frame[lone]["mid_cycles_target"]
        .where(~in_source[lone], -frame[lone]["mid_cycles_source"])
        .rename("mid_cycles_diff")
    )
    assert frame[lone][["achieved_bytes_per_cycle_diff", "use_share_diff"]].isna().all(axis=None)  # rates of nothing
    changes = frame["mid_cycles_diff"].abs().tolist()
    assert changes == sorted(changes, reverse=True)
