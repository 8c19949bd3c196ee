"""Adding a file to a timeline, aligning and comparing, as a user does it; the row of IPU activity."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, unquote, urlparse

import pytest
from playwright.sync_api import Page, expect

from popvision.analysis.trace.activity import RUN_LABEL
from tests.analysis.trace.trace_case import make_trace
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

DAY = 1_100_000_000_000_000_000
MS = 1_000_000


class Viewer:
    """The shared viewer on two traces of one channel each; `problems` fills, see `noted_problems`."""

    def __init__(self, shared: SharedViewer, folder: Path) -> None:
        self.base, self.keys = shared.base, list(shared.show(folder).values())
        self.page: Page = shared.visit(1280, 900)
        self.problems = shared.problems

    def go(self, path: str) -> Page:
        open_page(self.page, self.base, path)
        return self.page

    def complete(self) -> None:
        self.page.wait_for_selector('[data-timeline][data-state="complete"]')

    def path(self) -> str:
        return urlparse(self.page.url).path

    def expect_titles(self, *titles: str) -> None:
        """Waits: after a change of the address the old timeline stays complete until the new one is there."""
        expect(self.page.locator(".tl-row .tl-title")).to_have_text(titles)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    first = [(0, 0, 50 * MS, "app/epoch"), (0, 10 * MS, 30 * MS, f"poplar/{RUN_LABEL}")]
    second = [(0, 100 * MS, 180 * MS, "app/epoch"), (0, 120 * MS, 160 * MS, "io/write")]
    for name, spans in (("first", first), ("second", second)):
        moved = [(thread, DAY + begin, DAY + end, label) for thread, begin, end, label in spans]
        make_trace(folder / f"{name}.pvti", moved)
    return folder


@pytest.fixture
def viewer(shared: SharedViewer, folder: Path) -> Viewer:
    return Viewer(shared, folder)


def test_a_file_is_added_aligned_and_removed(viewer: Viewer) -> None:
    first, second = viewer.keys
    page = viewer.go(f"/t/{first}/timeline")
    viewer.complete()
    viewer.expect_titles("first.pvti", "IPU activity", "Process 1", "thread 0")
    page.click(".tl-files > summary")
    page.click('.tl-files [aria-label="Add second.pvti to this timeline"]')
    page.wait_for_url(f"**/t/{first}+{second}/timeline*")
    viewer.complete()
    viewer.expect_titles(
        *("first.pvti", "IPU activity", "Process 1", "thread 0"),
        *("second.pvti", "Process 1", "thread 0"),
    )
    expect(page.locator(".tl-corner")).to_contain_text("180 ms")  # from the first begin to the last end
    page.click(".tl-files > summary")
    page.click(".tl-files >> text=First events")
    page.wait_for_url(f"**/t/{first}+{second}@first/timeline*")
    viewer.complete()
    expect(page.locator(".tl-corner")).to_contain_text("Duration 80 ms")
    page.click(".tl-files > summary")
    page.click('.tl-files [aria-label="Remove first.pvti"]')
    page.wait_for_url(f"**/t/{second}/timeline*")
    viewer.complete()
    viewer.expect_titles("second.pvti", "Process 1", "thread 0")


#: Whether the first and the last pixel of each row of threads show anything, row by row.
_COLOURS_AT_THE_ENDS = """() => {
  const timeline = popvision.timeline.current;
  const { width } = timeline.viewport;
  const colour = (x, y) => {
    const at = [popvision.timeline.NAMES + x, y].map((each) => each * timeline.view.scale);
    return timeline.draw.getImageData(at[0], at[1], 1, 1).data;
  };
  const apart = (one, other) => Array.from(one).reduce((sum, each, at) => sum + Math.abs(each - other[at]), 0);
  const [plain] = timeline.inSight();
  return timeline
    .inSight()
    .filter(({ row }) => row.kind === "thread")
    .map(({ top }) => [0, width - 1].map((x) => apart(colour(x, top + 10), colour(x, plain.top + 10)) > 60));
}"""


def test_files_too_far_apart_to_see_are_said_to_be_so_beside_a_way_to_align_them(
    shared: SharedViewer, tmp_path: Path
) -> None:
    for name, begin in (("a", DAY), ("b", DAY + 3_550_000 * MS)):
        make_trace(tmp_path / f"{name}.pvti", [(0, begin, begin + 50 * MS, "app/epoch")])
    viewer = Viewer(shared, tmp_path)
    first, second = viewer.keys
    page = viewer.go(f"/t/{first}/timeline?tl_merge=1")
    viewer.complete()
    said = page.locator(".tl-apart")
    expect(said).to_have_count(0)
    page.click(".tl-files > summary")
    page.click('.tl-files [aria-label="Add b.pvti to this timeline"]')
    expect(said).to_contain_text("These traces are 3,549.9 s apart.")
    viewer.complete()
    assert page.evaluate(_COLOURS_AT_THE_ENDS) == [[True, False], [False, True]]  # a hairline of each file
    said.get_by_role("link", name="Align their starts").click()
    page.wait_for_url(f"**/t/{first}+{second}@first/timeline?tl_merge=1")
    viewer.complete()
    expect(said).to_have_count(0)
    expect(page.locator(".tl-corner")).to_contain_text("Duration 50 ms")
    assert viewer.problems == []


def test_links_of_the_menu_keep_the_settings_and_close_it(viewer: Viewer) -> None:
    first, second = viewer.keys
    page = viewer.go(f"/t/{first}/timeline?tl_clock=absolute&tl_from=1000000&tl_to=9000000")
    viewer.complete()
    page.select_option('[data-param="tl_flame"]', "paths")
    page.click(".tl-files > summary")
    page.click('.tl-files [aria-label="Compare with second.pvti by call path"]')
    expect(page.locator("#tl-tab-difference .ag-row").first).to_be_in_viewport()
    query = parse_qs(urlparse(page.url).query)
    assert query["vs"] == [second]
    assert [query[name] for name in ("tl_clock", "tl_flame", "tl_from")] == [["absolute"], ["paths"], ["1000000"]]
    expect(page.locator(".tl-files")).not_to_have_attribute("open", "")
    page.click(".tl-files > summary")
    page.click('.tl-files [aria-label="Add second.pvti to this timeline"]')
    page.wait_for_url(f"**/t/{first}+{second}/timeline*")
    query = parse_qs(urlparse(page.url).query)
    assert query == {"tl_clock": ["absolute"], "tl_flame": ["paths"]}


def test_in_a_low_window_the_tabs_have_rows_until_the_handle_is_moved(viewer: Viewer) -> None:
    page = viewer.go(f"/t/{viewer.keys[0]}/timeline?vs={viewer.keys[1]}&tl_tab=difference")
    page.set_viewport_size({"width": 1000, "height": 700})
    viewer.complete()
    expect(page.locator("#tl-tab-difference .ag-row").first).to_be_in_viewport()
    handle = page.locator(".timeline .split-handle")
    before = handle.bounding_box()
    handle.focus()
    page.keyboard.press("PageDown")
    after = handle.bounding_box()
    page.keyboard.press("Home")
    page.evaluate("() => localStorage.clear()")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert before is not None
    assert after is not None
    assert after["y"] > before["y"] + 40


def test_files_fold_apart(viewer: Viewer) -> None:
    page = viewer.go(f"/t/{viewer.keys[0]}+{viewer.keys[1]}/timeline")
    viewer.complete()
    page.click('[aria-label="Fold first.pvti"]')
    viewer.expect_titles("first.pvti", "second.pvti", "Process 1", "thread 0")


def test_a_selected_event_aligns_the_files(viewer: Viewer) -> None:
    first, second = viewer.keys
    page = viewer.go(f"/t/{first}+{second}/timeline?tl_event=1.0.0")
    viewer.complete()
    page.click("text=Align the files at this event")
    page.wait_for_url(f"**/t/{first}+{second}@1.0.0/timeline?tl_event=1.0.0")
    viewer.complete()
    expect(page.locator(".tl-facts").first).to_contain_text("Align the files at this event")
    expect(page.locator(".tl-corner")).to_contain_text("Duration 80 ms")


def test_the_pointer_on_the_activity_names_its_span(viewer: Viewer) -> None:
    page = viewer.go(f"/t/{viewer.keys[0]}/timeline")
    viewer.complete()
    row = page.locator(".tl-row-activity").bounding_box()
    drawing = page.locator(".tl canvas").bounding_box()
    assert row is not None
    assert drawing is not None
    plot = drawing["width"] - 258
    for share, inside in ((0.4, True), (0.8, False)):
        page.mouse.move(drawing["x"] + 250 + share * plot, row["y"] + row["height"] / 2)
        tip = page.locator(".tl-tip")
        if inside:
            expect(tip).to_contain_text("20 ms")
        else:
            expect(tip).to_be_hidden()


def test_a_key_sets_and_removes_marks_of_the_address(viewer: Viewer) -> None:
    page = viewer.go(f"/t/{viewer.keys[0]}/timeline?tl_event=0.1.0&tl_marks=5000000")
    viewer.complete()
    page.wait_for_function("() => popvision.timeline.current.chosen")
    page.mouse.move(0, 0)
    page.focus("[data-timeline]")
    page.keyboard.press("m")  # no pointer on the drawing: at the begin of the selected event
    expect(page.locator(".tl-facts")).to_contain_text("00:00:00.010 000, 5 ms after mark 1")
    assert "tl_marks=5000000,10000000" in unquote(page.url)
    page.keyboard.press("m")
    expect(page.locator(".tl-facts")).not_to_contain_text("Mark 2")
    assert "10000000" not in page.url


def test_only_matches_are_drawn(viewer: Viewer) -> None:
    def blocks(query: str) -> int:
        with page.expect_response("**/timeline/blocks*") as answer:
            viewer.go(f"/t/{viewer.keys[1]}/timeline?{query}")
            viewer.complete()
        return len(answer.value.body())

    page = viewer.page
    everything = blocks("tl_find=dur%3E50ms")
    assert blocks("tl_find=dur%3E50ms&tl_only=1") < everything
    expect(page.locator(".tl-corner")).to_contain_text("only matches are drawn, all events counted")
    expect(page.locator(".tl-matches")).to_have_text("1 of 1")


def test_the_merged_flame_has_a_block_per_path(viewer: Viewer) -> None:
    page = viewer.go(f"/t/{viewer.keys[1]}/timeline?tl_tab=flame")
    viewer.complete()
    blocks = page.locator(".tl-flame > div")
    expect(blocks).to_have_text(["epoch", "write"])
    outer, inner = (blocks.nth(index).bounding_box() for index in (0, 1))
    assert outer is not None
    assert inner is not None
    assert inner["width"] == pytest.approx(outer["width"] / 2, abs=2)
    assert inner["y"] > outer["y"]


def test_two_ticks_lead_to_the_difference_or_to_one_timeline(viewer: Viewer) -> None:
    first, second = viewer.keys
    page = viewer.go("/")
    for name in ("first.pvti", "second.pvti"):
        page.click(f'[aria-label="Choose {name} to compare"]')
    page.click('[data-compare-action="compare"]')
    page.wait_for_url(f"**/t/{first}/timeline?*vs={second}*")
    expect(page.locator("#tl_tab-panel-difference .ag-center-cols-container .ag-row")).to_have_count(3)
    expect(page.locator(".versus")).to_contain_text("second.pvti")
    page.click('[data-compare-action="swap"]')
    page.wait_for_url(f"**/t/{second}/timeline?*vs={first}*")
    page.go_back()
    page.go_back()
    for name in ("first.pvti", "second.pvti"):
        page.click(f'[aria-label="Choose {name} to compare"]')
    page.click('[data-compare-action="join"]')
    page.wait_for_url(f"**/t/{first}+{second}/timeline*")
    viewer.complete()
