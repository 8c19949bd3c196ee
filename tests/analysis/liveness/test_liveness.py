"""Curves, peaks and live variables against slow twins."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.liveness.curve import curve, fullest_tile, live_classes, peak, tile_curve
from popvision.analysis.liveness.variables import always_live_table, lifetime, live_table
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from popvision.formats.profile.model import EquivalenceClasses, LoweredTile
from tests.analysis.memory.memory_case import Case, make_case, write_case


@pytest.fixture(params=range(6))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Case, ReportSource]:
    case = make_case(request.param + 40, ipus=4, tiles_per_ipu=2, replicas=1 + request.param % 2)
    return case, write_case(tmp_path, case)


def test_curve_of_all_is_the_sum_over_ipus_and_over_tiles(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    whole = curve(source)
    per_ipu = case.target.tiles_per_ipu
    ipus = [curve(source, Where("ipu", tile // per_ipu)) for tile in whole.tiles[::per_ipu]]
    tiles = [curve(source, Where("tile", tile)) for tile in whole.tiles]
    assert whole.not_always_live.tolist() == np.sum([c.not_always_live for c in ipus], axis=0).tolist()
    assert whole.not_always_live.tolist() == np.sum([c.not_always_live for c in tiles], axis=0).tolist()
    assert whole.always_live == sum(c.always_live for c in ipus) == sum(c.always_live for c in tiles)
    assert whole.capacity == sum(c.capacity for c in tiles)


def test_a_tile_curve_peaks_at_its_not_always_live_bytes(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    memory = memory_by_tile(source, None)
    for tile in memory.tiles:
        mine = curve(source, Where("tile", tile))
        assert mine.not_always_live.tolist() == [case.bytes_live(i, mine.tiles) for i in range(case.indices)]
        top = peak(mine)
        assert top.not_always_live == memory.not_always_live[tile]
        assert top.index == mine.not_always_live.tolist().index(top.not_always_live)
        assert top.program == 1 + top.index % 3
        assert top.total == top.not_always_live + case.bytes_always(mine.tiles)


def test_the_fullest_tile_is_not_about_the_device(opened: tuple[Case, ReportSource]) -> None:
    _case, source = opened
    totals = [peak(curve(source, Where("tile", tile))).total for tile in curve(source).tiles]
    assert fullest_tile(source) == totals.index(max(totals))
    assert peak(curve(source)).total <= sum(totals)


def test_variables_live_at_an_index_add_up_to_the_curve(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    for where in (Where(), Where("ipu", 1), Where("tile", 1)):
        line = curve(source, where)
        for index in range(case.indices):
            table = viewer_frame(live_table(source, [index], where))
            assert table[f"size_bytes, {index}"].sum() == line.not_always_live[index]
            expected: dict[str, int] = {}
            for a in case.allocations:
                if a.tile in line.tiles and case.live(a.variable, index):
                    expected[f"v{a.variable}"] = expected.get(f"v{a.variable}", 0) + a.bytes
            found = table[table[f"size_bytes, {index}"] > 0]
            assert dict(zip(found["name"], found[f"size_bytes, {index}"], strict=True)) == expected
            assert found[f"size_bytes, {index}"].is_monotonic_decreasing


def test_always_live_variables_add_up(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    for where in (Where(), Where("ipu", 0), Where("tile", 1)):
        table = viewer_frame(always_live_table(source, where))
        assert table["size_bytes"].sum() == curve(source, where).always_live
        assert table["size_bytes"].is_monotonic_decreasing
        assert all(case.classes[v] < 0 for v in table["variable"])


def test_two_indices_give_a_signed_change(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    table = viewer_frame(live_table(source, [2, 5]))
    change = "change_bytes, 5 - 2"
    assert table.columns.tolist() == ["name", "variable", "live", "size_bytes, 2", "size_bytes, 5", change]
    line = curve(source)
    assert table[change].sum() == line.not_always_live[5] - line.not_always_live[2]
    assert ((table["size_bytes, 5"] - table["size_bytes, 2"]) == table[change]).all()


def test_lifetimes(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    for variable, owner in enumerate(case.classes):
        assert lifetime(source, variable) == (None if owner < 0 else case.ranges[owner])
    with pytest.raises(ValueError, match="does not exist: this report has variables 0 to"):
        lifetime(source, len(case.classes))


def test_unknown_scopes_are_named(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    with pytest.raises(ValueError, match="IPU 4 does not exist: this report has IPUs 0 to 3"):
        curve(source, Where("ipu", 4))
    with pytest.raises(ValueError, match="tile 8 does not exist: this report has tiles 0 to 7"):
        curve(source, Where("tile", 8))


@given(st.integers(0, 10_000), st.integers(1, 14))
def test_any_report_against_the_slow_twin(seed: int, indices: int) -> None:
    case = make_case(seed, ipus=1, tiles_per_ipu=2, indices=max(indices, 4))
    with tempfile.TemporaryDirectory() as folder:
        source = write_case(Path(folder), case)
        for index in range(case.indices):
            classes = [c for c, spans in enumerate(case.ranges) if any(s <= index < e for s, e in spans)]
            assert live_classes(source, index).tolist() == classes
        for tile in (0, 1):
            live = curve(source, Where("tile", tile)).not_always_live
            assert live.tolist() == [case.bytes_live(i, range(tile, tile + 1)) for i in range(case.indices)]


ranges = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3), min_size=1, max_size=4)


@given(ranges, st.data())
def test_tile_curve_against_a_loop(spans: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    spans = [[(min(s, e), max(s, e)) for s, e in rows] for rows in spans]
    rows = data.draw(st.lists(st.tuples(st.integers(-1, len(spans) - 1), st.integers(0, 99)), max_size=8))
    flat = [span for each in spans for span in each]
    classes = EquivalenceClasses(
        np.cumsum([0, *map(len, spans)]),
        np.array([s for s, _ in flat], dtype=np.int32),
        np.array([e for _, e in flat], dtype=np.int32),
    )
    zeros = np.zeros(len(rows), dtype=np.int32)
    owner, size = (np.array([row[k] for row in rows], dtype=np.int32) for k in (0, 1))
    tile = LoweredTile(0, 0, size, zeros, zeros, zeros, zeros, owner, zeros)
    slow = [sum(b * sum(s <= i < e for s, e in spans[c]) for c, b in rows if c >= 0) for i in range(9)]
    assert tile_curve(tile, classes, 9).tolist() == slow
