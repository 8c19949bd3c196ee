"""A label of the statistics is highlighted in the drawing, and an event of the drawing is marked in the statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.trace.trace_case import make_trace
from tests.browser.axe_pages import violations
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

MS = 1_000_000
ROW = "#tl-tab-statistics .ag-row"

#: How far two colours of the canvas are apart, at most: rounding of transparent layers.
NEAR = 6


@pytest.fixture(scope="module")
def site(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Ten reads of 5 ms every 10 ms, inside each a copy of 2 ms; forty labels more on another thread, so that the
    statistics scroll; `read` of another channel there, of which nothing is highlighted with the first."""
    folder = tmp_path_factory.mktemp("highlight")
    spans = [(0, 10 * MS * at, 10 * MS * at + 5 * MS, "io/read") for at in range(10)]
    spans += [(0, 10 * MS * at, 10 * MS * at + 2 * MS, "io/copy") for at in range(10)]
    spans += [(1, 2 * MS * at, 2 * MS * at + MS, f"work/part {at}") for at in range(40)]
    spans += [(2, 0, 95 * MS, "net/read")]
    make_trace(folder / "reads.pvti", spans, [(0, 7 * MS, "io/flag")])
    return shared.base, shared.show(folder)["reads.pvti"]


@pytest.fixture(params=["light", "dark"])
def page(shared: SharedViewer, site: tuple[str, str], request: pytest.FixtureRequest) -> Iterator[Page]:
    yield shared.visit(theme=request.param)
    assert shared.problems == []


def show(page: Page, site: tuple[str, str], query: str = "") -> None:
    open_page(page, site[0], f"/t/{site[1]}/timeline?tl_tab=statistics&{query}")
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    page.wait_for_selector(ROW)


def block(page: Page, thread: str, depth: int, at_ms: float) -> tuple[float, float]:
    """A place of the canvas in the block of a thread's lane at a time; the window shows 95 ms."""
    box = page.locator(".tl-row").filter(has_text=re.compile(rf"^{thread}")).bounding_box()
    drawing = page.locator(".tl canvas").bounding_box()
    assert box is not None
    assert drawing is not None
    flags = 16 if thread == "thread 0" else 0
    width = drawing["width"] - 250 - 8
    return 250 + width * at_ms / 95, box["y"] - drawing["y"] + 3 + flags + 18 * depth + 14


def colour(page: Page, place: tuple[float, float]) -> list[int]:
    """Red, green and blue of the canvas there, below the middle, where no label is."""
    return page.evaluate(  # type: ignore[no-any-return]
        """([x, y]) => { const canvas = document.querySelector(".tl canvas"), scale = window.devicePixelRatio;
           return Array.from(canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data).slice(0, 3); }""",
        list(place),
    )


def wait_for_colour(page: Page, place: tuple[float, float], wanted: list[int], *, same: bool) -> None:
    page.wait_for_function(
        """([x, y, wanted, near, same]) => { const canvas = document.querySelector(".tl canvas");
           const scale = window.devicePixelRatio;
           const seen = canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data;
           return wanted.every((each, at) => Math.abs(each - seen[at]) <= near) === same; }""",
        arg=[*place, wanted, NEAR, same],
    )


def test_a_label_of_the_statistics_stands_out_until_escape(page: Page, site: tuple[str, str]) -> None:
    show(page, site)
    read, copy, other = block(page, "thread 0", 0, 42), block(page, "thread 0", 1, 41), block(page, "thread 2", 0, 50)
    before = [colour(page, place) for place in (read, copy, other)]
    page.locator(ROW).filter(has_text=re.compile("^read.*io")).click()
    expect(page).to_have_url(re.compile(r"tl_label=\d+"))
    wait_for_colour(page, copy, before[1], same=False)
    wait_for_colour(page, other, before[2], same=False)  # the label is that of another channel
    wait_for_colour(page, read, before[0], same=True)
    expect(page.locator(".tl-corner")).to_contain_text("highlighted: read (Esc: none)")
    expect(page.locator(f"{ROW}.tl-row-lit")).to_have_count(1)
    page.reload()
    page.wait_for_selector('[data-timeline][data-state="complete"]')
    wait_for_colour(page, copy, before[1], same=False)
    page.locator(".tl").focus()
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("tl_label"))
    for place, drawn in zip((read, copy, other), before, strict=True):
        wait_for_colour(page, place, drawn, same=True)


def test_a_row_can_be_chosen_again_after_escape(page: Page, site: tuple[str, str]) -> None:
    show(page, site)
    row = page.locator(ROW).filter(has_text=re.compile("^copy"))
    for _ in range(2):
        row.click()
        expect(page).to_have_url(re.compile(r"tl_event=0\.1\.0&tl_label=\d+"))
        page.keyboard.press("Escape")
        expect(page).not_to_have_url(re.compile("tl_label|tl_event"))


def test_an_event_of_the_drawing_is_marked_in_the_statistics(page: Page, site: tuple[str, str]) -> None:
    show(page, site)
    place = block(page, "thread 1", 0, 2 * 35 + 0.5)
    page.locator(".tl canvas").click(position={"x": place[0], "y": place[1]})
    expect(page).to_have_url(re.compile(r"tl_event=1\.0\.35(&|$)"))
    expect(page.locator(f"{ROW}.tl-row-chosen")).to_be_in_viewport()
    expect(page.locator(f"{ROW}.tl-row-chosen")).to_contain_text("part 35")
    expect(page).not_to_have_url(re.compile("tl_label"))


def test_the_key_l_highlights_the_label_of_the_selected_event(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "tl_event=0.1.3")
    page.wait_for_function("() => popvision.timeline.current.chosen")
    page.locator(".tl").focus()
    page.keyboard.press("l")
    expect(page.locator(".tl-corner")).to_contain_text("highlighted: copy")
    page.keyboard.press("l")
    expect(page.locator(".tl-corner")).not_to_contain_text("highlighted")
    expect(page).to_have_url(re.compile(r"tl_event=0\.1\.3"))


def test_merged_calls_are_highlighted_too(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "tl_flame=paths")
    read, other = block(page, "thread 0", 0, 10), block(page, "thread 2", 0, 50)
    before = [colour(page, (x, y - (16 if at == 0 else 0))) for at, (x, y) in enumerate((read, other))]
    page.locator(ROW).filter(has_text=re.compile("^read.*io")).click()
    wait_for_colour(page, other, before[1], same=False)
    wait_for_colour(page, (read[0], read[1] - 16), before[0], same=True)


def test_a_number_that_the_trace_does_not_have_highlights_nothing(shared: SharedViewer, site: tuple[str, str]) -> None:
    page = shared.visit()
    show(page, site, "tl_label=4711")
    expect(page.locator(".tl-corner")).to_contain_text("Events")
    expect(page.locator(".tl-corner")).not_to_contain_text("highlighted")


def test_the_page_with_a_highlight_breaks_no_rule(page: Page, site: tuple[str, str]) -> None:
    show(page, site, "tl_label=1&tl_event=0.0.1")
    expect(page.locator(".tl-corner")).to_contain_text("highlighted")
    assert violations(page) == []
