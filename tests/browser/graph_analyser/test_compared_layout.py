"""Comparisons in small windows: tables keep room below the drawing, the page scrolls, nothing lies beside it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: Window sizes: a small screen, and a common one at 200 %.
SIZES = [(1000, 700), (700, 450)]

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


@pytest.mark.parametrize("view", ["memory", "liveness", "exchange"])
def test_tables_below_a_drawing_keep_room(sized: Viewer, view: str) -> None:
    page = sized.open("matmul_chain", view, _versus(sized))
    width = page.viewport_size["width"] if page.viewport_size else 0
    below = page.locator(".split-second").first.bounding_box()
    assert below is not None
    assert below["height"] >= 100
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


@pytest.mark.parametrize("view", ["memory", "liveness", "exchange"])
def test_small_print_of_paired_figures_is_whole(sized: Viewer, view: str) -> None:
    page = sized.open("matmul_chain", view, _versus(sized))
    folded = page.locator("details[data-low-fold]:not([open]) > summary")
    if folded.count():
        folded.click()
    details = page.locator(".headline.paired .headline-detail").filter(has_text=re.compile(r"\w"))
    expect(details.first).to_be_visible()
    for each in details.all():
        expect(each).to_be_visible()
        assert each.evaluate("(box) => box.scrollWidth <= box.clientWidth + 1"), each.inner_text()


def test_names_on_the_cards_and_hints_of_sections_wrap(sized: Viewer) -> None:
    page = sized.open("matmul_chain", "summary", _versus(sized))
    for each in page.locator(".figure-card .cut").all():
        assert each.evaluate("(box) => box.scrollWidth <= box.clientWidth"), each.inner_text()
    page = sized.open("matmul_chain", "overview", _versus(sized))
    hints = page.locator(".section-hint")
    expect(hints.filter(has_text="source: ")).to_have_count(3)
    if page.evaluate("() => window.innerWidth <= 900"):
        for each in hints.all():
            assert each.evaluate("(box) => box.scrollWidth <= box.clientWidth"), each.inner_text()


def test_a_row_that_is_still_read_shows_no_dash(viewer: Viewer) -> None:
    viewer.page.set_viewport_size({"width": 1400, "height": 900})
    page = viewer.open("matmul_chain", "execution")
    page.get_by_role("tab", name="Steps").click()
    cell = page.locator(".ag-center-cols-container .ag-row[row-index='0'] [col-id=cycles]")
    expect(cell).to_have_text(re.compile(r"^[\d,]+$"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route) if "getRowsRequest" in (route.request.post_data or "") else route.continue_()

    page.route("**/_dash-update-component*", hold)
    page.locator(".ag-floating-filter input").first.fill("19")
    expect(cell).to_have_text("\u2026")
    for route in held:
        route.continue_()
    page.unroute("**/_dash-update-component*", hold)
    expect(cell).to_have_text(re.compile(r"^[\d,]+$"))


def test_facts_of_a_step_are_whole(viewer: Viewer) -> None:
    viewer.page.set_viewport_size({"width": 1400, "height": 900})
    page = viewer.open("matmul_chain", "execution", "step=19")
    page.get_by_role("tab", name="Details").click()
    facts = page.locator(".trace-details .trace-facts")
    expect(facts.locator("dt", has_text="Mean of active tiles")).to_be_visible()
    assert facts.evaluate("(box) => box.scrollWidth <= box.clientWidth + 1")


def test_names_of_compared_files_are_whole(viewer: Viewer) -> None:
    viewer.page.set_viewport_size({"width": 1400, "height": 900})
    page = viewer.open("matmul_chain", "source", _versus(viewer))
    expect(page.locator("#source-details")).to_contain_text("with most cycles in the source report. Select a line")
    name = page.locator(".source-files .cut").first
    expect(name).to_have_text("matmul_chain.py")
    assert name.evaluate("(box) => box.scrollWidth <= box.clientWidth")
