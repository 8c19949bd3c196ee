"""The tile x liveness heat map in a browser: pixels, values and selection against loops over the report's facts."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.analysis.memory.memory_case import Case, make_case
from tests.browser.memory_pages import Opened, opened
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

TILES, INDICES = 6, 12  # of replica 0
CASE: Case = make_case(12, ipus=4, tiles_per_ipu=3, replicas=2, indices=INDICES)  # the report that `opened` serves


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(shared, tmp_path_factory.mktemp("heat"))


def _bytes(tile: int, index: int, always: bool = True) -> int:
    one = range(tile, tile + 1)
    return CASE.bytes_live(index, one) + (CASE.bytes_always(one) if always else 0)


def _picture(rows: int, columns: int, always: bool = True) -> list[list[int]]:
    high, wide = TILES // rows, INDICES // columns
    return [
        [
            max(_bytes(r * high + t, c * wide + i, always) for t in range(high) for i in range(wide))
            for c in range(columns)
        ]
        for r in range(rows)
    ]


def _levels(picture: list[list[int]]) -> list[list[int]]:
    top = max(max(row) for row in picture)
    return [[(255 * value + top - 1) // top for value in row] for row in picture]


def _answer(viewer: Opened, query: str) -> tuple[dict[str, Any], list[list[int]]]:
    body = viewer.page.request.get(f"{viewer.base}/data/{viewer.key}/liveness/heat?{query}").body()
    length = int.from_bytes(body[:4], "little")
    header = json.loads(body[4 : 4 + length])
    _, kind, offset, count = header["arrays"][0]
    assert kind == "u1"
    levels = np.frombuffer(body, np.uint8, count, offset).reshape(header["rows"], header["columns"])
    return header, levels.tolist()


@pytest.mark.parametrize("grid", [(2, 2), (6, 12), (3, 4), (1, 1)])
@pytest.mark.parametrize("always", [True, False])
def test_levels_are_those_of_the_highest_place_of_each_cell(
    viewer: Opened, grid: tuple[int, int], always: bool
) -> None:
    query = f"tiles=0-5&indices=0-11&rows={grid[0]}&columns={grid[1]}" + ("&always=1" if always else "")
    header, levels = _answer(viewer, query)
    expected = _picture(*grid, always)
    assert levels == _levels(expected)
    assert header["top"] == header["highest"] == max(max(row) for row in expected)


def _open(viewer: Opened, query: str = "") -> None:
    viewer.go("liveness", "live_graph=heat" + query)
    viewer.page.locator("#live-heat[data-drawn]").wait_for()


def test_every_cell_has_the_colour_of_its_level(viewer: Opened) -> None:
    viewer.problems.clear()
    _open(viewer)
    seen = viewer.page.evaluate(
        "([rows, columns]) => { const host = document.querySelector('#live-heat');"
        "const map = host.heatMap, a = map.area, c = map.canvas, ratio = c.width / host.clientWidth;"
        "const draw = c.getContext('2d'); const found = [];"
        "for (let r = 0; r < rows; r += 1) for (let k = 0; k < columns; k += 1) {"
        " const x = a.x + (k + 0.5) * a.width / columns, y = a.y + (r + 0.5) * a.height / rows;"
        " found.push(Array.from(draw.getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data)); }"
        "return found; }",
        [TILES, INDICES],
    )
    scale = viewer.page.evaluate(
        "Array.from(popvision.colourScale('sequential'), p => [p & 255, (p >> 8) & 255, (p >> 16) & 255, 255])"
    )
    expected = [scale[level] for row in _levels(_picture(TILES, INDICES)) for level in row]
    assert seen == expected
    assert len({tuple(colour) for colour in expected}) > 3
    assert viewer.problems == []


def _reading(viewer: Opened, tile: int, index: int) -> None:
    viewer.wait_for_text("#live-reading .reading-name", f"Tile {tile}, index {index}:")
    part = viewer.page.locator("#live-reading .reading-part", has_text="Total")
    expect(part).to_have_attribute("title", f"{_bytes(tile, index):,} B")


def test_keys_move_a_cursor_that_is_announced_and_stands_in_the_table(viewer: Opened) -> None:
    _open(viewer, "&tiles=1&liveness=3&live_tab=steps")
    assert viewer.page.locator("#live-reading").get_attribute("aria-live") == "polite"
    _reading(viewer, 1, 3)
    viewer.page.focus("#live-heat")
    for key, place in (("ArrowDown", (2, 3)), ("ArrowRight", (2, 4)), ("ArrowUp", (1, 4)), ("ArrowLeft", (1, 3))):
        viewer.page.keyboard.press(key)
        _reading(viewer, *place)
    viewer.wait_for_text(".tab-note", "on tile 1")
    row = viewer.page.locator(".ag-row[row-index='3'] .ag-cell[col-id='live_bytes']")
    row.wait_for()
    address = f"{viewer.base}/data/{viewer.key}/table/liveness-steps.json?where=tile:1"
    rows = viewer.page.request.get(address).json()
    assert [each["live_bytes"] for each in rows] == [_bytes(1, index) for index in range(INDICES)]


def _centre(viewer: Opened, tile: int, index: int) -> tuple[float, float]:
    """The point of the page in the middle of one cell, once the picture is drawn."""
    viewer.page.locator("#live-heat[data-drawn]").wait_for()
    x, y, width, height = viewer.page.evaluate(
        "() => { const host = document.querySelector('#live-heat'), b = host.getBoundingClientRect();"
        "const a = host.heatMap.area;"
        "return [b.x + a.x, b.y + a.y, a.width, a.height]; }"
    )
    return x + (index + 0.5) * width / INDICES, y + (tile + 0.5) * height / TILES


def test_a_click_selects_the_place_and_the_url_brings_it_back(viewer: Opened) -> None:
    _open(viewer)
    viewer.page.mouse.click(*_centre(viewer, 4, 7))
    _reading(viewer, 4, 7)
    expect(viewer.page).to_have_url(re.compile("tiles=4"))
    expect(viewer.page).to_have_url(re.compile("liveness=7"))
    viewer.page.reload()
    _reading(viewer, 4, 7)
    viewer.page.mouse.move(*_centre(viewer, 2, 5))
    viewer.wait_for_text(".heat-tip", f"({_bytes(2, 5):,} B)")


def test_zoom_shows_fewer_tiles_and_indices(viewer: Opened) -> None:
    _open(viewer, "&tiles=1&liveness=6")
    _reading(viewer, 1, 6)
    viewer.page.focus("#live-heat")
    viewer.page.keyboard.press("w")
    viewer.page.keyboard.press("Shift+W")
    viewer.page.locator("#live-heat[data-drawn*='tiles=1-3']").wait_for()
    expect(viewer.page).to_have_url(re.compile("live_tiles=1-3"))
    expect(viewer.page).to_have_url(re.compile("live_view=3-8"))
    viewer.page.keyboard.press("0")
    viewer.page.locator("#live-heat[data-drawn*='indices=0-11']").wait_for()


def test_what_cannot_be_answered_is_said(viewer: Opened) -> None:
    for query, words in (
        ("tiles=0-99&indices=0-3&rows=2&columns=2", "tiles 0 to 99 do not exist"),
        ("tiles=0-5&indices=3&rows=2&columns=2", "indices='3' is not a range of whole numbers"),
        ("tiles=0-5&indices=0-3&rows=0&columns=2", "rows='0' is not a whole number from 1 to"),
        ("tiles=0-5&indices=0-3&rows=9999&columns=9999", "ask for fewer columns"),
    ):
        answer = viewer.page.request.get(f"{viewer.base}/data/{viewer.key}/liveness/heat?{query}")
        assert answer.status == 400
        assert words in answer.text()
