"""Liveness of two reports against dictionaries filled by hand: pairs of indices, variables, and zero against itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.compare.liveness import (
    always_live_pair,
    curve_pair,
    cycles_pair,
    flops_pair,
    live_pair,
    match_indices,
    only_target,
    vertices_pair,
)
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from popvision.formats.profile import ProfileWriter
from tests.analysis.memory.memory_case import Case, columns, make_case, write_case

TILES = (range(6), range(6))


def _written(folder: Path, case: Case, order: list[int]) -> ReportSource:
    """The report of a case whose liveness indices run the programs of `order`."""
    found = columns(case)
    assert found.liveness is not None
    live = dataclasses.replace(found.liveness, program=np.array(order))
    folder.mkdir()
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, liveness=live))
    return ReportSource(folder)


def _longest(ours: list[int], theirs: list[int]) -> int:
    """Length of the longest common subsequence, cell by cell."""
    best = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i, one in enumerate(ours):
        for j, other in enumerate(theirs):
            best[i + 1][j + 1] = best[i][j] + 1 if one == other else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


def test_indices_pair_by_number_or_by_program(tmp_path: Path) -> None:
    ours, theirs = [1, 2, 3, 1, 2, 3, 1], [2, 3, 1, 1, 2, 3, 3, 3, 1]
    source = _written(tmp_path / "a", make_case(2, indices=7), ours)
    target = _written(tmp_path / "b", make_case(2, indices=9), theirs)
    assert match_indices(source, target).tolist() == list(range(7))
    assert only_target(source, target).tolist() == [7, 8]
    assert match_indices(target, source).tolist() == [*range(7), -1, -1]
    paired = match_indices(source, target, "programs").tolist()
    there = [each for each in paired if each >= 0]
    assert there == sorted(there)
    assert all(ours[i] == theirs[j] for i, j in enumerate(paired) if j >= 0)
    assert len(there) == _longest(ours, theirs)
    assert sorted(there + only_target(source, target, "programs").tolist()) == list(range(9))
    with pytest.raises(ValueError, match="index or programs"):
        match_indices(source, target, "name")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("where", [Where(), Where("ipu", 1), Where("tile", 2)])
def test_a_report_against_itself_differs_nowhere(tmp_path: Path, seed: int, where: Where) -> None:
    case = make_case(seed, ipus=2)
    source, target = (write_case(tmp_path / name, case) for name in "ab")
    for by in ("index", "programs"):
        pairs = [
            (viewer_frame(curve_pair(source, target, where, by)), ["not_always_live_bytes", "live_bytes"]),
            (viewer_frame(always_live_pair(source, target, where)), ["size_bytes"]),
            (viewer_frame(live_pair(source, target, [0, 4], where, by)), ["size_bytes, 0", "size_bytes, 4"]),
            (viewer_frame(vertices_pair(source, target, 0, TILES, by)), ["instances", "state_bytes"]),
            (viewer_frame(cycles_pair(source, target, [0, 2], TILES, by)), ["longest_cycles", "mean_cycles"]),
            (viewer_frame(flops_pair(source, target, 0, by)), ["flops"]),
        ]
        for frame, figures in pairs:
            for figure in figures:
                assert frame[f"{figure}_source"].equals(frame[f"{figure}_target"])


@pytest.mark.parametrize("seeds", [(1, 7), (3, 9), (5, 5), (12, 4)])
def test_every_variable_of_either_report_is_listed_once(tmp_path: Path, seeds: tuple[int, int]) -> None:
    cases = [make_case(seed, ipus=2) for seed in seeds]
    source, target = (write_case(tmp_path / name, case) for name, case in zip("ab", cases, strict=True))
    where, tile, index = Where("tile", 1), range(1, 2), 3

    def bytes_of(case: Case, always: bool) -> dict[str, int]:
        found: dict[str, int] = {}
        for a in case.allocations:
            of_kind = case.classes[a.variable] < 0 if always else case.live(a.variable, index)
            if a.tile in tile and of_kind:
                found[f"v{a.variable}"] = found.get(f"v{a.variable}", 0) + a.bytes
        return found

    def known(case: Case) -> set[str]:
        return {f"v{i}" for i in range(len(case.classes))}

    always = viewer_frame(always_live_pair(source, target, where)).set_index("name")
    for side, case in zip(("source", "target"), cases, strict=True):
        assert always[f"size_bytes_{side}"].notna().all()
        assert {name: size for name, size in always[f"size_bytes_{side}"].items() if size} == bytes_of(case, True)
    live = viewer_frame(live_pair(source, target, [index], where)).set_index("name")
    assert live.index.is_unique
    for side, case in zip(("source", "target"), cases, strict=True):
        shown = live[f"size_bytes, {index}_{side}"]
        assert shown.notna().all()  # what a report lacks is 0 there
        assert {name: size for name, size in shown.items() if size} == bytes_of(case, False)
        ids = live["variable" if side == "source" else "other_variable"]
        assert set(live.index[ids.notna()]) == known(case) & set(live.index)  # the ids tell what it has


def test_an_index_without_partner_is_missing_not_zero(tmp_path: Path) -> None:
    case = make_case(3, indices=9)
    source = write_case(tmp_path / "a", case)
    target = write_case(tmp_path / "b", make_case(3, indices=6))
    frame = viewer_frame(curve_pair(source, target, Where()))
    assert frame["live_bytes_target"].isna().tolist() == [False] * 6 + [True] * 3
    assert viewer_frame(live_pair(source, target, [7], Where()))["size_bytes, 7_target"].isna().all()
    assert viewer_frame(cycles_pair(source, target, [7], TILES))["longest_cycles_target"].isna().all()
    assert viewer_frame(flops_pair(source, target, 7))["flops_target"].isna().all()
    assert viewer_frame(vertices_pair(source, target, 7, TILES))["state_bytes_target"].isna().all()
    backwards = viewer_frame(curve_pair(target, source, Where()))
    assert backwards["liveness_index"].isna().tolist() == [False] * 6 + [True] * 3
    assert backwards["other_liveness_index"].tolist() == list(range(9))
