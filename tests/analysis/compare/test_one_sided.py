"""What one report alone has counts in full in every comparing table; what a report did not record stays missing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.aggregation import aggregate_both
from popvision.analysis.compare.exchange import compared_exchanges
from popvision.analysis.compare.liveness import always_live_pair, live_pair, vertices_pair
from popvision.analysis.compare.operations import compared_operations
from popvision.analysis.compare.programs import compared_programs
from popvision.analysis.compare.report_diff import compare_reports
from popvision.analysis.compare.steps import steps_of_both
from popvision.analysis.operations.table import FIELDS
from popvision.analysis.report.figure import Table
from popvision.analysis.report.one_sided import ADDS_UP, both_in_full, in_full
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from popvision.formats.profile.writer import ProfileWriter
from tests.analysis.compare.compare_case import opened
from tests.plain_report import PlainReport, _compilation
from tests.planted import SLOW_NAME, SLOW_PROGRAM, planted
from tests.reports import write_tiny

EVERYTHING = (0, 10**9)
EXCHANGE = 5  # the program that only one of the two reports has


def without_a_run(folder: Path, report: PlainReport) -> ReportSource:
    """The report as it is with instrumentation off: compiled, and no run recorded."""
    folder.mkdir(parents=True)
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(_compilation(report))
    return ReportSource(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return opened(tmp_path_factory.mktemp("whole"), planted())


@pytest.fixture(scope="module")
def shorter(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    """Without a compute set, an exchange, a variable that is always live and one that is not."""
    report = planted().with_program(SLOW_PROGRAM - 1, remove=True).with_program(EXCHANGE, remove=True)
    return opened(
        tmp_path_factory.mktemp("shorter"), report.with_variable(3, remove=True).with_variable(0, remove=True)
    )


def tables(source: ReportSource, target: ReportSource) -> list[Table]:
    """Every table of both whose rows are parts of a sum."""
    windows = EVERYTHING, EVERYTHING
    return [
        always_live_pair(source, target, Where()),
        live_pair(source, target, [3], Where()),
        compared_exchanges(source, target),
        compared_programs(source, target, "self"),
        compared_programs(source, target, "received"),
        steps_of_both(source, target, 0, *windows),
        aggregate_both((source, target), [0], windows, "name"),
        compared_operations(source, target, "cycles"),
        compared_operations(source, target, "programs"),
    ]


def _values(table: Table, id: str, place: str, side: str) -> np.ndarray:
    figure = next(each for each in table if (each.id, each.place, each.side) == (id, place, side))
    return pd.Series(figure.values).astype("Float64").to_numpy(float, na_value=np.nan)


def compared(table: Table) -> list[tuple[np.ndarray, np.ndarray]]:
    """Source and target of every figure of a table that adds up."""
    return [
        (_values(table, each.id, each.place, "source"), _values(table, each.id, each.place, "target"))
        for each in table
        if each.side == "source" and each.unit in ADDS_UP
    ]


def test_sums_of_differences_are_differences_of_sums(whole: ReportSource, shorter: ReportSource) -> None:
    """In both directions no value is missing, some row is of one report alone, and nothing of it is lost."""
    for source, target in ((whole, shorter), (shorter, whole)):
        for table in tables(source, target):
            pairs = compared(table)
            assert pairs
            for before, after in pairs:
                assert not np.isnan(before).any()
                assert not np.isnan(after).any()
                assert (after - before).sum() == pytest.approx(after.sum() - before.sum())
    for table in tables(whole, shorter)[:4]:
        assert any(((before > 0) & (after == 0)).any() for before, after in compared(table)), table.id


def test_a_table_has_all_that_either_report_has(whole: ReportSource, shorter: ReportSource) -> None:
    """Against itself a report has the same values: comparing it with another loses none of them."""
    for alone, both in zip(tables(whole, whole), tables(whole, shorter), strict=True):
        for (before, _), (of_both, _) in zip(compared(alone), compared(both), strict=True):
            assert sorted(before[before > 0]) == sorted(of_both[of_both > 0]), both.id


def test_rates_of_what_is_not_there_are_missing() -> None:
    nothing = np.array([True, False])
    assert np.isnan(in_full([np.nan, 0.5], nothing, [0.25, 0.5], "ratio")).tolist() == [True, False]
    assert in_full([np.nan, 3], nothing, [5, 3], "bytes").tolist() == [0, 3]
    assert math.isnan(in_full([np.nan, 3], nothing, [np.nan, 3], "bytes")[0]), "the other does not know it either"
    assert np.isnan(in_full([np.nan, np.nan], nothing, [5, 3], "bytes")).all(), "not recorded in any row"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from("bst")), max_size=20))
def test_in_full_is_a_sum_over_either(rows: list[tuple[int, int, str]]) -> None:
    """b = both have the row, s, t = one alone: sums are those of the rows that each report has."""
    before = np.array([one if where in "bs" else np.nan for one, _, where in rows], float)
    after = np.array([other if where in "bt" else np.nan for _, other, where in rows], float)
    absent = np.array([where == "t" for *_, where in rows], bool), np.array([where == "s" for *_, where in rows], bool)
    one, other = both_in_full(before, after, absent, "cycles")
    assert (one.sum(), other.sum()) == (np.nansum(before), np.nansum(after))


def test_changed_rows_count_in_full(whole: ReportSource, shorter: ReportSource) -> None:
    changes = {each.what: each for each in compare_reports(whole, shorter).changes}
    for kind in ("programs", "variables", "vertex types", "compute sets"):
        frame = changes[kind].frame
        assert frame["value_source"].notna().all()
        assert (frame["difference"] == frame["value_target"] - frame["value_source"]).all()
        gone = changes[kind].only_source
        assert (gone["value_target"] == 0).all()
        assert gone["difference"].is_monotonic_increasing, "the largest first"
    slow = changes["programs"].only_source.set_index("name_source").loc[SLOW_NAME]
    assert slow["difference"] == -slow["value_source"] < 0
    assert set(changes["programs"].changed.index).isdisjoint(changes["programs"].only_source.index)


def test_what_is_not_recorded_is_missing(whole: ReportSource, tmp_path: Path) -> None:
    """With instrumentation off cycles and moved bytes are missing for every row, also for those of one report alone."""
    report = planted().with_program(SLOW_PROGRAM - 1, remove=True)
    silent = without_a_run(tmp_path / "silent", report)
    for field in ("self", "total", "received"):
        table = compared_programs(whole, silent, field)
        assert np.isnan(_values(table, field, "", "target")).all()
        assert not np.isnan(_values(table, field, "", "source")).all()
    programs = next(each for each in compare_reports(whole, silent).changes if each.what == "programs")
    assert programs.frame["value_target"].isna().all()
    assert programs.frame["difference"].isna().all()
    assert not len(programs.changed)
    total = next(each for each in compare_reports(whole, silent).figures if each.metric.name == "cycles")
    assert (total.target, total.difference) == (None, None)
    steps = steps_of_both(whole, silent, 0, EVERYTHING, EVERYTHING)
    groups = aggregate_both((whole, silent), [0], (EVERYTHING, EVERYTHING), "name")
    for table, id in ((steps, "cycles"), (groups, "total_cycles")):
        assert len(table)
        assert np.isnan(_values(table, id, "", "target")).all(), "it took no 0 cycles: nobody knows"
    bytes_of = vertices_pair(whole, silent, 7, (range(8), range(8)))
    assert not np.isnan(_values(bytes_of, "state_bytes", "", "target")).any(), "the compilation is recorded"


def test_code_is_0_where_memory_is_recorded_without_code(tmp_path: Path) -> None:
    """A code category that one report's memory lacks counts 0 there; a report without categories does not say."""
    write_tiny(tmp_path / "tiny")
    with_code = opened(tmp_path / "other", planted())
    known = {each.metric.name: each for each in compare_reports(ReportSource(tmp_path / "tiny"), with_code).figures}
    for name in ("code", "vertex_code"):
        assert known[name].source == 0
        assert known[name].difference == known[name].target == 8 * 1_024
    assert "vertex_code" in {each for each in known if known[each].difference}


def test_every_field_of_operations_is_complete(whole: ReportSource, shorter: ReportSource) -> None:
    for field in FIELDS:
        table = compared_operations(whole, shorter, field)
        for id in ("operations", field):
            before, after = (_values(table, id, "", side) for side in ("source", "target"))
            known = ~np.isnan(before) | ~np.isnan(after)
            assert np.isnan(before[known]).all() or not np.isnan(before[known]).any(), field
            assert np.isnan(after[known]).all() or not np.isnan(after[known]).any(), field
