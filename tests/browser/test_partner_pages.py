"""From the list to a report, to the host trace of its execution, to the device trace of a run, and back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.engine_runs import match_engine_runs
from popvision.analysis.trace.source import TraceSource
from popvision.package_data import package_folder
from tests.browser.noted_problems import noted_problems
from tests.browser.visit_pages import serve

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(package_folder("sample_reports") / "train_mlp", tmp_path / "reports" / "mlp"))


@pytest.fixture
def page(chromium: Browser, folder: Path) -> Iterator[Page]:
    base, _ = serve(folder.parent)
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    problems = noted_problems(page, base)
    page.goto(base)
    yield page
    assert problems == []
    page.close()


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
