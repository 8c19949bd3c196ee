"""Comparisons in small windows: drawings keep a height that can be read, the page scrolls, nothing lies beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: Window sizes: a small screen, and a common one at 200 %.
SIZES = [(1000, 700), (700, 450)]

#: What draws: the height in pixels of its plane.
PLANES = {
    "memory": "() => document.querySelector('#mem-plot .plotly .xy .bg, #mem-plot .bglayer .bg')"
    "?.getBoundingClientRect().height",
    "liveness": "() => document.querySelector('#live-plot .plotly .xy .bg, #live-plot .bglayer .bg')"
    "?.getBoundingClientRect().height",
    "exchange": "() => popvision.exchange.current?.layer?.picture && popvision.exchange.current.area.height",
}

VIEWS = ("overview", "summary", "memory", "liveness", "program_tree", "source", "operations", "execution", "exchange")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("layout")
    for name in ("matmul_chain", "matmul_chain_hardware"):
        shutil.copytree(SAMPLES / name, made / name)
    return made


@pytest.fixture(params=SIZES, ids=["small screen", "at 200 %"])
def sized(request: pytest.FixtureRequest, viewer: Viewer) -> Viewer:
    viewer.page.set_viewport_size({"width": request.param[0], "height": request.param[1]})
    return viewer


def _versus(viewer: Viewer) -> str:
    return f"vs={viewer.keys['matmul_chain_hardware']}"


@pytest.mark.parametrize("view", PLANES)
def test_a_drawing_keeps_its_height(sized: Viewer, view: str) -> None:
    page = sized.open("matmul_chain", view, _versus(sized))
    page.wait_for_function(PLANES[view])
    page.wait_for_function(f"() => ({PLANES[view]})() >= 60")
    width = page.viewport_size["width"] if page.viewport_size else 0
    below = page.locator(".split-second").first.bounding_box()
    assert below is not None
    assert below["height"] >= 100, "the tables keep room too"
    assert below["x"] + below["width"] <= width


def test_both_traces_show_tile_rows(sized: Viewer) -> None:
    page = sized.open("matmul_chain", "execution", _versus(sized))
    halves = page.locator(".trace-half")
    expect(halves).to_have_count(2)
    for at in range(2):
        box = halves.nth(at).bounding_box()
        assert box is not None
        assert box["height"] >= 180, "overview, axis, four levels of steps, and tile rows"


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_lies_beside_the_page(sized: Viewer, view: str) -> None:
    page = sized.open("matmul_chain", view, _versus(sized))
    expect(page.locator("#masthead .versus")).to_be_visible()
    page.wait_for_function(
        "() => { const page = document.querySelector('#page'); return page.scrollWidth <= page.clientWidth + 1; }"
    )
