"""The list of reports on the first page: order, filter, keys, address, titles of its cells, hundreds of rows."""

from __future__ import annotations

import csv
import dataclasses
import os
import time
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from popvision.formats.profile.writer import ProfileWriter
from tests.browser.frame import thread_seconds
from tests.browser.shell_pages import Viewer
from tests.reports import tiny_compilation, tiny_run, write_tiny

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: Name of each report, its recorded runs (the tiny run lasts as often as long), and its age in days.
REPORTS = {"conv_small": (1, 30), "conv_large": (3, 20), "matmul": (2, 10), "copy": (0, 5)}
NEWEST_FIRST = ["copy", "matmul", "conv_large", "conv_small", "broken"]
MANY = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("listed")
    for name, (runs, days) in REPORTS.items():
        (made / name).mkdir()
        with ProfileWriter(made / name / "profile.pop") as writer:
            found = tiny_compilation()
            writer.write_compilation(dataclasses.replace(found, meta=found.meta | {"engineName": name}))
            for _ in range(runs):
                writer.append_run(tiny_run())
        _age(made / name / "profile.pop", days)
    (made / "broken").mkdir()
    (made / "broken" / "profile.pop").write_bytes((made / "copy" / "profile.pop").read_bytes()[:90])
    _age(made / "broken" / "profile.pop", 40)
    return made


def _age(file: Path, days: float) -> None:
    when = time.time() - 86400 * days
    os.utime(file, (when, when))


def listed(page: Page) -> list[str]:
    """Names of the visible rows of the own reports, from the top."""
    return page.locator("[data-list]").first.locator("tbody tr:visible .card-name").all_inner_texts()


def expect_listed(page: Page, names: list[str]) -> None:
    rows = page.locator("[data-list]").first.locator("tbody tr:visible .card-name")
    expect(rows).to_have_text(names)


def own_row(page: Page, name: str) -> Locator:
    return page.locator("[data-list]").first.locator("tr", has=page.locator("a.card-name", has_text=name))


def heading(page: Page, name: str) -> None:
    page.locator("[data-list]").first.get_by_role("button", name=name, exact=True).click()


def test_headings_sort_both_ways_and_the_address_keeps_it(viewer: Viewer) -> None:
    page = viewer.go("/")
    expect_listed(page, NEWEST_FIRST)
    by_cycles = ["conv_large", "matmul", "conv_small"]
    heading(page, "Total device cycles")
    assert listed(page)[:3] == by_cycles
    expect(page).to_have_url(f"{viewer.base}/?sort=-time")
    heading(page, "Total device cycles")
    assert listed(page)[:3] == by_cycles[::-1]
    assert set(listed(page)[3:]) == {"copy", "broken"}  # nothing known stands last
    heading(page, "Name")
    expect_listed(page, sorted(NEWEST_FIRST))
    page.reload()
    expect_listed(page, sorted(NEWEST_FIRST))
    sorted_by = page.locator("[data-list]").first.locator("th[aria-sort]")
    expect(sorted_by).to_have_attribute("aria-sort", "ascending")
    expect(sorted_by).to_have_text("Name")
    heading(page, "Written")
    expect_listed(page, NEWEST_FIRST)
    expect(page).to_have_url(f"{viewer.base}/")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("CONV written<25d", ["conv_large"]),
        ("memory>0.1%", ["copy", "matmul", "conv_large", "conv_small"]),
        ("memory>2MiB", []),
    ],
)
def test_words_and_conditions_filter(viewer: Viewer, words: str, names: list[str]) -> None:
    """tests/javascript/report_list.test.mjs has every kind of condition."""
    page = viewer.go("/")
    page.keyboard.press("/")
    expect(page.locator("#box-find")).to_be_focused()
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    expect_listed(page, names)
    found = page.locator("[data-list]").first.locator("[data-list-found]")
    expect(found).to_have_text(f"{len(names)} of")
    page.reload()
    expect(page.locator("#box-find")).to_have_value(words)
    expect_listed(page, names)


def test_device_time_is_compared_in_its_unit(viewer: Viewer) -> None:
    """The tiny run lasts 43 cycles of a clock of 1 MHz."""
    page = viewer.go("/")
    expect(own_row(page, "matmul").locator("td.number").first).to_have_text("86")
    page = viewer.go("/?find=time>=86us")
    expect_listed(page, ["matmul", "conv_large"])
    page = viewer.go("/?find=time>0.086ms")
    expect_listed(page, ["conv_large"])
    page = viewer.go("/?find=cycles<86")
    expect_listed(page, ["conv_small"])


