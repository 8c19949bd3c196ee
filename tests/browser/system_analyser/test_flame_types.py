"""Types of the flame graph in a browser: calls merged by path, callers by self time, flames that grow upwards."""

from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Route

from tests.analysis.trace.trace_case import make_trace
from tests.browser.axe_pages import violations
from tests.browser.frame import open_page, until
from tests.browser.shared_viewer import SharedViewer
from tests.browser.test_timeline_page import Viewer

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: A thread of 1,000,000 ns: `io` 0.1 ms, then `step` twice, each with `load` inside; `rest` to the end.
MS = 1_000_000
SPANS = [
    (0, 0, MS // 10, "a/io"),
    (0, 2 * MS // 10, 4 * MS // 10, "a/step"),
    (0, 2 * MS // 10, 3 * MS // 10, "b/load"),
    (0, 5 * MS // 10, 8 * MS // 10, "a/step"),
    (0, 5 * MS // 10, 7 * MS // 10, "b/load"),
    (1, 0, MS, "a/rest"),
]


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    folder = tmp_path_factory.mktemp("flame")
    make_trace(folder / "run.pvti", SPANS)
    return Viewer(shared, folder / "run.pvti")


def hovered(viewer: Viewer, row: str, share: float, lane: int) -> str:
    """The tooltip at a share of the width of a row, in one of its lanes from the top."""
    place = viewer.page.locator(f'.tl-row[data-row="{row}"]').bounding_box()
    canvas = viewer.page.locator(".tl canvas").bounding_box()
    assert place
    assert canvas
    x = canvas["x"] + 250 + share * (canvas["width"] - 258)
    viewer.page.mouse.move(x, place["y"] + 10 + 18 * lane)
    tip = viewer.page.locator(".tl-tip")
    return tip.inner_text() if tip.is_visible() else ""


def test_calls_of_one_path_are_one_block_as_wide_as_their_time(viewer: Viewer) -> None:
    viewer.go("tl_flame=paths")
    first = hovered(viewer, "t0", 0.49, 0)  # step: 0.5 ms from the left
    assert first.startswith("step\n")
    assert "2" in first.split("events")[1][:3]
    assert "500 µs" in first
    assert "self\n200 µs" in first
    assert hovered(viewer, "t0", 0.29, 1).startswith("load\n")
    assert hovered(viewer, "t0", 0.31, 1) == ""
    assert hovered(viewer, "t0", 0.55, 0).startswith("io\n")
    assert hovered(viewer, "t0", 0.61, 0) == ""  # 0.4 ms of the thread hold no call
    assert "places are not" in viewer.corner()


def test_labels_by_self_time_lead_to_their_callers(viewer: Viewer) -> None:
    viewer.go("tl_flame=callers")
    assert "300 µs" in hovered(viewer, "t0", 0.1, 0)
    assert hovered(viewer, "t0", 0.1, 0).startswith("load\n")
    assert hovered(viewer, "t0", 0.1, 1).startswith("step\n")
    assert hovered(viewer, "t0", 0.4, 0).startswith("step\n")
    assert hovered(viewer, "t0", 0.4, 1) == ""


def test_a_flame_that_grows_upwards_has_the_outermost_call_below(viewer: Viewer) -> None:
    for kind, share in (("", 0.25), ("paths", 0.25)):
        viewer.go(f"tl_up=1&tl_flame={kind}")
        assert hovered(viewer, "t0", share, 1).startswith("step\n")
        assert hovered(viewer, "t0", share, 0).startswith("load\n")


def test_merged_threads_are_scaled_to_their_sum(viewer: Viewer) -> None:
    viewer.go("tl_flame=paths&tl_merge=1")
    row = viewer.page.locator(".tl-row", has_text="All threads").get_attribute("data-row")
    assert row
    widest = hovered(viewer, row, 0.61, 0)  # rest: 1 of 1.6 ms
    assert widest.startswith("rest\n")
    assert "62.5 % of 1.6 ms" in widest
    assert "more than the window" in widest
    assert hovered(viewer, row, 0.64, 0).startswith("step\n")


def test_keys_and_the_address(viewer: Viewer) -> None:
    viewer.go()
    viewer.page.locator(".tl").focus()
    for kind in ("paths", "callers", None):
        viewer.page.keyboard.press("v")
        viewer.complete()
        assert viewer.url().get("tl_flame") == kind
        assert viewer.page.locator('select[data-param="tl_flame"]').input_value() == (kind or "")
    viewer.page.select_option('select[data-param="tl_flame"]', "paths")
    viewer.complete()
    assert viewer.url()["tl_flame"] == "paths"


def test_a_click_selects_the_longest_call_and_a_double_click_leads_to_it(viewer: Viewer) -> None:
    viewer.go("tl_flame=paths")
    assert hovered(viewer, "t0", 0.3, 0).startswith("step\n")
    viewer.page.mouse.down()
    viewer.page.mouse.up()
    viewer.page.wait_for_url("**tl_event=0.0.2**")
    viewer.page.wait_for_selector(".tl-facts :text('300 µs')")
    viewer.page.mouse.dblclick(*middle(viewer))
    viewer.page.wait_for_url(lambda url: "tl_flame" not in url and "tl_from" in url)
    window = viewer.url()
    assert int(window["tl_from"]) < 5 * MS // 10 < 8 * MS // 10 < int(window["tl_to"])


def middle(viewer: Viewer) -> tuple[float, float]:
    """A place in the widest block of the first thread."""
    place = viewer.page.locator('.tl-row[data-row="t0"]').bounding_box()
    canvas = viewer.page.locator(".tl canvas").bounding_box()
    assert place
    assert canvas
    return canvas["x"] + 250 + 0.3 * (canvas["width"] - 258), place["y"] + 10


def test_rows_that_take_long_come_one_after_another(viewer: Viewer) -> None:
    """The server's answers are held: the first row is drawn and answers the pointer while the second is awaited."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    viewer.page.route("**/timeline/paths?*", hold)
    open_page(viewer.page, viewer.base, f"/t/{viewer.key}/timeline?tl_flame=paths")
    asked: list[str] = []
    while not asked or asked[-1] == "0":
        if asked:
            held[len(asked) - 1].continue_()
        until(viewer.page, lambda: len(held) > len(asked), "the next request for paths")
        asked.append(parse_qs(urlparse(held[-1].request.url).query)["rows"][0])
    assert asked[-1] == "1"
    assert set(asked[:-1]) == {"0"}
    assert hovered(viewer, "t0", 0.49, 0).startswith("step\n")
    assert hovered(viewer, "t1", 0.5, 0) == ""
    held[-1].continue_()
    viewer.page.unroute("**/timeline/paths?*", hold)
    viewer.complete()
    assert hovered(viewer, "t1", 0.5, 0).startswith("rest\n")


def test_hidden_channels_and_the_search_leave_their_place_free(viewer: Viewer) -> None:
    viewer.go("tl_flame=paths&tl_hide=1")
    assert hovered(viewer, "t0", 0.2, 0).startswith("step\n")
    assert hovered(viewer, "t0", 0.2, 1) == ""
    viewer.go("tl_flame=paths&tl_only=1&tl_find=load")
    assert hovered(viewer, "t0", 0.2, 0) == ""
    assert hovered(viewer, "t0", 0.2, 1).startswith("load\n")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(viewer: Viewer, theme: str) -> None:
    viewer.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    viewer.go("tl_flame=callers")
    assert violations(viewer.page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_merged_row_that_is_waited_for_says_that_it_comes_in_one_step(
    shared: SharedViewer, viewer: Viewer, theme: Literal["light", "dark"]
) -> None:
    page = shared.another_page(1280, 800, theme)
    page.add_init_script(
        "window.written = []; const write = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {"
        " window.written.push(text); write.call(this, text, ...rest); };"
    )
    held: list[Route] = []
    page.route("**/timeline/paths?*", lambda route: held.append(route))
    said = "Adding up the calls of 2 threads, in one step …"
    page.goto(f"{viewer.base}/t/{viewer.key}/timeline?tl_flame=paths&tl_merge=1")
    page.wait_for_function("(said) => window.written.includes(said)", arg=said)
    held[-1].continue_()
    page.unroute("**/timeline/paths?*")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    page.evaluate("() => { window.written = []; popvision.timeline.current.schedule(); }")
    page.wait_for_function("() => window.written.includes('step')")
    assert page.evaluate("(said) => !window.written.includes(said)", said)
    page.close()
