"""The ranks of a run in a browser: who is slowest, each step over the ranks, where rows lead; both themes, axe."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from popvision.package_data import package_folder
from tests.analysis.ranks.kineto_trace import write_trace
from tests.analysis.ranks.rank_program import run_program, run_rank
from tests.browser.axe_pages import violations
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

NUMBERS = (5, 5, 9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ranks")
    for rank, number in enumerate(NUMBERS):
        run_rank(root / "job", rank, 3, number)
        write_trace(root / "torch" / f"host_{rank}.pt.trace.json", rank, 3, 1000, 10)
    for name in ("", "process_11", "process_12"):  # without a launcher
        options = {"autoReport.outputExecutionProfile": "true", "autoReport.directory": str(root / "shell" / name)}
        run_program(3 + len(name), options=options)
    shutil.copytree(package_folder("sample_reports") / "matmul_chain", root / "alone")
    return root


@pytest.fixture(scope="module")
def site(shared: SharedViewer, folder: Path) -> tuple[str, dict[str, str]]:
    """The address, and the key of each report by the name of its folder."""
    return shared.base, shared.show(folder)


@pytest.fixture
def page(shared: SharedViewer, site: tuple[str, dict[str, str]]) -> Iterator[Page]:
    yield shared.visit(1400, 1000, motion="reduce")
    assert shared.problems == []


def test_a_report_of_a_rank_leads_to_its_page(page: Page, site: tuple[str, dict[str, str]], folder: Path) -> None:
    base, keys = site
    open_page(page, base, f"/r/{keys['rank_1']}/overview")
    page.get_by_role("link", name="rank 1 of 3").click()
    expect(page).to_have_url(re.compile(f"/r/{keys['rank_1']}/ranks"))
    rows = page.locator(".rank-bars tbody tr")
    expect(rows).to_have_count(3)
    for rank in range(3):
        with sqlite3.connect(folder / "job" / f"rank_{rank}" / "profile.pop") as report:
            (cycles,) = report.execute("select sum(cycles) from runs").fetchone()
        expect(rows.nth(rank).locator("td").first).to_have_text(f"{cycles:,}")
    expect(page.locator(".rank-sentences")).to_contain_text("Rank 2 is slowest")
    expect(page.locator(".nav-item.current")).to_have_text("Ranks")


def test_a_process_that_shared_a_folder_leads_to_it_too(page: Page, site: tuple[str, dict[str, str]]) -> None:
    base, keys = site
    open_page(page, base, f"/r/{keys['process_12']}/summary")
    page.get_by_role("link", name="process 2 of 3").click()
    expect(page).to_have_url(re.compile(f"/r/{keys['process_12']}/ranks"))
    expect(page.locator("#page")).to_contain_text("Process 2 of 3 of the processes that shared shell")
    rows = page.locator(".rank-bars tbody tr")
    expect(rows).to_have_count(3)
    rows.nth(0).get_by_role("link", name="0").click()
    expect(page).to_have_url(re.compile(f"/r/{keys['shell']}/"))


def test_the_files_of_a_timeline_are_listed_with_their_ranks(page: Page, site: tuple[str, dict[str, str]]) -> None:
    base, keys = site
    open_page(page, base, f"/t/{keys['host_1.pt.trace.json']}/timeline")
    page.click(".tl-files > summary")
    names = page.locator(".tl-files-name")
    expect(names.nth(0)).to_have_text("host_1.pt.trace.json, rank 1")
    expect(names.nth(1)).to_have_text("host_0.pt.trace.json, rank 0 in torch")
    expect(names.nth(2)).to_have_text("host_2.pt.trace.json, rank 2 in torch")


def test_a_report_alone_has_no_such_page_in_its_menu(page: Page, site: tuple[str, dict[str, str]]) -> None:
    base, keys = site
    open_page(page, base, f"/r/{keys['alone']}/overview")
    expect(page.locator(".nav-views a").first).to_have_text("Overview")
    expect(page.locator(".nav-views a", has_text="Ranks")).to_have_count(0)
    open_page(page, base, f"/r/{keys['alone']}/ranks")
    expect(page.locator("#page")).to_contain_text("This report is not one of several ranks")


def test_a_step_leads_to_its_program_and_the_slowest_rank(page: Page, site: tuple[str, dict[str, str]]) -> None:
    base, keys = site
    open_page(page, base, f"/r/{keys['rank_0']}/ranks")
    page.locator('.ag-row[row-index="0"] [col-id="name"]', has_text="down/Op/Add").click()
    lead = page.locator("#ranks-step")
    expect(lead).to_have_text(re.compile(r"See program \d+ on rank 0, the report of rank 2"))
    lead.get_by_role("link", name="program").click()
    expect(page).to_have_url(re.compile(rf"/r/{keys['rank_0']}/program_tree\?program=\d+"))


def test_the_slowest_and_the_fastest_are_compared(page: Page, site: tuple[str, dict[str, str]]) -> None:
    base, keys = site
    open_page(page, base, f"/r/{keys['rank_1']}/ranks")
    page.get_by_role("link", name="Compare rank 2, the slowest, with rank 0, the fastest").click()
    expect(page).to_have_url(re.compile(rf"/r/{keys['rank_0']}/summary\?vs={keys['rank_2']}"))
    expect(page.locator(".versus")).to_contain_text("rank_2")


def test_figures_and_steps_are_saved(page: Page, site: tuple[str, dict[str, str]]) -> None:
    base, keys = site
    open_page(page, base, f"/r/{keys['rank_1']}/ranks")
    with page.expect_download() as saved:
        page.locator(".rank-legend").get_by_role("link", name="CSV").click()
    text = Path(saved.value.path()).read_text()
    assert text.splitlines()[0].startswith("rank,report,machine,runs,cycles")
    assert len(text.splitlines()) == 4
    steps = page.request.get(f"{base}/data/{keys['rank_1']}/table/rank_steps.json?of={keys['rank_1']}")
    assert steps.json()[0]["slowest"] == 2
    other = page.request.get(f"{base}/data/{keys['alone']}/table/rank_steps.json?of={keys['alone']}")
    assert (other.status, "not one of several ranks" in other.text()) == (400, True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_breaks_no_rule(page: Page, site: tuple[str, dict[str, str]], theme: str) -> None:
    base, keys = site
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    open_page(page, base, f"/r/{keys['rank_1']}/ranks")
    expect(page.locator(".rank-bars tbody tr")).to_have_count(3)
    expect(page.locator('.ag-row[row-index="0"] [col-id="name"]')).not_to_have_count(0)
    assert violations(page) == []
