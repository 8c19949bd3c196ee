"""Aggregation of a window against a loop over steps, and exact numbers on the tiny report."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.execution.aggregation import GROUPINGS, aggregate, aggregate_vertices
from popvision.analysis.execution.flame import name_path
from popvision.analysis.execution.step_details import step_facts, step_tiles
from popvision.analysis.execution.timeline import run_bars, step_count
from popvision.analysis.execution.window import window_figures
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.source import ReportSource
from tests.reports import write_tiny

SAMPLES = Path(__file__).parents[3] / "sample_reports"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return ReportSource(write_tiny(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def chain() -> ReportSource:
    return ReportSource(SAMPLES / "matmul_chain")


def test_parts_of_names_of_the_tiny_run(tiny: ReportSource) -> None:
    """Flat bars 20, 3, 4, 16; tile cycles 35, 57, 8, 35. "layer" holds the two matmuls and the exchange."""
    rows = viewer_frame(aggregate(tiny, [0], 0, 43, "part")).set_index("name")
    assert rows.loc["layer", ["count", "self_cycles", "total_cycles", "total_tile_cycles"]].tolist() == [3, 0, 40, 78]
    assert rows.loc["matmul", ["count", "self_cycles", "total_cycles", "min_cycles", "max_cycles"]].tolist() == [
        2,
        36,
        36,
        16,
        20,
    ]
    assert rows.loc["matmul", "mean_cycles"] == 18
    assert rows.loc["layer", "time_share"] == 40 / 43
    assert rows.loc["matmul", "cumulative_share"] == 36 / 43
    assert rows.loc["ExchangePre", "cumulative_share"] == 40 / 43
    assert rows.loc["Sync (Internal)", "cumulative_share"] == 1


@pytest.mark.parametrize("by", GROUPINGS)
def test_the_cumulative_share_grows_from_row_to_row(chain: ReportSource, by: str) -> None:
    cumulative = viewer_frame(aggregate(chain, [0], 0, run_bars(chain).total, by))["cumulative_share"].tolist()
    assert cumulative == sorted(cumulative)


def test_a_window_that_cuts_steps(tiny: ReportSource) -> None:
    rows = viewer_frame(aggregate(tiny, [0], 5, 25, "type")).set_index("name")
    assert rows["total_cycles"].to_dict() == {"OnTileExecute": 15, "Sync": 3, "DoExchange": 2}
    assert rows.loc["OnTileExecute", "total_tile_cycles"] == 5 + 15 + 4  # tiles 0, 1 of step 0; 1 and 3 of step 3


@pytest.mark.parametrize("by", GROUPINGS)
def test_self_cycles_add_up_to_the_window(chain: ReportSource, by: str) -> None:
    total = run_bars(chain).total
    rows = viewer_frame(aggregate(chain, [0], 0, total, by))
    depth = max(len(name_path(facts.name, facts.type)) for facts in _all_facts(chain))
    if not by.startswith("level") or int(by[5:]) >= depth:
        assert rows["self_cycles"].sum() == total
        assert rows["self_tile_cycles"].sum() == sum(window_figures(chain, 0, 0, total).by_type.values())
        assert rows["cumulative_share"].max() == 1
    assert (rows["total_cycles"] >= rows["self_cycles"]).all()


@given(st.integers(0, 50), st.integers(1, 50), st.sampled_from(["part", "level1", "level2", "name"]))
def test_groups_equal_a_loop_over_steps(tiny: ReportSource, begin: int, length: int, by: str) -> None:
    source, end = tiny, begin + length
    expected: dict[str, list[int]] = {}
    for facts in _all_facts(source):
        tiles = step_tiles(source, 0, facts.step)
        cells = zip(tiles.begin.tolist(), tiles.cycles.tolist(), strict=True)
        spent = sum(max(0, min(b + c, end) - max(b, begin)) for b, c in cells)
        flat = max(0, min(facts.end, end) - max(facts.begin, begin))
        if not spent and not flat:
            continue
        path = name_path(facts.name, facts.type)
        own = {"part": path[-1:], "name": ["/".join(path)]}.get(by, ["/".join(path)])
        within = {"part": set(path), "name": {"/".join(path)}}.get(by) or {"/".join(path[: int(by[5:])])}
        for name in within:
            row = expected.setdefault(name, [0, 0, 0, 0])
            row[0] += 1
            row[1] += flat * (name in own)
            row[2] += flat
            row[3] += spent
    rows = viewer_frame(aggregate(source, [0], begin, end, by)).set_index("name")
    found = rows[["count", "self_cycles", "total_cycles", "total_tile_cycles"]]
    assert {name: row.tolist() for name, row in found.iterrows()} == expected


def test_vertices_keep_thread_and_tile_cycles_apart(tiny: ReportSource) -> None:
    """Two executions of three worker vertices that take 35 thread cycles."""
    row = viewer_frame(aggregate_vertices(tiny, [0], 0, 43)).iloc[0].to_dict()
    assert (row["executions"], row["instances"], row["thread_cycles"], row["tile_cycles"]) == (2, 6, 70, 0)
    assert not len(aggregate_vertices(tiny, [0], 21, 22))


def test_an_unknown_grouping_is_refused(tiny: ReportSource) -> None:
    with pytest.raises(ValueError, match="not by 'colour'"):
        aggregate(tiny, [0], 0, 43, "colour")


def _all_facts(source: ReportSource) -> list:
    return [step_facts(source, 0, step) for step in range(step_count(source))]
