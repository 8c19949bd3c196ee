"""Lanes of overlapped I/O: the rule on machines made by hand, against a loop over pairs of steps, and in the views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.flame import flame, flat
from popvision.analysis.execution.overlap import bar_of, make_lanes, overlapping_copies
from popvision.analysis.report.source import ReportSource
from tests.analysis.execution.execution_case import Machine
from tests.analysis.execution.overlap_case import write_overlap


def machine() -> Machine:
    """Tiles 0 and 1 compute, tile 2 does I/O: 100 cycles of compute while a copy takes 20 + 60 + 5."""
    made = Machine(3)
    made.step("Sync", None)
    made.step("OnTileExecute", [100, 90, 0], 1)
    made.step("StreamCopyBegin", [0, 0, 20], 2)
    made.step("StreamCopyMid", [0, 0, 60], 3)
    made.step("StreamCopyEnd", [0, 0, 5], 4)
    made.step("OnTileExecute", [30, 50, 0], 5)
    made.step("Sync", None, 6)
    made.step("OnTileExecute", [10, 10, 10], 7)
    return made


def test_a_copy_beside_compute_has_its_own_lane() -> None:
    steps = machine().timeline()
    first, io = make_lanes(steps, machine_reader := machine())
    assert overlapping_copies(steps, machine_reader).tolist() == [3]
    assert (io.name, io.steps.tolist()) == ("I/O", [2, 3, 4])
    assert list(zip(io.begin.tolist(), io.end.tolist(), strict=True)) == [(0, 20), (20, 80), (80, 85)]
    assert first.steps.tolist() == [0, 1, 5, 6, 7]
    assert list(zip(first.begin.tolist(), first.end.tolist(), strict=True)) == [
        (0, 0),
        (0, 100),
        (100, 140),
        (140, 140),
        (140, 150),
    ]
    assert bar_of([first, io], 3) == (20, 80)


def test_a_sync_of_the_copys_own_tiles_stands_beside_it_and_hides_no_compute() -> None:
    """The Sync ends at 200, after the compute that the table of steps lists behind it; one of all tiles stays."""
    for sync, mine in (([0, 0, 115], [1, 2, 3, 4]), ([0, 100, 115], [1, 2, 3])):
        made = Machine(3)
        made.step("OnTileExecute", [10, 10, 0], 0)
        made.step("StreamCopyBegin", [0, 0, 20], 1)
        made.step("StreamCopyMid", [0, 0, 60], 2)
        made.step("StreamCopyEnd", [0, 0, 5], 3)
        made.step("Sync", sync, 4)
        made.step("OnTileExecute", [40, 0, 0], 5)
        made.step("OnTileExecute", [0, 1, 0], 6)
        first, io = make_lanes(made.timeline(), made)
        assert io.steps.tolist() == mine
        assert bar_of([first, io], 5) == ((10, 50) if 4 in mine else (200, 200))


def test_tiles_that_are_only_ahead_do_not_count() -> None:
    """Tile 1 is done early and begins the copy, in which tile 0 takes part as well: no overlap."""
    made = Machine(2)
    made.step("OnTileExecute", [50, 0])
    made.step("StreamCopyMid", [10, 10])
    lanes = make_lanes(made.timeline(), made)
    assert len(lanes) == 1
    assert lanes[0].begin.tolist() == made.timeline().begin.tolist()


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    made = Machine(draw(st.integers(2, 4)))
    for program in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["OnTileExecute", "DoExchange", "Sync", "StreamCopyBegin", "StreamCopyMid"]))
        cells = st.lists(st.sampled_from([0, 0, 3, 8]), min_size=made.tiles, max_size=made.tiles)
        made.step(kind, None if kind == "Sync" else draw(cells), program)
    return made


@given(machines())
def test_overlaps_equal_a_loop_over_pairs(made: Machine) -> None:
    steps = made.timeline()
    expected = []
    for row, (kind, _, cells, _) in enumerate(made.steps):
        own = {tile for tile, (_, cycles) in enumerate(cells) if cycles}
        span = _span(cells)
        for other, _, others, _ in made.steps:
            theirs = {tile for tile, (_, cycles) in enumerate(others) if cycles}
            work = other in ("OnTileExecute", "DoExchange")
            apart = work and own and theirs and not own & theirs
            if kind == "StreamCopyMid" and apart and max(span[0], _span(others)[0]) < min(span[1], _span(others)[1]):
                expected.append(row)
                break
    assert overlapping_copies(steps, made).tolist() == expected
    lanes = make_lanes(steps, made)
    assert sorted(np.concatenate([lane.steps for lane in lanes]).tolist()) == list(range(len(steps)))
    for lane in lanes:
        assert (lane.begin[1:] >= lane.end[:-1]).all()
        assert (lane.end >= lane.begin).all()


def _span(cells: list[tuple[int, int]]) -> tuple[int, int]:
    busy = [(begin, begin + cycles) for begin, cycles in cells if cycles] or [(0, 0)]
    return min(begin for begin, _ in busy), max(end for _, end in busy)


def test_views_of_a_report_show_both_lanes(tmp_path: Path) -> None:
    source = ReportSource(write_overlap(tmp_path))
    rows = flat(source, 0)
    assert rows.lanes == (0, 1)
    io = rows.levels[1]
    assert [rows.names[name] for name in io.name.tolist()] == ["images", "images", "images"]
    assert io.first.tolist() == [1, 2, 3]
    nested = flame(source, 0)
    assert nested.lanes[1] > 1
    assert nested.levels[nested.lanes[1]].first.tolist() == [1]
    assert nested.levels[nested.lanes[1] + 1].first.tolist() == [1, 2, 3]
