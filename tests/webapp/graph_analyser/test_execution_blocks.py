"""The Blocks tab of the execution page: there where a report has blocks, with the figures of its window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.analysis.execution.blocks import block_statistics
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile.model import COMMON, FLUSH, OVERFLOW, STREAM_COPY, TileBlocks
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import tiny_compilation, tiny_run, write_tiny
from webapp.base.library import Library
from webapp.base.view import ViewContext
from webapp.graph_analyser.execution.blocks_tab import rows
from webapp.graph_analyser.execution.tabs import TAB_SET
from webapp.shell.app import create_app


def blocks(tile: int) -> TileBlocks:
    """Program 1 three times and once on the edge, then an overflow, a flush and a copy."""
    program, kind = [1, 1, 1, 1, -1, 2, 3], [COMMON] * 4 + [OVERFLOW, FLUSH, STREAM_COPY]
    start, end = [0, 10, 20, 40, 41, 60, 70], [5, 16, 29, 41, 60, 65, 71]
    return TileBlocks(tile, *(np.array(column) for column in (program, kind, start, end)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "with_blocks"
    folder.mkdir()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(replace(tiny_run(), blocks=[blocks(1), blocks(3)]))
    return folder


def test_executions_are_added_up_by_program_and_tile(folder: Path) -> None:
    frame = viewer_frame(block_statistics(ReportSource(folder), [0], 0, 1000))
    assert frame["tile"].value_counts().to_dict() == {1: 4, 3: 4}
    mine = frame[(frame["tile"] == 3) & (frame["kind"] == "common")].iloc[0]
    assert mine[["program", "count", "min", "median", "mean", "max", "total"]].tolist() == [1, 4, 1, 5.5, 5.25, 9, 21]
    other = frame[(frame["tile"] == 1) & (frame["program"] != 1)].set_index("kind")["total"].to_dict()
    assert other == {"overflow": 19, "flush": 5, "stream copy": 1}


def test_a_window_takes_what_has_a_part_in_it(folder: Path) -> None:
    source = ReportSource(folder)
    frame = viewer_frame(block_statistics(source, [0], 15, 41))
    assert frame["count"].tolist() == [3, 3]  # 10-16, 20-29 and 40-41; the overflow begins where the window ends
    assert not len(block_statistics(source, [], 0, 1000))


def test_the_tab_is_there_with_blocks_only(folder: Path, tmp_path: Path) -> None:
    params = {"detail": "blocks"}
    assert TAB_SET.chosen(ViewContext("key", ReportSource(folder), params)) == "blocks"
    assert TAB_SET.chosen(ViewContext("key", ReportSource(write_tiny(tmp_path / "plain")), params)) == "summary"


def test_rows_come_through_the_server(folder: Path) -> None:
    library = Library([folder.parent])
    key: Any = next(entry.key for entry in library.entries() if not entry.is_sample)
    client = create_app(library).server.test_client()
    answer = client.get(f"/data/{key}/table/blocks.csv", query_string={"ipus": "0", "from": "0", "to": "1000"})
    assert answer.status_code == 200
    assert len(answer.text.strip().splitlines()) == 9
    assert rows(ReportSource(folder), {"ipus": "0", "from": "0", "to": "1000"})["count"].sum() == 14
    assert client.get(f"/data/{key}/table/blocks.csv", query_string={"ipus": "9", "from": "0"}).status_code < 500
