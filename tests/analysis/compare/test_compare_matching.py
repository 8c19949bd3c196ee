"""Which row of one report is which of the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare import align as align_module
from popvision.analysis.compare.align import align
from popvision.analysis.compare.difference import relative, signed
from popvision.analysis.compare.identity import stable_name
from popvision.analysis.compare.keyed import Pairing
from popvision.analysis.compare.matching import (
    HOW,
    match_compute_sets,
    match_programs,
    match_steps,
    match_tiles,
    match_variables,
    match_vertex_types,
)
from popvision.analysis.report.source import ReportSource
from tests.analysis.compare.compare_case import is_whole, opened, renames
from tests.plain_report import PlainProgram, PlainReport, PlainVariable
from tests.planted import SLOW_NAME, SLOW_PROGRAM, TILES, planted
from tests.reports import write_tiny

ALL = (match_programs, match_variables, match_compute_sets, match_vertex_types, match_steps, match_tiles)

_codes = st.lists(st.integers(0, 4), max_size=14)


def _longest_common(one: list[int], other: list[int]) -> int:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(_codes, _codes)
def test_align_is_a_longest_common_subsequence(one: list[int], other: list[int]) -> None:
    i, j = align(np.array(one, np.int64), np.array(other, np.int64))
    assert [one[k] for k in i] == [other[k] for k in j]
    assert (np.diff(i) > 0).all()
    assert (np.diff(j) > 0).all()
    assert len(i) == _longest_common(one, other)


@given(_codes, _codes)
def test_align_beyond_its_budget_still_pairs_equals_in_order(one: list[int], other: list[int]) -> None:
    budget, align_module.BUDGET = align_module.BUDGET, -1
    try:
        i, j = align(np.array(one, np.int64), np.array(other, np.int64))
    finally:
        align_module.BUDGET = budget
    assert [one[k] for k in i] == [other[k] for k in j]
    assert (np.diff(i) > 0).all()
    assert (np.diff(j) > 0).all()
    if one == other:
        assert len(i) == len(one)


def test_the_last_of_equal_things_is_the_one_that_is_gone() -> None:
    i, j = align(np.array([5, 7, 7, 7, 6]), np.array([5, 7, 7, 6]))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 2), (4, 3)]


def test_a_long_loop_with_two_missing_steps_stays_exact() -> None:
    """30,000 periodic steps: the k-th would match the k-th and everything between the two would be shifted."""
    steps = np.tile(np.arange(3), 10_000)
    kept = np.delete(steps, [4_000, 22_003])
    i, _j = align(steps, kept)
    assert len(i) == len(kept)
    assert not set(range(4_003, 22_000)) - set(i.tolist())


def _twin(one: list[int], other: list[int]) -> set[tuple[int, int]]:
    """Rows whose key stands once on both sides."""
    return {(a, other.index(key)) for a, key in enumerate(one) if one.count(key) == 1 and other.count(key) == 1}


@given(st.lists(st.integers(0, 6), max_size=10), st.lists(st.integers(0, 6), max_size=10))
def test_keys_match_as_often_as_both_sides_have_them(one: list[int], other: list[int]) -> None:
    pairing = Pairing(len(one), len(other))
    pairing.match_keys((np.array(one, np.int64), np.array(other, np.int64)), 1)
    pairs = {(a, int(b)) for a, b in enumerate(pairing.target_of) if b >= 0}
    assert all(one[a] == other[b] for a, b in pairs)
    assert _twin(one, other) <= pairs
    for key in set(one):
        assert sum(one[a] == key for a, _ in pairs) == min(one.count(key), other.count(key))
    assert [int(pairing.source_of[b]) for _, b in sorted(pairs)] == [a for a, _ in sorted(pairs)]


def test_lines_decide_between_equals_only_when_they_name_them_all() -> None:
    def matched(lines: list[int], others: list[int]) -> list[int]:
        pairing = Pairing(len(lines), len(others))
        keys = np.zeros(len(lines), np.int64), np.zeros(len(others), np.int64)
        pairing.match_keys(keys, 0, (np.array(lines), np.array(others)))
        return pairing.target_of.tolist()  # type: ignore[no-any-return]

    assert matched([10, 11, 12], [10, 12]) == [0, -1, 1], "the call on line 11 was commented out"
    assert matched([10, 11, 12], [12, 13]) == [0, 1, -1], "two lines were put in above: lines say nothing"


def test_counters_of_lowering_are_no_names() -> None:
    assert stable_name("cs12_layer/ExchangePre") == stable_name("cs3_layer/ExchangePre")
    assert stable_name("a/copy3_x/copy12_") == "a/copy_x/copy_"
    assert stable_name("docs1_x") == "docs1_x", "only a whole word is a counter"
    assert stable_name("layer1/Conv_1") == "layer1/Conv_1"


def test_a_report_matches_itself_row_by_row(tmp_path: Path) -> None:
    source = opened(tmp_path / "a", planted())
    twin = opened(tmp_path / "b", planted())
    for match in ALL:
        for target in (source, twin):
            matching = match(source, target)
            assert is_whole(matching)
            assert not len(matching.only_source)
            assert not len(matching.only_target)
            assert (matching.source == matching.target).all(), match.__name__
    assert match_programs(source, twin) is match_programs(source, twin), "kept per pair"


def test_debug_identity_comes_before_the_name_and_the_name_before_order(tmp_path: Path) -> None:
    source = opened(tmp_path / "a", planted())
    how = match_programs(source, opened(tmp_path / "b", planted())).how
    found = dict(zip(["main", *(each.name for each in planted().programs)], (HOW[k] for k in how), strict=True))
    assert found["layer0/qkv/Compute"] == "debug identity"
    assert found["main"] == "name"
    assert found["Internal"] == "order"
    bare = replace(planted(), programs=[replace(each, line=0) for each in planted().programs])
    how = match_programs(source, opened(tmp_path / "c", bare)).how
    assert set(how.tolist()) == {1, 2}, "without contexts in one report the name decides"


@pytest.mark.parametrize("row", range(len(planted().programs)))
def test_a_removed_program_is_found_once_and_nothing_else(tmp_path: Path, row: int) -> None:
    source = opened(tmp_path / "a", planted())
    target = opened(tmp_path / "b", planted().with_program(row, remove=True))
    for match in (match_programs, match_steps):
        for here, there, alone in ((source, target, "only_source"), (target, source, "only_target")):
            matching = match(here, there)
            assert is_whole(matching)
            expected = row + 1 if match is match_programs else row
            assert getattr(matching, alone).tolist() == [expected]
            assert len(matching.only_source) + len(matching.only_target) == 1
    assert renames(source, target, match_programs(source, target)) == []


@pytest.mark.parametrize("line", [0, 21])
def test_a_rename_is_matched_by_order(tmp_path: Path, line: int) -> None:
    source = opened(tmp_path / "a", planted())
    renamed = planted().with_program(SLOW_PROGRAM - 1, name="layer1/attention/Compute", line=line)
    target = opened(tmp_path / "b", renamed)
    for match in (match_programs, match_steps, match_compute_sets):
        matching = match(source, target)
        assert is_whole(matching)
        assert not len(matching.only_source)
        assert not len(matching.only_target)
        assert (matching.source == matching.target).all()
    matching = match_programs(source, target)
    assert renames(source, target, matching) == [(SLOW_NAME, "layer1/attention/Compute")]
    assert HOW[matching.how[SLOW_PROGRAM]] == "order"


def test_a_renamed_variable_needs_the_same_size(tmp_path: Path) -> None:
    source = opened(tmp_path / "a", planted())
    renamed = opened(tmp_path / "b", planted().with_variable(3, name="layer0/hidden"))
    matching = match_variables(source, renamed)
    assert HOW[matching.how[3]] == "order"
    assert (matching.source == matching.target).all()
    bytes = dict.fromkeys(range(TILES), 2_056)
    other = opened(tmp_path / "c", planted().with_variable(3, name="layer0/hidden", bytes=bytes))
    matching = match_variables(source, other)
    assert matching.only_source.tolist() == [3]
    assert matching.only_target.tolist() == [3]


_names = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)


@given(names=_names, row=st.integers(0, 8), edit=st.sampled_from(["remove", "insert", "rename"]), lines=st.booleans())
def test_one_edit_of_any_program_is_one_edit(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], row: int, edit: str, lines: bool
) -> None:
    """Repeated names (an unrolled loop), with and without debug contexts, one edit anywhere."""
    folder = tmp_path_factory.mktemp("pair")
    leaves = [
        leaf
        for at, name in enumerate(names)
        for leaf in (PlainProgram("OnTileExecute", name, 5, line=lines * (at + 1)), PlainProgram("Sync", "Internal"))
    ]
    row = 2 * (row % len(names))
    plain = PlainReport(leaves, [PlainVariable("v", {0: 8}, live=(0, 0))], tiles=2)
    new = PlainProgram("OnTileExecute", "new", 5)
    edited = {
        "remove": lambda: plain.with_program(row, remove=True),
        "insert": lambda: replace(plain, programs=[*leaves[:row], new, *leaves[row:]]),
        "rename": lambda: plain.with_program(row, name="new", line=0),
    }[edit]()
    source, target = opened(folder / "a", plain), opened(folder / "b", edited)
    matching = match_programs(source, target)
    assert is_whole(matching)
    counts = {"remove": (1, 0), "insert": (0, 1), "rename": (0, 0)}[edit]
    assert (len(matching.only_source), len(matching.only_target)) == counts
    assert len(renames(source, target, matching)) == (edit == "rename")
    steps = match_steps(source, target)
    assert (len(steps.only_source), len(steps.only_target)) == counts


def test_reports_without_a_part_match_nothing_there(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    tiny = ReportSource(tmp_path / "tiny")
    plain = opened(tmp_path / "plain", planted())
    for match in ALL:
        matching, back = match(tiny, plain), match(plain, tiny)
        assert is_whole(matching)
        assert matching.source.tolist() == sorted(back.target.tolist()), match.__name__
    assert match_tiles(tiny, plain).only_target.tolist() == [4, 5, 6, 7]
    assert (match_programs(tiny, plain).target_rows() >= 0).sum() == len(match_programs(tiny, plain).source)


def test_signs_and_shares() -> None:
    small, large = np.array([0, 0, 10, 10, 3], np.uint32), np.array([0, 5, 12, 9, 3], np.uint32)
    assert signed(small, large).tolist() == [0, 5, 2, -1, 0], "unsigned columns do not wrap"
    assert relative(small, large).tolist() == [0.0, np.inf, 0.2, -0.1, 0.0]
    assert relative([0.0], [-2.0]).tolist() == [-np.inf]
    assert signed([0.5], [0.25]).tolist() == [-0.25]
