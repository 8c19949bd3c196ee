"""The search of the host timeline: keys, its counter, what it says of a wrong text, and addresses that hold one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.trace.trace_case import make_trace
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

MS = 1_000_000
WORD, COUNTER, SAID = '[data-param="tl_find"] input', ".tl-matches", ".tl-problem"


@pytest.fixture(scope="module")
def site(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Thirty threads; on the first twenty reads of 5 ms every 10 ms and five instants, on the others one wait each."""
    folder = tmp_path_factory.mktemp("search")
    spans = [(0, 10 * MS * at, 10 * MS * at + 5 * MS, "io/read") for at in range(20)]
    spans += [(thread, 0, 200 * MS, "io/wait") for thread in range(1, 30)]
    make_trace(folder / "reads.pvti", spans, [(0, 7 * MS + 40 * MS * at, "io/flag") for at in range(5)])
    return shared.base, shared.show(folder)["reads.pvti"]


@pytest.fixture
def page(shared: SharedViewer, site: tuple[str, str]) -> Iterator[Page]:
    yield shared.visit()
    assert [each for each in shared.problems if "400" not in each] == []


def show(page: Page, site: tuple[str, str], query: str = "") -> None:
    open_page(page, site[0], f"/t/{site[1]}/timeline?{query}")
    page.wait_for_selector('[data-timeline][data-state="complete"]')


def at(event: str) -> re.Pattern[str]:
    return re.compile(rf"tl_event={re.escape(event)}(&|$)")


def test_a_wrong_text_is_told_beside_the_box_until_it_is_right(page: Page, site: tuple[str, str]) -> None:
    show(page, site)
    page.fill(WORD, "dur>foo")
    expect(page.locator(SAID)).to_contain_text("dur>foo is no condition: dur needs < or >, a number and a unit")
    page.fill(WORD, "channel: io")
    expect(page.locator(SAID)).to_contain_text("channel: is no condition: it needs a text")
    page.get_by_role("tab", name="Search").click()
    expect(page.locator("#tl-tab-matches")).to_contain_text(re.compile("^channel: is no condition"))
    page.fill(WORD, "/[/")
    expect(page.locator(SAID)).to_contain_text("/[/ is not a regular expression")
    page.fill(WORD, "read")
    expect(page.locator(COUNTER)).to_have_text("1 of 20")
    expect(page.locator(SAID)).to_have_text("")
    expect(page).to_have_url(at("0.0.0"))
    page.fill(WORD, "nothing of this name")
    expect(page.locator(COUNTER)).to_have_text("no match")
    expect(page).not_to_have_url(re.compile("tl_event"))


def test_enter_and_signs_step_through_the_matches(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "tl_tab=matches")
    page.fill(WORD, "read")
    expect(page.locator(COUNTER)).to_have_text("1 of 20")
    for key, rank in (("Enter", 2), ("Enter", 3), ("Shift+Enter", 2)):
        page.press(WORD, key)
        expect(page.locator(COUNTER)).to_have_text(f"{rank} of 20")
    page.locator('#tl-tab-matches .ag-row[row-index="3"]').click()
    expect(page.locator(COUNTER)).to_have_text("4 of 20")
    expect(page).to_have_url(at("0.0.3"))
    for key, rank in (("g", 5), (".", 6), (",", 5)):  # the row has the focus
        page.keyboard.press(key)
        expect(page.locator(COUNTER)).to_have_text(f"{rank} of 20")
    page.get_by_role("tab", name="Statistics").click()
    page.keyboard.press("v")
    expect(page).to_have_url(re.compile("tl_flame=paths"))


def test_an_address_with_a_window_opens_at_it(page: Page, site: tuple[str, str]) -> None:
    show(page, site, f"tl_find=read&tl_from={115 * MS}&tl_to={135 * MS}")
    expect(page.locator(COUNTER)).to_have_text("20 matches")
    expect(page.locator(".tl-corner")).to_contain_text("Duration 20 ms")
    page.keyboard.press("g")
    expect(page.locator(COUNTER)).to_have_text("13 of 20")
    page.reload()
    expect(page.locator(COUNTER)).to_have_text("13 of 20")


def test_an_address_with_an_event_scrolls_to_its_row(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "tl_event=29.0.0")
    expect(page.locator(".tl-row").filter(has_text="thread 29")).to_be_in_viewport()


def test_an_instant_keeps_the_width_of_the_window(page: Page, site: tuple[str, str]) -> None:
    show(page, site, f"tl_from={MS}&tl_to={21 * MS}&tl_find=flag")
    expect(page.locator(COUNTER)).to_have_text("5 matches")
    for rank in (1, 2):
        page.keyboard.press("g")
        expect(page.locator(COUNTER)).to_have_text(f"{rank} of 5")
    expect(page).to_have_url(re.compile(r"tl_from=3[67]\d{6}&tl_to=5[67]\d{6}"))


def test_a_row_of_the_statistics_leaves_the_search(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "tl_tab=statistics&tl_find=wait&tl_event=1.0.0")
    expect(page.locator(COUNTER)).to_have_text("1 of 29")
    page.click('#tl-tab-statistics .ag-row [col-id="label"] >> text=read')
    expect(page).to_have_url(at("0.0.0"))
    expect(page.locator(WORD)).to_have_value("wait")
    expect(page.locator(COUNTER)).to_have_text("29 matches")


def test_the_counter_has_its_place_before_it_counts(page: Page, site: tuple[str, str]) -> None:
    show(page, site)
    before = page.locator(".timeline > .toolbar").bounding_box()
    page.fill(WORD, "read")
    expect(page.locator(COUNTER)).to_have_text("1 of 20")
    assert page.locator(".timeline > .toolbar").bounding_box() == before
