"""Every table of every page has a button or link that saves its rows as CSV and as JSON, in exact plain numbers."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import popvision
from popvision.analysis.insights.largest_users import memory_use
from popvision.analysis.report.source import ReportSource
from tests.browser.frame import until_quiet
from tests.browser.shell_pages import Viewer, sql

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: Tables whose rows another export of the page holds: the tab of figures of a window, the fan-out beside its bars, the
#: side-by-side figures of the Summary and the bars of ranks.
EXPORTED_ELSEWHERE = ".trace-table, .exchange-histogram, .side-by-side, .rank-bars"

WITHOUT = f"""() => [...document.querySelectorAll('#page table, #page .ag-root')]
  .filter((table) => !table.closest('[data-exported], .table') && !table.matches({EXPORTED_ELSEWHERE!r})
    && table.querySelectorAll('tr, .ag-row').length > 0)
  .map((table) => table.className || table.outerHTML.slice(0, 80))"""

VIEWS = (
    "overview",
    "summary",
    "memory",
    "liveness",
    "program_tree?program=40&pt_tab=tiles",
    "operations?ops_group=1",
    "execution?detail=summary",
    "exchange",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("samples")
    for name in ("train_mlp", "train_mlp_wide"):
        shutil.copytree(Path(__file__).parents[2] / "sample_reports" / name, made / name)
    return made


def saved(page: Page, name: str, kind: str, at: str) -> str:
    """The text of a file that a button saves."""
    with page.expect_download() as waiting:
        page.locator(at).locator(f"[data-export-rows={kind}]").first.click()
    assert waiting.value.suggested_filename == f"{name}.{kind}"
    return Path(waiting.value.path()).read_text()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("versus", ["", "train_mlp_wide"])
def test_no_table_is_without_export(viewer: Viewer, view: str, versus: str) -> None:
    name, _, query = view.partition("?")
    if versus:
        query += f"&vs={viewer.keys[versus]}"
    page = viewer.open("train_mlp", name, query)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(WITHOUT) == []


#: What saves rows as CSV or JSON, wherever a page has it.
SAVES = "[data-export], [data-export-rows], #sql-csv, #sql-json, #page a[download$='.csv'], #page a[download$='.json']"


@pytest.mark.parametrize("view", [*VIEWS, "source", "sql?sql=select tile, ipu from tiles"])
def test_every_export_of_a_view_saves_rows(viewer: Viewer, view: str) -> None:
    name, _, query = view.partition("?")
    page = viewer.open("train_mlp", name, query)
    if name == "sql":
        page.locator("#sql-run").click()
        expect(page.locator("#sql-rows td").first).to_be_visible()
    until_quiet(page)
    buttons = [each for each in page.locator(SAVES).all() if each.is_visible()]
    assert len(buttons) >= 2
    for button in buttons:
        until_quiet(page)  # what is drawn anew loses a click
        with page.expect_download() as waiting:
            button.click()
        text, file = Path(waiting.value.path()).read_text(), waiting.value.suggested_filename
        rows = json.loads(text) if file.endswith(".json") else list(csv.DictReader(text.splitlines()))
        assert rows, file


def test_fullest_tiles_are_saved_in_bytes(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("train_mlp", "overview")
    expect(page.locator("#overview-use .use-table").first).to_be_visible(timeout=60_000)
    rows = json.loads(saved(page, "fullest-tiles", "json", "#overview-use"))
    used = popvision.open(folder / "train_mlp").tiles()
    fullest = rows[0]["tile"]
    assert rows[0]["used_bytes"] == int(used.loc[fullest, "excluding_gaps_bytes"]) == used["excluding_gaps_bytes"].max()
    assert [each["used_bytes"] for each in rows] == sorted((each["used_bytes"] for each in rows), reverse=True)
    assert len(rows) == page.locator("#overview-use .use-table").first.locator("tr").count()


def test_largest_users_are_saved_as_the_page_lists_them(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("train_mlp", "overview")
    table = page.locator("#overview-use .users-table")
    expect(table).to_be_visible(timeout=60_000)
    box = "[data-exported]:has(> .users-table)"
    rows = list(csv.DictReader(saved(page, "largest-users", "csv", box).splitlines()))
    found = memory_use(ReportSource(folder / "train_mlp")).users
    assert [(each["where"], each["kind"], each["name"], int(each["bytes"])) for each in rows] == [
        (each.where, each.kind, each.name, each.bytes) for each in found
    ]
    shown = [row.locator("td").nth(2).inner_text() for row in table.locator("tbody tr").all()]
    assert shown == [each.name for each in found]


def test_files_of_the_summary_are_saved(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("train_mlp", "summary")
    text = saved(page, "report-files", "csv", "[data-fold=files]")
    files = {each["content"]: each for each in csv.DictReader(text.splitlines())}
    assert files["Graph profile"]["bytes"] == str((folder / "train_mlp" / "profile.pop").stat().st_size)
    assert files["Graph profile"]["state"] == "found"


def test_bars_of_what_changed_are_saved(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("train_mlp", "summary", f"vs={viewer.keys['train_mlp_wide']}")
    at = "[data-fold=compare-waterfall] .waterfalls > div:first-child > div:first-child"
    kind = page.locator(f"{at} h3").inner_text().partition(" by ")[2].replace(" ", "-")
    rows = json.loads(saved(page, f"what-changed-cycles-by-{kind}", "json", at))
    totals = [sql(folder / name, "select sum(cycles) from runs")[0] for name in ("train_mlp", "train_mlp_wide")]
    assert rows[-1]["source_cycles"] == totals[0]
    assert rows[-1]["difference_cycles"] == totals[1] - totals[0]
    assert sum(each["difference_cycles"] for each in rows[:-1]) == rows[-1]["difference_cycles"]
