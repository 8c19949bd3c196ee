"""The liveness page in a browser: the figures it shows against plain SQL over profile.pop."""

from __future__ import annotations

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.memory_pages import Opened, opened
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

TILES = 6  # of replica 0


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(shared, tmp_path_factory.mktemp("liveness"))


def _curve(viewer: Opened) -> list[int]:
    return viewer.sql("select bytes from liveness order by liveness_index")


def _always(viewer: Opened) -> int:
    return sum(viewer.sql(f"select always_live from memory_by_tile where tile < {TILES}"))


def test_the_curve_of_one_replica(viewer: Opened) -> None:
    viewer.go("liveness")
    viewer.wait_for_text(".headline-label", "Peak liveness, replica 0")
    curve, always = _curve(viewer), _always(viewer)
    drawn = viewer.figure("live-plot")
    assert drawn["Not always live"] == curve
    assert drawn["Always live"] == [always] * len(curve)
    hint = re.compile(f"^{max(curve) + always:,} B")
    expect(viewer.page.locator(".headline-value").first).to_have_attribute("title", hint)
    viewer.wait_for_text(".headline-detail", f"index {curve.index(max(curve))}")


def test_device_and_fullest_tile_are_both_named(viewer: Opened) -> None:
    viewer.go("liveness")
    viewer.wait_for_text(".headline-label", "Peak of the fullest tile")
    totals = viewer.sql(f"select always_live + not_always_live from memory_by_tile where tile < {TILES} order by tile")
    viewer.wait_for_text(".headline-detail", f"tile {totals.index(max(totals))}, index")


def test_the_peak_key_selects_and_the_tab_adds_up(viewer: Opened) -> None:
    curve = _curve(viewer)
    top = curve.index(max(curve))
    viewer.go("liveness", "live_tab=not_always")
    viewer.wait_for_text(".tab-hint", f"At the peak, index {top}")
    viewer.wait_for_text(".total", f"Index {top}")
    viewer.wait_for_plot("live-plot")
    viewer.page.focus("[data-plot=live]")
    viewer.page.keyboard.press("p")
    viewer.page.locator(".tab-hint").wait_for(state="detached")
    viewer.wait_for_text(".total", f"Index {top}")
    expect(viewer.page).to_have_url(re.compile(f"liveness={top}"))
    address = f"{viewer.base}/data/{viewer.key}/table/liveness-live.csv?where=replica:0&indices={top}"
    rows = list(csv.DictReader(io.StringIO(viewer.page.request.get(address).text())))
    assert sum(int(row[f"size_bytes, {top}"]) for row in rows) == max(curve)
    of_two_replicas = "select name, p.bytes / 2 from variable_parts p join variables v on v.id = p.variable"
    parts = {tuple(part) for part in viewer.sql(f"{of_two_replicas} where always_live = 0")}
    assert {(row["name"], int(row[f"size_bytes, {top}"])) for row in rows} <= parts
    viewer.wait_for_text(".row-count", f"{len(rows)} row")


def test_the_page_of_a_selected_index_can_be_left(viewer: Opened) -> None:
    """The boxes beside the tables are still awaited when the list of reports comes: the server must not fail."""
    failures = []
    viewer.page.on("response", lambda answer: failures.append(answer.url) if answer.status >= 500 else None)
    viewer.go("liveness", "liveness=3&live_tab=not_always")
    viewer.wait_for_text(".total", "Index 3")
    viewer.page.evaluate("popvision.go('/')")
    viewer.page.locator(".picker").wait_for()
    viewer.page.wait_for_load_state("networkidle")
    assert failures == []


def test_shift_click_adds_a_column_with_a_signed_difference(viewer: Opened) -> None:
    curve = _curve(viewer)
    viewer.go("liveness", "live_tab=not_always")
    viewer.wait_for_plot("live-plot")
    viewer.click("live-plot", 3)
    viewer.wait_for_text(".total", "Index 3")
    viewer.click("live-plot", 7, add=True)
    viewer.wait_for_text(".total", "Change 7 − 3")
    change = viewer.page.locator(".total", has_text="Change").get_attribute("title")
    assert change == f"{curve[7] - curve[3]:+,} B"
    expect(viewer.page).to_have_url(re.compile("liveness=3"))
    expect(viewer.page).to_have_url(re.compile("live_also=7"))


def test_always_live_variables_of_a_tile(viewer: Opened) -> None:
    viewer.go("liveness", "live_source=tile&tiles=2")
    viewer.wait_for_text(".headline-label", "Peak of tile 2")
    expected = viewer.sql("select always_live from memory_by_tile where tile = 2")[0]
    total = viewer.page.locator(".total").first
    expect(total).to_have_attribute("title", re.compile(f"^{expected:,} B"))
    highest = viewer.sql("select not_always_live from memory_by_tile where tile = 2")[0]
    assert max(viewer.figure("live-plot")["Not always live"]) == highest


def test_the_filter_counts_and_changes_no_statistic(viewer: Opened) -> None:
    viewer.go("liveness")
    viewer.page.locator(".range-part").first.wait_for()
    before = viewer.page.locator(".range-line").inner_text()
    viewer.page.fill("#box-live_filter", "exchange")
    matching = viewer.sql(
        "select count(*) from liveness join programs on programs.id = liveness.program "
        "where lower(name) like '%exchange%'"
    )[0]
    viewer.wait_for_text("#live-range", f"{matching} of {len(_curve(viewer))} steps match the filter")
    assert viewer.page.locator(".range-line").inner_text() == before


def test_the_lifetime_of_a_variable_is_shaded(viewer: Opened) -> None:
    variable = viewer.sql("select id from variables where always_live = 0")[0]
    viewer.go("liveness", f"variable={variable}")
    viewer.wait_for_text("#live-range", f"v{variable} is live at")
    viewer.wait_for_plot("live-plot", "layout.shapes.length > 0")


def test_the_selected_step_leads_to_the_program_tree(viewer: Opened) -> None:
    program = viewer.sql("select program from liveness where liveness_index = 4")[0]
    viewer.go("liveness", "liveness=4")
    viewer.wait_for_text(".headline-label", "Selected: index 4")
    link = viewer.page.locator(".headline-figure", has_text="Selected").locator("a")
    assert (link.get_attribute("href") or "").endswith(f"/program_tree?program={program}")


def test_every_tab_in_both_themes(viewer: Opened) -> None:
    viewer.problems.clear()
    viewer.go("liveness", "liveness=3&live_also=5")
    for theme in ("light", "dark"):
        for tab in ("always", "not_always", "vertices", "cycles", "flops"):
            viewer.page.click(f"#live_tab-tab-{tab}")
            viewer.page.locator(f"#live-tab-{tab} > *").first.wait_for()
        assert viewer.page.evaluate("document.documentElement.dataset.theme") == theme
        viewer.page.keyboard.press("t")
    assert viewer.problems == []


def test_cycles_of_a_step(viewer: Opened) -> None:
    viewer.go("liveness", "live_tab=cycles&liveness=0")
    cell = viewer.page.locator(".ag-cell[col-id=longest_cycles]").first
    expect(cell).to_have_text("1,200")  # program 1: 100 x (tile of its IPU + 10 x IPU), tiles 0 to 5
