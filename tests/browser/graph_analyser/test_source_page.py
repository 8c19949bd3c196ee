"""The Source view in a browser: figures against SQL, a line's parts, two reports, 10,000 lines, hostile text."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from popvision.formats.debug_info import DebugInfo, SourceText, write_debug_info
from popvision.formats.profile.writer import ProfileWriter
from tests.browser.axe_pages import violations
from tests.browser.frame import until_quiet
from tests.browser.shell_pages import HOSTILE, Viewer, sql
from tests.reports import i8, tiny_compilation, tiny_run

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

LINES = 10_000


def write(folder: Path, lines: list[str] | None, at: int = 7) -> None:
    """tiny whose compute program and first variable were made at line `at`, its exchange at the next one."""
    folder.mkdir()
    found = tiny_compilation()
    assert found.variables is not None
    variables = dataclasses.replace(found.variables, debug_id=i8(2, -1, -1))
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, variables=variables))
        writer.append_run(tiny_run())
    contexts = [DebugInfo(1, file="/w/train.py", line=at + 1), DebugInfo(2, file="/w/train.py", line=at)]
    texts = None if lines is None else [SourceText("/w/train.py", "\n".join(lines))]
    write_debug_info(folder, contexts, "tiny-run", sources=texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("source")
    lines = [f"line_{number} = {number}" for number in range(1, 30)]
    write(made / "one", lines)
    write(made / "moved", [*lines[:3], "inserted = 0", *lines[3:]], at=8)
    write(made / "none", None)
    write(made / "long", [f"x = {number}" for number in range(1, LINES + 1)], at=LINES - 1)
    hostile = lines.copy()
    hostile[7:9] = [HOSTILE + "\u202e\x00", "y" * 10_000]
    write(made / "hostile", hostile)
    return made


def test_figures_stand_beside_their_lines(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("one", "source")
    joined = "steps join steps_by_ipu on step_id = id"
    cycles = sql(folder / "one", f"select sum(cycles) from {joined} where program = 1")[0]
    received = sql(folder / "one", f"select sum(data_in) from {joined} where program = 3")[0]
    size = sql(folder / "one", "select bytes from variables where id = 0")[0]
    cells = page.locator("#code-row-6 > div")
    expect(cells).to_have_text([str(cycles), f"{size} B", "0 B", "7", "line_7 = 7"])
    expect(page.locator("#code-row-7 > div").nth(2)).to_have_text(f"{received} B")
    expect(page.locator("#code-row-9 > div").first).to_have_text("")
    whole = sql(folder / "one", "select sum(cycles) from runs")[0]
    attributed = sql(folder / "one", f"select sum(cycles) from {joined} where program in (1, 3)")[0]
    expect(page.locator(".toolbar")).to_contain_text(f"cycles {whole - attributed} (")


def test_a_line_shows_what_it_made(viewer: Viewer) -> None:
    page = viewer.open("one", "source")
    page.locator("#code-row-6").click()
    expect(page).to_have_url(re.compile("src_line=7"))
    expect(page.locator("[data-table=line-programs]")).to_contain_text("layer/matmul")
    expect(page.locator("[data-table=line-variables]")).to_contain_text("weights")
    page.get_by_role("link", name="Longest in the program tree").click()
    expect(page.locator(".panel-title")).to_contain_text("Id 1")
    page.get_by_role("tab", name="Debug information").click()
    until_quiet(page)  # the tab that comes would take the link away under the click
    page.get_by_role("link", name="/w/train.py:7").click()
    expect(page.locator(".code-row.selected")).to_contain_text("line_7")


def test_keys_go_from_line_to_line(viewer: Viewer) -> None:
    page = viewer.open("one", "source")
    expect(page.locator(".code-row.cursor")).to_have_id("code-row-6")
    page.locator(".code-scroll").focus()
    page.keyboard.press(".")
    expect(page.locator(".code-row.cursor")).to_have_id("code-row-7")
    expect(page.locator(".code-live")).to_contain_text("Line 8: Cycles 4")
    page.keyboard.press("Home")
    page.keyboard.press(",")
    expect(page.locator(".code-row.cursor")).to_have_id("code-row-7")


def test_a_heading_sorts_the_lines(viewer: Viewer) -> None:
    page = viewer.open("one", "source")
    expect(page.locator("#code-row-6")).to_have_class("code-row cursor hottest")
    page.locator(".code-head").get_by_role("button", name="Received").click()
    expect(page.locator(".code-row").first).to_have_id("code-row-7")
    expect(page.locator(".code-row .code-text").first).to_have_text("line_8 = 8")
    expect(page).to_have_url(re.compile("src_sort=-bytes"))
    expect(page.locator(".code-head [aria-sort=descending]")).to_have_text("Received")
    page.locator(".code-scroll").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".code-row.cursor")).to_have_id("code-row-6")  # the second largest
    page.locator(".code-head").get_by_role("button", name="Line").click()
    expect(page.locator(".code-row").first).to_have_id("code-row-0")
    expect(page).not_to_have_url(re.compile("src_sort"))


def test_lines_and_files_are_saved(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("one", "source")
    expect(page.locator("#code-row-6 .code-figure").first).not_to_have_text("")
    with page.expect_download() as waiting:
        page.locator(".source-exports a", has_text="JSON").click()
    (seventh, eighth) = json.loads(Path(waiting.value.path()).read_text())
    joined = "steps join steps_by_ipu on step_id = id"
    assert seventh["total_cycles"] == sql(folder / "one", f"select sum(cycles) from {joined} where program = 1")[0]
    assert (seventh["line"], seventh["text"], eighth["text"]) == (7, "line_7 = 7", "line_8 = 8")
    viewer.open("one", "source", f"vs={viewer.keys['moved']}")
    expect(page.locator(".code-row.only-target")).to_be_visible()
    with page.expect_download() as waiting:
        page.locator(".source-exports a", has_text="CSV").click()
    rows = list(csv.DictReader(Path(waiting.value.path()).read_text().splitlines()))
    assert [(each["line_source"], each["line_target"], each["total_cycles_diff"]) for each in rows] == [
        ("7", "8", "0"),
        ("8", "9", "0"),
    ]
    with page.expect_download() as waiting:
        page.locator(".source-files a", has_text="JSON").click()
    files = json.loads(Path(waiting.value.path()).read_text())
    assert [each["file"] for each in files] == ["/w/train.py", ""]
    assert sum(each["total_cycles"] for each in files) == sql(folder / "one", "select sum(cycles) from runs")[0]


def test_a_moved_line_is_compared_with_itself(viewer: Viewer) -> None:
    page = viewer.open("one", "source", f"vs={viewer.keys['moved']}")
    expect(page.locator(".code-row.only-target")).to_have_text("+4inserted = 0", use_inner_text=False)
    expect(page.locator("#code-row-7 > div")).to_have_text(["36", "36", "0", "7", "line_7 = 7"])
    viewer.open("one", "source", f"vs={viewer.keys['one']}")
    expect(page.locator("#code-row-6 > div").nth(2)).to_have_text("0")
    assert page.locator(".diff-more, .diff-less, .only-source, .only-target").count() == 0


def test_without_texts_lines_and_figures_remain(viewer: Viewer) -> None:
    page = viewer.open("none", "source")
    expect(page.locator(".code-problem")).to_contain_text("POPVISION_SOURCES")
    expect(page.locator(".code-row")).to_have_count(2)
    expect(page.locator("#code-row-0 .code-number")).to_have_text("7")


def test_ten_thousand_lines(viewer: Viewer) -> None:
    page = viewer.open("long", "source")
    expect(page.locator(f"#code-row-{LINES - 2} .code-text")).to_have_text(f"x = {LINES - 1}")
    assert page.locator(".code-row").count() < 100
    page.locator(".code-scroll").focus()
    page.keyboard.press("Home")
    expect(page.locator("#code-row-0 .code-text")).to_have_text("x = 1")
    assert page.locator(".code-row").count() < 100


def test_hostile_text_is_text(viewer: Viewer) -> None:
    page = viewer.open("hostile", "source")
    expect(page.locator("#code-row-7 .code-text")).to_contain_text("<script>window.bad=1")
    expect(page.locator("#code-row-8 .code-text")).to_contain_text("(10,000 characters)")
    assert page.evaluate("window.bad") is None


def test_the_page_is_accessible(viewer: Viewer) -> None:
    for theme in ("light", "dark"):
        page = viewer.open("one", "source", f"src_line=7&vs={viewer.keys['moved']}")
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        expect(page.locator("[data-table=line-programs] .ag-row").first).to_be_visible()
        assert violations(page, within="#page") == []
