"""The Navigation group, the keys and the mark of a plot over positions, and two reports in one plot."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.memory_pages import Opened, opened
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

INDICES = 12


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(shared, tmp_path_factory.mktemp("navigation"))


def _open(viewer: Opened, query: str = "") -> None:
    viewer.go("liveness", query)
    viewer.wait_for_plot("live-plot")
    viewer.page.locator(".plot-nav-percent").wait_for()


def _wait_window(viewer: Opened, first: float, last: float) -> None:
    viewer.wait_for_plot(
        "live-plot", f"layout.xaxis.range[0] === {first - 0.5} && layout.xaxis.range[1] === {last + 0.5}"
    )


def test_buttons_and_boxes_move_the_window(viewer: Opened) -> None:
    page = viewer.page
    _open(viewer)
    page.fill(".plot-nav-percent", "300")
    page.keyboard.press("Enter")
    _wait_window(viewer, 4, 7)
    expect(page.locator(".plot-nav-percent")).to_have_value("300 %")
    page.click("[data-plot-action=on]")
    _wait_window(viewer, 8, 11)
    page.click("[data-plot-action=back]")
    page.click("[data-plot-action=back]")
    _wait_window(viewer, 0, 3)
    page.get_by_label("Last position shown").fill("5")
    page.keyboard.press("Enter")
    _wait_window(viewer, 0, 5)
    expect(page).to_have_url(re.compile("live_view=0-5"))
    page.click("[data-plot-action=in]")
    _wait_window(viewer, 2, 4)
    page.click("[data-plot-action=reset]")
    _wait_window(viewer, 0, 11)
    expect(page).not_to_have_url(re.compile("live_view"))
    page.click("[data-plot-action=fold]")
    expect(page.locator(".plot-nav-percent")).to_be_hidden()
    page.click("[data-plot-action=fold]")
    expect(page.locator(".plot-nav-percent")).to_be_visible()


def test_keys_work_by_place_without_focus(viewer: Opened) -> None:
    _open(viewer, "live_view=4-7")
    page = viewer.page
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    _wait_window(viewer, 3, 6)
    page.keyboard.press("d")
    page.keyboard.press("s")
    _wait_window(viewer, 2, 9)
    page.keyboard.press("w")
    _wait_window(viewer, 4, 7)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.keyboard.press("0")
    _wait_window(viewer, 0, 11)


def test_the_mark_measures_to_the_cursor(viewer: Opened) -> None:
    curve = viewer.sql("select bytes from liveness order by liveness_index")
    _open(viewer, "liveness=3")
    page = viewer.page
    reading = page.locator("#live-reading")
    viewer.wait_for_text("#live-reading .reading-name", "Index 3:")
    page.focus("[data-plot=live]")
    page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    viewer.wait_for_text("#live-reading .reading-mark", "+1 from the mark at Index 3")
    expect(page).to_have_url(re.compile("live_mark=3"))
    part = reading.locator(".reading-part", has_text="Not always live")
    assert [each.get_attribute("title") for each in part.all()][1] == f"{curve[4] - curve[3]:+,} B"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    viewer.wait_for_text("#live-reading .reading-hint", "Select an index")
    expect(page).not_to_have_url(re.compile("live_mark"))


def test_next_and_previous_match_of_the_filter(viewer: Opened) -> None:
    matching = viewer.sql(
        "select liveness_index from liveness join programs on programs.id = liveness.program "
        "where lower(name) like '%exchange%' order by liveness_index"
    )
    _open(viewer, "live_filter=exchange&live_view=0-11")
    viewer.wait_for_text("#live-range", "steps match the filter")
    page = viewer.page
    page.focus("[data-plot=live]")
    for key, index in ((".", matching[0]), (".", matching[1]), (",", matching[0])):
        page.keyboard.press(key)
        viewer.wait_for_text("#live-reading .reading-name", f"Index {index}:")


def test_a_program_leads_to_its_indices(viewer: Opened) -> None:
    program = viewer.sql("select program from liveness where liveness_index = 4")[0]
    indices = viewer.sql(f"select liveness_index from liveness where program = {program} order by 1")
    _open(viewer, f"program={program}")
    viewer.wait_for_text("#live-range", f"at {len(indices)} indices: {', '.join(map(str, indices))}")


def test_a_report_against_itself_is_zero_everywhere(viewer: Opened) -> None:
    page = viewer.page
    viewer.problems.clear()
    curve = viewer.sql("select bytes from liveness order by liveness_index")
    index = max(range(0, INDICES, 3), key=curve.__getitem__)  # where program 1 runs, which has vertices and cycles
    _open(viewer, f"vs={viewer.key}&liveness={index}&live_align=programs")
    for tab in ("always", "not_always", "vertices", "cycles", "steps"):
        page.click(f"#live_tab-tab-{tab}")
        selector = f"#live-tab-{tab} .ag-cell[col-id$='_diff']"
        page.wait_for_function(  # rows of a long table come later
            "selector => { const cells = [...document.querySelectorAll(selector)];"
            " return cells.length && cells.every((each) => !['–', '\u2026', ''].includes(each.innerText.trim())); }",
            arg=selector,
        )
        assert set(page.locator(selector).all_inner_texts()) <= {"0", "0 B", "0.00", "0.00 pp"}
    drawn = viewer.figure("live-plot")
    assert drawn["Source: not always live"] == drawn["Target: not always live"]
    assert drawn["Source: not always live"] == curve
    part = page.locator("#live-reading .reading-part", has_text="Difference")
    expect(part).to_have_attribute("title", "0 B")
    _open(viewer, f"vs={viewer.key}&live_diff=1")
    viewer.wait_for_plot("live-plot", "data.some(t => t.name && t.name.startsWith('Difference'))")
    assert set(viewer.figure("live-plot")["Difference (Target − Source)"]) == {0}
    assert viewer.problems == []


def test_parts_of_a_variable_stand_beside_its_row(viewer: Opened) -> None:
    variable = viewer.sql("select id from variables where always_live = 1")[0]
    _open(viewer, f"variable={variable}")
    viewer.wait_for_text(".live-parts-title", f"v{variable} on all tiles of replica 0")
    rows = viewer.page.request.get(
        f"{viewer.base}/data/{viewer.key}/table/liveness-parts.json?variable={variable}&where=replica:0"
    ).json()
    assert (
        sum(row["size_bytes"] for row in rows) * 2
        == viewer.sql(f"select bytes from variables where id = {variable}")[0]
    )


def test_device_time_says_which_option_records_it(viewer: Opened) -> None:
    viewer.go("liveness", "live_graph=time")
    viewer.wait_for_text("#live-range", "autoReport.outputExecutionProfile=true")
