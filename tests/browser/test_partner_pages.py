"""From the list to a report, to the host trace of its execution, to the device trace of a run, and back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from popvision.analysis.execution.timeline import timeline
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.device_strip import device_strip, host_waits
from popvision.analysis.summary.engine_runs import match_engine_runs
from popvision.analysis.trace.source import TraceSource
from popvision.package_data import package_folder
from tests.browser.axe_pages import violations
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = shutil.copytree(package_folder("sample_reports") / "train_mlp", tmp_path_factory.mktemp("partners") / "mlp")
    shared.show(made.parent)
    return made


@pytest.fixture
def page(shared: SharedViewer, folder: Path) -> Iterator[Page]:
    page = shared.visit()
    open_page(page, shared.base, "/")
    yield page
    assert shared.problems == []


def window_around(folder: Path, step: int) -> tuple[str, int]:
    """A window of the timeline in which one step of the device takes the middle half, and the step's first cycle."""
    trace, report = TraceSource(folder / "train_mlp.pvti"), ReportSource(folder)
    level = device_strip(trace, report, 0).level
    begin, end = int(level.begin[step]), int(level.end[step])
    half = (end - begin) // 2
    return f"tl_from={begin - half}&tl_to={end + half}", int(timeline(report, 0).begin[step])


def open_timeline(page: Page, folder: Path, query: str) -> None:
    page.locator("tr", has_text=str(folder)).get_by_role("link", name="Host trace train_mlp.pvti").click()
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    page.goto(f"{page.url.partition('?')[0]}?{query}")
    page.wait_for_selector('[data-timeline][data-state="complete"]')


def in_the_middle(page: Page, row: str, y: int) -> tuple[float, float]:
    """The place in the middle of the drawing, `y` pixels below the top of a row."""
    names, drawing = page.locator(f'[data-row="{row}"]').bounding_box(), page.locator(".tl canvas").bounding_box()
    assert names
    assert drawing
    return (names["x"] + 250 + drawing["x"] + drawing["width"]) / 2, names["y"] + y


def test_a_wait_of_the_device_leads_to_the_transfer_of_the_host(page: Page, folder: Path) -> None:
    waits = host_waits(TraceSource(folder / "train_mlp.pvti"), ReportSource(folder), 0)
    query, cycle = window_around(folder, int(waits.step[1]))
    open_timeline(page, folder, query)
    x, y = in_the_middle(page, "d0i0", 30)
    page.mouse.move(x, y)
    tip = page.locator(".tl-tip")
    expect(tip).to_contain_text("not added to host time")
    expect(tip).to_contain_text(f"StreamCopy {waits.stream[1]} of the host")
    expect(tip).to_contain_text(f"{int(waits.cycles[1]):,}")
    page.mouse.click(x, y)
    page.wait_for_url(f"**tl_event={waits.thread[1]}.{waits.depth[1]}.{waits.position[1]}*")
    expect(page.locator("#tl-tab-summary")).to_contain_text(f"StreamCopy {waits.stream[1]}")
    page.mouse.move(x, y)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/execution?step={int(waits.step[1])}&from={cycle}&*")


def test_the_bar_of_the_bytes_leads_to_the_same_transfer(page: Page, folder: Path) -> None:
    waits = host_waits(TraceSource(folder / "train_mlp.pvti"), ReportSource(folder), 0)
    middle = int(waits.part_step[np.flatnonzero(waits.part_row == 1)[1]])
    open_timeline(page, folder, window_around(folder, middle)[0])
    x, y = in_the_middle(page, "d0i0", 30)
    page.mouse.move(x, y)
    expect(page.locator(".tl-tip")).to_contain_text("moves the bytes of")
    expect(page.locator(".tl-tip")).to_contain_text(f"StreamCopy {waits.stream[1]} of the host")
    page.mouse.click(x, y)
    page.wait_for_url(f"**tl_event={waits.thread[1]}.{waits.depth[1]}.{waits.position[1]}*")


