"""The operations page in a browser: figures against SQL, groups, details, the graph by keys, two reports."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.operations.operation_case import run_operations
from tests.browser.axe_pages import violations
from tests.browser.shell_pages import Viewer, write_hostile
from tests.reports import write_tiny

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("operations")
    run_operations(made / "one")
    run_operations(made / "more", extra=True)
    write_hostile(made / "hostile")
    write_tiny(made / "undebugged")
    return made


def row(page: Page, name: str) -> dict[str, str]:
    """Cells of the table's row of that name, by column."""
    index = page.locator(".ops-main [col-id=name].ag-cell", has_text=re.compile(f"^{re.escape(name)}$"))
    expect(index).to_have_count(1)
    at = index.locator("xpath=..").get_attribute("row-index")
    cells = page.locator(f".ops-main .ag-row[row-index='{at}'] .ag-cell")
    return {str(cell.get_attribute("col-id")): cell.inner_text() for cell in cells.all()}


def cycles_of(folder: Path, name: str) -> int:
    """Cycles of programs made under the operation of that name, by its own names alone."""
    query = (
        "select sum(i.cycles) from programs p join steps s on s.program = p.id join steps_by_ipu i on i.step_id = s.id "
        "where p.name like ?"
    )
    with closing(sqlite3.connect(folder / "profile.pop")) as db:
        return int(db.execute(query, (f"%{name}%",)).fetchone()[0] or 0)


def test_figures_are_those_of_sql_and_shares_add_up(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("one", "operations")
    found = row(page, "net/second")
    assert found["operation"] == "popops::map" or found["operation"].startswith("popops::")
    assert found["flops"] == str(4 * 64)
    assert int(found["total_cycles"].replace(",", "")) >= cycles_of(folder / "one", "net/second/Op") > 0
    last = row(page, "(not attributed)")
    assert last["cumulative_share"] == "100.00 %"
    text = page.request.get(f"{viewer.base}/data/{viewer.keys['one']}/table/operations.csv").text()
    rows = list(csv.DictReader(io.StringIO(text)))
    with closing(sqlite3.connect(folder / "one" / "profile.pop")) as db:
        total = db.execute("select sum(cycles) from runs").fetchone()[0]
    assert sum(int(each["total_cycles"]) for each in rows) == total


def test_groups_open_into_the_next_part_of_their_names(viewer: Viewer) -> None:
    page = viewer.open("one", "operations", "ops_group=1")
    page.locator(".ops-main [col-id=name].ag-cell", has_text=re.compile("^net$")).click()
    expect(page.locator("#ops-title")).to_contain_text("2 operations")
    expect(page).to_have_url(re.compile("ops_name=net"))
    page.keyboard.press("o")
    expect(page.locator(".ops-path")).to_contain_text("net")
    expect(page).to_have_url(re.compile("ops_under=net"))
    assert set(row(page, "net/first")) >= {"total_cycles", "code_bytes", "programs"}
    expect(page.locator(".ops-main [col-id=name].ag-cell", has_text="out")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator(".ops-main [col-id=name].ag-cell", has_text=re.compile("^out$"))).to_have_count(1)


def test_tabs_say_what_an_operation_is_made_of(viewer: Viewer) -> None:
    page = viewer.open("one", "operations", "ops_group=name&ops_name=net/second")
    expect(page.locator("#ops-tab-summary")).to_contain_text("FLOPs once")
    for tab, text in (
        ("Program tree", "OnTileExecute"),
        ("Code", "popops::"),
        ("Cycles", "OnTileExecute"),
        ("FLOPs", "FLOPs per cycle"),
        ("Memory", "net/second"),
        ("Debug", "operation_case.py"),
    ):
        page.get_by_role("tab", name=tab, exact=True).click()
        expect(page.locator(".tab-panel:not([hidden])").last).to_contain_text(text)
    assert violations(page, within=".ops-page") == []


def test_the_graph_answers_to_keys(viewer: Viewer) -> None:
    page = viewer.open("one", "operations", "ops_view=graph")
    boxes = page.locator(".ops-node")
    expect(boxes.filter(has_text="net/first")).to_have_count(1)
    assert violations(page, within=".ops-main") == []
    page.locator(".ops-node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".ops-node[tabindex='0']")).not_to_have_attribute("data-at", "0")
    boxes.filter(has_text="net/second").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ops-node.chosen")).to_have_count(1)
    chosen = page.locator(".ops-node.chosen .ops-name").text_content() or ""
    expect(page.locator("#ops-title strong")).to_have_text(chosen)
    page.keyboard.press("+")
    page.wait_for_url("**ops_zoom=*")
    page.keyboard.press("o")
    expect(page.locator(".ops-node.ops-program").first).to_be_visible()
    expect(page.locator(".ops-path")).to_contain_text(chosen)
    expect(page.locator(".ops-node.ops-variable, .ops-node.ops-input").first).to_be_visible()


def test_the_graph_answers_to_the_pointer(viewer: Viewer) -> None:
    page = viewer.open("one", "operations", "ops_view=graph")
    second = page.locator(".ops-node").filter(has_text="net/second")
    expect(second).to_have_count(1)
    place = second.bounding_box()
    assert place is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    moved = second.bounding_box()
    assert moved is not None
    assert (round(moved["x"] - place["x"]), round(moved["y"] - place["y"])) == (60, 40)
    expect(page.locator(".ops-node.chosen")).to_have_count(0)  # a drag chooses nothing
    page.mouse.move(x + 60, y + 40)
    page.mouse.wheel(0, -240)
    page.wait_for_function(
        "([node, width]) => node.getBoundingClientRect().width > width", arg=[second.element_handle(), moved["width"]]
    )
    zoomed = second.bounding_box()
    assert zoomed is not None
    assert zoomed["width"] > moved["width"]
    assert zoomed["x"] < x + 60 < zoomed["x"] + zoomed["width"]  # what lies under the pointer stays there
    page.mouse.click(x + 60, y + 40)
    expect(second).to_have_class(re.compile("chosen"))
    page.mouse.dblclick(x + 60, y + 40)
    expect(page.locator(".ops-path")).to_contain_text("net/second")


def test_the_roofline_has_roofs_and_points(viewer: Viewer) -> None:
    page = viewer.open("one", "operations", "ops_view=roofline")
    expect(page.locator(".ops-roof .legend")).to_contain_text("peak in float: 256 FLOP / cycle")  # 8 tiles x 32


def test_two_reports_show_their_differences(viewer: Viewer) -> None:
    page = viewer.open("one", "operations", f"vs={viewer.keys['more']}&ops_by=flops")
    found = row(page, "more/third")
    assert (found["in_report"], found["flops_source"], found["flops_target"]) == ("target", "0", "128")
    assert row(page, "net/first")["flops_diff"] == "0"


def test_names_are_text(viewer: Viewer) -> None:
    page = viewer.open("hostile", "operations", "ops_tab=debug")
    page.locator(".ops-main [col-id=name].ag-cell", has_text="window.bad").click()
    expect(page.locator(".debug-chain")).to_contain_text("window.bad")
    page = viewer.open(
        "hostile", "operations", "ops_view=graph&ops_name=" + "%22%3E%3Cimg src=x onerror=window.bad=1%3E"
    )
    expect(page.locator(".ops-node, .ops-said").first).to_be_visible()
    assert page.evaluate("window.bad") is None


def test_without_debug_information_one_sentence_says_so(viewer: Viewer) -> None:
    page = viewer.open("undebugged", "operations")
    expect(page.locator("#page")).to_contain_text("autoReport.outputDebugInfo=true")
