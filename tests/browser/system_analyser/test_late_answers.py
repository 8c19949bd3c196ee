"""Answers and pauses that end after the reader has gone on: they change neither the selection nor the next page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.analysis.trace.trace_case import make_trace
from tests.browser.frame import open_page, until, until_quiet
from tests.browser.shared_viewer import SharedViewer
from tests.plain_report import PlainProgram, PlainReport, PlainVariable

pytestmark = pytest.mark.browser

CHOSEN = """() => {
  const { chosen } = popvision.timeline.current;
  return chosen && [chosen.thread, chosen.depth, chosen.position].join(".");
}"""


@pytest.fixture
def opened(shared: SharedViewer, tmp_path: Path) -> Iterator[tuple[Page, str, dict[str, str]]]:
    """A page, the address of the viewer, and the key of each kind of file."""
    exchange = PlainProgram("DoExchange", "copy", 90, [(tile, (3 * tile + 1) % 16, 8) for tile in range(16)])
    weights = PlainVariable("weights", {0: 8})
    PlainReport([exchange], [weights], tiles=16, label="report").write(tmp_path / "report")
    make_trace(tmp_path / "t.pvti", [(0, 0, 1_000_000, "a/x"), (0, 2_000_000, 3_000_000, "a/y")])
    keys = shared.show(tmp_path)
    yield shared.visit(1280, 800), shared.base, {"report": keys["report"], "trace": keys["t.pvti"]}
    assert shared.problems == []


def test_an_event_that_comes_after_another_was_selected_is_not(opened: tuple[Page, str, dict[str, str]]) -> None:
    page, base, keys = opened
    open_page(page, base, f"/t/{keys['trace']}/timeline")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    held: list[Route] = []
    page.route("**/timeline/event?at=0.0.0", lambda route: held.append(route))
    page.evaluate("popvision.select({ tl_event: '0.0.0' })")
    until(page, lambda: held, "the request to hold")
    page.evaluate("popvision.select({ tl_event: '0.0.1' })")
    page.wait_for_function("() => popvision.timeline.current.chosen !== null")
    assert page.evaluate(CHOSEN) == "0.0.1"
    with page.expect_response("**/timeline/event?at=0.0.0"):
        held[0].continue_()
    until_quiet(page)
    assert page.evaluate(CHOSEN) == "0.0.1"


def test_a_tab_that_a_later_question_overtakes_shows_nothing_of_it(opened: tuple[Page, str, dict[str, str]]) -> None:
    page, base, keys = opened
    open_page(page, base, f"/t/{keys['trace']}/timeline?tl_event=0.0.0")
    name = page.locator(".tl-facts tr", has_text="Name").locator("td")
    expect(name).to_have_text("x")
    until_quiet(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        is_of_tab = '"0.0.1"' in (route.request.post_data or "") and "tl-tab-now" in (route.request.post_data or "")
        if is_of_tab and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/*dash-update*", hold)
    page.evaluate("popvision.select({ tl_event: '0.0.1' })")
    until(page, lambda: held, "the request to hold")
    page.evaluate("popvision.select({ tl_event: '0.0.0' })")
    page.wait_for_function("() => popvision.timeline.current.chosen?.position === 0")
    held[0].continue_()
    until_quiet(page)
    expect(name).to_have_text("x")


def test_a_window_that_rests_after_the_page_was_left_stays_out_of_the_next_address(
    opened: tuple[Page, str, dict[str, str]],
) -> None:
    page, base, keys = opened
    open_page(page, base, f"/r/{keys['report']}/exchange")
    page.wait_for_selector('[data-exchange][data-state="complete"]')
    page.wait_for_function("() => popvision.exchange.current?.layer")
    page.evaluate(
        """(next) => {
          popvision.exchange.current.zoom(0.5);
          popvision.go(next);
        }""",
        f"/r/{keys['report']}/summary",
    )
    expect(page.locator("#view-summary")).to_be_visible()
    # The page waits a quarter of a second for the window to rest; its timers run in the order in which they are due.
    page.evaluate("() => new Promise((done) => setTimeout(done, 400))")
    assert "xch_at" not in page.url


def test_the_chosen_command_stays_where_reports_come_above_it(opened: tuple[Page, str, dict[str, str]]) -> None:
    page, base, keys = opened
    open_page(page, base, f"/t/{keys['trace']}/timeline")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    reports = [{"key": f"k{at}", "name": f"save {at}", "path": f"/x/{at}", "kind": "report"} for at in range(9)]
    held: list[Route] = []
    page.route("**/data/reports", lambda route: held.append(route))
    page.keyboard.press("Control+k")
    selected = page.locator("#palette-list [aria-selected=true]")
    page.keyboard.type("save")
    before = selected.inner_text()
    assert before.startswith("Save")
    held[0].fulfill(body=json.dumps(reports), content_type="application/json")
    expect(page.locator("#palette-list")).to_contain_text("save 3")
    expect(selected).to_have_text(before, use_inner_text=True)
