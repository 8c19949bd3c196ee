"""The catalogue in a browser: filter, sort, scatter, a report opened, two compared; both themes, axe."""

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

pytestmark = pytest.mark.browser

NAMES = ("matmul_chain", "matmul_chain_hardware", "train_mlp")


@pytest.fixture(scope="module")
def many(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> SharedViewer:
    root = tmp_path_factory.mktemp("many")
    for name in NAMES:
        shutil.copytree(package_folder("sample_reports") / name, root / name)
    shared.show(root)
    return shared


@pytest.fixture
def page(many: SharedViewer) -> Iterator[Page]:
    page = many.visit(motion="reduce")
    open_page(page, many.base, "/")
    page.get_by_role("link", name="Catalogue").click()
    expect(page.locator("#catalogue-state")).to_have_text("3 reports")
    yield page
    assert many.problems == []


def test_filter_and_sort_are_in_the_address(page: Page) -> None:
    expect(page.locator(".catalogue-name")).to_have_text(NAMES)
    page.get_by_role("button", name="Total device cycles").click()
    expect(page).to_have_url(re.compile("cat_sort=cycles"))
    expect(page.locator("th", has_text="Total device cycles")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="Total device cycles").click()
    expect(page.locator("th", has_text="Total device cycles")).to_have_attribute("aria-sort", "descending")
    expect(page.locator(".catalogue-name").first).to_have_text("train_mlp")
    page.keyboard.press("/")
    page.keyboard.type("report like 'matmul%'")
    page.keyboard.press("Enter")
    expect(page.locator("#catalogue-state")).to_have_text("2 reports")
    expect(page).to_have_url(re.compile("cat_where=report"))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#catalogue-state")).to_have_text("2 reports")
    expect(page.locator("#catalogue-where")).to_have_value("report like 'matmul%'")
    expect(page.locator(".catalogue-name")).to_have_count(2)
    assert sorted(page.locator(".catalogue-name").all_text_contents()) == list(NAMES[:2])


def test_a_wrong_condition_is_a_sentence(many: SharedViewer) -> None:
    page = many.visit()
    open_page(page, many.base, "/catalogue?cat_where=cycles%20%3E")
    expect(page.locator("#catalogue-problem")).to_contain_text("the condition 'cycles >' cannot be used")
    page.locator("#catalogue-where").fill("cycles > 0")
    page.keyboard.press("Enter")
    expect(page.locator("#catalogue-problem")).to_be_hidden()
    expect(page.locator(".catalogue-name")).to_have_count(3)


def test_points_open_reports_and_comparisons(page: Page) -> None:
    points = page.locator(".catalogue-point")
    expect(points).to_have_count(3)
    expect(page.locator("#catalogue-note")).to_contain_text("3 reports in 3 points")
    page.locator("#catalogue-y").select_option("vertices")
    expect(page).to_have_url(re.compile("cat_y=vertices"))
    expect(page.locator(".catalogue-scatter svg")).to_have_attribute("aria-label", re.compile("^Vertices over Total"))
    hardware = points.filter(has=page.locator("title", has_text="matmul_chain_hardware"))
    plain = points.filter(has=page.locator("title", has_text=re.compile("^matmul_chain\\n")))
    plain.click(modifiers=["Shift"])
    expect(page.locator("#notice")).to_contain_text("Source: matmul_chain.")
    hardware.click(modifiers=["Shift"])
    page.wait_for_url("**/summary?vs=matmul-chain-hardware-*")
    expect(page.locator("#view-summary")).to_be_visible()
    page.go_back()
    expect(points).to_have_count(3)
    hardware.click()
    page.wait_for_url("**/matmul-chain-hardware-*/overview*")


def test_ticks_compare_and_links_open(page: Page) -> None:
    for name in NAMES[:2]:
        page.get_by_role("checkbox", name=f"Choose {name} to compare", exact=True).click()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url("**/summary?vs=*")
    expect(page.locator("#view-summary")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="train_mlp", exact=True).press("Enter")
    page.wait_for_url("**/train-mlp-*/overview*")


def test_all_rows_download(page: Page) -> None:
    with page.expect_download() as download:
        page.locator('[data-catalogue-export="csv"]').click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert [line.partition(",")[0] for line in lines[1:]] == list(NAMES)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_violation_of_axe(theme: str, page: Page) -> None:
    page.evaluate("(theme) => popvision.setTheme(theme)", theme)
    expect(page.locator(".catalogue-point")).to_have_count(3)
    assert violations(page) == []
