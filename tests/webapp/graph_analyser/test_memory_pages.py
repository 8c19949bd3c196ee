"""The memory page without a browser: rows, plots and binary answers of one report and of two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from popvision.formats.archive import write_archive
from popvision.formats.elf_image import Section, TileImage
from popvision.formats.profile import ProfileWriter
from tests.analysis.memory.memory_case import columns, make_case
from tests.reports import write_tiny
from webapp.base.library import Library
from webapp.components.figure_columns import figure_frame
from webapp.graph_analyser.memory import routes
from webapp.graph_analyser.memory.peak_tab import peak_rows
from webapp.graph_analyser.memory.plot import draw_memory
from webapp.graph_analyser.memory.state import MemoryState
from webapp.graph_analyser.memory.tables import (
    TABLES,
    all_variables,
    details_rows,
    table_columns,
    table_of,
    tiles_table,
)
from webapp.graph_analyser.memory.tile_map_plot import draw_tile_map
from webapp.shell.app import create_app
from webapp.shell.security import HostPolicy

PORT = 8123


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """`tiny`; a report `plain`; and `planted`, the same with 1,024 bytes more on tile 2, no other change."""
    folder = tmp_path_factory.mktemp("pages")
    write_tiny(folder / "tiny")
    whole = columns(make_case(12, ipus=4, tiles_per_ipu=3, replicas=2))
    assert whole.tile_memory is not None
    more = np.asarray([0, 0, 1024] + [0] * 9)
    memory = replace(
        whole.tile_memory,
        including_gaps=whole.tile_memory.including_gaps + more,
        excluding_gaps=whole.tile_memory.excluding_gaps + more,
    )
    for name, each in {"plain": whole, "planted": replace(whole, tile_memory=memory)}.items():
        (folder / name).mkdir()
        with ProfileWriter(folder / name / "profile.pop") as writer:
            writer.write_compilation(each)
    images = [TileImage(np.asarray([tile]), [Section(".text", 100 + tile)], run_id="tiny-run") for tile in range(4)]
    write_archive(folder / "tiny" / "archive.a", images, "tiny-run")
    return Library([folder])


@pytest.fixture(scope="module")
def client(library: Library) -> Iterator[FlaskClient]:
    app = create_app(library, HostPolicy(port=PORT))
    with app.server.test_client() as found:
        yield found


def key_of(library: Library, name: str) -> str:
    return next(entry.key for entry in library.entries() if entry.key.rsplit("-", 1)[0] == name)


def ask(client: FlaskClient, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a binary answer."""
    answer = client.get(path, headers={"Host": f"127.0.0.1:{PORT}"})
    assert answer.status_code == 200, answer.text
    length = int.from_bytes(answer.data[:4], "little")
    header = json.loads(answer.data[4 : 4 + length])
    types = {"u1": "<u1", "u4": "<u4", "i4": "<i4", "f8": "<f8"}
    return header, {
        name: np.frombuffer(answer.data, types[kind], count, offset).tolist()
        for name, kind, offset, count in header["arrays"]
    }


def test_the_map_of_a_tile_as_bands(client: FlaskClient, library: Library) -> None:
    key = key_of(library, "tiny")
    header, arrays = ask(client, f"/data/{key}/memory/map?tile=0&columns=300&rows=120&variable=1")
    assert (header["exact"], header["indices"], header["including"], header["excluding"]) == (True, 3, 120, 116)
    assert (header["peak"], header["allocations"], header["gaps"], header["capacity"]) == (0, 3, 1, 1000)
    assert (arrays["begin"], arrays["end"]) == ([0, 80, 104], [80, 100, 120])
    assert (arrays["live_from"], arrays["live_to"]) == ([0, 0, 0], [3, 3, 2])
    assert [header["names"][label] for label in arrays["label"]] == ["weights", "constant", "temporary"]
    assert (arrays["gap_begin"], arrays["gap_end"], sum(arrays["gap_bytes"])) == ([100], [104], 4)
    assert arrays["live_most"] == arrays["live_least"] == [116, 116, 100]
    assert (arrays["chosen_begin"], arrays["chosen_to"]) == ([104], [2])
    header, arrays = ask(client, f"/data/{key}/memory/map?tile=0&bottom=90&top=104&first=2&last=3")
    assert (arrays["begin"], header["inWindow"]) == ([80], 1)


