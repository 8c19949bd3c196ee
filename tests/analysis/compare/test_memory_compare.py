"""Memory of two reports side by side, ranks and histograms: against plain Python over the same columns."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.join import join
from popvision.analysis.compare.matching import match_compute_sets, match_vertex_types
from popvision.analysis.compare.memory import (
    by_position,
    columns_of_target,
    compared_details,
    details_pair,
)
from popvision.analysis.memory.tile_contents import compute_set_table, vertex_table
from popvision.analysis.memory.tile_ranking import fullest_first, histogram, tile_table
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import tile_columns
from popvision.analysis.report.tiles import target_of
from tests.analysis.memory.memory_case import CAPACITY, make_case, write_case
from tests.samples import SAMPLES


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportSource, ReportSource]:
    """The same program on six and on four tiles."""
    folder = tmp_path_factory.mktemp("pair")
    return write_case(folder / "a", make_case(12, ipus=2, tiles_per_ipu=3)), write_case(
        folder / "b", make_case(40, ipus=2, tiles_per_ipu=2)
    )


def test_a_report_with_itself_has_no_differences(pair: tuple[ReportSource, ReportSource]) -> None:
    source, _ = pair
    columns = tile_columns(target_of(source), [1, 4])
    for table, match in ((vertex_table, match_vertex_types), (compute_set_table, match_compute_sets)):
        whole = table(source, columns)
        id_figure = whole.figures[1].id
        both = viewer_frame(join(whole, whole, id_figure, match(source, source), whole.placed_ids()))
        assert len(both) == len(whole)
        assert set(both["in_report"]) <= {"both"}
        assert both[id_figure].tolist() == whole[id_figure].tolist()
        for name in both.columns:
            if name.endswith("_source"):
                other = both[name.removesuffix("_source") + "_target"]
                assert both[name].equals(other)
    details = details_pair(source, source, columns, [1, 4], [], 0)
    assert details.rows
    assert all(mine is not None and mine == theirs for mine, theirs in details.rows)


def test_rows_of_one_report_alone_are_kept(pair: tuple[ReportSource, ReportSource]) -> None:
    source, target = pair
    mine = vertex_table(source, tile_columns(target_of(source)))
    theirs = vertex_table(target, tile_columns(target_of(target)))
    match = match_vertex_types(source, target)
    alone = viewer_frame(join(mine.take(slice(1)), theirs, "vertex_type", match, ["state_bytes"]))
    assert alone["in_report"].tolist() == ["both", "target"]
    missing = alone.iloc[1]
    assert (missing["vertex_type"], missing["name"]) == (
        match.source_rows()[theirs["vertex_type"][1]],
        theirs["name"][1],
    )
    assert missing["state_bytes, all tiles_source"] == 0  # what only one report has counts in full
    assert missing["state_bytes, all tiles_target"] == theirs["state_bytes"][1]


def test_details_of_both_reports(pair: tuple[ReportSource, ReportSource]) -> None:
    source, target = pair
    found = details_pair(source, target, tile_columns(target_of(source), [1, 5]), [1, 5], [], 0)
    rows = {mine.key: (mine, theirs) for mine, theirs in found.rows if mine is not None}
    mine, theirs = rows["including"]
    assert mine.values == memory_by_tile(source, None).including_gaps[[1, 5]].tolist()
    assert theirs is not None
    assert theirs.values == [int(memory_by_tile(target, None).including_gaps[1]), None]  # four tiles only
    assert columns_of_target(target, [5, 7], [], 0) == (None, [])
    columns, there = columns_of_target(target, [], [1], 0)
    assert columns is not None
    assert (columns.labels, there) == (["IPU 1"], [0])


def test_a_category_of_one_report_alone_counts_in_full() -> None:
    source, target = (ReportSource(SAMPLES / name) for name in ("matmul_chain", "matmul_chain_hardware"))
    both = details_pair(source, target, tile_columns(target_of(source)), [], [], 0)
    stacks = [mine for mine, theirs in both.rows if mine and theirs and mine.label == "Stack"]
    assert stacks
    assert all(mine.values == [0] for mine in stacks)
    frame = viewer_frame(compared_details(both))
    assert not frame.filter(like="_source").isna().any(axis=None)
    missing_tile = details_pair(source, target, tile_columns(target_of(source), [0, 1_000]), [0, 1_000], [], 0)
    assert all(theirs is None or theirs.values[1] is None for _, theirs in missing_tile.rows)


def test_tiles_are_matched_by_number(pair: tuple[ReportSource, ReportSource]) -> None:
    source, target = pair
    both = viewer_frame(join(fullest_first(tile_table(source)), fullest_first(tile_table(target)), "tile")).set_index(
        "tile"
    )
    mine, theirs = memory_by_tile(source, 0), memory_by_tile(target, 0)
    for tile in range(6):
        assert both.loc[tile, "including_gaps_bytes_source"] == mine.including_gaps[tile]
        if tile < 4:
            assert both.loc[tile, "including_gaps_bytes_target"] == theirs.including_gaps[tile]
        else:
            assert np.isnan(both.loc[tile, "including_gaps_bytes_target"])
    assert by_position(source, target, theirs.always_live, 0).tolist() == [*theirs.always_live.tolist(), -1, -1]


def test_ranks_of_tiles(pair: tuple[ReportSource, ReportSource]) -> None:
    source, _ = pair
    memory, table = memory_by_tile(source, 0), viewer_frame(fullest_first(tile_table(source)))
    used = memory.including_gaps.tolist()
    assert table["tile"].tolist() == sorted(range(6), key=lambda tile: (-used[tile], tile))
    for row in table.to_dict("records"):
        assert row["rank"] == 1 + sum(other > row["including_gaps_bytes"] for other in used)
        assert row["including_gaps_bytes"] == row["excluding_gaps_bytes"] + row["gaps_bytes"]
        assert row["peak_live_bytes"] == row["always_live_bytes"] + row["not_always_live_bytes"]
        assert row["excess_bytes"] == max(row["including_gaps_bytes"] - CAPACITY, 0)
        assert row["ipu"] == row["tile"] // 3


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=80), st.integers(1, 50))
def test_every_value_is_in_one_bin(values: list[int], most: int) -> None:
    found = histogram(values, most)
    assert len(found.tiles) <= most + 1
    assert found.width.bit_count() == 1
    slow = Counter(value // found.width for value in values)
    first = int(found.edges[0]) // found.width
    assert found.tiles.tolist() == [slow[first + i] for i in range(len(found.tiles))]
    assert (found.edges % found.width == 0).all()


def test_no_values_have_no_histogram(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        histogram([])
