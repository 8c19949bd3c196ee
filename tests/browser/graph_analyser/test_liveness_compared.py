"""Liveness of two reports in a browser: the heat map's differences and both curves over device time."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.analysis.memory.memory_case import Case, make_case, write_case
from tests.browser.memory_pages import Opened, opened
from tests.browser.shared_viewer import SharedViewer
from webapp.base.library import Library

pytestmark = pytest.mark.browser

INDICES, TILES = 12, 6
OURS: Case = make_case(12, ipus=4, tiles_per_ipu=3, replicas=2, indices=INDICES)  # the report that `opened` serves
THEIRS: Case = make_case(31, ipus=4, tiles_per_ipu=3, replicas=2, indices=INDICES - 2)


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("pair")
    write_case(folder / "other", THEIRS)
    return opened(shared, folder)


def _bytes(case: Case, tile: int, index: int) -> int:
    one = range(tile, tile + 1)
    return case.bytes_live(index, one) + case.bytes_always(one)


def _change(tile: int, index: int) -> int | None:
    return _bytes(THEIRS, tile, index) - _bytes(OURS, tile, index) if index < INDICES - 2 else None


def _other(viewer: Opened) -> str:
    return next(each.key for each in Library([viewer.path.parent]).scan() if each.path.name == "other")


def test_levels_are_signed_and_what_has_no_partner_is_marked(viewer: Opened) -> None:
    query = f"tiles=0-5&indices=0-11&rows=6&columns=12&always=1&vs={_other(viewer)}"
    body = viewer.page.request.get(f"{viewer.base}/data/{viewer.key}/liveness/heat?{query}").body()
    length = int.from_bytes(body[:4], "little")
    header = json.loads(body[4 : 4 + length])
    _, _, offset, count = header["arrays"][0]
    levels = np.frombuffer(body, np.uint8, count, offset).reshape(TILES, INDICES).tolist()
    changes = [[_change(tile, index) for index in range(INDICES)] for tile in range(TILES)]
    top = max(abs(each) for row in changes for each in row if each is not None)
    assert header["top"] == top

    def level(change: int | None) -> int:
        if change is None:
            return 255
        away = (127 * abs(change) + top - 1) // top
        return 127 + away if change > 0 else 127 - away

    assert levels == [[level(each) for each in row] for row in changes]
    assert {True, False} <= {each > 127 for row in levels for each in row if each < 255}


def test_a_cell_says_both_values_and_the_difference(viewer: Opened) -> None:
    viewer.problems.clear()
    page = viewer.page
    viewer.go("liveness", f"live_graph=heat&tiles=2&liveness=4&vs={_other(viewer)}")
    page.locator("#live-heat[data-drawn*='vs=other']").wait_for()
    viewer.wait_for_text("#live-reading .reading-name", "Tile 2, index 4:")
    part = page.locator("#live-reading .reading-part", has_text="Difference")
    change = _change(2, 4)
    assert change is not None
    assert part.get_attribute("title") in (f"{change:+,} B", f"{change:,} B")
    x, y = _point(viewer, 3, 5)
    page.mouse.move(x, y)
    change = _change(3, 5)
    assert change is not None
    sign = "+" if change > 0 else "−" if change < 0 else ""
    viewer.wait_for_text(".heat-tip", f"({abs(change):,} B)")
    assert page.locator(".heat-tip-value").inner_text().startswith(sign)
    viewer.wait_for_text(".heat-tip", f"source {_text(viewer, _bytes(OURS, 3, 5))}")
    page.mouse.move(*_point(viewer, 3, INDICES - 1))
    viewer.wait_for_text(".heat-tip-value", "No partner in the target")
    assert viewer.problems == []


def _text(viewer: Opened, value: int) -> str:
    text: str = viewer.page.evaluate("value => popvision.bytesText(value)", value)
    return text


def _point(viewer: Opened, tile: int, index: int) -> tuple[float, float]:
    box: Any = viewer.page.evaluate(
        "() => { const host = document.querySelector('#live-heat'), b = host.getBoundingClientRect();"
        "const a = host.heatMap.area; return [b.x + a.x, b.y + a.y, a.width, a.height]; }"
    )
    return box[0] + (index + 0.5) * box[2] / INDICES, box[1] + (tile + 0.5) * box[3] / TILES
