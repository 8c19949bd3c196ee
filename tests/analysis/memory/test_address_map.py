"""The address x liveness map of a tile against sets of (byte, index), and its cells against plain counting."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.liveness.curve import curve
from popvision.analysis.memory.address_map import AddressMap, Bands, address_map, place_at
from popvision.analysis.memory.address_raster import NO_CATEGORY, Window, bands_in_window, cells, margins
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from tests.analysis.memory.memory_case import Allocation, Case, make_case, write_case
from tests.reports import write_tiny

Found = tuple[Case, ReportSource]


@pytest.fixture(scope="module", params=[3, 12, 40])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    case = make_case(request.param, ipus=2, tiles_per_ipu=3)
    return case, write_case(tmp_path_factory.mktemp("map"), case)


def live_places(case: Case, tile: int) -> dict[tuple[int, int], Allocation]:
    """(byte, index) -> the allocation that is live there."""
    return {
        (byte, index): a
        for a in case.allocations
        if a.tile == tile
        for byte in range(a.address, a.address + a.bytes)
        for index in range(case.indices)
        if case.classes[a.variable] < 0 or case.live(a.variable, index)
    }


def test_bands_cover_each_live_place_once(opened: Found) -> None:
    case, source = opened
    for tile in range(6):
        bands = address_map(source, tile).bands
        seen: set[tuple[int, int]] = set()
        for b, e, f, t in zip(bands.begin, bands.end, bands.live_from, bands.live_to, strict=True):
            new = {(byte, index) for byte in range(b, e) for index in range(f, t)}
            assert not seen & new
            seen |= new
        assert seen == set(live_places(case, tile))


def test_live_idle_and_gaps_add_up_to_including_gaps(opened: Found) -> None:
    _, source = opened
    memory = memory_by_tile(source, None)
    for tile in range(6):
        of = address_map(source, tile)
        there = curve(source, Where("tile", tile))
        assert (of.live == there.always_live + there.not_always_live).all()
        gaps = int((of.gap_end - of.gap_begin).sum())
        assert (of.live + of.idle + gaps == memory.including_gaps[tile]).all()
        assert (of.idle >= 0).all()


def test_what_is_at_a_place(opened: Found) -> None:
    case, source = opened
    for tile in (0, 4):
        of, live = address_map(source, tile), live_places(case, tile)
        mine = sorted((a for a in case.allocations if a.tile == tile), key=lambda a: (a.address, a.variable))
        top = max((a.address + a.bytes for a in mine), default=0)
        for byte in range(0, top + 3, 7):
            users = [row for row, a in enumerate(mine) if a.address <= byte < a.address + a.bytes]
            for index in range(case.indices):
                found = place_at(of, byte, index)
                assert found.sharing == len(users)
                if (byte, index) in live:
                    assert (found.state, mine[found.row]) == ("live", live[byte, index])
                    assert found.begin <= byte < found.end
                    assert found.live_from <= index < found.live_to
                elif users:
                    assert found.state == "idle"
                    assert found.row in (-1, *users)
                else:
                    assert found.state == ("gap" if byte < top else "beyond")
    with pytest.raises(ValueError, match="indices are 0 to 8"):
        place_at(of, 0, 9)


def test_the_tiny_report(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    of = address_map(ReportSource(tmp_path), 0)
    assert of.live.tolist() == [116, 116, 100]
    assert of.idle.tolist() == [0, 0, 16]
    assert (of.gap_begin.tolist(), of.gap_end.tolist()) == ([100], [104])
    assert place_at(of, 101, 0) == replace(place_at(of, 102, 0), state="gap", begin=100, end=104)
    idle = place_at(of, 110, 2)
    assert (idle.state, idle.row, idle.live_from, idle.live_to) == ("idle", 2, 0, 2)
    assert place_at(of, 120, 2).state == "beyond"


@pytest.mark.parametrize("size", [2, 8])
def test_golden_cells_change_with_one_byte(tmp_path: Path, size: int) -> None:
    """An exact picture of the tiny report; one byte more anywhere makes another one."""
    write_tiny(tmp_path)
    of = address_map(ReportSource(tmp_path), 0)
    window = Window(0, 120, 0, 3, size, size)
    drawn = cells(of.bands, window)
    if size == 2:
        assert drawn.category.tolist() == [[0, 0], [0, 0]]
        assert drawn.area.tolist() == [[120, 60], [112, 40]]
    else:
        assert drawn.area.tolist() == [[15] * 3] * 6 + [[11, 11, 10], [15, 15, 0]]
        assert drawn.category.tolist() == [[0] * 3] * 5 + [[1] * 3, [1, 1, 1], [0, 0, NO_CATEGORY]]
    longer = replace(of.bands, end=of.bands.end + np.asarray([0, 0, 1]))
    wider = Window(0, 121, 0, 3, size, size)
    assert cells(longer, wider).area.sum() == drawn.area.sum() + 2


def _some_bands(rows: list[tuple[int, int, int, int, int]]) -> Bands:
    table = np.asarray(sorted(rows), dtype=np.int64).reshape(-1, 5)
    begin, size, first, count, category = table.T
    return Bands(begin, begin + size, first, first + count, category, np.arange(len(table)))


_band = st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(0, 20), st.integers(1, 20), st.integers(0, 3))
_span = st.tuples(st.integers(0, 50), st.integers(1, 70))


@given(st.lists(_band, max_size=12), _span, _span, st.integers(1, 9), st.integers(1, 9))
def test_cells_are_areas(
    rows: list[tuple[int, int, int, int, int]], up: tuple[int, int], along: tuple[int, int], columns: int, high: int
) -> None:
    window = Window(up[0], sum(up), along[0], sum(along), columns, high)
    bands = _some_bands(rows)
    drawn = cells(bands_in_window(bands, window), window)
    assert drawn.area.shape == window.shape
    assert drawn.area.shape[0] <= high
    assert drawn.area.shape[1] <= columns
    slow = np.zeros((*window.shape, 4), dtype=np.int64)
    for b, e, f, t, category in zip(
        bands.begin, bands.end, bands.live_from, bands.live_to, bands.category, strict=True
    ):
        for byte in range(max(b, window.bottom), min(e, window.top)):
            for index in range(max(f, window.first), min(t, window.last)):
                row, column = (byte - window.bottom) // window.cell_bytes, (index - window.first) // window.cell_indices
                slow[row, column, category] += 1
    assert (drawn.area == slow.sum(axis=2)).all()
    assert (drawn.category == np.where(slow.any(axis=2), slow.argmax(axis=2), NO_CATEGORY)).all()


@given(st.integers(1, 1300), st.integers(1, 50), st.integers(0, 900))
def test_margins_are_counts(opened: Found, span: int, rows: int, bottom: int) -> None:
    case, source = opened
    of: AddressMap = address_map(source, 1)
    window = Window(bottom, bottom + span, 2, of.indices, 3, rows)
    found = margins(of, window)
    used = case.used_bytes(1)
    mine = [a for a in case.allocations if a.tile == 1]
    for row in range(window.shape[0]):
        low = bottom + row * window.cell_bytes
        held = range(low, min(low + window.cell_bytes, bottom + span))
        assert found.gap_bytes[row] == sum(b < of.including_gaps and b not in used for b in held)
        assert found.sharing[row] == max(sum(a.address <= b < a.address + a.bytes for a in mine) for b in held)
    columns = [of.live[first : first + window.cell_indices] for first in range(2, of.indices, window.cell_indices)]
    assert found.live_most.tolist() == [part.max() for part in columns]
    assert found.live_least.tolist() == [part.min() for part in columns]
