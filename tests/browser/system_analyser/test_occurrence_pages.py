"""Occurrences of a label in a browser: the outlier is listed and drawn, leads to its event, and the picture stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.trace.trace_case import make_trace
from tests.browser.axe_pages import violations
from tests.browser.frame import open_page, until_quiet
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

US = 1_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred reads of 20 µs, of which the one at 12 ms takes 60; beside each other reads of 5 µs on a channel of
    another name."""
    folder = tmp_path_factory.mktemp("occurrences")
    spans = [(0, 100 * US * at, 100 * US * at + (60 if at == 120 else 20) * US, "io/read") for at in range(200)]
    spans += [(1, 100 * US * at, 100 * US * at + 5 * US, "net/read") for at in range(200)]
    make_trace(folder / "reads.pvti", spans)
    return folder


@pytest.fixture
def site(shared: SharedViewer, folder: Path) -> tuple[str, str]:
    return shared.base, shared.show(folder)["reads.pvti"]


@pytest.fixture
def page(shared: SharedViewer) -> Iterator[Page]:
    yield shared.visit(1300, 950, motion="reduce")
    assert shared.problems == []


def show(page: Page, site: tuple[str, str], query: str) -> None:
    open_page(page, site[0], f"/t/{site[1]}/timeline?tl_tab=occurrences{query}")
    page.wait_for_selector('[data-timeline][data-state="complete"]')


def test_without_a_label_it_says_what_to_do(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "")
    expect(page.locator("#tl-tab-occurrences")).to_contain_text("Select an event, or type into the search box")


def test_the_outlier_comes_first_and_leads_to_its_event(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "&tl_event=0.0.3")
    tab = page.locator("#tl-tab-occurrences")
    expect(tab.locator(".tl-scope")).to_contain_text("200 events of read begin in the entire trace")
    expect(tab.locator(".point")).not_to_have_count(0)
    first = tab.locator('.ag-row[row-index="0"]')
    expect(first.locator('[col-id="duration_us"]')).to_have_text("60.00")
    expect(first.locator('[col-id="of_median"]')).to_have_text("3.00")
    first.click()
    expect(page).to_have_url(re.compile(r"tl_event=0\.0\.120"))
    expect(tab.locator(".tl-scope")).to_contain_text("200 events of read begin in the entire trace")
    expect(page.locator(".tl-corner")).not_to_contain_text("Events 400")


def test_a_point_leads_to_its_event(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "&tl_event=0.0.3")
    points = page.locator("#tl-tab-occurrences .point")
    expect(points).not_to_have_count(0)
    until_quiet(page)
    boxes = [points.nth(at).bounding_box() for at in range(points.count())]
    top = min((box for box in boxes if box is not None), key=lambda box: box["y"])
    page.mouse.click(top["x"] + top["width"] / 2, top["y"] + top["height"] / 2)
    expect(page).to_have_url(re.compile(r"tl_event=0\.0\.120"))


def test_a_search_draws_all_that_it_finds(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "&tl_find=read&tl_sel=0-10000000")
    scope = page.locator("#tl-tab-occurrences .tl-scope")
    expect(scope).to_contain_text("200 events of 'read' begin in the selected window")
    expect(page).to_have_url(re.compile(r"tl_event=0\.0\.0"))  # the search has selected its first match
    show(page, site, "&tl_find=channel:net&tl_event=0.0.3")
    expect(scope).to_contain_text("200 events of read begin in the entire trace")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tab_breaks_no_rule(page: Page, site: tuple[str, str], theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    show(page, site, "&tl_event=0.0.3")
    expect(page.locator("#tl-tab-occurrences .point")).not_to_have_count(0)
    assert violations(page, within="#tl-tab-occurrences") == []


def test_the_list_is_saved(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "&tl_event=0.0.3")
    expect(page.locator('#tl-tab-occurrences .ag-row[row-index="0"]')).to_be_visible()
    with page.expect_download() as saved:
        page.locator("#tl-tab-occurrences").get_by_role("button", name="CSV").click()
    assert len(Path(saved.value.path()).read_text().splitlines()) == 51


#: Durations of a hundred events in ns, whose percentiles are close together, partly equal, all equal, and far apart.
CLOSE: dict[str, list[int]] = {
    "close": [20_000 + 30 * at for at in range(100)],
    "partly": [20_000] * 60 + [21_000] * 40,
    "equal": [20_000] * 100,
    "apart": [1_000] * 60 + [20_000] * 36 + [90_000] * 4,
}


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (700, 450)])
@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("close", ["50 %", "95 %", "99 %"]),
        ("partly", ["50 %", "95 and 99 %"]),
        ("equal", ["50, 95 and 99 %"]),
        ("apart", ["50 %", "95 %", "99 %"]),
    ],
)
def test_names_of_percentiles_do_not_overlap(
    shared: SharedViewer, tmp_path: Path, label: str, names: list[str], width: int, height: int
) -> None:
    make_trace(
        tmp_path / "t.pvti",
        [(0, 100 * US * at, 100 * US * at + length, f"io/{label}") for at, length in enumerate(CLOSE[label])],
    )
    keys = shared.show(tmp_path)
    page = shared.visit(width, height, motion="reduce")
    show(page, (shared.base, keys["t.pvti"]), "&tl_event=0.0.3")
    drawn = page.locator("#tl-tab-occurrences .annotation")
    expect(drawn).to_have_text(names)
    boxes = [each for each in (drawn.nth(at).locator(".bg").bounding_box() for at in range(len(names))) if each]
    assert len(boxes) == len(names)
    plot = page.locator("#tl-tab-occurrences .main-svg").first.bounding_box()
    assert plot is not None
    for at, box in enumerate(boxes):
        assert plot["x"] <= box["x"]
        assert box["x"] + box["width"] <= plot["x"] + plot["width"]
        assert plot["y"] <= box["y"]
        assert all(
            box["x"] + box["width"] <= other["x"] or other["x"] + other["width"] <= box["x"] for other in boxes[:at]
        )
