"""The program tree in a browser: figures against SQL, keys, search, a tree far longer than the screen."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from popvision.formats.profile.model import StepOnIpu
from popvision.formats.profile.writer import ProfileWriter
from tests.browser.axe_pages import violations
from tests.browser.shell_pages import Viewer, sql, write_reports
from tests.reports import tiny_compilation, tiny_run

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

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


def write_slower(folder: Path) -> None:
    """tiny with 100 cycles more in its first step, and one more program at the end."""
    folder.mkdir()
    found, run = tiny_compilation(), tiny_run()
    p = found.programs
    programs = dataclasses.replace(
        p,
        type=[*p.type, "WriteUndef"],
        name=[*p.name, "late"],
        owner=["control"] * 5,
        compute_set=np.append(p.compute_set, -1),
        repeat_count=np.append(p.repeat_count, 0),
        debug_id=np.append(p.debug_id, -1),
        sync_type=[*p.sync_type, ""],
        child_offsets=np.array([0, 4, 4, 4, 4, 4]),
        children=np.array([1, 2, 3, 4]),
    )
    slow = [StepOnIpu(each.start, each.cycles + (100 if step == 0 else 0)) for step, each in enumerate(run.patterns)]
    slow[1] = StepOnIpu(run.patterns[1].start + 100, run.patterns[1].cycles)
    base = run.base + np.array([0, 0, 100, 100]).reshape(4, 1)
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(found, programs=programs))
        writer.append_run(dataclasses.replace(run, patterns=slow, base=base, cycles=143))


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
    write_slower(made / "slower")
    return made


def cells(page: Page, row: int) -> list[str]:
    line = page.locator(f"#tree-row-{row}")
    expect(line.locator(".tree-self")).not_to_be_empty()
    return line.locator(".tree-cell").all_inner_texts()


def test_figures_are_those_of_sql(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "program_tree")
    joined = "steps join steps_by_ipu on step_id = id"
    for program in (1, 2, 3):
        columns = f"sum(cycles), sum(cycles), count(*), sum(data_in) from {joined} where program = {program}"
        alone, total, runs, received = sql(folder / "tiny", f"select {columns}")
        assert cells(page, program)[:5] == [f"{alone:,}", f"{total:,}", "–", f"{runs:,}", f"{received} B"]  # none apart
    whole, received = sql(folder / "tiny", "select sum(cycles), sum(data_in) from steps_by_ipu")
    peak = sql(folder / "tiny", "select max(bytes) + (select sum(always_live) from memory_by_tile) from liveness")[0]
    assert cells(page, 0)[:6] == ["0", f"{whole:,}", "–", "–", f"{received} B", f"{peak} B"]
    share = page.locator("#tree-row-1 .tree-self").get_attribute("title")
    assert share is not None
    assert "83.72 % = self cycles / total device cycles" in share


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
    expect(page).to_have_url(re.compile("program=3"))


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
    for place in (1, 3, 1):  # the first Enter stays at the first match
        page.keyboard.press("Enter")
        expect(page.locator(".tree-row.cursor")).to_have_id(f"tree-row-{place}")
        expect(page.locator(".tree-status")).to_have_text(f"{1 if place == 1 else 2} of 2")
    expect(page).to_have_url(re.compile("pt_search=layer"))


def test_dot_and_comma_go_through_matches_and_programs(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree")
    page.locator("#tree-row-1").wait_for()
    page.locator(".tree-scroll").focus()
    page.keyboard.press(".")
    page.keyboard.press(".")
    expect(page.locator(".tree-row.cursor")).to_have_id("tree-row-2")
    page.keyboard.press(",")
    expect(page.locator(".tree-row.cursor")).to_have_id("tree-row-1")
    viewer.open("tiny", "program_tree", "pt_search=layer")
    expect(page.locator(".tree-status")).to_have_text("2 matches")
    page.locator(".tree-scroll").focus()
    page.keyboard.press(".")
    page.keyboard.press(".")
    expect(page.locator(".tree-row.cursor")).to_have_id("tree-row-3")


def test_folding_and_columns_stand_in_the_url(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree")
    page.locator("#tree-row-0 .tree-fold").click()
    expect(page.locator(".tree-row")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"pt_fold=a\.0"))
    page.reload()
    expect(page.locator("#tree-row-0")).to_have_attribute("aria-expanded", "false")
    viewer.open("tiny", "program_tree", "pt_fold=1&pt_sent=1&pt_live=0")
    expect(page.locator(".tree-row")).to_have_count(4)
    expect(page.locator("#tree-row-3 .tree-sent")).to_have_text("8 B")
    expect(page.locator("#tree-row-3 .tree-live")).to_be_hidden()


def test_related_programs_are_counted(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree", "program=1&pt_layer=user")
    expect(page.locator(".tree-related")).to_have_text("2 related")
    expect(page.locator("#tree-row-3")).to_have_class(re.compile(r"\brelated\b"))
    page.get_by_role("tab", name="Related").click()
    expect(page.locator("[data-table=related-programs] .ag-center-cols-container .ag-row")).to_have_count(2)


def test_the_table_is_the_trees_twin(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "program_tree", "pt_view=table")
    rows = page.locator(".tree-table .ag-center-cols-container .ag-row")
    expect(rows).to_have_count(4)
    expect(rows.first.locator(".ag-cell").nth(3)).to_have_text(re.compile(r"^\d+$"))
    first = rows.first.locator(".ag-cell").all_inner_texts()
    own = sql(folder / "tiny", "select sum(cycles) from steps join steps_by_ipu on step_id = id where program = 1")[0]
    assert first[:4] == ["1", "OnTileExecute", "layer/matmul", str(own)]
    rows.first.click()
    expect(page.locator(".panel-title")).to_contain_text("Id 1")


def test_a_search_leaves_the_matching_rows_of_the_table(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree", "pt_view=table&pt_search=matmul")
    rows = page.locator(".tree-table .ag-center-cols-container .ag-row")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("layer/matmul")
    expect(page.locator(".tree-status")).to_be_hidden()
    page.locator('[data-param="pt_search"] input').fill("")
    expect(rows).to_have_count(4)
    viewer.open("tiny", "program_tree", f"vs={viewer.keys['slower']}&pt_view=table&pt_search=matmul")
    expect(rows).to_have_count(1)


def test_two_trees_side_by_side(viewer: Viewer) -> None:
    other = viewer.keys["slower"]
    page = viewer.open("tiny", "program_tree", f"vs={viewer.keys['tiny']}")
    page.locator("#tree-row-3 .tree-difference").wait_for()
    expect(page.locator("#tree-row-3 .tree-difference")).to_have_text("0")
    assert set(page.locator(".tree-row .tree-difference").all_inner_texts()) == {"0"}
    viewer.open("tiny", "program_tree", f"vs={other}")
    expect(page.locator("#tree-row-1 .tree-difference")).to_have_text("+100")
    expect(page.locator("#tree-row-2 .tree-difference")).to_have_text("0")
    expect(page.locator(".tree-row.only-target")).to_contain_text("only in the target")
    viewer.open("tiny", "program_tree", f"vs={other}&pt_view=table")
    first = page.locator(".tree-table .ag-center-cols-container .ag-row").first
    expect(first).to_contain_text("+100")


def test_the_tree_is_accessible(viewer: Viewer) -> None:
    for theme in ("light", "dark"):
        page = viewer.open("tiny", "program_tree", "program=1")
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.locator("#tree-row-3 .tree-code").wait_for()
        expect(page.locator(".panel-title")).to_be_visible()
        assert violations(page, within="#page") == []


def test_a_program_that_is_not_there(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree", "program=77")
    expect(page.locator("#pt-details")).to_contain_text("There is no program 77")


def test_fifty_thousand_programs(viewer: Viewer) -> None:
    page = viewer.open("long", "program_tree")
    expect(page.locator("#tree-row-0")).to_be_visible()
    assert page.locator(".tree-row").count() < 80
    page.locator(".tree-scroll").focus()
    page.keyboard.press("End")
    last = page.locator(f"#tree-row-{MANY - 1} .tree-id")
    expect(last).to_have_text(f"#{MANY - 1}")
    assert page.locator(".tree-row").count() < 80
    page.keyboard.press("/")
    page.keyboard.type("needle")
    expect(page.locator(".tree-row.cursor")).to_contain_text("needle")
    assert page.locator(".tree-row").count() < 80
