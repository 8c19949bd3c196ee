"""The difference of two reports over tiles x indices against every place looked up allocation by allocation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.compare.live_heat import heat_difference, most_different_place
from popvision.analysis.compare.liveness import match_indices
from tests.analysis.memory.memory_case import Case, make_case, write_case


def _bytes(case: Case, tile: int, index: int, always: bool) -> int:
    one = range(tile, tile + 1)
    return case.bytes_live(index, one) + (case.bytes_always(one) if always else 0)


def _largest(changes: list[int]) -> int:
    return max(changes, key=lambda each: (abs(each), each), default=0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("by", ["index", "programs"])
def test_every_cell_is_its_largest_difference(tmp_path: Path, seed: int, by: str) -> None:
    ours = make_case(seed, ipus=2, tiles_per_ipu=3, indices=9)
    theirs = make_case(seed + 50, ipus=2, tiles_per_ipu=2 + seed % 3, indices=7 + seed % 4)
    source, target = write_case(tmp_path / "a", ours), write_case(tmp_path / "b", theirs)
    partner = match_indices(source, target, by).tolist()
    known_tiles = 2 * (2 + seed % 3)
    for grid, tiles, indices in (
        ((6, 9), range(6), range(9)),
        ((2, 4), range(6), range(9)),
        ((1, 1), range(6), range(9)),
        ((3, 2), range(1, 6), range(2, 8)),
    ):
        for always in (False, True):
            found = heat_difference(source, target, tiles, indices, grid, always=always, by=by)
            for r, (low, high) in enumerate(zip(found.tile_edges, found.tile_edges[1:], strict=False)):
                for c, (begin, end) in enumerate(zip(found.index_edges, found.index_edges[1:], strict=False)):
                    changes = [
                        _bytes(theirs, tile, partner[index], always) - _bytes(ours, tile, index, always)
                        for tile in range(low, min(high, known_tiles))
                        for index in range(begin, end)
                        if partner[index] >= 0
                    ]
                    assert bool(found.known[r, c]) == bool(changes)
                    assert found.values[r, c] == _largest(changes)


def test_the_place_of_a_cell_names_both_reports(tmp_path: Path) -> None:
    ours, theirs = make_case(3, indices=9), make_case(8, ipus=2, tiles_per_ipu=2, indices=7)
    source, target = write_case(tmp_path / "a", ours), write_case(tmp_path / "b", theirs)
    found = most_different_place(source, target, range(6), range(9), always=True)
    places = [(t, i) for t in range(4) for i in range(7)]
    change = {(t, i): _bytes(theirs, t, i, True) - _bytes(ours, t, i, True) for t, i in places}
    best = max(places, key=lambda place: abs(change[place]))
    assert (found.tile, found.index, found.target_index) == (*best, best[1])
    assert (found.source, found.target) == (_bytes(ours, *best, True), _bytes(theirs, *best, True))
    alone = most_different_place(source, target, range(5, 6), range(7, 9))
    assert (alone.tile, alone.target_index, alone.target) == (5, -1, None)
    assert alone.source == max(_bytes(ours, 5, index, False) for index in (7, 8))


def test_a_report_differs_nowhere_from_itself(tmp_path: Path) -> None:
    source = write_case(tmp_path / "a", make_case(5, indices=9))
    again = write_case(tmp_path / "b", make_case(5, indices=9))
    found = heat_difference(source, again, range(6), range(9), (6, 9), always=True)
    assert found.known.all()
    assert not np.any(found.values)
