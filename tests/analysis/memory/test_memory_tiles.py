"""Details tree, tables and address map of single tiles, against the small case."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from popvision.analysis.liveness.curve import curve
from popvision.analysis.liveness.variables import always_live_table
from popvision.analysis.memory import exchanges_on_tiles
from popvision.analysis.memory.address_map import address_map
from popvision.analysis.memory.lowered import address_use, lowered_table, lowered_tile
from popvision.analysis.memory.tile_contents import compute_set_table, exchange_table, vertex_table
from popvision.analysis.memory.tile_details import TileDetails, tile_details
from popvision.analysis.memory.usage import breakdown, memory_by_tile
from popvision.analysis.memory.variable_tiles import variable_bytes_by_tile
from popvision.analysis.report.figure_titles import viewer_frame
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import TileColumns, tile_columns
from popvision.analysis.report.tiles import Where
from popvision.formats.profile import ProfileWriter
from tests.analysis.memory.memory_case import Case, columns, make_case, write_case


@pytest.fixture(params=range(5))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Case, ReportSource]:
    case = make_case(request.param + 20, ipus=2, tiles_per_ipu=3)
    return case, write_case(tmp_path, case)


def columns_of(source: ReportSource, *tiles: int) -> TileColumns:
    return tile_columns(source.reader.target(), tiles)


def _value(details: TileDetails, key: str, column: int = 0) -> int | None:
    return next(row.values[column] for row in details.rows if row.key == key)


def test_all_tiles_is_the_sum_of_single_tiles(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    whole = tile_details(source, columns_of(source))
    single = tile_details(source, columns_of(source, *range(6)))
    assert whole.columns == ["all tiles"]
    assert single.columns == [f"tile {t}" for t in range(6)]
    assert [row.values for row in single.rows if row.key == "physical"] == [[*case.target.physical_tile] * 2]
    for row in whole.rows:
        assert row.values[0] == sum(_value(single, row.key, t) or 0 for t in range(6)), row.key


def test_an_ipu_is_the_sum_of_its_tiles(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    ipus = tile_details(source, tile_columns(source.reader.target(), ipus=[1, 0]))
    single = tile_details(source, columns_of(source, *range(6)))
    assert ipus.columns == ["IPU 1", "IPU 0"]
    for row in ipus.rows:
        assert row.values[0] == sum(_value(single, row.key, t) or 0 for t in (3, 4, 5)), row.key


def test_children_add_up_to_their_parent(opened: tuple[Case, ReportSource]) -> None:
    _case, source = opened
    details = tile_details(source, columns_of(source, 0, 4))
    for parent in details.rows:
        children = [
            row for row in details.rows if row.key.startswith(parent.key + "/") and row.depth == parent.depth + 1
        ]
        if not children or parent.key == "vertex":
            continue  # vertex data: by category counts bytes laid out, by type counts instances x state
        for column in (0, 1):
            if parent.key == "excluding":
                assert all(row.values[column] == parent.values[column] for row in children)
            else:
                assert sum(row.values[column] or 0 for row in children) == parent.values[column], parent.key


def test_overlapped_bytes_by_category(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    details = tile_details(source, columns_of(source, 2))
    mine = [a for a in case.allocations if a.tile == 2]
    for category in ("variable", "vertexCode", "message"):
        owners = {b: a for b, a in case.used_bytes(2).items() if case.categories[a.variable] == category}
        alone = sum(sum(o.address <= b < o.address + o.bytes for o in mine) == 1 for b in owners)
        assert _value(details, f"excluding/type/separate/{category}") == alone
        shared = [r.values[0] for r in details.rows if r.key == f"excluding/type/overlapped/{category}"]
        assert sum(filter(None, shared)) == len(owners) - alone


def test_unknown_tile_is_named(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    with pytest.raises(ValueError, match="tile 6 does not exist: this report has tiles 0 to 5"):
        columns_of(source, 6)
    with pytest.raises(ValueError, match="IPU 2 does not exist: this report has IPUs 0 to 1"):
        tile_columns(source.reader.target(), ipus=[2])
    with pytest.raises(ValueError, match="tile 6 does not exist"):
        lowered_tile(source, 6)


def test_gaps_and_shared_addresses(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    memory = memory_by_tile(source, None)
    for tile in range(6):
        low = lowered_tile(source, tile)
        use = address_use(low)
        assert use.including_gaps == memory.including_gaps[tile]
        assert use.excluding_gaps == memory.excluding_gaps[tile]
        used = case.used_bytes(tile)
        gaps = [b for s, e in zip(use.gap_starts, use.gap_ends, strict=True) for b in range(s, e)]
        assert gaps == [b for b in range(use.including_gaps) if b not in used]
        spans = [(int(a), int(a + b)) for a, b in zip(low.address, low.bytes, strict=True)]
        shared = [
            any(s < oe and os < e for k, (os, oe) in enumerate(spans) if k != i) for i, (s, e) in enumerate(spans)
        ]
        assert use.shared.tolist() == shared


def test_lowered_table_says_what_lies_where(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    table = viewer_frame(lowered_table(source, 1))
    mine = sorted((a for a in case.allocations if a.tile == 1), key=lambda a: (a.address, a.variable))
    assert table["variable_name"].tolist() == [f"v{a.variable}" for a in mine]
    assert table["name"].tolist() == [f"v{a.variable}#0" for a in mine]
    assert table["address"].tolist() == [a.address for a in mine]
    assert table["size_bytes"].tolist() == [a.bytes for a in mine]
    assert table["id"].tolist() == [1000 + row for row in range(len(mine))]
    for text, a in zip(table["live"], mine, strict=True):
        live = [i for i in range(case.indices) if case.live(a.variable, i)]
        assert (text == "always") == (case.classes[a.variable] < 0)
        if text != "always":
            spans = [part.split("-") for part in text.split(", ")] if text else []
            assert [i for span in spans for i in range(int(span[0]), int(span[-1]) + 1)] == live


def test_a_variable_across_tiles(opened: tuple[Case, ReportSource]) -> None:
    case, source = opened
    count = len(case.classes)
    found = variable_bytes_by_tile(source, list(range(count)))
    for variable in range(count):
        for tile in range(6):
            here = sum(a.bytes for a in case.allocations if (a.tile, a.variable) == (tile, variable))
            assert found[variable, tile] == here
    assert variable_bytes_by_tile(source, []).shape == (0, 6)
    with pytest.raises(ValueError, match=f"variable {count} does not exist"):
        variable_bytes_by_tile(source, [count])


def test_contents_of_tiles(opened: tuple[Case, ReportSource]) -> None:
    _, source = opened
    # counts are tile + compute set + ipu: Mul has 0+1+2 and 1+2+3, Add one more on each tile.
    vertices = viewer_frame(vertex_table(source, columns_of(source)))
    assert vertices["name"].tolist() == ["Add", "Mul"] or vertices["name"].tolist() == ["Mul", "Add"]
    by_name = vertices.set_index("name")
    assert by_name.loc["Mul", ["instances, all tiles", "state_bytes, all tiles"]].tolist() == [9, 144]
    assert by_name.loc["Add", ["instances, all tiles", "state_bytes, all tiles"]].tolist() == [15, 180]
    assert by_name.loc["Mul", "code_bytes, all tiles"] == 500  # five of six tiles hold one
    assert by_name["code_bytes, all tiles"].isna().tolist().count(True) == 1
    sets = viewer_frame(compute_set_table(source, columns_of(source, 0, 5))).set_index("name")
    assert sets.loc["add", ["vertices, tile 0", "vertices, tile 5", "state_bytes, tile 5"]].tolist() == [1, 4, 48]
    assert sets.loc["mul", ["vertices, tile 0", "vertices, tile 5", "programs"]].tolist() == [0, 3, 1]
    exchange = viewer_frame(exchange_table(source, columns_of(source, 5)))
    assert exchange.loc[0].tolist() == ["mul/Exchange", "DoExchange", 2, 19, 48, 52]
    whole = viewer_frame(exchange_table(source, columns_of(source))).loc[0]
    assert whole["code_bytes, all tiles"] == 7 * 6 + (0 + 1 + 2 + 10 + 11 + 12)


def test_exchanges_too_large_to_keep_are_read_each_time(
    opened: tuple[Case, ReportSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, source = opened
    kept = viewer_frame(exchange_table(source, columns_of(source, 1, 5)))
    monkeypatch.setattr(exchanges_on_tiles, "MOST_BYTES", 0)
    again = ReportSource(source.folder)
    assert viewer_frame(exchange_table(again, columns_of(again, 1, 5))).equals(kept)
    assert (kept["sent_bytes, tile 1"] == kept["received_bytes, tile 1"] + 4).all()


def test_a_report_without_lowered_variables_says_so(tmp_path: Path) -> None:
    case = make_case(2)
    lean = dataclasses.replace(columns(case), lowered=[], variables=None, eq_classes=None, lowered_names=[])
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(lean)
    source = ReportSource(tmp_path)
    for ask in (
        lambda: lowered_table(source, 0),
        lambda: address_map(source, 0),
        lambda: variable_bytes_by_tile(source, [0]),
        lambda: curve(source, Where("tile", 0)),
        lambda: always_live_table(source),
    ):
        with pytest.raises(NotRecordedError, match=r"autoReport\.outputLoweredVars=true"):
            ask()
    assert len(curve(source).program) == case.indices


def test_a_report_without_a_graph_profile_says_so(tmp_path: Path) -> None:
    lean = dataclasses.replace(columns(make_case(2)), tile_memory=None, category_memory=[], liveness=None)
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(lean)
    source = ReportSource(tmp_path)
    for ask in (lambda: memory_by_tile(source), lambda: breakdown(source, "category"), lambda: curve(source)):
        with pytest.raises(NotRecordedError, match=r"autoReport\.outputGraphProfile=true"):
            ask()