def test_what_is_no_condition_is_said(viewer: Viewer) -> None:
    page = viewer.go("/?find=memory>lots")
    expect(page.locator("[data-list-nothing]")).to_have_text(
        "memory>lots is no condition: write for example memory>80% or memory>500KiB."
    )
    expect_listed(page, NEWEST_FIRST)
    page = viewer.go("/?find=nosuchname")
    expect(page.locator("[data-list-nothing]")).to_have_text("No report or trace has this.")


def test_a_state_is_chosen(viewer: Viewer) -> None:
    page = viewer.go("/")
    page.get_by_label("State", exact=True).select_option("damaged")
    expect_listed(page, ["broken"])
    expect(page).to_have_url(f"{viewer.base}/?state=damaged")
    page.reload()
    expect_listed(page, ["broken"])
    expect(page.get_by_label("State", exact=True)).to_have_value("damaged")


def test_the_list_is_walked_opened_and_chosen_by_keys(viewer: Viewer) -> None:
    page = viewer.go("/")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".card-name:focus")).to_have_text("copy")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".card-name:focus")).to_have_text("matmul")
    page.keyboard.press("Space")
    expect(page.locator("[data-compare-chosen]")).to_contain_text("matmul. Choose another report")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".card-name:focus")).to_have_text("copy")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/r/{viewer.keys['matmul']}/overview")


def test_cells_show_their_formula_and_still_open_the_report(viewer: Viewer) -> None:
    page = viewer.go("/")
    row = own_row(page, "matmul")
    cycles = row.locator("td.number span").first
    title = cycles.get_attribute("title") or ""
    assert title == "2 recorded runs: 86 cycles / 0.001 GHz = 86 µs"
    bar = row.locator(".share-bar")
    assert "share = tile cycles in the phase / (tiles x device cycles)" in (bar.get_attribute("title") or "")
    for cell in (cycles, bar):  # the mouse reaches the cell, not the link over the row
        on_top = """(cell) => {
          const box = cell.getBoundingClientRect();
          const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
          return hit !== null && hit.closest("[title]") === cell;
        }"""
        assert cell.evaluate(on_top)
    cycles.click()
    page.wait_for_url(f"**/r/{viewer.keys['matmul']}/overview")


def test_a_reload_keeps_the_order(viewer: Viewer, folder: Path) -> None:
    page = viewer.go("/?sort=name")
    expect_listed(page, sorted(NEWEST_FIRST))
    write_tiny(folder / "another")
    page.keyboard.press("r")
    expect(page.locator("[data-list]").first.locator("tbody tr")).to_have_count(6)
    names = listed(page)
    assert names == sorted(names, key=str.lower)
    for file in sorted((folder / "another").iterdir()):
        file.unlink()
    (folder / "another").rmdir()
    page.keyboard.press("r")
    expect_listed(page, sorted(NEWEST_FIRST))


def test_hundreds_of_rows_filter_at_once(viewer: Viewer, folder: Path) -> None:
    """A keystroke costs less than a quarter of a second of processor time; alone it takes a tenth of that."""
    page = viewer.go("/")
    page.evaluate(
        """(many) => {
          const body = document.querySelector("[data-list] tbody");
          const row = body.querySelector("tr");
          for (let at = 0; at < many; at += 1) {
            const copy = row.cloneNode(true);
            copy.dataset.row = JSON.stringify({ ...JSON.parse(row.dataset.row), name: "run " + at, written: at });
            body.append(copy);
          }
        }""",
        MANY,
    )
    begin = thread_seconds(page)
    page.evaluate(
        """() => { for (const find of ["run", "run 39", "run 3 written>1000d"]) popvision.select({ find }); }"""
    )
    spent = thread_seconds(page) - begin
    assert page.locator("[data-list] tbody tr:visible").count() > 0
    assert spent < 3 * 0.25
    page.reload()


def test_the_rows_shown_are_saved(viewer: Viewer) -> None:
    page = viewer.go("/?find=conv&sort=-time")
    expect_listed(page, ["conv_large", "conv_small"])
    with page.expect_download() as waiting:
        page.locator("[data-list]").first.locator("[data-export-rows=csv]").click()
    assert waiting.value.suggested_filename == "reports.csv"
    rows = list(csv.DictReader(Path(waiting.value.path()).read_text().splitlines()))
    assert [each["name"] for each in rows] == ["conv_large", "conv_small"]
    assert int(rows[0]["device_cycles"]) == 3 * int(rows[1]["device_cycles"])
    assert rows[0]["folder"].endswith("/conv_large")
