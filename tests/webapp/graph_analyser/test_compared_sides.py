"""Figures on the pages of a comparison name their side or show both: against sums of each report by SQL."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pytest

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.exchange.programs import bandwidth, moved_bytes
from popvision.analysis.liveness.curve import curve
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from popvision.analysis.source_code.lines import NOWHERE, line_figures
from tests.samples import SAMPLES
from webapp.base.formats import bytes_text
from webapp.base.view import ViewContext
from webapp.components.sides import pair_text
from webapp.graph_analyser.exchange.compared_headline import compared_headline
from webapp.graph_analyser.liveness.headline import liveness_headline
from webapp.graph_analyser.liveness.state import liveness_state
from webapp.graph_analyser.memory.headline import memory_headline
from webapp.graph_analyser.memory.state import memory_state
from webapp.graph_analyser.operations.tabs import panel_title
from webapp.graph_analyser.overview import page as overview
from webapp.graph_analyser.source_code import page as source_code
from webapp.graph_analyser.sql import page as sql
from webapp.graph_analyser.summary import page as summary

NAMES = ("matmul_chain", "matmul_chain_hardware")


def _text(component: Any) -> str:
    if isinstance(component, list | tuple):
        return " ".join(_text(each) for each in component)
    if component is None or isinstance(component, str | int | float):
        return "" if component is None else str(component)
    return _text(getattr(component, "children", None))


def _context(compared: bool = True, **params: str) -> ViewContext:
    source, target = (ReportSource(SAMPLES / name) for name in NAMES)
    if not compared:
        return ViewContext("one", source, params, "light")
    return ViewContext("one", source, params | {"vs": "two"}, "light", target, {"two": target})


def _sql(sample: str, query: str) -> int:
    with sqlite3.connect(f"file:{SAMPLES / sample / 'profile.pop'}?mode=ro", uri=True) as db:
        return int(db.execute(query).fetchone()[0])


def test_a_pair_says_source_target_and_difference() -> None:
    assert pair_text(739, 4073, "cycles") == "739 → 4,073 (+3,334)"
    assert pair_text(2048, 1024, "bytes") == "2.0 KiB → 1.0 KiB (−1.0 KiB)"
    assert pair_text(None, 5, "integer") == "– → 5"


def test_cycles_of_no_line_and_shares_of_files_are_those_of_both_reports() -> None:
    shown = _text(source_code.layout(_context()))
    before, after = (line_figures(ReportSource(SAMPLES / name)) for name in NAMES)
    assert before.cycles is not None
    assert after.cycles is not None
    ours, theirs = int(before.cycles[NOWHERE]), int(after.cycles[NOWHERE])
    assert f"cycles {ours:,} → {theirs:,} (+{theirs - ours:,})" in shown
    shares = [f"{100 * (1 - each.cycles[NOWHERE] / each.cycles.sum()):.2f} %" for each in (before, after)]
    assert " → ".join(shares) in shown
    assert "→" not in _text(source_code.layout(_context(compared=False)))


def test_the_summary_describes_the_devices_of_both_reports() -> None:
    shown = _text(summary.layout(_context()))
    assert "Device Fact Source Target Type IPU Model IPU" in shown
    alone = _text(summary.layout(_context(compared=False)))
    assert "Device Type IPU Model" in alone


@pytest.mark.parametrize("page", ["memory", "overview"])
def test_the_fullest_tile_is_that_of_both_reports(page: str) -> None:
    context = _context()
    shown = _text(
        memory_headline(context, memory_state(context.source, context.params))
        if page == "memory"
        else overview.layout(context)
    )
    before, after = (_sql(name, "select max(excluding_gaps) from memory_by_tile") for name in NAMES)
    assert pair_text(before, after, "bytes") in shown


def test_the_overview_has_the_cycles_of_both_reports() -> None:
    before, after = (_sql(name, "select sum(cycles) from runs") for name in NAMES)
    assert f"Total device cycles: {pair_text(before, after, 'cycles')}" in _text(overview.layout(_context()))


def test_always_live_has_a_side() -> None:
    context = _context()
    curves = [curve(ReportSource(SAMPLES / name), Where("all", 0)) for name in NAMES]
    state = liveness_state(context.source, {})
    shown = _text(liveness_headline(context.source, "one", curves[0], state, curves[1]))
    before, after = (_sql(name, "select sum(always_live) from memory_by_tile") for name in NAMES)
    assert f"Source: always live {bytes_text(before)}" in shown
    assert f"Target: always live {bytes_text(after)}" in shown
    assert "Source: peak of all tiles" in shown


def test_pages_about_one_report_say_that_it_is_the_source() -> None:
    assert "Queried: source  matmul_chain" in _text(sql.layout(_context()))
    assert "Source  matmul_chain" in _text(panel_title(_context()))
    for shown in (sql.layout(_context(compared=False)), panel_title(_context(compared=False))):
        assert "ource  matmul_chain" not in _text(shown)


def test_the_exchange_headline_is_of_both_reports() -> None:
    """Every matched program that moves data, against the columns of each report."""
    source, target = (ReportSource(SAMPLES / name) for name in NAMES)
    partner = match_programs(source, target).target_rows()
    ours, theirs = moved_bytes(source), moved_bytes(target)
    compared = 0
    for row, program in enumerate(ours.program.tolist()):
        shown = _text(compared_headline(source, target, program, None, "one", "two"))
        if partner[program] < 0:
            assert "is not in the target" in shown
            assert "Source: program" in shown
            continue
        other = int(np.searchsorted(theirs.program, partner[program]))
        for name in ("received", "sent", "worst_bytes"):
            assert pair_text(int(getattr(ours, name)[row]), int(getattr(theirs, name)[other]), "bytes") in shown
        each = [round(float(bandwidth(report).cycles_each[at])) for report, at in ((source, row), (target, other))]
        assert pair_text(*each, "cycles", target_of(source).clock_hz) in shown
        compared += 1
    assert compared > 5
