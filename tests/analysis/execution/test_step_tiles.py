"""The tiles that limit a step: which end last, which take longest, and how long the active others wait."""

from __future__ import annotations

import numpy as np

from popvision.analysis.execution.last_tiles import tied_text
from popvision.analysis.execution.step_details import StepTiles


def test_ties_are_all_named_and_idle_tiles_left_out() -> None:
    tiles = StepTiles(np.array([5, 0, 3, 5, 90]), np.array([10, 10, 12, 10, 0]))
    assert tiles.end.tolist() == [15, 10, 15, 15, 90]
    assert tiles.last.tolist() == [0, 2, 3]
    assert tiles.longest.tolist() == [2]
    assert tiles.waiting == 5


def test_a_step_without_an_active_tile_has_no_last_one() -> None:
    tiles = StepTiles(np.array([7, 7]), np.zeros(2, np.int64))
    assert (tiles.last.tolist(), tiles.longest.tolist(), tiles.waiting) == ([], [], 0)


def test_ties_are_told_by_their_number() -> None:
    assert tied_text(3, 0) == ""
    assert tied_text(3, 1) == "tile 3"
    assert tied_text(1_284, 8) == "tile 1,284 and 7 more"
    assert tied_text(0, 1_400) == "1,400 tiles, first tile 0"
