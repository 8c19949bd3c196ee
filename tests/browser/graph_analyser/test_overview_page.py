"""The overview: its figures against plain SQL over profile.pop, findings that are dismissed, and where rows lead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.shell_pages import Viewer, sql

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


def test_it_is_the_first_page_of_a_report(viewer: Viewer) -> None:
    page = viewer.open("tiny", "")
    expect(page.locator("#view-overview")).to_be_visible()


def test_time_and_memory_are_those_of_the_database(viewer: Viewer, folder: Path) -> None:
    page, tiny = viewer.open("tiny", "overview"), folder / "tiny"
    cycles = sql(tiny, "select sum(cycles) from runs")[0]
    time = page.locator('details[data-fold="overview-time"]')
    expect(time.locator(".overview-line")).to_contain_text(f"{cycles:,} cycles")
    shares = [float(text.split()[0]) for text in time.locator(".share-entry strong").all_inner_texts()]
    assert shares == pytest.approx([100 * part / 172 for part in (70, 8, 0, 0, 94)], abs=0.005)
    memory = page.locator('details[data-fold="overview-memory"]')
    ranked = "order by excluding_gaps desc, tile limit 1"
    tile, most = sql(tiny, f"select tile, excluding_gaps from memory_by_tile {ranked}")
    expect(memory).to_contain_text(f"Fits: the fullest tile, {tile}, uses {most} B of 1,000 B")
    expect(memory).to_contain_text("Bytes that several variables share count once here")
    used = sql(tiny, "select sum(excluding_gaps) from memory_by_tile")[0]
    expect(memory).to_contain_text(f"{used:,} B in use on all tiles, {100 * used / 4000:.2f} % of their memory")


def test_a_finding_leads_to_its_places(viewer: Viewer) -> None:
    """Tile 1 takes 20 cycles in each of two steps, the three tiles that work 35 / 3 on average."""
    page = viewer.open("tiny", "overview")
    finding = page.locator("#overview-findings li").first
    expect(finding).to_contain_text("waits for tile 1: it takes 40 cycles where the 3 tiles at work take 23 on average")
    formula = "cycles of the slowest tile (40) less the mean of the tiles that work (23), over 2 executions"
    expect(finding.locator(".bound")).to_have_attribute("title", f"{formula}; the share is of all device cycles")
    finding.locator("a").first.click()
    expect(page).to_have_url(re.compile("/program_tree.*program=1"))


def test_a_dismissed_finding_stays_away_in_the_address(viewer: Viewer) -> None:
    page = viewer.open("tiny", "overview")
    findings = page.locator("#overview-findings ol > li")
    expect(findings.first).to_be_visible()
    number = findings.count()
    findings.first.get_by_role("button", name="Dismiss").click()
    expect(findings).to_have_count(number - 1)
    expect(page).to_have_url(re.compile(r"dismissed=imbalance\.1"))
    page.reload()
    expect(page.locator("#overview-findings")).to_contain_text("1 dismissed.")
    expect(findings).to_have_count(number - 1)
    page.get_by_role("button", name="Show again").click()
    expect(findings).to_have_count(number)
    expect(page).not_to_have_url(re.compile("dismissed"))


def test_waits_lead_to_their_sync_program_and_tile(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "overview")
    rows = page.locator("#overview-waits-table .ag-center-cols-container [role=row]")
    expect(rows.first).to_be_visible()
    rows.first.locator("[col-id=tile]").click()
    links = page.locator("#overview-wait a")
    expect(links).to_have_count(3)
    step = int(re.sub(r"\D", "", links.first.inner_text()))
    assert sql(folder / "tiny", f"select type from steps where id = {step}")[0] == "Sync"
    links.first.click()
    expect(page).to_have_url(re.compile(f"/execution.*step={step}"))


def test_tiles_are_counted_by_sixths(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "overview")
    counts = "select {} from memory_by_tile"
    sixths = ", ".join(f"sum(excluding_gaps * 6 / 1000 = {sixth})" for sixth in range(6))
    expected = list(sql(folder / "tiny", counts.format(sixths)))
    table = page.locator("#overview-use .use-table").nth(1)
    expect(table.locator("tr").first).to_be_visible()
    assert [int(text) for text in table.locator("td.number").all_inner_texts()] == expected


def test_a_sync_says_who_came_last(viewer: Viewer) -> None:
    """At step 1 of tiny tile 1 comes last, 20 cycles after the first; the tiles wait 45 / 4 on average."""
    page = viewer.open("tiny", "execution", "step=1&ipu=0&detail=details")
    last = page.locator("#execution-last")
    expect(last).to_contain_text("Tile 1 comes last: the tiles wait 11 on average for it, the first 20.")
    last.get_by_role("link", name="step 0").click()
    expect(page).to_have_url(re.compile(r"/execution.*step=0"))


def test_a_pinned_statement_is_asked_on_the_overview(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "overview")
    section = page.locator('details[data-fold="pins"]')
    expect(section).to_be_hidden()
    statement = "select tile, excluding_gaps_bytes from tiles order by tile"
    page = viewer.open("tiny", "sql")
    page.locator("#sql-editor").fill(statement)
    page.locator("#sql-pin").click()
    expect(page.locator("#sql-pin")).to_have_text("Unpin")
    page = viewer.open("tiny", "overview")
    rows = section.locator(".pin-rows tr")
    expect(rows).to_have_count(5)
    shown = [row.locator("td").all_text_contents() for row in rows.all()[1:]]
    sizes = [sql(folder / "tiny", f"select excluding_gaps from memory_by_tile where tile = {t}")[0] for t in range(4)]
    assert shown == [[str(tile), str(size)] for tile, size in enumerate(sizes)]
    section.get_by_role("link", name="select tile").click()
    expect(page.locator("#sql-editor")).to_have_value(statement)
    viewer.open("tiny", "overview")
    section.get_by_role("button", name="Unpin").click()
    expect(section).to_be_hidden()
    page.reload()
    expect(page.locator("#overview-findings li").first).to_be_visible()
    expect(section).to_be_hidden()


def test_a_pinned_statement_that_fails_says_so(viewer: Viewer) -> None:
    page = viewer.open("tiny", "sql")
    page.locator("#sql-editor").fill("select tile from nowhere")
    page.locator("#sql-pin").click()
    expect(page.locator("#sql-pin")).to_have_text("Unpin")
    page = viewer.open("tiny", "overview")
    section = page.locator('details[data-fold="pins"]')
    expect(section.locator(".note")).to_contain_text("nowhere")
    section.get_by_role("button", name="Unpin").click()
    expect(section).to_be_hidden()
