"""The waterfall of a tile's peak: it conserves every byte, and its parts are those of the allocations."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.tile_peak import compared_peaks
from popvision.analysis.liveness.tile_peak import LARGEST, PeakRow, TilePeak, peak_table, tile_peak
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.memory_labels import CATEGORY_LABELS
from popvision.analysis.report.not_recorded import LOWERED_VARIABLES
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileWriter
from tests.analysis.memory.memory_case import CAPACITY, Case, columns, make_case, write_case
from tests.reports import write_tiny


def totals(found: TilePeak) -> dict[str, int]:
    """Label of each total -> its bytes, each checked against the running sum of the parts before it."""
    running, seen = 0, {}
    for row in found.rows:
        if row.kind == "part":
            running += row.bytes
        else:
            assert row.bytes == running, row.label
            seen[row.label] = row.bytes
    return seen


def slow_parts(case: Case, tile: int, index: int) -> dict[tuple[str, str], int]:
    """(group, category) -> bytes, allocation by allocation."""
    found: Counter[tuple[str, str]] = Counter()
    for a in case.allocations:
        if a.tile == tile and case.classes[a.variable] < 0:
            found["always", case.categories[a.variable]] += a.bytes
        elif a.tile == tile and case.live(a.variable, index):
            found["peak", case.categories[a.variable]] += a.bytes
    return dict(found)


@given(st.integers(0, 10_000))
def test_every_byte_is_counted_once(seed: int) -> None:
    case = make_case(seed, ipus=1, tiles_per_ipu=2)
    with tempfile.TemporaryDirectory() as folder:
        source = write_case(Path(folder), case)
        for tile in (0, 1):
            found = tile_peak(source, tile)
            used = case.used_bytes(tile)
            one = range(tile, tile + 1)
            live = [case.bytes_always(one) + case.bytes_live(i, one) for i in range(case.indices)]
            assert totals(found) == {
                "Live at the peak": max(live),
                "Memory excluding gaps": len(used),
                "Memory including gaps": max(used, default=-1) + 1,
                "Memory of a tile": CAPACITY,
            }
            assert found.index == live.index(max(live))
            parts: Counter[tuple[str, str]] = Counter()
            for row in found.rows:
                if row.group in ("always", "peak"):
                    parts[row.group, row.category] += row.bytes
            assert parts == slow_parts(case, tile, found.index)
            assert all(row.bytes >= 0 for row in found.rows if row.group != "rest")


def test_the_tiny_report(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    found = tile_peak(ReportSource(tmp_path), 0)
    assert (found.index, found.program, found.note) == (0, 1, "")
    assert [(row.kind, row.label, row.bytes) for row in found.rows] == [
        ("part", "weights", 80),
        ("part", CATEGORY_LABELS["constant"], 20),
        ("part", "temporary", 16),
        ("total", "Live at the peak", 116),
        ("part", "Reserved for other indices", 0),
        ("total", "Memory excluding gaps", 116),
        ("part", "Gaps", 4),
        ("total", "Memory including gaps", 120),
        ("part", "Free", 880),
        ("total", "Memory of a tile", 1000),
    ]
    assert [row.variable for row in found.rows[:3]] == [0, 2, 1]


def test_rows_of_the_tiny_report_run_on(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    table = peak_table(tile_peak(ReportSource(tmp_path), 0))
    assert table["size_bytes"] == [80, 20, 16, 116, 0, 116, 4, 120, 880, 1000]
    assert table["so_far_bytes"] == [80, 100, 116, 116, 116, 116, 120, 120, 1000, 1000]
    assert table["share"][:3] == [0.08, 0.02, 0.016]
    assert table["part"][2:5] == ["Live at the peak", "Sum", "Reserved"]


def test_the_rest_of_a_category_matches_however_many_it_holds(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    source = ReportSource(tmp_path)
    few, many = (
        TilePeak(
            0,
            0,
            0,
            1000,
            [
                PeakRow("part", "always", f"{count} more of Variables", 8 * count, "variable", -1, count),
                PeakRow("part", "rest", "Free", 1000 - 8 * count),
                *extra,
            ],
        )
        for count, extra in ((5, []), (7, [PeakRow("part", "other", "Reserved for other indices", 3)]))
    )
    frame = viewer_frame(compared_peaks(source, source, (few, many)))
    assert frame["label"].tolist() == ["5 more of Variables", "Free", "Reserved for other indices"]
    assert frame["size_bytes_source"].tolist()[:2] == [40, 960]
    assert frame["size_bytes_source"].isna().tolist() == [False, False, True]
    assert frame["size_bytes_target"].tolist() == [56, 944, 3]


def test_many_variables_are_one_row(tmp_path: Path) -> None:
    case = make_case(3, ipus=1, tiles_per_ipu=1)
    case.allocations.clear()
    from tests.analysis.memory.memory_case import Allocation

    case.classes[:], case.categories[:] = [-1], ["variable"]
    for variable in range(9):
        case.allocations.append(Allocation(0, variable, 8 * variable, 1 + variable % 5))
    case.classes += [-1] * 8
    case.categories += ["variable"] * 8
    parts = [row for row in tile_peak(write_case(tmp_path, case), 0).rows if row.group == "always"]
    assert [row.bytes for row in parts] == [5, 4, 4, 3, 9]
    assert parts[LARGEST].label == "5 more of Variables"
    assert parts[LARGEST].count == 5


def test_without_lowered_variables_the_parts_are_whole(tmp_path: Path) -> None:
    case = make_case(12, ipus=1, tiles_per_ipu=2)
    tmp_path.mkdir(exist_ok=True)
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(replace(columns(case), lowered=[], lowered_names=[]))
    found = tile_peak(ReportSource(tmp_path), 1)
    assert (found.index, found.note) == (-1, LOWERED_VARIABLES)
    assert [row.bytes for row in found.rows[:2]] == [
        case.bytes_always(range(1, 2)),
        max(case.bytes_live(i, range(1, 2)) for i in range(case.indices)),
    ]
    assert totals(found)["Memory of a tile"] == CAPACITY
    with pytest.raises(ValueError, match="tile 2 does not exist"):
        tile_peak(ReportSource(tmp_path), 2)
