"""Two program trees and two source files side by side: nothing lost, nothing shown twice, a report with itself is 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.matching import match_programs
from popvision.analysis.compare.merged_tree import _sizes, merged_tree
from popvision.analysis.compare.programs import compared_programs
from popvision.analysis.programs.program_tree import tree_rows
from popvision.analysis.programs.related_programs import BY_VERTEX, layers, related_programs
from popvision.analysis.programs.table import FIELDS, column_totals, program_columns, program_table
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure_titles import column_of, viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.rows import align_lines, row_texts, source_rows
from tests.analysis.source_code.source_case import NAME, line_of, run_program


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportSource, ReportSource]:
    """The same program over 256 and over 512 elements: the larger one needs two programs more."""
    folder = tmp_path_factory.mktemp("pair")
    return ReportSource(run_program(folder / "a")), ReportSource(run_program(folder / "b", 512))


def walk(programs: Any, row: int) -> list[int]:
    below = programs.children[programs.child_offsets[row] : programs.child_offsets[row + 1]].tolist()
    return [row, *(each for child in below for each in walk(programs, child))]


def test_a_tree_with_itself_is_the_tree(pair: tuple[ReportSource, ReportSource], tmp_path: Path) -> None:
    source = pair[0]
    other = ReportSource(source.folder)
    rows, plain = merged_tree(source, other, 0), tree_rows(source, 0)
    assert rows.source.tolist() == rows.target.tolist() == plain.program.tolist()
    assert (rows.depth.tolist(), rows.size.tolist()) == (plain.depth.tolist(), plain.size.tolist())
    for field in FIELDS:
        name = column_of("programs", field)
        frame = viewer_frame(compared_programs(source, other, field))
        assert len(frame) == len(programs_of(source).type)
        assert frame[f"{name}_source"].equals(frame[f"{name}_target"].rename(f"{name}_source"))


def test_programs_of_one_side_stand_in_place(pair: tuple[ReportSource, ReportSource]) -> None:
    source, target = pair
    rows = merged_tree(source, target, 0)
    assert rows.source[rows.source >= 0].tolist() == walk(programs_of(source), 0)
    assert sorted(rows.target[rows.target >= 0].tolist()) == sorted(walk(programs_of(target), 0))
    only = match_programs(source, target).only_target.tolist()
    alone = np.flatnonzero(rows.source < 0)
    assert rows.target[alone].tolist() == only != []
    # what follows an added program in its own tree follows it here too
    for row in alone.tolist():
        assert rows.target[row + 1] == rows.target[row] + 1 or rows.depth[row + 1] < rows.depth[row]


def test_differences_are_sorted_by_their_size(pair: tuple[ReportSource, ReportSource]) -> None:
    source, target = pair
    frame = viewer_frame(compared_programs(source, target, "self"))
    size = (frame["self_cycles_target"].fillna(0) - frame["self_cycles_source"].fillna(0)).abs().tolist()
    assert size == sorted(size, reverse=True)
    lone = frame[frame["in_report"] == "target"]
    assert lone["program"].isna().all()
    assert set(lone["matched"]) == {""}
    assert sorted(lone["other_program"].tolist()) == match_programs(source, target).only_target.tolist()
    for report, side in ((source, "self_cycles_source"), (target, "self_cycles_target")):
        assert frame[side].sum() == program_columns(report)["self"].sum()


def test_columns_and_what_is_a_hundred_percent(pair: tuple[ReportSource, ReportSource]) -> None:
    source = pair[0]
    frame, whole = viewer_frame(program_table(source)).set_index("program"), column_totals(source)
    assert frame["self_cycles"].sum() == frame["total_cycles"][0] == whole["self"] == source.reader.total_cycles()
    assert frame["received_bytes"][0] == whole["received"]
    assert frame["live_bytes"].max() == frame["live_bytes"][0] == whole["live"]
    repeat = programs_of(source).type.index("Repeat")
    assert (frame["trips"][repeat], frame["executions"][repeat]) == (3, 2)
    assert frame["trips"].isna().sum() == len(frame) - 1
    assert viewer_frame(program_table(source))["self_cycles"].is_monotonic_decreasing


def test_related_by_layer_and_by_vertex(pair: tuple[ReportSource, ReportSource]) -> None:
    source = pair[0]
    programs: Any = programs_of(source)
    add = programs.name.index("sum/Op/Add")
    assert "poplibs" in layers(source)
    same = related_programs(source, add, "poplibs").tolist()
    assert add in same
    assert "cs1_sum/Op/Add/ExchangePre" in [programs.name[p] for p in same]
    assert not any("copy2" in programs.name[p] for p in same)
    assert related_programs(source, add, BY_VERTEX).tolist() == [add]
    assert related_programs(source, 0, "poplibs").tolist() == [0]
    assert related_programs(source, add, "no such layer").tolist() == related_programs(source, add).tolist()


def test_a_file_with_itself_is_line_by_line(pair: tuple[ReportSource, ReportSource]) -> None:
    source, target = pair
    rows = source_rows(source, NAME, target)
    assert rows.source.tolist() == rows.target.tolist() == list(range(1, len(rows.source) + 1))
    at = line_of("add") - 1
    assert row_texts(source, rows, at, at + 1, target)[0].endswith("# line add")
    with pytest.raises(ValueError, match="no program or variable comes from"):
        source_rows(source, "/etc/passwd")


lines = st.lists(st.sampled_from("abc"), max_size=12)


@given(lines, lines)
def test_aligned_lines_are_all_there_and_equal(one: list[str], other: list[str]) -> None:
    mine, theirs = (each.tolist() for each in align_lines(one, other))
    assert [row for row in mine if row] == list(range(1, len(one) + 1))
    assert [row for row in theirs if row] == list(range(1, len(other) + 1))
    for a, b in zip(mine, theirs, strict=True):
        assert a or b
        assert not (a and b) or one[a - 1] == other[b - 1]
    if one == other:
        assert mine == theirs


@given(st.lists(st.integers(0, 4), max_size=20))
def test_sizes_of_subtrees(steps: list[int]) -> None:
    depth = [0]
    for step in steps:
        depth.append(min(depth[-1] + 1, 1 + step))
    expected = [
        next((end for end in range(row + 1, len(depth)) if depth[end] <= depth[row]), len(depth)) - row
        for row in range(len(depth))
    ]
    assert _sizes(np.array(depth)).tolist() == expected
