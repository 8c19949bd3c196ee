"""Allocations of many tiles added up against a dictionary filled one by one, and the batched reading behind it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.memory.lowered_sums import add_equal, allocation_sums
from popvision.analysis.memory.variable_tiles import variable_bytes_by_tile, variable_table
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import tile_columns
from popvision.analysis.report.tiles import target_of
from tests.analysis.memory.memory_case import Case, make_case, write_case
from tests.reports import write_tiny


@pytest.fixture(scope="module", params=[3, 12, 40])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ReportSource]:
    case = make_case(request.param, ipus=2, tiles_per_ipu=4)
    return case, write_case(tmp_path_factory.mktemp("sums"), case)


def test_sums_over_tiles_are_those_of_the_allocations(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    for tiles in (range(8), range(4, 8), [5], [6, 1]):
        slow: Counter[tuple[int, int]] = Counter()
        for a in case.allocations:
            if a.tile in tiles:
                slow[case.classes[a.variable], a.variable] += a.bytes
        sums = allocation_sums(source, tiles)
        found = zip(sums.eq_class.tolist(), sums.variable.tolist(), strict=True)
        assert dict(zip(found, sums.bytes.tolist(), strict=True)) == slow
        assert sums.eq_class.tolist() == sorted(sums.eq_class.tolist())
        assert set(sums.name.tolist()) <= {-1}


def test_a_batch_holds_what_each_tile_holds(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    names = ("address", "bytes", "variable")
    found = [each for batch in source.reader.lowered_tiles([7, 0, 3], names) for each in batch]
    assert [tile for tile, _ in found] == [7, 0, 3]
    for tile, columns in found:
        alone = source.reader.lowered_tile(tile)
        assert all((columns[name] == getattr(alone, name)).all() for name in names)


def test_bytes_of_a_variable_on_each_tile(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    chosen = sorted({a.variable for a in case.allocations})
    values = variable_bytes_by_tile(source, chosen, None)
    for row, variable in enumerate(chosen):
        for tile in range(8):
            mine = sum(a.bytes for a in case.allocations if (a.tile, a.variable) == (tile, variable))
            assert values[row, tile] == mine


def test_a_tile_that_was_not_written_is_said(tmp_path: Path) -> None:
    write_tiny(tmp_path)  # lowered variables of tile 0 alone
    source = ReportSource(tmp_path)
    assert allocation_sums(source, [0]).bytes.tolist() == [80, 20, 16]
    assert [tile for batch in source.reader.lowered_tiles(range(4), ("bytes",)) for tile, _ in batch] == [0]
    with pytest.raises(NotRecordedError, match="outputLoweredVars"):
        allocation_sums(source, range(4))


_row = st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.integers(-1, 3), st.integers(0, 1000))


@given(st.lists(_row, max_size=40), st.sampled_from([0, 2**40]))
def test_equal_rows_are_added(rows: list[tuple[int, int, int, int]], far: int) -> None:
    """`far` makes keys so large that they do not fit into one number."""
    table = np.asarray([(c, v + far * (v > 0), n + far * (n > 0), b) for c, v, n, b in rows], dtype=np.int64)
    sums = add_equal(*table.reshape(-1, 4).T)
    slow: Counter[tuple[int, ...]] = Counter()
    for *key, size in table.reshape(-1, 4).tolist():
        slow[tuple(key)] += size
    found = zip(sums.eq_class.tolist(), sums.variable.tolist(), sums.name.tolist(), strict=True)
    assert list(zip(found, sums.bytes.tolist(), strict=True)) == sorted(slow.items())


def test_variables_of_several_tiles_side_by_side(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    table = viewer_frame(variable_table(source, tile_columns(target_of(source), [1, 6])))
    found = table.set_index("variable")
    for variable in {a.variable for a in case.allocations if a.tile in (1, 6)}:
        for tile in (1, 6):
            mine = sum(a.bytes for a in case.allocations if (a.tile, a.variable) == (tile, variable))
            assert found.loc[variable, f"size_bytes, tile {tile}"] == mine
        assert found.loc[variable, "name"] == f"v{variable}"
        assert found.loc[variable, "live"] == ("always" if case.classes[variable] < 0 else "at times")
    total = table["size_bytes, tile 1"] + table["size_bytes, tile 6"]
    assert total.tolist() == sorted(total.tolist(), reverse=True)
