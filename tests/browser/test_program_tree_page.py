"""The program tree in a browser: figures against SQL, keys, search, a tree far longer than the screen."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from popvision.formats.profile.writer import ProfileWriter
from tests.browser.shell_pages import Viewer, sql, write_reports
from tests.reports import tiny_compilation, tiny_run

pytestmark = pytest.mark.browser

MANY = 50_000


def write_long(folder: Path) -> None:
    """A root over MANY - 1 programs, one of them called "needle"."""
    folder.mkdir()
    found = tiny_compilation()
    nobody = np.full(MANY, -1, np.int64)
    programs = dataclasses.replace(
        found.programs,
        type=["Sequence"] + ["Sync"] * (MANY - 1),
        name=["root"] + [f"sync {row}" for row in range(1, MANY - 3)] + ["needle", "", ""],
        owner=["control"] * MANY,
        compute_set=nobody,
        repeat_count=nobody * 0,
        debug_id=nobody,
        sync_type=[""] * MANY,
        child_offsets=np.concatenate([[0], np.full(MANY, MANY - 1)]),
        children=np.arange(1, MANY),
    )
    empty = {"program_on_ipu": (), "messages": (), "liveness": None, "eq_classes": None, "variables": None}
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, programs=programs, vars_info=None, lowered=(), **empty))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tree")
    write_reports(made)
    write_long(made / "long")
    found = tiny_compilation()
    guessed = [dataclasses.replace(part, provenance="guess") for part in found.compute_set_vertices]
    (made / "guess").mkdir()
    with ProfileWriter(made / "guess" / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, compute_set_vertices=guessed))
        writer.append_run(tiny_run())
    return made


@pytest.fixture(scope="module")
def viewer(chromium: Browser, folder: Path) -> Iterator[Viewer]:
    opened = Viewer(chromium, folder)
    yield opened
    assert opened.problems == []
    opened.page.close()


def cells(page: Page, row: int) -> list[str]:
    line = page.locator(f"#tree-row-{row}")
    expect(line.locator(".tree-self")).not_to_be_empty()
    return line.locator(".tree-cell").all_inner_texts()


def test_figures_are_those_of_sql(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "program_tree")
    joined = "steps join steps_by_ipu on step_id = id"
    for program in (1, 2, 3):
        columns = f"sum(cycles), sum(cycles), count(*), sum(data_in) from {joined} where program = {program}"
        expected = sql(folder / "tiny", f"select {columns}")
        assert cells(page, program)[:4] == [f"{value:,}" for value in expected]
    whole = sql(folder / "tiny", "select sum(cycles) from steps_by_ipu")[0]
    assert cells(page, 0)[:3] == ["0", f"{whole:,}", "0"]


def test_guesses_look_guessed(viewer: Viewer) -> None:
    page = viewer.open("guess", "program_tree")
    assert cells(page, 1)[0] == "36"
    expect(page.locator("#tree-row-1 .tree-self")).to_have_class(re.compile(r"\bguess\b"))
    expect(page.locator("#tree-row-3 .tree-self")).not_to_have_class(re.compile(r"\bguess\b"))


def test_keys_move_fold_and_select(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree")
    page.locator("#tree-row-1").wait_for()
    page.locator(".tree-scroll").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tree-row.cursor")).to_have_id("tree-row-1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tree-row-0")).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".tree-row")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator(".panel-title")).to_contain_text("cs0_layer/ExchangePre")
    assert page.url.endswith("?program=3")


def test_tabs_follow_the_type(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree", "program=1")
    expect(page.locator(".panel [role=tab]")).to_contain_text(["Summary", "Tiles", "Vertices", "Debug information"])
    page.get_by_role("tab", name="Debug information").click()
    expect(page.locator(".debug-place").first).to_have_text("a.py:12")
    viewer.open("tiny", "program_tree", "program=0")
    expect(page.locator(".panel [role=tab]")).to_contain_text(["Summary", "Debug information"])


def test_search_goes_round(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree")
    page.keyboard.press("/")
    page.keyboard.type("layer")
    expect(page.locator(".tree-status")).to_have_text("1 of 2")
    page.keyboard.press("Enter")
    expect(page.locator(".tree-row.cursor")).to_have_id("tree-row-3")
    page.keyboard.press("Enter")
    expect(page.locator(".tree-row.cursor")).to_have_id("tree-row-1")
    assert "pt_search=layer" in page.url


def test_a_program_that_is_not_there(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree", "program=77")
    expect(page.locator("#pt-details")).to_contain_text("There is no program 77")


def test_fifty_thousand_programs(viewer: Viewer) -> None:
    page = viewer.open("long", "program_tree")
    expect(page.locator("#tree-row-0")).to_be_visible()
    assert page.locator(".tree-row").count() < 80
    began = time.monotonic()
    page.locator(".tree-scroll").focus()
    page.keyboard.press("End")
    last = page.locator(f"#tree-row-{MANY - 1} .tree-id")
    expect(last).to_have_text(f"#{MANY - 1}")
    assert time.monotonic() - began < 5
    page.keyboard.press("/")
    page.keyboard.type("needle")
    expect(page.locator(".tree-row.cursor")).to_contain_text("needle")
    assert page.locator(".tree-row").count() < 80