def test_too_many_bands_become_cells(client: FlaskClient, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_BANDS", 2)
    header, arrays = ask(client, f"/data/{key_of(library, 'tiny')}/memory/map?tile=0&columns=3&rows=8")
    assert (header["exact"], header["rows"], header["columns"]) == (False, 8, 3)
    shares = np.asarray(arrays["cell_share"]).reshape(8, 3).tolist()
    assert shares == [[255] * 3] * 6 + [[187, 187, 170], [255, 255, 0]]  # 11, 10 and 15 of 15 bytes x indices
    assert arrays["cell_category"][-3:] == [0, 0, 255]


def test_what_is_at_a_place(client: FlaskClient, library: Library) -> None:
    address = f"/data/{key_of(library, 'tiny')}/memory/at?tile=0&address=105&index="
    host = {"Host": f"127.0.0.1:{PORT}"}
    live = client.get(address + "1", headers=host).get_json()
    assert (live["state"], live["name"], live["variable"], live["live"]) == ("live", "temporary", 1, 116)
    assert (live["begin"], live["end"], live["from"], live["to"], live["step"]) == (104, 120, 0, 2, "Sync (Internal)")
    idle = client.get(address + "2", headers=host).get_json()
    assert (idle["state"], idle["name"], idle["live"]) == ("idle", "temporary", 100)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("map?tile=9", "tile 9 does not exist"),
        ("map?tile=x", "tile='x' is not a whole number"),
        ("map?tile=0&top=0", "needs at least one byte"),
        ("map?tile=0&columns=99999", "columns='99999' is not a whole number from 0 to 4096"),
        ("map?tile=3", "no lowered variables"),
        ("at?tile=0&address=1&index=7", "indices are 0 to 2"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    client: FlaskClient, library: Library, query: str, sentence: str
) -> None:
    answer = client.get(f"/data/{key_of(library, 'tiny')}/memory/{query}", headers={"Host": f"127.0.0.1:{PORT}"})
    assert answer.status_code == 400
    assert sentence in answer.text


@pytest.mark.parametrize("tab", list(TABLES))
@pytest.mark.parametrize("query", [{}, {"tiles": "1,2"}, {"ipu": "1"}])
def test_a_report_with_itself_differs_nowhere(library: Library, tab: str, query: dict[str, str]) -> None:
    key = key_of(library, "plain")
    source = library.report(key)
    table = table_of(tab, source, source, query | {"vs": key})
    frame = figure_frame(table)
    found = [name for name in frame.columns if name.endswith("_diff")]
    assert found
    assert (frame[found].fillna(0) == 0).all(axis=None)
    assert set(frame["in_report"]) <= {"both"}
    assert len(frame) == len(table_of(tab, source, None, query))
    fields = {column.field for column in table_columns(table)}
    assert fields <= set(frame.columns)


def test_a_planted_difference_is_found_once_with_its_sign(library: Library) -> None:
    plain, planted = key_of(library, "plain"), key_of(library, "planted")
    for key, other, sign in ((plain, planted, 1), (planted, plain, -1)):
        source, target = library.report(key), library.report(other)
        tiles = figure_frame(tiles_table(source, target, {"vs": other}))
        changed = tiles[tiles["including_gaps_bytes_diff"] != 0]
        assert changed[["tile", "including_gaps_bytes_diff", "excluding_gaps_bytes_diff"]].to_numpy().tolist() == [
            [2, sign * 1024, sign * 1024]
        ]
        assert not tiles[["gaps_bytes_diff", "always_live_bytes_diff", "not_always_live_bytes_diff"]].any(axis=None)
        details = figure_frame(details_rows(source, target, {"vs": other})).set_index("path")
        difference = details["size_bytes, all tiles of replica 0_diff"]
        changed = difference[difference != 0]
        assert set(changed.index) == {"including", "excluding", "excluding/region", "excluding/type"}
        assert set(changed) == {sign * 1024}
        variables = figure_frame(all_variables(source, target, {"vs": other}))
        assert (variables["size_bytes_diff"] == 0).all()
        peak = figure_frame(peak_rows(source, target, {"vs": other, "tile": "2"}))
        changed = peak[peak["size_bytes_diff"] != 0].set_index("label")["size_bytes_diff"].to_dict()
        assert set(changed.values()) == {1024, -1024}
        assert changed["Memory excluding gaps"] == changed["Memory including gaps"] == sign * 1024


def test_several_tiles_have_their_difference_to_the_first(library: Library) -> None:
    source = library.report(key_of(library, "plain"))
    table = table_of("vertices", source, None, {"tiles": "0,2"})
    frame = figure_frame(table)
    change = frame["instances, tile 2"] - frame["instances, tile 0"]
    assert frame["instances, tile 2_change"].tolist() == change.tolist()
    titles = [column.title for column in table_columns(table) if column.group == "Instances"]
    assert titles == ["tile 0", "tile 2", "2 − 0"]


def _drawn(figure: dict[str, Any]) -> dict[str, list[int]]:
    return {trace["name"]: trace["y"][1:-1] for trace in figure["data"] if trace.get("name")}


def test_both_reports_or_their_difference_are_drawn(library: Library) -> None:
    source, target = (library.report(key_of(library, name)) for name in ("plain", "planted"))
    state = MemoryState(gaps=True)
    both = _drawn(draw_memory(source, state, "light", target).figure)
    change = np.asarray(both["Tile memory (Target)"]) - np.asarray(both["Tile memory (Source)"])
    assert change.tolist() == [0, 0, 1024, 0, 0, 0]
    drawing = draw_memory(source, replace(state, difference=True), "dark", target)
    assert _drawn(drawing.figure)["Difference (Target − Source)"] == [0, 0, 1024, 0, 0, 0]
    assert drawing.statistics is not None
    assert (drawing.statistics.max, drawing.statistics.argmax, drawing.statistics.total) == (1024, 2, 1024)
    by_ipu = draw_memory(source, replace(state, difference=True, by_ipu=True), "light", target).figure["data"]
    assert by_ipu[0]["y"] == [1024, 0]
    cells = draw_tile_map(source, replace(state, graph="map"), "light", target).figure["data"][0]
    shown = [
        (tile, value)
        for t, v in zip(cells["customdata"], cells["z"], strict=True)
        for tile, value in zip(t, v, strict=True)
        if tile is not None
    ]
    assert sorted(shown) == [(0, 0), (1, 0), (2, 1024), (3, 0), (4, 0), (5, 0)]
    assert (cells["zmin"], cells["zmax"]) == (-1024, 1024)


def test_a_variable_in_both_reports(library: Library) -> None:
    source = library.report(key_of(library, "plain"))
    state = MemoryState(graph="variables", variables=(0,))
    both = _drawn(draw_memory(source, state, "light", source).figure)
    assert set(both) == {"v0 (Source)", "v0 (Target)"}
    assert both["v0 (Source)"] == both["v0 (Target)"]
    none = _drawn(draw_memory(source, replace(state, difference=True), "light", source).figure)
    assert none == {"v0 (Target − Source)": [0] * 6}


@pytest.mark.parametrize("scale", ["zero", "range", "capacity", "log"])
def test_scales_of_the_tile_map(library: Library, scale: str) -> None:
    source = library.report(key_of(library, "plain"))
    heat = draw_tile_map(source, MemoryState(graph="map", scale=scale), "light").figure["data"][0]
    values = [value for row in heat["z"] for value in row if value is not None]
    assert heat["zmin"] <= min(values)
    assert max(values) <= heat["zmax"]
    assert (heat["zmin"] == min(values)) == (scale == "range")
    assert len(heat["colorbar"]["tickvals"]) == len(heat["colorbar"]["ticktext"]) >= 2


def test_regions_on_the_map_add_up_to_excluding_gaps(library: Library) -> None:
    source = library.report(key_of(library, "plain"))

    def total(part: str) -> int:
        found = draw_tile_map(source, MemoryState(graph="map", part=part), "light").statistics
        assert found is not None
        return found.total

    regions = total("nonInterleaved") + total("interleaved") + total("overflowed")
    assert regions == total("excluding")
    assert total("excluding") + total("gaps") == total("total")


def test_sizes_from_the_binary(library: Library) -> None:
    source = library.report(key_of(library, "tiny"))
    state = MemoryState(binary=True)
    assert _drawn(draw_memory(source, state, "light").figure)["Tile memory (from binary)"] == [100, 101, 102, 103]
    assert "Tile memory (from binary)" not in _drawn(draw_memory(source, MemoryState(), "light").figure)
