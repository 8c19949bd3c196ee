"""What is drawn has at least 40 % of the height of the window, whole and in sight, at three sizes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: A common window, a small screen, and the common window at 200 %.
SIZES = {"common": (1440, 900), "small": (1000, 700), "twice": (720, 450)}

PLANE = ".plot-box .nsewdrag"

#: Page -> the element that holds what is drawn: of a Plotly figure the plane between its axes.
DRAWINGS = {
    "memory": PLANE,
    "memory?mem_by=category": PLANE,
    "memory?mem_graph=map": PLANE,
    "liveness": PLANE,
    "liveness?live_graph=time": PLANE,
    "liveness?live_graph=heat": ".live-heat canvas",
    "execution": ".trace > canvas",
    "exchange": ".exchange-board canvas",
    "exchange?xch_view=plan": ".exchange-board canvas",
    "exchange?xch_view=tiles": ".exchange-board canvas",
    "operations?ops_view=graph": ".ops-graph",
    "operations?ops_view=roofline": "#ops-roofline .nsewdrag",
}

#: The height of all elements that hold what is drawn, where they are in sight, as a share of the height of the window.
_SHARE = """(css) => [...document.querySelectorAll(css)].reduce((sum, drawn) => {
  const box = drawn.getBoundingClientRect();
  return sum + Math.max(0, Math.min(box.bottom, innerHeight) - Math.max(box.top, 0));
}, 0) / innerHeight"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("heights")
    for name in ("matmul_chain", "matmul_chain_hardware", "host_trace"):
        shutil.copytree(SAMPLES / name, made / name)
    return made


@pytest.fixture(params=SIZES.values(), ids=list(SIZES))
def sized(request: pytest.FixtureRequest, viewer: Viewer) -> Viewer:
    width, height = request.param
    viewer.page.set_viewport_size({"width": width, "height": height})
    return viewer


def _has_its_share(viewer: Viewer, css: str) -> None:
    viewer.page.locator(css).first.wait_for(state="attached")
    viewer.page.wait_for_function(f"(css) => ({_SHARE})(css) >= 0.4", arg=css)


@pytest.mark.parametrize("address", DRAWINGS)
def test_a_drawing_has_its_share(sized: Viewer, address: str) -> None:
    view, _, query = address.partition("?")
    sized.open("matmul_chain", view, query)
    _has_its_share(sized, DRAWINGS[address])


@pytest.mark.parametrize("address", ["memory", "liveness", "execution", "exchange", "operations?ops_view=roofline"])
def test_drawings_of_a_comparison_have_their_share(sized: Viewer, address: str) -> None:
    view, _, query = address.partition("?")
    other = f"vs={sized.keys['matmul_chain_hardware']}"
    sized.open("matmul_chain", view, f"{query}&{other}" if query else other)
    _has_its_share(sized, DRAWINGS[address])


def test_the_rows_of_a_trace_have_their_share(sized: Viewer) -> None:
    sized.go(f"/t/{sized.keys['host_trace.pvti']}/timeline")
    _has_its_share(sized, ".timeline .split-first canvas")


@pytest.mark.parametrize("view", ["memory", "exchange"])
def test_a_low_window_folds_figures_and_navigation(viewer: Viewer, view: str) -> None:
    page = viewer.page
    page.set_viewport_size({"width": 720, "height": 450})
    viewer.open("matmul_chain", view)
    figures = page.locator(".headline")
    expect(figures).to_be_hidden()
    page.get_by_text("Figures", exact=True).click()
    expect(figures).to_be_visible()
    if view == "memory":
        expect(page.locator(".plot-nav-percent")).to_be_hidden()
        page.get_by_role("button", name="Show the navigation").click()
        expect(page.locator(".plot-nav-percent")).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(figures).to_be_visible()
    expect(page.get_by_text("Figures", exact=True)).to_be_hidden()


def test_the_handle_takes_a_plot_below_its_share(viewer: Viewer) -> None:
    page = viewer.page
    page.set_viewport_size({"width": 1440, "height": 900})
    viewer.open("matmul_chain", "memory")
    _has_its_share(viewer, PLANE)
    page.locator(".split-handle").first.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    page.wait_for_function(f"(css) => ({_SHARE})(css) < 0.3", arg=PLANE)
