"""Vertices, cycle and FLOP estimates at liveness indices, and the step filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from popvision.analysis.liveness.steps import (
    cycles_table,
    flops_table,
    indices_of_program,
    matching_indices,
    program_at,
    program_label,
    vertices_table,
)
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from tests.analysis.memory.memory_case import make_case, write_case
from webapp.components.figure_columns import figure_columns


@pytest.fixture
def source(tmp_path: Path) -> ReportSource:
    """Indices 0..8 run programs 1, 2, 3 in turn: mul, its exchange, add. 2 IPUs of 3 tiles."""
    return write_case(tmp_path, make_case(1))


def test_programs_and_filter(source: ReportSource) -> None:
    assert [program_at(source, i) for i in range(4)] == [1, 2, 3, 1]
    assert program_label(source, 2) == "DoExchange (mul/Exchange)"
    assert program_label(source, 0) == "Sequence"
    assert matching_indices(source, "ADD/").tolist() == [2, 5, 8]
    assert matching_indices(source, "exchange").tolist() == [1, 4, 7]
    assert matching_indices(source, " ").tolist() == list(range(9))
    assert indices_of_program(source, 3).tolist() == [2, 5, 8]
    with pytest.raises(ValueError, match="liveness index 9 does not exist: this report has indices 0 to 8"):
        program_at(source, 9)


def test_cycles_of_an_index_are_over_its_tiles(source: ReportSource) -> None:
    rows = viewer_frame(cycles_table(source, [0, 1, 2], range(6))).to_dict("records")
    # Program 1 takes 100 x (tile within its IPU + 10 x IPU) cycles: 0, 100, 200, 1000, 1100, 1200.
    assert (rows[0]["longest_cycles"], rows[0]["mean_cycles"], rows[0]["shortest_cycles"], rows[0]["longest_tile"]) == (
        1200,
        600.0,
        0,
        5,
    )
    assert (rows[0]["balance"], rows[0]["device_us"], rows[0]["provenance"]) == (0.5, pytest.approx(1.2), "exact")
    assert (rows[1]["longest_cycles"], rows[1]["provenance"]) == (12, "")
    assert rows[2]["provenance"] == "guess"
    assert rows[2]["longest_cycles"] != rows[2]["longest_cycles"]  # not known
    one = viewer_frame(cycles_table(source, [0], range(4, 5))).to_dict("records")[0]
    assert (one["longest_cycles"], one["longest_tile"], one["balance"]) == (1100, 4, 1.0)


def test_estimates_carry_their_least_certain_source(source: ReportSource) -> None:
    for indices, least in (([0], "exact"), ([1], ""), ([0, 2], "guess")):
        table = cycles_table(source, indices, range(6))
        for id in ("longest_cycles", "mean_cycles", "shortest_cycles", "device_us"):
            assert table.column(id).provenance == least
        assert table.column("longest_tile").provenance == ""
        titles = {column.title: column.help for column in figure_columns(table)}
        ending = f"; least certain source: {least}" if least else "Cycles of the longest tile: the length of the step"
        assert titles["Max cycles"].endswith(ending)


def test_vertices_of_two_indices(source: ReportSource) -> None:
    table = viewer_frame(vertices_table(source, [0, 2], range(6))).set_index("name")
    assert table.loc["Mul", ["instances, index 0", "state_bytes, index 0", "state_bytes, index 2"]].tolist() == [
        9,
        144,
        0,
    ]
    assert table.loc["Add", ["instances, index 2", "state_bytes, index 2"]].tolist() == [15, 180]
    assert table["state_change_bytes, 2 - 0"].to_dict() == {"Mul": -144, "Add": 180}
    assert viewer_frame(vertices_table(source, [1], range(6))).empty
    tile = viewer_frame(vertices_table(source, [0], range(5, 6)))
    assert tile["instances, index 0"].tolist() == [3]


def test_flops_say_when_they_are_not_known(source: ReportSource) -> None:
    table = viewer_frame(flops_table(source, [0, 1, 2])).set_index("name")
    assert table.loc["Total", "flops, index 0"] == 640
    assert table.loc["Mul", "flops, index 0"] == 640  # 320 on each IPU
    assert table.loc["Total", "flops, index 1"] == 0
    assert table.isna().loc["Total", "flops, index 2"]
    assert table.isna().loc["Add", "flops, index 2"]
