"""The SQL page in a browser: rows against SQLite itself, places, plot, the address, cancelling, keys, both themes."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from popvision.package_data import package_folder
from tests.browser.axe_pages import violations
from tests.browser.shell_pages import Viewer

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

ENDLESS = "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t"


@pytest.fixture(scope="module")
def folder() -> Path:
    return package_folder("sample_reports") / "train_mlp"


def run(page: Page, sql: str) -> None:
    """Returns once the rows or the problem are shown, which is later than the button can be pressed again."""
    page.locator("#sql-editor").fill(sql)
    page.locator("#sql-editor").press("Control+Enter")
    expect(page.locator("#sql-run")).to_be_enabled()
    counted = page.locator("#sql-status", has_text=re.compile(r"rows? in [\d.]+ s"))
    expect(counted.or_(page.locator("#sql-problem:not([hidden])"))).to_be_visible()


def cells(page: Page) -> list[list[str]]:
    return [row.locator("td").all_text_contents() for row in page.locator("#sql-rows tbody tr").all()]


def test_rows_are_those_of_the_file_and_lead_to_their_pages(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("train_mlp", "sql")
    page.locator("#sql-question").select_option(label="Longest execution steps")
    expect(page.locator("#sql-status")).to_contain_text("50 rows in ")
    with closing(sqlite3.connect(folder / "profile.pop")) as db:
        longest = db.execute("select max(cycles) from steps_by_ipu").fetchone()[0]
    first = cells(page)[0]
    assert first[4] == f"{longest:,}"
    expect(page).to_have_url(re.compile(r"sql=select\+step"))
    page.locator("#sql-rows tbody a").first.click()
    expect(page.locator("#view-execution")).to_be_visible()
    expect(page).to_have_url(re.compile(f"step={first[0]}"))


def test_wide_rows_scroll_beside_the_views(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "sql")
    run(page, "select * from operations")
    rows, views = (page.locator(selector).bounding_box() for selector in ("#sql-rows", ".sql-schema"))
    assert rows is not None
    assert views is not None
    assert rows["x"] + rows["width"] <= views["x"]
    assert page.locator("#sql-rows").evaluate("rows => rows.scrollWidth > rows.clientWidth")


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("select tile from tiles where tile = 5", "/memory?tiles=5"),
        ("select 12 as program", "/program_tree?program=12"),
        ("select 3 as variable", "/liveness?variable=3"),
        ("select 9 as liveness_index", "/liveness?liveness=9"),
        ("select context from operations where context is not null limit 1", "/operations?ops_at="),
        ("select debug_id from program_list where compute_set >= 0 limit 1", "/source?src_file="),
        ("select compute_set from program_list where compute_set >= 0 limit 1", "/program_tree?program="),
    ],
)
def test_places_of_ids(viewer: Viewer, sql: str, place: str) -> None:
    page = viewer.open("train_mlp", "sql", urlencode({"sql": sql}))
    expect(page.locator("#sql-status")).to_contain_text("1 row in ")
    address = page.locator("#sql-rows a").get_attribute("href") or ""
    expected = f"/r/{viewer.keys['train_mlp']}{place}"
    assert address.startswith(expected) if place.endswith("=") else address == expected


def test_an_address_shows_the_same_rows_and_plot(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "sql")
    run(page, "select type, count(*) as programs, max(program) as last from program_list group by type order by type")
    page.get_by_role("button", name="Plot").click()
    page.get_by_label("Height").select_option("last")
    rows, bars = cells(page), page.locator("#sql-plot rect.bar")
    expect(bars).to_have_count(len(rows))
    expect(page).to_have_url(re.compile(r"[?&]sql_y=last(&|$)"))
    heights = [float(bar.get_attribute("height") or 0) for bar in bars.all()]
    values = [int(row[2].replace(",", "")) for row in rows]
    assert [round(height / max(heights), 6) for height in heights] == [
        round(value / max(values), 6) for value in values
    ]
    page.reload()
    expect(bars).to_have_count(len(rows))
    assert cells(page) == rows


def test_a_query_is_cancelled_and_errors_are_sentences(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "sql")
    page.locator("#sql-editor").fill(ENDLESS)
    page.locator("#sql-run").click()
    expect(page.locator("#sql-cancel")).to_be_enabled()
    page.locator("#sql-cancel").click()
    expect(page.locator("#sql-problem")).to_have_text("The query was cancelled.")
    run(page, "select * from read_csv('/etc/passwd')")
    expect(page.locator("#sql-problem")).to_contain_text("No such table: read_csv")
    run(page, "select '<img src=x onerror=\"window.bad=1\">' as name, null as absent")
    expect(page.locator("#sql-problem")).to_be_hidden()
    assert cells(page) == [['<img src=x onerror="window.bad=1">', "null"]]
    assert page.evaluate("window.bad") is None


def test_rows_are_saved_as_csv(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "sql")
    run(page, "select tile, ipu from tiles order by tile")
    with page.expect_download() as saved:
        page.locator("#sql-csv").click()
    assert saved.value.suggested_filename == "query.csv"
    assert Path(saved.value.path()).read_text(encoding="utf-8").splitlines()[:2] == ["tile,ipu", "0,0"]


def test_the_schema_is_inserted_and_axe_is_content(viewer: Viewer) -> None:
    page = viewer.open("train_mlp", "sql")
    page.locator("#sql-editor").fill("select ")
    page.locator("#sql-editor").press("End")
    page.locator(".sql-schema summary", has_text="machine").click()
    page.locator(".sql-schema [data-insert=num_ipus]").click()
    page.keyboard.type(" from machine")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#sql-rows td")).to_have_text("1")
    run(page, "select tile, including_gaps_bytes from tiles")
    page.get_by_role("button", name="Plot").click()
    found = violations(page)
    page.keyboard.press("Tab")
    page.evaluate("popvision.setTheme('dark')")
    found += violations(page, rules=["color-contrast"])
    page.evaluate("popvision.setTheme('light')")
    assert found == []


def test_a_selected_area_offers_its_aggregate_and_sql(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("train_mlp", "execution", "sel=20000-60000&tiles=3-5&detail=summary")
    page.get_by_role("link", name="SQL of this area: 3 selected tiles, 40,000 cycles").click()
    expect(page.locator("#sql-status")).to_contain_text(" rows in ")
    shown = {row[0]: int(row[1].replace(",", "")) for row in cells(page)}
    assert 0 < sum(shown.values()) <= 3 * 40_000

    page = viewer.open("train_mlp", "memory", "tiles=3-5")
    page.get_by_role("link", name="SQL of 3 selected tiles").click()
    expect(page.locator("#sql-status")).to_contain_text(" rows in ")
    used = sum(int(row[1].replace(",", "")) for row in cells(page))
    run(page, "select sum(excluding_gaps_bytes) from tiles where tile between 3 and 5")
    expect(page.locator("#sql-rows td")).to_have_text(f"{used:,}")
