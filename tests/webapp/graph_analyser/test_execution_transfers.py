"""The table of bytes moved in a window: rates beside what the links could carry."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import plotly
import pytest

from popvision.analysis.execution.window import window_figures
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from tests.analysis.execution.overlap_case import write_overlap
from webapp.graph_analyser.execution.transfers import transfers_table


@pytest.mark.parametrize(("rate", "share"), [(2.0, "53.33 % of 2 B per cycle"), (0.0, "not known")])
def test_a_stream_copy_beside_the_link_to_the_host(tmp_path: Path, rate: float, share: str) -> None:
    """64 B in 60 cycles of tile 3, while others compute; a report of format 1.0 holds no rate of the link."""
    source = ReportSource(write_overlap(tmp_path / "copy"))
    target = replace(target_of(source), host_bytes_per_cycle=rate, clock_hz=1e9)
    table = transfers_table([window_figures(source, 0, 0, 110)], target)
    cells = re.findall(r'"children": "([^"]*)", "title"', json.dumps(table, cls=plotly.utils.PlotlyJSONEncoder))
    exchange, copy = cells[:5], cells[5:]
    # The report does not store which tiles receive.
    assert exchange == ["16 B", "0 B", "1.6 B per cycle", "1.60 GB/s", "not known"]
    assert [copy[0], copy[2], copy[4]] == ["64 B", "1.1 B per cycle", share]


def test_an_exchange_beside_the_tiles_that_receive(tmp_path: Path) -> None:
    """16 B in 10 cycles; of four tiles two receive: 16 B / (10 cycles x 4 B x 2 tiles)."""
    source = ReportSource(write_overlap(tmp_path / "exchange"))
    figures = window_figures(source, 0, 0, 110)
    moved = replace(figures.transfers["exchange"], port_cycles=20)
    figures = replace(figures, transfers=figures.transfers | {"exchange": moved}, streams={})
    text = json.dumps(transfers_table([figures], target_of(source)), cls=plotly.utils.PlotlyJSONEncoder)
    assert "20.00 % of 8 B per cycle" in text
    assert "16 B / (10 cycles x 4 B x 2.0 receiving tiles)" in text
