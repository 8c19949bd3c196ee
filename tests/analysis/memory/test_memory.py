"""Totals, breakdowns and orders of the memory report, against what the small case adds up byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.memory.usage import BREAKDOWNS, breakdown, by_ipu, category_by_tile, memory_by_tile
from popvision.analysis.report.floor_plan import floor_plan, on_floor_plan
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.range_statistics import statistics
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import tiles_in_order, tiles_of_replica
from popvision.formats.profile.model import Target
from tests.analysis.memory.memory_case import CAPACITY, Case, make_case, region_of, write_case

SEEDS = range(6)


@pytest.fixture(params=SEEDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Case, ReportSource]:
    case = make_case(request.param, ipus=4, tiles_per_ipu=3, replicas=1 + request.param % 2)
    return case, write_case(tmp_path, case)


def test_totals_are_the_bytes_of_the_tile(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    memory = memory_by_tile(source, None)
    for tile in memory.tiles:
        used = case.used_bytes(tile)
        assert memory.excluding_gaps[tile] == len(used)
        assert memory.including_gaps[tile] == max(used, default=-1) + 1
        assert memory.gaps[tile] == sum(b not in used for b in range(max(used, default=-1) + 1))
        assert memory.overflowed[tile] == sum(b >= CAPACITY for b in used)
    assert memory.over_capacity.tolist() == [t for t in memory.tiles if max(case.used_bytes(t), default=0) >= CAPACITY]


@pytest.mark.parametrize("by", BREAKDOWNS)
def test_every_breakdown_adds_up_to_excluding_gaps(opened: tuple[Case, ReportSource], by: str) -> None:
    _, source = opened
    split = breakdown(source, by, None)
    assert np.sum(split.values, axis=0).tolist() == memory_by_tile(source, None).excluding_gaps.tolist()
    assert all((values >= 0).all() for values in split.values)
    assert len(split.keys) == len(split.labels) == len(split.values)


def test_breakdown_by_category_and_region_counts_bytes(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    categories, regions = breakdown(source, "category", None), breakdown(source, "region", None)
    for tile in range(case.target.num_tiles):
        used = case.used_bytes(tile)
        for key, values in zip(categories.keys, categories.values, strict=True):
            assert values[tile] == sum(case.categories[a.variable] == key for a in used.values())
            assert values[tile] == category_by_tile(source, key, None)[tile]
        for key, values in zip(regions.keys, regions.values, strict=True):
            assert values[tile] == sum(region_of(byte) == key for byte in used)


def test_a_replica_is_its_tiles_and_ipus_are_sums(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    whole = memory_by_tile(source, None)
    last = case.target.num_replicas - 1
    mine = memory_by_tile(source, last)
    assert mine.tiles == tiles_of_replica(case.target, last)
    assert mine.excluding_gaps.tolist() == whole.excluding_gaps[mine.tiles.start : mine.tiles.stop].tolist()
    sums = by_ipu(whole.excluding_gaps, 3)
    assert sums.tolist() == [sum(len(case.used_bytes(t)) for t in range(i * 3, i * 3 + 3)) for i in range(4)]
    with pytest.raises(ValueError, match="replica 9 does not exist: this report has replicas 0 to"):
        memory_by_tile(source, 9)


def test_unknown_names_are_named(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    with pytest.raises(ValueError, match="breakdown 'colour' is unknown: use region, category or liveness"):
        breakdown(source, "colour")
    with pytest.raises(ValueError, match="memory category 'colour' is unknown"):
        category_by_tile(source, "colour")


def _target(physical: list[int] | None, ipus: int = 1) -> Target:
    tiles = 4 if physical is None else len(physical)
    return Target("Ipu", "Ipu2", ipus, tiles, 1, 1.0, physical_tile=None if physical is None else np.array(physical))


def test_hardware_order_sorts_each_ipu_by_physical_id() -> None:
    target = _target([6, 0, 3], ipus=2)
    assert tiles_in_order(target, range(6), "hardware").tolist() == [1, 2, 0, 4, 5, 3]
    assert tiles_in_order(target, range(3, 6), "software").tolist() == [3, 4, 5]
    with pytest.raises(ValueError, match="tile order 'magic' is unknown"):
        tiles_in_order(target, range(6), "magic")
    with pytest.raises(NotRecordedError, match="physical tile ids"):
        tiles_in_order(_target(None), range(4), "hardware")


def test_every_tile_has_its_own_cell_on_the_floor_plan() -> None:
    for physical in (list(range(1472)), [4 * i for i in range(300)], [3, 1, 0, 2], [0]):
        plan = floor_plan(_target(physical))
        assert len(set(zip(plan.x.tolist(), plan.y.tolist(), strict=True))) == len(physical)
        assert plan.x.max() < plan.width
        assert plan.y.max() < plan.height
        image = on_floor_plan(plan, np.arange(len(physical)))
        assert np.nansum(image) == sum(range(len(physical)))
        assert int(np.isnan(image).sum()) == plan.width * plan.height - len(physical)


def test_tiles_of_a_bus_pair_are_neighbours() -> None:
    plan = floor_plan(_target(list(range(1472))))
    for tile in range(0, 1472, 97):
        other = tile ^ 2
        assert plan.y[tile] == plan.y[other]
        assert abs(int(plan.x[tile]) - int(plan.x[other])) == 1


def test_statistics_of_a_range() -> None:
    found = statistics([2, 4, 4, 4, 5, 5, 7, 9])
    assert (found.count, found.mean, found.min, found.max, found.std) == (8, 5.0, 2, 9, 2.0)
    assert (found.argmin, found.argmax, found.total) == (0, 7, 40)
    with pytest.raises(ValueError, match="empty range"):
        statistics([])