def test_a_run_bar_states_both_clocks_and_selects_the_engine_run(page: Page, folder: Path) -> None:
    trace, report = TraceSource(folder / "train_mlp.pvti"), ReportSource(folder)
    runs = match_engine_runs(trace, report)
    open_timeline(page, folder, window_around(folder, 0)[0])
    x, y = in_the_middle(page, "d0i0", 10)
    page.mouse.move(x, y)
    expect(page.locator(".tl-tip")).to_contain_text(f"{int(report.reader.runs().cycles[0]):,}, drawn evenly over")
    page.mouse.click(x, y)
    page.wait_for_url(f"**tl_event={runs.thread[0]}.{runs.depth[0]}.{runs.position[0]}*")


def test_the_rows_of_the_device_can_be_left_out(page: Page, folder: Path) -> None:
    open_timeline(page, folder, "tl_device=0")
    expect(page.locator('[data-row="p4198"], [data-row^="p"]').first).to_be_visible()
    expect(page.locator('[data-row="d0i0"]')).to_have_count(0)
    page.get_by_role("button", name="Options").or_(page.locator("summary", has_text="Options")).first.click()
    page.get_by_role("switch", name="Rows of the IPUs").or_(page.get_by_text("Device under the host")).first.click()
    expect(page.locator('[data-row="d0i0"]')).to_have_count(1)


def test_the_device_tab_lists_what_runs_waited_for(page: Page, folder: Path) -> None:
    waits = host_waits(TraceSource(folder / "train_mlp.pvti"), ReportSource(folder), 0)
    open_timeline(page, folder, "tl_tab=device")
    images = [row for row, stream in enumerate(waits.stream) if stream == "images"]
    row = page.locator(".ag-row", has_text="images")
    parts = {
        "cycles": waits.copy_cycles,
        "begin_cycles": waits.cycles,
        "mid_cycles": waits.mid_cycles,
        "end_cycles": waits.end_cycles,
    }
    for column, cycles in parts.items():
        expect(row.locator(f'[col-id="{column}"]')).to_have_text(f"{int(cycles[images].sum()):,}")
    expect(page.locator('.ag-row[row-index="0"]')).to_contain_text("images")  # the bytes count, not only the begin
    longest = max(images, key=lambda each: int(waits.end[each] - waits.begin[each]))
    row.click()
    page.wait_for_url(f"**tl_event={waits.thread[longest]}.{waits.depth[longest]}.{waits.position[longest]}*")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_host_over_device_is_accessible(page: Page, folder: Path, theme: str) -> None:
    open_timeline(page, folder, "tl_tab=device")
    expect(page.locator(".ag-row").first).to_be_visible()
    expect(page.locator('[data-row="d0i0"]')).to_have_count(1)
    if page.get_attribute("html", "data-theme") != theme:
        page.focus(".tl")
        page.keyboard.press("t")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        page.wait_for_selector('[data-timeline][data-state="complete"]')
    assert violations(page) == []


def test_an_engine_run_opens_the_device_trace_and_back(page: Page, folder: Path) -> None:
    trace, report = TraceSource(folder / "train_mlp.pvti"), ReportSource(folder)
    runs = match_engine_runs(trace, report)
    event = f"{runs.thread[0]}.{runs.depth[0]}.{runs.position[0]}"

    row = page.locator("tr", has_text=str(folder))
    expect(row).to_have_count(1)
    expect(page.get_by_text("Host traces", exact=True)).to_have_count(0)
    row.get_by_role("link", name="Host trace train_mlp.pvti").press("Enter")
    page.wait_for_selector('[data-timeline][data-state="complete"]')

    page.goto(f"{page.url}?tl_event={event}")
    link = page.get_by_role("link", name=re.compile(r"^Engine::run #0"))
    link.press("Enter")
    page.wait_for_url(f"**/execution?from=0&to={int(report.reader.runs().cycles[0])}*")

    page.goto(re.sub(r"\?.*", "?step=1&trace_tab=details", page.url))
    page.get_by_role("tab", name="Details").click()
    page.get_by_role("link", name="host trace", exact=True).click()
    page.wait_for_url(f"**/timeline?tl_event={event}&tl_from=*")
    expect(page.locator("#tl-tab-summary")).to_contain_text("poplar::core::Engine::run")

    page.locator(".masthead").get_by_role("link", name=re.compile("^Report ")).press("Enter")
    page.wait_for_url("**/summary*")
    expect(page.locator(".masthead").get_by_role("link", name="Host trace train_mlp.pvti")).to_be_visible()
