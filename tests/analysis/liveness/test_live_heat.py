"""The picture of tiles x liveness indices against every cell looked up allocation by allocation."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.liveness import heat as heat_module
from popvision.analysis.liveness.heat import heat, highest_place
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileWriter
from tests.analysis.memory.memory_case import Case, columns, make_case, write_case


def slow_bytes(case: Case, tile: int, index: int, always: bool) -> int:
    one = range(tile, tile + 1)
    return case.bytes_live(index, one) + (case.bytes_always(one) if always else 0)


def slow_cell(case: Case, tiles: range, indices: range, always: bool) -> int:
    return max(slow_bytes(case, tile, index, always) for tile in tiles for index in indices)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("many", [1, 99])
def test_every_cell_of_every_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, many: int) -> None:
    monkeypatch.setattr(heat_module, "_MANY", many)  # both ways of looking through the changes
    case = make_case(seed, ipus=2, tiles_per_ipu=3, replicas=1 + seed % 2, indices=9)
    source = write_case(tmp_path, case)
    for grid, tiles, indices in (
        ((6, 9), range(6), range(9)),
        ((4, 4), range(6), range(9)),
        ((1, 1), range(6), range(9)),
        ((2, 3), range(1, 5), range(2, 8)),
    ):
        for always in (False, True):
            found = heat(source, tiles, indices, grid, always=always)
            rows = [range(a, b) for a, b in zip(found.tile_edges, found.tile_edges[1:], strict=False)]
            parts = [range(a, b) for a, b in zip(found.index_edges, found.index_edges[1:], strict=False)]
            assert [t for row in rows for t in row] == list(tiles)
            assert [i for part in parts for i in part] == list(indices)
            assert (len(rows) <= grid[0], len(parts) <= grid[1]) == (True, True)
            assert found.values.tolist() == [[slow_cell(case, r, c, always) for c in parts] for r in rows]


def test_the_highest_place_is_the_first_one(tmp_path: Path) -> None:
    case = make_case(3, indices=9)
    source = write_case(tmp_path, case)
    for tiles, indices in ((range(6), range(9)), (range(2, 5), range(3, 7)), (range(1, 2), range(4, 5))):
        found = highest_place(source, tiles, indices, always=True)
        best = slow_cell(case, tiles, indices, True)
        places = [(t, i) for t in tiles for i in indices if slow_bytes(case, t, i, True) == best]
        assert (found.tile, found.index, found.bytes) == (*places[0], best)


def test_shared_layouts_are_added_up_together(tmp_path: Path) -> None:
    source = write_case(tmp_path, make_case(4, ipus=4, replicas=2))
    groups = heat_module.changes(source)
    assert sorted(np.concatenate([group.tiles for group in groups]).tolist()) == list(range(12))
    assert len(groups) <= 6  # a tile of one replica is laid out as its twin of the other


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    source = write_case(tmp_path / "case", make_case(1))
    for tiles, indices in ((range(7), range(9)), (range(6), range(10)), (range(0), range(9)), (range(6), range(3, 3))):
        with pytest.raises(ValueError, match="do not exist"):
            heat(source, tiles, indices, (2, 2))
    with pytest.raises(ValueError, match="at least one row"):
        heat(source, range(6), range(9), (0, 4))


def test_without_lowered_variables_the_option_is_named(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(columns(make_case(1)), lowered=[]))
    with pytest.raises(NotRecordedError, match="outputLoweredVars"):
        heat(ReportSource(tmp_path), range(6), range(9), (2, 2))
