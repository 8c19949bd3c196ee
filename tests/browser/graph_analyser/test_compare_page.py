"""Comparing in Chromium: choosing on the first page, the header line, the summary of several reports."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from popvision.analysis.compare.what_changed import PHASE_NOTE
from tests.browser.axe_pages import violations
from tests.browser.shell_pages import HOSTILE, Viewer, sql, write_hostile
from tests.planted import LOOKUP, WORST_TILE, planted

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    planted("base").write(made / "base")
    cast = next(row for row, each in enumerate(planted().programs) if each.name == "cast")
    changed = planted("changed").with_variable(2, bytes={WORST_TILE: 120_000 + 1_024})
    changed.with_program(cast, cycles=160).write(made / "changed")
    shorter = planted("shorter").with_program(1, remove=True)
    replace(shorter, timestamp="2026-11-20T00:00:00Z").write(made / "shorter")
    write_hostile(made / "hostile")
    return made


def compared(viewer: Viewer, *targets: str, source: str = "base") -> Page:
    page = viewer.open(source, "summary", "vs=" + ",".join(viewer.keys[each] for each in targets))
    expect(page.locator("#summary-changes")).to_be_attached()
    expect(page.locator("#summary-changes > [role=status]")).to_have_count(0)
    return page


def difference(page: Page, metric: str, column: int = 0) -> str:
    return page.locator(f'[data-metric="{metric}"] .diff').nth(column).inner_text()


def test_figures_against_sql(viewer: Viewer, folder: Path) -> None:
    page = compared(viewer, "changed")
    cycles = [sql(folder / name, "select sum(cycles) from runs")[0] for name in ("base", "changed")]
    peaks = [sql(folder / name, "select max(total) from memory_by_tile")[0] for name in ("base", "changed")]
    assert cycles[1] - cycles[0] == 100
    assert peaks[1] - peaks[0] == 1_024
    row = page.locator('[data-metric="cycles"] td')
    share = 100 * 100 / cycles[0]
    assert row.all_inner_texts()[1:] == [f"{cycles[0]:,}", f"{cycles[1]:,}", f"+100 (+{share:.2f} %)"]
    assert difference(page, "peak") == f"+1.0 KiB (+{100 * 1024 / peaks[0]:.2f} %)"
    assert difference(page, "runs") == "0"
    expect(page.locator('[data-metric="peak"] .diff')).to_have_class("diff diff-more")


def test_each_planted_difference_stands_once(viewer: Viewer) -> None:
    page = compared(viewer, "changed")
    rows = [row.split("\t") for row in page.locator("[data-change]").all_inner_texts()]
    assert sorted((row[0], row[1], row[4].split(" (")[0]) for row in rows) == [
        ("both", "OnTileExecute (cast)", "+100"),
        ("both", LOOKUP, "+1.0 KiB"),
        ("both", f"tile {WORST_TILE}", "+1.0 KiB"),
    ]
    page.get_by_role("link", name=f"tile {WORST_TILE}", exact=True).last.click()
    page.wait_for_url(f"**/memory?tiles={WORST_TILE}&vs={viewer.keys['changed']}")


def test_a_report_against_itself(viewer: Viewer) -> None:
    page = compared(viewer, "base")
    expect(page.locator("[data-change]")).to_have_count(0)
    expect(page.locator(".diff-more, .diff-less")).to_have_count(2)  # those of the key
    expect(page.locator(".diff-key")).to_contain_text("+ more, − less in the target")
    expect(page.locator("#summary-changes")).to_contain_text(
        "No program, variable, tile, vertex type or compute set differs"
    )
    expect(page.locator("#page")).to_contain_text("All options and machines are the same")


def test_several_targets_stand_side_by_side(viewer: Viewer) -> None:
    page = compared(viewer, "changed", "shorter")
    assert difference(page, "cycles", 0).startswith("+100")
    assert difference(page, "steps", 1).startswith("\u22121 ")
    only = page.locator('[data-change="source"]')
    expect(only).to_have_count(1)
    expect(only).to_contain_text("DoExchange (layer0/qkv/ExchangePre)")
    expect(page.locator(".share-bar")).to_have_count(3)
    expect(page.locator("#masthead .versus")).to_have_text("Source (before)basevs2 targets (after)changed · shorter")
    expect(page.locator(".figure-card", has_text="Fullest tile")).to_contain_text("Target 1 ")


def test_a_page_says_which_of_several_targets_it_compares_with(viewer: Viewer) -> None:
    both = ",".join(viewer.keys[each] for each in ("changed", "shorter"))
    page = viewer.open("base", "operations", f"vs={both}")
    header = page.locator("#masthead .versus")
    expect(header).to_have_text("Source (before)basevsTarget 1 of 2 (after)changed")
    title = header.locator(".versus-role", has_text="Target").get_attribute("title")
    assert title == "This page compares with changed alone. Summary and Overview compare with all: changed, shorter"
    page = viewer.open("base", "overview", f"vs={both}")
    expect(header).to_have_text("Source (before)basevs2 targets (after)changed · shorter")
    for name in ("changed", "shorter"):
        expect(page.locator("#page")).to_contain_text(f"What changed – {name}")


def test_swap_stop_and_a_target_that_is_gone(viewer: Viewer) -> None:
    page = viewer.open("base", "summary", f"tiles=3&variable=2&vs={viewer.keys['changed']}")
    expect(page.locator("#masthead .versus")).to_have_text("Source (before)basevsTarget (after)changed")
    page.get_by_role("button", name="Swap source and target").click()
    page.wait_for_url(f"**/r/{viewer.keys['changed']}/summary?tiles=3&vs={viewer.keys['base']}")
    expect(page.locator("#masthead .versus")).to_have_text("Source (before)changedvsTarget (after)base")
    page.get_by_role("button", name="Stop comparing").click()
    expect(page.locator("#masthead .versus")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("vs="))
    page = viewer.open("base", "summary", "vs=gone")
    expect(page.locator(".versus-problem")).to_contain_text("The given folders have no report 'gone' to compare with")


def test_of_two_reports_the_one_compiled_earlier_is_the_source(viewer: Viewer) -> None:
    page = viewer.go("/")
    for names in (("base", "shorter"), ("shorter", "base")):
        for name in names:
            page.get_by_role("checkbox", name=f"Choose {name} to compare").click()
        expect(page.locator("[data-compare-chosen]")).to_contain_text("Source (before): shorter, target (after): base.")
        page.get_by_role("button", name="Clear", exact=True).click()
    for name in ("base", "changed"):  # compiled in the same second: as they are listed
        page.get_by_role("checkbox", name=f"Choose {name} to compare").click()
    listed = [name for name in page.locator(".card-name").all_inner_texts() if name in ("base", "changed")]
    chosen = f"Source (before): {listed[0]}, target (after): {listed[1]}."
    expect(page.locator("[data-compare-chosen]")).to_contain_text(chosen)
    page.get_by_role("button", name="Clear", exact=True).click()


def test_reports_are_chosen_with_the_keyboard(viewer: Viewer) -> None:
    page = viewer.go("/")
    page.get_by_role("checkbox", name="Choose changed to compare").focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-compare-chosen]")).to_have_text("changed. Choose another report to compare it with.")
    compare = page.get_by_role("button", name="Compare", exact=True)
    expect(compare).to_be_disabled()
    page.get_by_role("checkbox", name="Choose base to compare").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("checkbox", name="Choose base to compare")).to_be_checked()
    expect(page.locator("[data-compare-chosen]")).to_have_text(
        "Source (before): changed, target (after): base. Differences are target − source."
    )
    page.get_by_role("button", name="Swap", exact=True).click()
    expect(page.locator("[data-compare-chosen]")).to_contain_text("Source (before): base, target (after): changed.")
    page.get_by_role("button", name="Swap", exact=True).click()
    compare.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/r/{viewer.keys['changed']}/summary?vs={viewer.keys['base']}")
    assert difference(page, "cycles").startswith("\u2212100")


def test_recent_reports_and_comparisons_are_remembered(viewer: Viewer) -> None:
    compared(viewer, "shorter")
    page = viewer.go("/")
    first = page.locator('[data-recent="comparisons"] li').first
    expect(first).to_contain_text("base vs shorter")
    expect(page.locator('[data-recent="reports"] li').first).to_contain_text("base")
    first.get_by_role("link").click()
    page.wait_for_url(f"**/r/{viewer.keys['base']}/summary?vs={viewer.keys['shorter']}")
    # Who turns back before the page came stays where he was: the list is not built again, as `go` awaits.
    expect(page.locator("#masthead .versus")).to_have_text("Source (before)basevsTarget (after)shorter")
    page = viewer.go("/")
    expect(first).to_contain_text("base vs shorter")
    count = page.locator('[data-recent="comparisons"] li').count()
    first.get_by_role("button").click()
    expect(page.locator('[data-recent="comparisons"] li')).to_have_count(count - 1)
    expect(page.locator('[data-recent="comparisons"]')).not_to_contain_text("base vs shorter")


def test_the_comparison_is_saved(viewer: Viewer) -> None:
    page = compared(viewer, "changed")
    with page.expect_download() as caught:
        page.get_by_role("link", name="Figures, changed: CSV").click()
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(Path(caught.value.path()).read_text()))}
    assert rows["cycles"]["difference"] == "100"
    assert rows["peak"]["difference"] == "1024"
    with page.expect_download() as caught:
        page.get_by_role("link", name="Entire comparison, changed: JSON").click()
    document = json.loads(Path(caught.value.path()).read_text())
    assert document["changes"]["tiles"]["changed"][0]["source"] == WORST_TILE


def test_names_are_text(viewer: Viewer) -> None:
    page = compared(viewer, "hostile")
    assert page.evaluate("window.bad") is None
    expect(page.locator("#masthead .versus")).to_contain_text(HOSTILE)
    page = viewer.go("/")
    expect(page.locator('[data-recent="comparisons"] li').first).to_contain_text(HOSTILE)
    assert page.evaluate("window.bad") is None


def test_the_filter_over_options_stays_in_the_address(viewer: Viewer) -> None:
    page = viewer.open("base", "summary")
    page.locator('[data-table="options"] input').first.fill("nothing of the kind")
    page.wait_for_url("**/summary?su_options=nothing+of+the+kind")
    page.reload()
    expect(page.locator('[data-table="options"] [data-row-count]')).to_have_text("0 of 1 rows")
    expect(page.locator('[data-table="options"] input').first).to_have_value("nothing of the kind")


def test_framework_and_application_files_are_trees(viewer: Viewer, folder: Path) -> None:
    (folder / "base" / "app.json").write_text('{"model": {"layers": [12, {"width": "<b>768</b>"}]}, "batch": 4}')
    page = viewer.open("base", "summary")
    tree = page.locator(".json-tree")
    expect(tree).to_contain_text("batch: 4")
    expect(tree.get_by_text("width: <b>768</b>")).to_be_hidden()
    tree.get_by_text("layers").click()
    tree.get_by_text("1", exact=True).click()
    expect(tree.get_by_text("width: <b>768</b>")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(viewer: Viewer, theme: str) -> None:
    page = compared(viewer, "changed", "shorter")
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert violations(page) == []
    page = viewer.go("/")
    page.get_by_role("checkbox", name="Choose base to compare").click()
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert violations(page) == []


def test_two_reports_open_on_what_changed(viewer: Viewer, folder: Path) -> None:
    page = compared(viewer, "changed")
    used = [sql(folder / name, "select sum(excluding_gaps) from memory_by_tile")[0] for name in ("base", "changed")]
    assert used[1] - used[0] == 1_024
    expect(page.locator(".waterfall").first).to_be_visible()
    totals = page.locator(".waterfall tr:last-child td:nth-child(3)").all_inner_texts()
    assert {"+100", "+1.0 KiB"} <= set(totals)
    tops = [page.locator(place).first.bounding_box() for place in (".waterfall", ".share-bar", "[data-metric=cycles]")]
    heights = [top["y"] for top in tops if top is not None]
    assert len(heights) == 3
    assert heights == sorted(heights)
    expect(page.locator(".waterfalls > div:first-child > div:first-child .waterfall-note")).to_have_text(PHASE_NOTE)
    cycles = sql(folder / "changed", "select sum(cycles) from runs")[0]
    expect(page.locator(".figure-card").first).to_contain_text(f"Target {cycles:,}")


def test_nothing_changed_is_a_sentence(viewer: Viewer) -> None:
    page = compared(viewer, "base")
    expect(page.locator("[data-fold=compare-waterfall]")).to_contain_text("Nothing changed")
    assert page.locator(".waterfall").count() == 0


def test_the_html_file_of_a_comparison_says_what_changed(viewer: Viewer) -> None:
    page = compared(viewer, "changed")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save this view").click()
    text = Path(download.value.path()).read_text()
    assert "What changed: device cycles by phase" in text
    assert "+100" in text
    assert "shows the source only" not in text


def test_both_machines_stand_in_the_header(viewer: Viewer) -> None:
    header = compared(viewer, "changed").locator(".masthead")
    assert "tiles" in (header.locator(".fact").first.get_attribute("title") or "")
