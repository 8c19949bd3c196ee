"""A report whose program does not fit: every page says what does not fit and by how much, and leads to it."""

from __future__ import annotations

import dataclasses
import re
import shutil

import numpy as np
import pytest
from playwright.sync_api import expect

from popvision.analysis.memory.capacity import DOES_NOT_FIT
from popvision.formats.profile.writer import ProfileWriter
from popvision.package_data import package_folder
from tests.browser.shared_viewer import SharedViewer
from tests.browser.shell_pages import Viewer
from tests.reports import tiny_compilation, tiny_run, write_tiny

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

PAGES = ("overview", "summary", "memory", "liveness", "program_tree", "source", "operations", "execution", "exchange")


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    """fits: the tiny report. over: the same program on tiles of 1,000 B, of which two need 1,001 B and 1,500 B.
    model: as over, and the model ran it. sample: the packaged one, whose operations and lines are known."""
    folder = tmp_path_factory.mktemp("reports")
    write_tiny(folder / "fits")
    compilation = tiny_compilation()
    assert compilation.tile_memory is not None
    full = dataclasses.replace(compilation.tile_memory, including_gaps=np.array([1000, 1001, 1500, 120], np.uint32))
    (folder / "over").mkdir()
    (folder / "model").mkdir()
    with ProfileWriter(folder / "over" / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(compilation, tile_memory=full))
    with ProfileWriter(folder / "model" / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(compilation, tile_memory=full))
        writer.append_run(tiny_run())
    shutil.copytree(package_folder("sample_reports") / "out_of_memory", folder / "sample")
    return Viewer(shared, folder)


@pytest.mark.parametrize("view", PAGES)
def test_every_page_says_what_does_not_fit_and_leads_to_it(viewer: Viewer, view: str) -> None:
    page = viewer.open("over", view)
    banner = page.locator(".unfit")
    expect(banner).to_contain_text(
        "This program does not fit: it cannot run. 2 of 4 tiles need more than their 1,000 B."
    )
    expect(banner).to_contain_text("Tile 2 needs most: 1.5 KiB, 500 B too much. Its largest category: ")
    banner.get_by_role("link", name="What is live at its peak").click()
    page.wait_for_url("**/memory?tiles=2&mem_tab=peak*")
    expect(page.get_by_role("tab", name="Peak")).to_have_attribute("aria-selected", "true")


def test_the_execution_page_advises_no_option(viewer: Viewer) -> None:
    page = viewer.open("over", "execution")
    expect(page.locator(".message-page")).to_contain_text("the program does not fit into the memory of the tiles")
    assert "autoReport" not in page.inner_text("#page")


def test_memory_shows_gaps_and_capacity_because_they_decide(viewer: Viewer) -> None:
    page = viewer.open("over", "memory")
    expect(page.get_by_role("switch", name="Gaps")).to_have_attribute("aria-checked", "true")
    for name in ("Including gaps", "Capacity of a tile"):
        expect(page.locator("#mem-plot .legendtext", has_text=name)).to_be_visible()
    expect(page.locator("#mem-headline")).to_contain_text("Fullest tile, with gaps1.5 KiB")


@pytest.mark.parametrize("view", PAGES)
def test_a_program_that_fits_has_no_such_banner(viewer: Viewer, view: str) -> None:
    assert viewer.open("fits", view).locator(".unfit").count() == 0


def test_a_comparison_names_the_report_that_does_not_fit(viewer: Viewer) -> None:
    page = viewer.open("fits", "summary", f"vs={viewer.keys['over']}")
    expect(page.locator(".unfit")).to_contain_text("The target over does not fit: it cannot run.")


def test_what_a_model_ran_is_not_said_to_be_impossible(viewer: Viewer) -> None:
    page = viewer.open("model", "execution")
    expect(page.locator(".unfit")).to_contain_text("This program does not fit: only a model can run it. 2 of 4 tiles")
    expect(page.locator(".trace canvas").first).to_be_visible()


@pytest.mark.parametrize("view", ["overview", "summary", "source", "operations", "execution"])
def test_every_page_gives_the_same_reason_for_no_run(viewer: Viewer, view: str) -> None:
    page = viewer.open("sample", view)
    expect(page.locator("#page")).to_contain_text(DOES_NOT_FIT)
    assert not re.search("(need|with) autoReport", page.inner_text("#page"))


def test_figures_with_gaps_and_with_overlapped_bytes_say_so(viewer: Viewer) -> None:
    page = viewer.open("sample", "overview")
    expect(page.locator(".unfit")).to_contain_text(
        re.compile(r"largest category: Variables, [\d.]+ MiB, overlapped bytes")
    )
    expect(page.locator("#page")).to_contain_text(re.compile(r"tile [\d,]+ by [\d.]+ MiB, gaps included\."))
    expect(page.get_by_role("heading", name="Fullest tiles, furthest over their memory first")).to_be_visible()
    expect(page.locator("#overview-findings")).not_to_contain_text("Loading")
    assert "Interleaved memory is full" not in page.inner_text("#overview-findings")


def test_lines_and_files_are_ranked_by_live_bytes_before_any_run(viewer: Viewer) -> None:
    page = viewer.open("sample", "source")
    expect(page.locator(".source-files h2")).to_have_text("Files, by bytes live at the peak")
    expect(page.locator(".source-files .share").first).to_contain_text("%")
    marked = page.locator(".code-row.hottest")
    expect(marked).to_have_attribute("title", "The line of this file with most bytes live at the peak")
    number = marked.get_attribute("id")
    page.locator(".code-head").get_by_role("button", name="Live at peak").click()
    expect(page.locator(".code-row").first).to_have_id(str(number))
    expect(page.locator("#source-details")).to_contain_text(
        "The marked line is the one of this file with most bytes live at the peak: no run was recorded."
    )


def test_exchanges_are_ranked_by_received_bytes_before_any_run(viewer: Viewer) -> None:
    page = viewer.open("sample", "exchange")
    expect(page.locator(".ag-header-cell[aria-sort=descending]")).to_have_attribute("col-id", "received")
    first = page.locator(".ag-center-cols-container .ag-row[row-index='0']")
    expect(first.locator("[col-id=program]")).to_have_text(re.compile(r"^[\d,]+$"))
    id_ = first.locator("[col-id=program]").inner_text()
    expect(page.locator("#xch-headline")).to_contain_text(f"Id {id_}")


@pytest.mark.parametrize("width", [1440, 1000])
def test_an_estimate_is_called_one_at_every_width(viewer: Viewer, width: int) -> None:
    page = viewer.open("sample", "exchange")
    page.set_viewport_size({"width": width, "height": 700})
    expect(page.locator("#xch-headline").get_by_text("estimate: no run recorded")).to_be_visible()
    page = viewer.open("sample", "memory")
    expect(page.locator("#mem-headline").get_by_text(re.compile("[0-9]+ % of")).first).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": 900})


def test_the_choice_of_a_figure_says_which_is_not_recorded(viewer: Viewer) -> None:
    page = viewer.open("sample", "operations")
    expect(page.get_by_label("Figure").locator("option:checked")).to_have_text("Cycles (not recorded)")
