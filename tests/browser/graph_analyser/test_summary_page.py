"""The summary page's figures against plain SQL over profile.pop."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.shell_pages import Viewer, sql

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


def test_headline(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "summary")
    cards = page.locator(".figure-card")
    tiny = folder / "tiny"
    expect(cards.nth(0).locator(".figure-value")).to_have_text(f"{sql(tiny, 'select sum(cycles) from runs')[0]:,}")
    ranked = "order by excluding_gaps desc, tile limit 1"
    tile, most = sql(tiny, f"select tile, excluding_gaps from memory_by_tile {ranked}")
    expect(cards.nth(1).locator(".figure-value")).to_have_text(f"{most} B")
    expect(cards.nth(1)).to_contain_text(f"{100 * most / 1000:.2f} % of 1,000 B · tile {tile}")
    expect(cards.nth(1)).to_contain_text(f"with gaps at most {sql(tiny, 'select max(total) from memory_by_tile')[0]} B")
    used = sql(tiny, "select sum(excluding_gaps) from memory_by_tile")[0]
    expect(cards.nth(2)).to_contain_text(f"{100 * used / 4000:.2f} %")
    joined = "steps join steps_by_ipu on step_id = id"
    cycles, times = sql(tiny, f"select sum(cycles) c, count(*) from {joined} group by program order by c desc limit 1")
    expect(cards.nth(3)).to_contain_text(f"{cycles} cycles")
    expect(cards.nth(3)).to_contain_text(f"{times} executions")


def test_shares_add_up(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    shares = [float(text.split()[0]) for text in page.locator(".share-entry strong").all_inner_texts()]
    assert shares == pytest.approx([100 * part / 172 for part in (70, 8, 0, 0, 94)], abs=0.005)
    assert sum(shares) == pytest.approx(100, abs=0.03)


def test_tables_are_exported(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "summary")
    box = page.locator('[data-table="runs"]')
    with page.expect_download() as caught:
        box.get_by_role("button", name="CSV").click()
    (row,) = csv.DictReader(io.StringIO(Path(caught.value.path()).read_text()))
    cycles, began, ended = sql(folder / "tiny", "select cycles, host_start_us, host_end_us from runs")
    assert (int(row["cycles"]), int(row["host_us"])) == (cycles, ended - began)
    with page.expect_download() as caught:
        box.get_by_role("button", name="JSON").click()
    assert json.loads(Path(caught.value.path()).read_text())[0]["cycles"] == cycles


def test_options_are_filtered(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    box = page.locator('[data-table="options"]')
    expect(box.locator("[data-row-count]")).to_have_text("1 row")
    box.locator("input").first.fill("no such option")
    expect(box.locator("[data-row-count]")).to_have_text("0 of 1 rows")


def test_a_folded_section_stays_folded_in_the_next_report(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    page.locator('details[data-fold="graph"] > summary').click()
    expect(page.locator('details[data-fold="graph"]')).not_to_have_attribute("open", "")
    viewer.open("hostile", "summary")
    expect(page.locator('details[data-fold="graph"]')).not_to_have_attribute("open", "")
    page.locator('details[data-fold="graph"] > summary').click()
