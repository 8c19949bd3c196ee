"""What if in a browser: found from the first page, the menu of a report and the palette; axes, pictures, table, reports
opened and compared; a folder without a sweep; both themes, axe."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from popvision.package_data import package_folder
from tests.browser.axe_pages import violations
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer
from tests.catalogue.planted_sweep import plant_sweep

pytestmark = pytest.mark.browser

MEMORY = "axis.constants.memoryBytesPerTile"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant_sweep(tmp_path_factory.mktemp("sweep"))


@pytest.fixture
def page(shared: SharedViewer, folder: Path) -> Iterator[Page]:
    shared.show(folder)
    page = shared.visit(motion="reduce")
    open_page(page, shared.base, "/")
    page.get_by_role("link", name="What if").click()
    expect(page.locator("#catalogue-state")).to_have_text("5 points")
    yield page
    assert shared.problems == []


def cells(page: Page) -> list[list[str]]:
    rows = page.locator("#what-if-table tbody tr").all()
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in rows]


def test_time_and_memory_side_by_side_and_where_it_stops(page: Page) -> None:
    sentences = page.locator("#what-if-sentences li")
    expect(sentences.nth(0)).to_contain_text("Mk1: it stops fitting below 256 KiB per tile; with 128 KiB per tile")
    expect(sentences.nth(1)).to_contain_text("Mk2: it stops fitting below 624 KiB per tile;")
    expect(page.locator("#what-if-table tbody tr")).to_have_count(3)
    table = cells(page)
    assert [row[0] for row in table] == ["128 KiB", "256 KiB", "624 KiB"]
    assert (table[0][1], table[0][3]) == ("does not fit", "does not fit")
    assert table[1][3] == "no report"
    plots = page.locator(".what-if-plot svg")
    expect(plots).to_have_count(2)
    speed, memory = plots.all()
    expect(speed).to_have_attribute("aria-label", "Device time over Memory per tile, 5 points")
    expect(memory).to_have_attribute("aria-label", "Fullest tile, including gaps over Memory per tile, 5 points")
    expect(speed.locator(".what-if-mark")).to_have_count(3)
    expect(speed.locator(".catalogue-unfit")).to_have_count(2)


def test_axes_and_figures_are_in_the_address(page: Page) -> None:
    page.get_by_label("X", exact=True).select_option("axis.target")
    expect(page).to_have_url(re.compile("wi_across=axis.target"))
    expect(page.locator("#what-if-table tbody tr")).to_have_count(2)
    page.get_by_label("Lines", exact=True).select_option("none")
    expect(page.locator("#what-if-held select")).to_have_count(1)
    expect(page.locator("#catalogue-state")).to_have_text("2 points")
    page.get_by_label("Memory per tile", exact=True).select_option("131072")
    expect(page).to_have_url(re.compile(r"hold\.axis\.constants\.memoryBytesPerTile=131072"))
    expect(page.locator("#what-if-sentences")).to_contain_text("It fits nowhere, with Mk1 and Mk2;")
    page.get_by_label("Time", exact=True).select_option("cycles")
    expect(page.locator(".what-if-title").first).to_have_text("Total device cycles")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#what-if-sentences")).to_contain_text("It fits nowhere, with Mk1 and Mk2;")
    expect(page.locator("#what-if-speed")).to_have_value("cycles")
    with page.expect_download() as download:
        page.locator('[data-what-if-export="csv"]').click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith(f"axis.target,{MEMORY},report,")
    assert len(lines) == 3


def test_points_and_figures_open_and_compare_reports(page: Page) -> None:
    marks = page.locator(".what-if-plot").first.locator(".what-if-mark")
    marks.nth(0).click(modifiers=["Shift"])
    expect(page.locator("#notice")).to_contain_text("Source: points/ipu1-262144.")
    page.locator("#what-if-table tbody tr").nth(2).locator("a").first.click(modifiers=["Shift"])
    page.wait_for_url("**/summary?vs=ipu1-638976-*")
    expect(page.locator("#view-summary")).to_be_visible()
    page.go_back()
    expect(page.locator("#catalogue-state")).to_have_text("5 points")
    page.locator("#what-if-table tbody tr").nth(0).locator("a").first.press("Enter")
    page.wait_for_url("**/ipu1-131072-*/overview*")


def test_a_report_of_a_sweep_leads_to_its_place(page: Page) -> None:
    page.locator("#what-if-table tbody tr").nth(1).locator("a").first.click()
    page.get_by_role("link", name="What if").click()
    expect(page).to_have_url(re.compile("wi_folder=0&wi_report=ipu1-262144-"))
    own = page.locator(".what-if-own")
    expect(own).to_have_count(1)
    expect(own).to_contain_text("this report")
    expect(page.locator(".what-if-ring")).to_have_count(2)
    page.keyboard.press("Control+k")
    page.keyboard.type("catalogue of")
    page.keyboard.press("Enter")
    page.wait_for_url("**/catalogue")


def test_a_folder_without_a_sweep_says_how_to_make_one(shared: SharedViewer, tmp_path: Path) -> None:
    shutil.copytree(package_folder("sample_reports") / "out_of_memory", tmp_path / "one")
    shared.show(tmp_path)
    page = shared.visit()
    open_page(page, shared.base, "/what-if")
    expect(page.locator("#what-if-how")).to_contain_text("popvision sweep what_if.toml -d what_if")
    expect(page.locator("#what-if-problem")).to_contain_text("No report here is a point of a sweep")
    expect(page.locator("[data-what-if-export]").first).to_be_hidden()
    expect(page.locator("#catalogue-state")).to_be_empty()
    page.get_by_role("link", name="PopVision").first.click()
    page.get_by_role("link", name="one", exact=True).first.click()
    expect(page.locator(".nav-views")).to_contain_text("Overview")
    expect(page.locator(".nav-views")).not_to_contain_text("What if")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_violation_of_axe(theme: str, page: Page) -> None:
    page.evaluate("(theme) => popvision.setTheme(theme)", theme)
    expect(page.locator("#what-if-table tbody tr")).to_have_count(3)
    assert violations(page) == []
