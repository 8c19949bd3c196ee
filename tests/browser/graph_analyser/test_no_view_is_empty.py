"""No view of a report is empty without words: a column of dashes says why it has no figure, a table without rows what
is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.frame import until_quiet
from tests.browser.shell_pages import Viewer
from webapp.base.views import views_of

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

REPORTS = ("matmul_chain", "out_of_memory", "damaged")

#: What is empty and has no word beside it: panels, tables, and columns of nothing but dashes whose title no note names.
EMPTY = r"""() => {
  const found = [], seen = (each) => each.getClientRects().length > 0;
  const isDash = (text) => ["–", "-", ""].includes(text.trim());
  const noted = [...document.querySelectorAll("#page .missing-note b")].filter(seen);
  const named = noted.flatMap((each) => each.innerText.split(", "));
  const columns = (name, titles, rows) => titles.forEach((title, at) => {
    const cells = rows.map((row) => row[at]).filter((cell) => cell !== undefined);
    if (cells.length && cells.every(isDash) && !named.some((each) => title.startsWith(each)))
      found.push(`${name}: ${title} ${cells.length}`);
  });
  for (const table of document.querySelectorAll(".table[data-table]")) {
    if (!seen(table)) continue;
    const rows = [...table.querySelectorAll(".ag-center-cols-container .ag-row")];
    if (!rows.length && !table.querySelector(".table-empty")) found.push(`${table.dataset.table} has no rows`);
    const fields = [...table.querySelectorAll(".ag-header-cell[col-id]:has(.ag-header-cell-text)")].filter(seen);
    columns(
      table.dataset.table,
      fields.map((each) => each.innerText.trim()),
      rows.map((row) => fields.map((f) => row.querySelector(`[col-id="${f.getAttribute("col-id")}"]`)?.innerText)),
    );
  }
  const lines = [...document.querySelectorAll("#program-tree .tree-row")].filter(seen);
  const heads = [...document.querySelectorAll("#program-tree .tree-head .tree-cell")].filter(seen);
  const texts = (row) => [...row.querySelectorAll(".tree-cell")].filter(seen).map((each) => each.innerText);
  columns("tree", heads.map((each) => each.innerText.trim()), lines.map(texts));
  for (const panel of document.querySelectorAll("#page [role=tabpanel]:not([hidden]), #page section, #page .panel"))
    if (seen(panel) && !panel.innerText.trim() && !panel.querySelector("canvas, svg"))
      found.push(panel.id || panel.className);
  return found;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("samples")
    for name in REPORTS:
        shutil.copytree(Path(__file__).parents[3] / "sample_reports" / name, made / name)
    return made


def _empty(page: Page) -> list[str]:
    """What stays empty when the rows have arrived."""
    try:
        page.wait_for_function(f"() => ({EMPTY})().length === 0")
    except TimeoutError:
        return list(page.evaluate(EMPTY))
    return []


def _tabs(page: Page) -> list[str]:
    tabs = page.locator("#page [role=tab]")
    return [tab.get_attribute("id") or "" for tab in tabs.all() if tab.is_visible()]


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("view", [view.id for view in views_of("report")])
def test_nothing_is_empty_without_words(viewer: Viewer, report: str, view: str) -> None:
    page = viewer.open(report, view)
    found = _empty(page)
    for tab in _tabs(page):
        page.evaluate("(id) => document.getElementById(id).click()", tab)
        expect(page.locator(f"#{tab}")).to_have_attribute("aria-selected", "true")
        until_quiet(page)
        found += [f"{tab}: {each}" for each in _empty(page)]
    assert found == []


@pytest.mark.parametrize("view", [view.id for view in views_of("report")])
def test_what_damage_took_is_said_once(viewer: Viewer, view: str) -> None:
    page = viewer.open("damaged", view)
    text = page.inner_text("#page")
    assert text.count("run 0 of 1 lost") == 1, "in the bar at the top"
    assert "Loading" not in text
    assert "profile.pop:" not in text


def test_program_tree_says_which_option_records_code(viewer: Viewer) -> None:
    page = viewer.open("matmul_chain", "program_tree")
    note = page.locator("#page .missing-note")
    expect(note).to_have_count(1)
    expect(note).to_contain_text("Code: This report holds no code sizes")
    expect(note).to_contain_text("compileIPUCode")
    page = viewer.open("matmul_chain", "program_tree", "pt_code=0")
    expect(page.locator("#page .missing-note")).to_have_count(0)


def test_program_tree_of_what_does_not_fit_says_why_nothing_ran(viewer: Viewer) -> None:
    page = viewer.open("out_of_memory", "program_tree")
    expect(page.locator("#page .missing-note p")).to_have_text(
        "Self cycles, Total cycles, Executions, Received: No run was recorded: the program does not fit into the "
        "memory of the tiles, so it cannot run."
    )


def test_a_filter_that_no_row_passes_says_so(viewer: Viewer) -> None:
    page = viewer.open("matmul_chain", "summary")
    table = page.locator(".table[data-table=options]")
    box = table.locator("[data-quick-filter] input")
    box.fill("no option has this name")
    expect(table.locator(".table-empty")).to_have_text("No row passes the filter: change or clear it.")
    box.fill("")
    expect(table.locator(".table-empty")).to_have_count(0)
    page = viewer.open("matmul_chain", "memory", "mem_tab=variables")
    table = page.locator(".table[data-table=memory-variables]")
    expect(table.locator(".ag-center-cols-container .ag-row").first).to_be_visible()
    table.locator(".ag-floating-filter [ref=eFloatingFilterInput] input, .ag-floating-filter input").first.fill("zzzz")
    expect(table.locator(".table-empty")).to_have_text("No row passes the filter: change or clear it.")
