"""The BSP picture against the slow obvious way: every cell cut at every column edge, in plain Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.raster import CLASSES, GRAIN, Grid, packed, raster
from tests.analysis.execution.execution_case import Machine

KINDS = {
    "OnTileExecute": "compute",
    "DoExchange": "exchange",
    "GlobalExchange": "global",
    "StreamCopyBegin": "wait",
    "StreamCopyMid": "host",
    "StreamCopyEnd": "sync",
    "Sync": "sync",
    "Sans": "sync",
}


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    machine = Machine(draw(st.integers(1, 5)))
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(sorted(KINDS)))
        cycles = st.lists(st.integers(0, 30), min_size=machine.tiles, max_size=machine.tiles)
        machine.step(kind, None if kind == "Sync" else draw(cycles))
    return machine


@st.composite
def grids(draw: st.DrawFn, machine: Machine) -> Grid:
    pitch = draw(st.one_of(st.integers(16, 4 * GRAIN), st.integers(1, 60).map(lambda cycles: cycles * GRAIN)))
    last = machine.total * GRAIN // pitch
    return Grid(pitch, draw(st.integers(0, last)), draw(st.integers(1, 12)), draw(st.integers(1, machine.tiles)))


def slow_raster(machine: Machine, grid: Grid) -> list[list[list[int]]]:
    """[class][column][row], each overlap of a cell with a pixel found on its own."""
    picture = [[[0] * grid.rows for _ in range(grid.columns)] for _ in CLASSES]
    for kind, _, cells, _ in machine.steps:
        for tile, (begin, cycles) in enumerate(cells):
            row = next(r for r in range(grid.rows) if tile < (r + 1) * machine.tiles // grid.rows)
            for column in range(grid.columns):
                left = (grid.first + column) * grid.pitch
                overlap = min((begin + cycles) * GRAIN, left + grid.pitch) - max(begin * GRAIN, left)
                picture[CLASSES.index(KINDS[kind])][column][row] += max(0, overlap)
    return picture


@given(st.data())
def test_raster_equals_cutting_every_cell(data: st.DataObject) -> None:
    machine = data.draw(machines())
    grid = data.draw(grids(machine))
    found = raster(machine.timeline().spans, machine, machine.tiles, grid)
    assert found.tolist() == slow_raster(machine, grid)


@given(machines(), st.integers(1, 40))
def test_pixels_of_the_whole_run_hold_all_its_tile_cycles(machine: Machine, columns: int) -> None:
    pitch = machine.total * GRAIN // columns + 1
    found = raster(machine.timeline().spans, machine, machine.tiles, Grid(pitch, 0, columns, machine.tiles))
    assert found.sum() == GRAIN * sum(cycles for _, _, cells, _ in machine.steps for _, cycles in cells)
    whole = found.sum(axis=(0, 1))
    assert whole.tolist() == [GRAIN * clock for clock in machine.clocks]


@given(st.data())
def test_levels_round_shares_and_never_lose_a_class(data: st.DataObject) -> None:
    machine = data.draw(machines())
    grid = data.draw(grids(machine))
    pixels = packed(raster(machine.timeline().spans, machine, machine.tiles, grid), machine.tiles, grid)
    slow = slow_raster(machine, grid)
    assert pixels.shape == (grid.rows, grid.columns)
    for row in range(grid.rows):
        tiles = (row + 1) * machine.tiles // grid.rows - row * machine.tiles // grid.rows
        for column in range(grid.columns):
            for index in range(len(CLASSES)):
                level = int(pixels[row, column]) >> (5 * index) & 31
                share = slow[index][column][row] / (grid.pitch * tiles)
                assert abs(level - 31 * share) <= 1
                assert (level > 0) == (share > 0)
                assert (level == 31) == (share >= 30.5 / 31)


def test_two_tiles_by_hand() -> None:
    """Compute 4 and 2 cycles, then both wait until 4: tile 1 is half sync. Pixels of 2 cycles by one row of 2 tiles."""
    machine = Machine(2)
    machine.step("OnTileExecute", [4, 2])
    machine.step("Sync", None)
    found = raster(machine.timeline().spans, machine, 2, Grid(2 * GRAIN, 0, 2))
    compute, sync = found[CLASSES.index("compute")], found[CLASSES.index("sync")]
    assert (compute // GRAIN).tolist() == [[4], [2]]
    assert (sync // GRAIN).tolist() == [[0], [2]]
    assert packed(found, 2, Grid(2 * GRAIN, 0, 2)).tolist() == [[31, 16 | 16 << 25]]


def test_long_times_do_not_wrap() -> None:
    machine = Machine(1)
    machine.steps.append(("OnTileExecute", 0, [(1 << 42, 60_000)], 0))
    grid = Grid(60_000 * GRAIN, (1 << 42) // 60_000, 2)
    found = raster(machine.timeline().spans, machine, 1, grid)
    assert found.sum() == 60_000 * GRAIN


@pytest.mark.parametrize("wrong", [(0, 0, 1), (1, -1, 1), (1, 0, 0), (1 << 61, 5, 1)])
def test_impossible_grids_are_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="grid"):
        Grid(*wrong)


def test_more_rows_than_tiles_are_refused() -> None:
    machine = Machine(2)
    machine.step("Sync", [1, 1])
    with pytest.raises(ValueError, match="3 rows are more than the 2 tiles"):
        raster(machine.timeline().spans, machine, 2, Grid(1, 0, 1, 3))


def test_steps_without_arrays_are_empty() -> None:
    machine = Machine(2)
    machine.step("OnTileExecute", [3, 3])
    spans = machine.timeline().spans
    spans.cycles_array[:] = -1
    assert not np.any(raster(spans, machine, 2, Grid(GRAIN, 0, 3)))
